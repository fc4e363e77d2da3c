// The map of a release: land, what lies over each place, areas, bubbles, curved lines, a chosen place.

import type {Point} from './geometry';
import {pen} from './layers';
import {Raster, type Weight} from './raster';
import {type Scale, type Shades, opacity} from './scale';
import type {Ground} from './scene';
import {Sheet} from './sheet';
import {Still} from './still';
import {drawBubbles, drawLines, drawPath} from './strokes';
import {ERROR} from './model';

const SETTLED = 120; // milliseconds without a move after which the map is drawn anew
const HATCH = 6; // pixels

export interface Line {
  row: number;
  from: Point;
  to: Point;
  width: number;
  strength: number;
}
export interface Bubble {
  row: number;
  center: Point;
  radius: number;
}

export class FlowMap extends Sheet {
  weights: Weight[] = []; // spread over the map; [] for none
  range: Scale | null = null;
  shades: Shades | null = null;
  fills: [number, string][] = []; // outline and color, drawn in order
  bubbles: Bubble[] = [];
  lines: Line[] = [];
  marked: number[] = []; // outlines with a strong edge
  path: Point[] = []; // of a group of trajectories
  noisy = false;
  raster: Raster | null = null;
  private readonly still = new Still();
  private picture: HTMLCanvasElement | null = null;
  private stale = true; // what is to be drawn has changed since it was drawn
  private timer = 0;

  constructor(
    canvas: HTMLCanvasElement,
    readonly ground: Ground,
    bare = false,
  ) {
    super(canvas, ground.json.view, bare);
    new ResizeObserver(() => this.resize()).observe(canvas);
  }

  // What is to be drawn has changed.
  changed(): void {
    this.stale = true;
    this.later();
  }

  get grain(): number {
    return this.ratio > 2 ? 0.5 : 1;
  }

  override resize(...size: [number?, number?, number?]): void {
    this.stale = true;
    super.resize(...size);
  }

  // While the map moves, what was drawn last moves with it; when it rests, it is drawn anew.
  override draw(): void {
    if (!this.width || !this.colors) return;
    clearTimeout(this.timer);
    if (this.stale || !this.still.covers(this)) {
      this.drawGround();
      this.drawRelease();
      this.stale = false;
      this.still.take(this);
    } else {
      if (!this.still.exact(this)) {
        this.drawGround();
        this.timer = window.setTimeout(() => this.changed(), SETTLED);
      }
      this.screen();
      this.still.draw(this);
    }
    if (this.bare) return;
    this.drawGraticule();
    this.drawScale();
    this.drawNorth();
  }

  private drawGround(): void {
    const {context, colors} = this;
    this.screen();
    context.fillStyle = colors.sea;
    context.fillRect(0, 0, this.width, this.height);
    this.world();
    context.fillStyle = colors.land;
    context.fill(this.ground.land.path, 'evenodd');
  }

  private drawRelease(): void {
    const {context, colors} = this;
    this.world();
    for (const {style, areas} of this.ground.context) {
      context.fillStyle = pen(style, colors.dark, colors.sea).fill;
      context.fill(areas.path, 'evenodd');
    }
    this.drawDensity();
    this.drawAreas();
    this.world();
    for (const {style, areas, lines} of this.ground.context) {
      const {stroke, width, dash} = pen(style, colors.dark, colors.sea);
      context.strokeStyle = stroke;
      context.lineWidth = width / this.scale;
      context.setLineDash(dash.map((length) => length / this.scale));
      context.stroke(areas.path); // what lies over a place may hide what it is filled with
      context.stroke(lines.path);
    }
    context.setLineDash([]);
    context.strokeStyle = colors.coast;
    context.lineWidth = 0.8 / this.scale;
    context.stroke(this.ground.land.path);
    this.drawMarked();
    this.screen();
    drawBubbles(this);
    drawLines(this);
    drawPath(this);
  }

  private drawDensity(): void {
    if (!this.weights.length || !this.shades || !this.range) return;
    this.addUp();
    this.screen();
    const {context, raster} = this;
    context.imageSmoothingEnabled = false;
    context.drawImage(this.picture!, 0, 0, raster!.width * this.grain, raster!.height * this.grain);
    context.imageSmoothingEnabled = true;
  }

