// What lies over each place of the screen, added up: every area spreads its amount evenly.

import type {Outline} from './geometry';
import type {Sheet} from './sheet';

export interface Weight {
  outline: number;
  density: number; // amount per square kilometer
  variance: number; // of the density
  km2: number;
}

export class Raster {
  readonly width: number;
  readonly height: number;
  readonly density: Float64Array;
  readonly variance: Float64Array | null;
  private readonly corners: Float64Array;
  private readonly doubts: Float64Array | null;
  private readonly plain = new Set<number>(); // outlines that are rectangles
  // Of an outline: first and last place of each run; of a rectangle: left, right, top, bottom.
  private readonly spans = new Map<number, Int32Array>();
  private readonly view: {x: number; y: number; scale: number};

  constructor(
    readonly sheet: Sheet,
    private readonly outlines: Outline[],
    readonly grain: number, // pixels of the screen along a place
    noisy: boolean,
  ) {
    this.width = Math.max(1, Math.ceil(sheet.width / grain));
    this.height = Math.max(1, Math.ceil(sheet.height / grain));
    this.density = new Float64Array((this.width + 1) * this.height);
    this.variance = noisy ? new Float64Array(this.density.length) : null;
    this.corners = new Float64Array(this.density.length);
    this.doubts = noisy ? new Float64Array(this.density.length) : null;
    this.view = {x: sheet.x, y: sheet.y, scale: sheet.scale};
  }

  fits(sheet: Sheet, grain: number): boolean {
    const {x, y, scale} = this.view;
    return (
      sheet.x === x &&
      sheet.y === y &&
      sheet.scale === scale &&
      grain === this.grain &&
      Math.ceil(sheet.width / grain) === this.width &&
      Math.ceil(sheet.height / grain) === this.height
    );
  }

  fill(weights: Weight[]): void {
    const {density, variance} = this;
    density.fill(0);
    variance?.fill(0);
    this.corners.fill(0);
    this.doubts?.fill(0);
    const pixel = this.sheet.squareKilometers() * this.grain ** 2;
    let sum = 0;
    for (const {outline, density: amount, variance: doubt, km2} of weights) {
      const spans = this.spansOf(outline);
      sum += Math.abs(amount);
      if (spans.length === 4 && this.plain.has(outline)) {
        this.addBox(this.corners, spans, amount);
        if (this.doubts) this.addBox(this.doubts, spans, doubt);
        continue;
      }
      if (spans.length === 1) {
        const part = Math.min(1, km2 / pixel); // smaller than a place: all of it in one
        density[spans[0]] += amount * part;
        density[spans[0] + 1] -= amount * part;
        if (variance) {
          variance[spans[0]] += doubt * part * part;
          variance[spans[0] + 1] -= doubt * part * part;
        }
        continue;
      }
      for (let place = 0; place < spans.length; place += 2) {
        density[spans[place]] += amount;
        density[spans[place + 1]] -= amount;
        if (variance) {
          variance[spans[place]] += doubt;
          variance[spans[place + 1]] -= doubt;
        }
      }
    }
    const nothing = Math.max(1e-9, 1e-12 * sum); // what adding and taking away leaves over
    this.gather(density, this.corners, nothing);
    if (variance) this.gather(variance, this.doubts!, nothing ** 2);
  }

  // From where things begin and end to what lies over each place.
  private gather(values: Float64Array, corners: Float64Array, nothing: number): void {
    const wide = this.width + 1;
    for (let place = wide; place < corners.length; place++) corners[place] += corners[place - wide];
    for (let row = 0; row < this.height; row++) {
      let sum = 0;
      for (let place = row * wide, end = place + this.width; place < end; place++) {
        sum += values[place] + corners[place];
        values[place] = Math.abs(sum) < nothing ? 0 : sum;
      }
    }
  }

  // A rectangle is told by its corners: thousands of boxes cost no more than their number.
  private addBox(corners: Float64Array, [left, right, top, bottom]: Int32Array, amount: number): void {
    const wide = this.width + 1;
    corners[top * wide + left] += amount;
    corners[top * wide + right] -= amount;
    if (bottom >= this.height) return;
    corners[bottom * wide + left] -= amount;
    corners[bottom * wide + right] += amount;
  }

  private spansOf(number: number): Int32Array {
    let found = this.spans.get(number);
    if (!found) {
      found = this.cut(number);
      this.spans.set(number, found);
    }
    return found;
  }

  private cut(number: number): Int32Array {
    const {sheet, grain, width, height} = this,
      outline = this.outlines[number],
      factor = sheet.scale / grain,
      left = sheet.width / 2 / grain - sheet.x * factor,
      top = sheet.height / 2 / grain + sheet.y * factor;
    const [west, south, east, high] = outline.box;
    const first = Math.max(0, Math.ceil(top - high * factor - 0.5)),
      last = Math.min(height - 1, Math.floor(top - south * factor - 0.5));
    if (left + east * factor < 0 || left + west * factor > width || first >= height || top - south * factor < 0)
      return new Int32Array(0);
    if (outline.plain) {
      const from = Math.max(0, Math.ceil(left + west * factor - 0.5)),
        to = Math.min(width, Math.ceil(left + east * factor - 0.5));
      if (to > from && last >= first) {
        this.plain.add(number);
        return Int32Array.of(from, to, first, last + 1);
      }
    }
    const rows: number[][] = Array.from({length: Math.max(0, last - first + 1)}, () => []);
    for (const ring of outline.rings)
      for (let here = 0, before = ring.length - 2; here < ring.length; before = here, here += 2) {
        let x1 = left + ring[before] * factor,
          y1 = top - ring[before + 1] * factor,
          x2 = left + ring[here] * factor,
          y2 = top - ring[here + 1] * factor;
        if (y1 > y2) [x1, y1, x2, y2] = [x2, y2, x1, y1];
        const slope = (x2 - x1) / (y2 - y1);
        for (let row = Math.max(first, Math.ceil(y1 - 0.5)); row <= last && row + 0.5 < y2; row++)
          rows[row - first].push(x1 + (row + 0.5 - y1) * slope);
      }
    const spans: number[] = [];
    rows.forEach((ends, row) => {
      ends.sort((a, b) => a - b);
      const start = (first + row) * (width + 1);
      for (let place = 0; place + 1 < ends.length; place += 2) {
        const from = Math.max(0, Math.ceil(ends[place] - 0.5)),
          to = Math.min(width, Math.ceil(ends[place + 1] - 0.5));
        if (to > from) spans.push(start + from, start + to);
      }
    });
    if (!spans.length) {
      const x = Math.floor(left + ((west + east) / 2) * factor),
        y = Math.floor(top - ((south + high) / 2) * factor);
      const tiny = (east - west) * factor < 2 && (high - south) * factor < 2;
      return tiny && x >= 0 && y >= 0 && x < width && y < height ? Int32Array.of(y * (width + 1) + x) : new Int32Array(0);
    }
    return Int32Array.from(spans);
  }
}
