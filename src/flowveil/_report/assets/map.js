"use strict";
// A map of a release: land, areas, curved lines between them, a chosen place.

class Outline {
  // Rings in degrees, x east and y north on the map, relative to the middle of the view: small numbers draw exactly.
  constructor(rings, step, middle, closed = true) {
    this.rings = rings.map((ring) => {
      const points = new Float64Array(ring.length);
      let x = 0,
        y = 0;
      for (let place = 0; place < ring.length; place += 2) {
        x += ring[place];
        y += ring[place + 1];
        points[place] = x * step - middle.x;
        points[place + 1] = north(y * step) - middle.y;
      }
      return points;
    });
    this.path = new Path2D();
    this.box = [Infinity, Infinity, -Infinity, -Infinity];
    for (const points of this.rings) {
      for (let place = 0; place < points.length; place += 2) {
        const x = points[place],
          y = points[place + 1];
        if (place) this.path.lineTo(x, -y);
        else this.path.moveTo(x, -y);
        this.box = [
          Math.min(this.box[0], x),
          Math.min(this.box[1], y),
          Math.max(this.box[2], x),
          Math.max(this.box[3], y),
        ];
      }
      if (closed) this.path.closePath();
    }
  }

  holds(x, y) {
    if (x < this.box[0] || y < this.box[1] || x > this.box[2] || y > this.box[3]) return false;
    let inside = false;
    for (const ring of this.rings) {
      for (let here = 0, before = ring.length - 2; here < ring.length; before = here, here += 2) {
        const y1 = ring[here + 1],
          y2 = ring[before + 1];
        if (y1 > y !== y2 > y && x < ((ring[before] - ring[here]) * (y - y1)) / (y2 - y1) + ring[here])
          inside = !inside;
      }
    }
    return inside;
  }
}

class FlowMap extends Sheet {
  constructor(canvas, scene) {
    super(canvas, scene.view);
    this.scene = scene;
    this.outlines = scene.outlines.map((rings) => new Outline(rings, scene.step, this.middle));
    this.land = new Outline(scene.land, scene.step, this.middle);
    this.around = scene.context.map(({ style, areas, lines }) => ({
      style,
      areas: new Outline(areas, scene.step, this.middle),
      lines: new Outline(lines, scene.step, this.middle, false),
    }));
    const areas = scene.areas;
    this.centers = areas.lon.map((lon, row) => (lon === null ? null : this.local(lon, areas.lat[row])));
    this.order = areas.id.map((_, row) => row).sort((a, b) => (areas.km2[b] || 0) - (areas.km2[a] || 0));
    this.fills = []; // [area, color], drawn in order
    this.lines = []; // {from, to, width}, drawn in order
    this.marked = []; // areas with a strong outline
    this.pin = null;
    new ResizeObserver(() => this.resize()).observe(canvas);
    this.resize();
  }

  // Areas of a side that hold a point of the screen, the smallest first.
  at(x, y, side) {
    const spot = this.toLocal(x, y),
      areas = this.scene.areas,
      found = [];
    for (let place = this.order.length - 1; place >= 0; place--) {
      const row = this.order[place];
      if (areas.side[row] !== side) continue;
      if (areas.outline[row] >= 0) {
        if (this.outlines[areas.outline[row]].holds(spot.x, spot.y)) found.push(row);
      } else if (this.centers[row]) {
        const dot = this.toScreen(this.centers[row]);
        if (Math.hypot(dot.x - x, dot.y - y) <= this.radius(row) + 2) found.push(row);
      }
    }
    return found;
  }

  // Whether areas of one side overlap; a few hundred of them tell.
  overlap() {
    const { side, outline } = this.scene.areas,
      some = this.order.slice(-400);
    return some.some((row) => {
      const center = this.centers[row];
      return (
        center &&
        outline[row] >= 0 &&
        this.order.some(
          (other) =>
            other !== row &&
            side[other] === side[row] &&
            outline[other] >= 0 &&
            this.outlines[outline[other]].holds(center.x, center.y),
        )
      );
    });
  }

  radius(row) {
    const tiles = this.scene.areas.tiles ? this.scene.areas.tiles[row] || 1 : 1;
    return Math.min(22, 3.5 + 1.6 * Math.sqrt(tiles));
  }