  // Adds up what lies over each place, and colors it.
  private addUp(): void {
    if (!this.raster?.fits(this, this.grain)) this.raster = new Raster(this, this.ground.outlines, this.grain, this.noisy);
    const {raster} = this;
    raster.fill(this.weights);
    const {width, height, density, variance} = raster,
      image = new ImageData(width, height),
      pixels = image.data,
      hatch = HATCH / this.grain;
    for (let y = 0, place = 0; y < height; y++, place++)
      for (let x = 0; x < width; x++, place++) {
        const value = density[place];
        // What noise alone can make is hatched, whatever its sign.
        const unsure = variance !== null && variance[place] > 0 && value < ERROR * Math.sqrt(variance[place]);
        if (value <= 0 && !unsure) continue;
        if (unsure && (x + y) % hatch < hatch / 2) continue;
        const share = this.range!.share(value),
          [red, green, blue] = this.shades!.at(share),
          start = 4 * (y * width + x);
        pixels[start] = red;
        pixels[start + 1] = green;
        pixels[start + 2] = blue;
        pixels[start + 3] = 255 * opacity(share) * Math.min(1, Math.max(0.25, value / this.range!.low));
      }
    this.picture ??= document.createElement('canvas');
    this.picture.width = width;
    this.picture.height = height;
    this.picture.getContext('2d')!.putImageData(image, 0, 0);
  }

  private drawAreas(): void {
    const {context, fills} = this,
      many = fills.length > 1500;
    this.world();
    context.lineJoin = 'round';
    context.lineWidth = 0.7 / this.scale;
    for (const [number, color] of fills) {
      const outline = this.ground.outlines[number];
      if (!this.seen(outline)) continue;
      context.fillStyle = color;
      context.strokeStyle = many ? color : this.colors.edge; // edges of their own would cover tiny areas
      context.fill(outline.path, 'evenodd');
      context.stroke(outline.path);
    }
  }

  private drawMarked(): void {
    const {context} = this;
    context.lineWidth = (this.marked.length > 3 ? 0.8 : 2.4) / this.scale; // boxes of a whole path would cover it
    context.strokeStyle = this.colors.mark;
    for (const number of this.marked) context.stroke(this.ground.outlines[number].path);
  }

  // Start, bend and end of a line on the screen; null if it is a dot.
  curve(line: Line): [Point, Point, Point] | null {
    const a = this.toScreen(line.from),
      b = this.toScreen(line.to),
      dx = b.x - a.x,
      dy = b.y - a.y;
    if (Math.hypot(dx, dy) < 2) return null;
    return [a, {x: (a.x + b.x) / 2 + dy * 0.18, y: (a.y + b.y) / 2 - dx * 0.18}, b];
  }

  // The line under a point of the screen.
  lineAt(x: number, y: number): Line | null {
    let best: Line | null = null,
      least = Infinity;
    for (const line of this.lines) {
      const curve = this.curve(line),
        reach = line.width / 2 + 4;
      if (!curve) {
        const {x: u, y: v} = this.toScreen(line.from),
          off = Math.abs(Math.hypot(x - u, y - v) - 5 - line.width);
        if (off < 4 && off <= least) [best, least] = [line, off];
        continue;
      }
      const [a, bend, b] = curve;
      for (let step = 0; step <= 24; step++) {
        const t = step / 24,
          u = (1 - t) ** 2 * a.x + 2 * t * (1 - t) * bend.x + t * t * b.x,
          v = (1 - t) ** 2 * a.y + 2 * t * (1 - t) * bend.y + t * t * b.y,
          off = Math.hypot(x - u, y - v);
        if (off < reach + 3 && off <= least) [best, least] = [line, off];
      }
    }
    return best;
  }

  bubbleAt(x: number, y: number): Bubble | null {
    for (let place = this.bubbles.length - 1; place >= 0; place--) {
      const bubble = this.bubbles[place],
        spot = this.toScreen(bubble.center);
      if (Math.hypot(spot.x - x, spot.y - y) <= bubble.radius + 2) return bubble;
    }
    return null;
  }
}
