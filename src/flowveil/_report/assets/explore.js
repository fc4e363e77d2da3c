"use strict";
// What a reader chooses, and what follows from it for the map.

const LINES = [0, 25, 50, 100, 250];

class Explorer extends Panel {
  constructor(map, scene, words, palette) {
    super();
    Object.assign(this, { map, scene, words, palette });
    this.side = 0;
    this.colorBy = "amount";
    this.lines = 50;
    this.chosen = scene.keys.map(() => -1);
    this.selection = null; // {areas, point}
    this.amounts = Object.entries(scene.amounts);
    this.volume = this.amounts[0][1];
    this.oneSided = scene.sides.length < 2;
    this.count();
  }

  // Which movements are shown, and how much of them each area has.
  count() {
    const { scene } = this,
      size = scene.areas.id.length;
    this.shown = [];
    this.totals = new Float64Array(size);
    this.counts = new Int32Array(size);
    for (let row = 0; row < scene.origin.length; row++) {
      // "all" leaves out what stands for all others together, or it would count twice.
      if (
        this.chosen.some((value, key) =>
          value >= 0
            ? scene.keys[key].position[row] !== value
            : scene.keys[key].position[row] === scene.keys[key].total,
        )
      )
        continue;
      this.shown.push(row);
      const ends =
        scene.destination[row] < 0 || scene.destination[row] === scene.origin[row]
          ? [scene.origin[row]]
          : [scene.origin[row], scene.destination[row]];
      for (const end of ends) {
        this.totals[end] += this.volume[row];
        this.counts[end] += 1;
      }
    }
    this.shown.sort((a, b) => this.volume[b] - this.volume[a] || a - b);
  }

  near(row) {
    return this.oneSided || !this.side ? this.scene.origin[row] : this.scene.destination[row];
  }

  far(row) {
    return this.oneSided || !this.side ? this.scene.destination[row] : this.scene.origin[row];
  }

  // Movements that leave (or reach) the chosen place.
  selected() {
    if (!this.selection) return null;
    const here = new Set(this.selection.areas);
    return this.shown.filter((row) => here.has(this.near(row)) || (this.oneSided && here.has(this.far(row))));
  }

  refresh() {
    const rows = this.selected(),
      { scene, map } = this;
    let values, side;
    if (rows && !(this.oneSided && rows.every((row) => this.far(row) < 0))) {
      values = new Map();
      for (const row of rows)
        if (this.far(row) >= 0) values.set(this.far(row), (values.get(this.far(row)) || 0) + this.volume[row]);
      side = this.oneSided ? 0 : 1 - this.side;
    } else {
      values = new Map();
      scene.areas.id.forEach((_, row) => {
        if (scene.areas.side[row] === this.side && this.counts[row]) values.set(row, this.totals[row]);
      });
      side = this.side;
    }
    for (const row of [...values.keys()]) if (!map.centers[row] && scene.areas.outline[row] < 0) values.delete(row);
    if (this.colorBy === "size") for (const row of values.keys()) values.set(row, this.size(row));
    const scale = new Amounts([...values.values()], this.palette.amounts, map.colors.dark);
    map.fills = map.order.filter((row) => values.has(row)).map((row) => [row, scale.color(values.get(row))]);
    map.marked = this.selection ? this.selection.areas : [];
    map.pin = this.selection && this.selection.point;
    this.drawnLines(rows || this.shown);
    map.later();
    this.legend(scale, side, Boolean(rows));
    this.panel(rows);
    this.note();
  }

  size(row) {
    const { km2, tiles } = this.scene.areas;
    return km2[row] === null ? (tiles ? tiles[row] || 0 : 0) : km2[row];
  }

  drawnLines(rows) {
    const { scene, map } = this;
    const usable = rows.filter(
      (row) =>
        scene.destination[row] >= 0 &&
        this.volume[row] > 0 &&
        map.centers[scene.origin[row]] &&
        map.centers[scene.destination[row]],
    );
    const strongest = usable.slice(0, this.lines),
      most = strongest.length ? this.volume[strongest[0]] : 1;
    map.lines = strongest.reverse().map((row) => {
      const strength = this.volume[row] / most;
      return { from: scene.origin[row], to: scene.destination[row], width: 0.8 + 5.6 * Math.sqrt(strength), strength };
    });
  }

  select(areas, point = null) {
    this.selection = areas && areas.length ? { areas, point } : null;
    if (this.selection && !this.oneSided && this.scene.areas.side[areas[0]] !== this.side)
      this.turn(this.scene.areas.side[areas[0]]);
    this.refresh();
  }

  turn(side) {
    this.side = side;
    const button = document.querySelector(`input[name=side][value="${side}"]`);
    if (button) button.checked = true;
    this.list();
  }

  selectAt(x, y) {
    const found = this.map.at(x, y, this.side);
    this.select(
      found.filter((row) => this.counts[row]),
      found.length ? this.map.toLocal(x, y) : null,
    );
  }
}