  draw() {
    const context = this.context,
      colors = this.colors;
    if (!this.width) return;
    context.setTransform(this.ratio, 0, 0, this.ratio, 0, 0);
    context.fillStyle = colors.sea;
    context.fillRect(0, 0, this.width, this.height);
    this.world();
    context.fillStyle = colors.land;
    context.fill(this.land.path, "evenodd");
    for (const { style, areas } of this.around) {
      context.fillStyle = style === "water" ? colors.sea : colors.dark ? "#24331f" : "#dce8d3";
      context.fill(areas.path, "evenodd");
    }
    this.drawAreas();
    this.world();
    for (const { style, lines } of this.around) {
      context.strokeStyle = style === "river" || style === "water" ? "#56b4e9" : colors.dark ? "#9aa7b2" : "#6b7782";
      context.lineWidth = (style === "river" || style === "road" ? 1.2 : 0.7) / this.scale;
      context.stroke(lines.path);
    }
    context.strokeStyle = colors.coast;
    context.lineWidth = 0.8 / this.scale;
    this.world();
    context.stroke(this.land.path);
    context.setTransform(this.ratio, 0, 0, this.ratio, 0, 0);
    this.drawGraticule();
    this.drawLines();
    this.drawPin();
    this.drawScale();
    this.drawNorth();
  }

  drawAreas() {
    const context = this.context,
      areas = this.scene.areas,
      many = this.fills.length > 1500;
    context.lineJoin = "round";
    context.lineWidth = 0.7 / this.scale;
    for (const [row, color] of this.fills) {
      context.fillStyle = color;
      context.strokeStyle = many ? color : this.colors.edge; // edges of their own would cover tiny areas
      if (areas.outline[row] < 0) {
        this.drawDot(row);
        continue;
      }
      const outline = this.outlines[areas.outline[row]];
      if (!this.seen(outline)) continue;
      context.fill(outline.path, "evenodd");
      context.stroke(outline.path);
    }
    context.lineWidth = 2.4 / this.scale;
    context.strokeStyle = this.colors.mark;
    for (const row of this.marked) if (areas.outline[row] >= 0) context.stroke(this.outlines[areas.outline[row]].path);
  }

  drawDot(row) {
    const center = this.centers[row],
      context = this.context;
    if (!center) return;
    context.beginPath();
    context.arc(center.x, -center.y, this.radius(row) / this.scale, 0, 2 * Math.PI);
    context.fill();
    context.stroke();
  }

  drawLines() {
    const context = this.context,
      many = this.lines.length > 300; // a lot of lines are drawn plainly, to stay quick
    context.lineCap = "butt";
    for (const { from, to, width, strength } of this.lines) {
      const start = this.centers[from],
        end = this.centers[to];
      if (!start || !end) continue;
      const a = this.toScreen(start),
        b = this.toScreen(end);
      const dx = b.x - a.x,
        dy = b.y - a.y,
        length = Math.hypot(dx, dy);
      context.globalAlpha = 0.45 + 0.5 * strength;
      if (length < 2) {
        this.drawRing(a, width);
        continue;
      }
      const bend = { x: (a.x + b.x) / 2 + dy * 0.18, y: (a.y + b.y) / 2 - dx * 0.18 };
      context.beginPath();
      context.moveTo(a.x, a.y);
      context.quadraticCurveTo(bend.x, bend.y, b.x, b.y);
      if (!many) {
        context.strokeStyle = this.colors.casing;
        context.lineWidth = width + 1.6;
        context.stroke();
      }
      context.strokeStyle = many ? this.colors.line : this.fade(a, b);
      context.lineWidth = width;
      context.stroke();
      this.drawHead(bend, b, width);
    }
    context.globalAlpha = 1;
  }

  // From pale where a line starts to strong where it ends.
  fade(start, end) {
    const made = this.context.createLinearGradient(start.x, start.y, end.x, end.y);
    made.addColorStop(0, this.colors.lineStart);
    made.addColorStop(1, this.colors.line);
    return made;
  }

  drawRing(center, width) {
    const context = this.context;
    context.lineWidth = Math.max(1.2, width * 0.7);
    context.strokeStyle = this.colors.line;
    context.beginPath();
    context.arc(center.x, center.y, 5 + width, 0, 2 * Math.PI);
    context.stroke();
  }

  drawHead(bend, end, width) {
    const angle = Math.atan2(end.y - bend.y, end.x - bend.x),
      size = 4 + width * 1.1,
      context = this.context;
    context.fillStyle = this.colors.line;
    context.beginPath();
    context.moveTo(end.x + Math.cos(angle) * size * 0.5, end.y + Math.sin(angle) * size * 0.5);
    context.lineTo(end.x - size * Math.cos(angle - 0.5), end.y - size * Math.sin(angle - 0.5));
    context.lineTo(end.x - size * Math.cos(angle + 0.5), end.y - size * Math.sin(angle + 0.5));
    context.fill();
  }

  drawPin() {
    if (!this.pin) return;
    const spot = this.toScreen(this.pin),
      context = this.context;
    context.lineWidth = 2;
    context.strokeStyle = this.colors.casing;
    context.fillStyle = this.colors.mark;
    context.beginPath();
    context.arc(spot.x, spot.y, 6, 0, 2 * Math.PI);
    context.fill();
    context.stroke();
  }
}
