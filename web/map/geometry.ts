// Outlines on the map, and how much of one lies in another.

const RADIANS = Math.PI / 180;
export const METERS_PER_DEGREE = 111319.49;
export const north = (lat: number) => Math.log(Math.tan(Math.PI / 4 + (Math.max(-85, Math.min(85, lat)) * RADIANS) / 2)) / RADIANS;
export const latitude = (y: number) => (2 * Math.atan(Math.exp(y * RADIANS)) - Math.PI / 2) / RADIANS;
export const cosine = (lat: number) => Math.cos(lat * RADIANS);

export interface Point {
  x: number;
  y: number;
}
export type Box = [number, number, number, number];
const LINES = 48; // across what two outlines have in common

// Rings in degrees, x east and y north on the map, relative to the middle of the view: small numbers draw exactly.
export class Outline {
  readonly rings: Float64Array[];
  readonly box: Box = [Infinity, Infinity, -Infinity, -Infinity];
  private drawnPath: Path2D | null = null;
  private innerPoint: Point | null = null;

  constructor(
    rings: Float64Array[],
    step: number,
    readonly middle: Point,
    private readonly closed = true,
  ) {
    this.rings = rings.map((ring) => {
      const points = new Float64Array(ring.length);
      for (let place = 0; place < ring.length; place += 2) {
        const x = ring[place] * step - middle.x,
          y = north(ring[place + 1] * step) - middle.y;
        points[place] = x;
        points[place + 1] = y;
        if (x < this.box[0]) this.box[0] = x;
        if (y < this.box[1]) this.box[1] = y;
        if (x > this.box[2]) this.box[2] = x;
        if (y > this.box[3]) this.box[3] = y;
      }
      return points;
    });
  }

  // Whether it is a rectangle along the axes, which its box tells all of.
  get plain(): boolean {
    const [ring] = this.rings;
    if (this.rings.length !== 1 || ring.length !== 8) return false;
    return [0, 2, 4, 6].every((place) => ring[place] === ring[(place + 2) % 8] !== (ring[place + 1] === ring[(place + 3) % 8]));
  }

  get path(): Path2D {
    if (this.drawnPath) return this.drawnPath;
    const path = (this.drawnPath = new Path2D());
    for (const ring of this.rings) {
      for (let place = 0; place < ring.length; place += 2) {
        if (place) path.lineTo(ring[place], -ring[place + 1]);
        else path.moveTo(ring[place], -ring[place + 1]);
      }
      if (this.closed) path.closePath();
    }
    return path;
  }

  holds(x: number, y: number): boolean {
    const {box} = this;
    if (x < box[0] || y < box[1] || x > box[2] || y > box[3]) return false;
    let inside = false;
    for (const ring of this.rings) {
      for (let here = 0, before = ring.length - 2; here < ring.length; before = here, here += 2) {
        const y1 = ring[here + 1],
          y2 = ring[before + 1];
        if (y1 > y !== y2 > y && x < ((ring[before] - ring[here]) * (y - y1)) / (y2 - y1) + ring[here]) inside = !inside;
      }
    }
    return inside;
  }

  // Where a line from west to east enters and leaves, in order.
  crossings(y: number): number[] {
    const found: number[] = [];
    for (const ring of this.rings) {
      for (let here = 0, before = ring.length - 2; here < ring.length; before = here, here += 2) {
        const y1 = ring[here + 1],
          y2 = ring[before + 1];
        if (y1 > y !== y2 > y) found.push(((ring[before] - ring[here]) * (y - y1)) / (y2 - y1) + ring[here]);
      }
    }
    return found.sort((a, b) => a - b);
  }

  // A point inside, in the middle of the widest part of a line through the middle.
  get inner(): Point {
    if (this.innerPoint) return this.innerPoint;
    const y = (this.box[1] + this.box[3]) / 2 + 1e-9,
      ends = this.crossings(y);
    let x = (this.box[0] + this.box[2]) / 2,
      widest = -1;
    for (let place = 0; place + 1 < ends.length; place += 2)
      if (ends[place + 1] - ends[place] > widest) {
        widest = ends[place + 1] - ends[place];
        x = (ends[place] + ends[place + 1]) / 2;
      }
    return (this.innerPoint = {x, y});
  }

  meets(other: Outline): boolean {
    const a = this.box,
      b = other.box;
    return a[0] < b[2] && b[0] < a[2] && a[1] < b[3] && b[1] < a[3];
  }
}

// Square degrees at the equator that two outlines have in common: exact from west to east, lines from south to north.
export function common(first: Outline, second: Outline): number {
  const low = Math.max(first.box[1], second.box[1]),
    high = Math.min(first.box[3], second.box[3]),
    step = (high - low) / LINES;
  let sum = 0;
  for (let line = 0; line < LINES; line++) {
    const y = low + (line + 0.5) * step,
      a = first.crossings(y),
      b = first === second ? a : second.crossings(y);
    let width = 0;
    for (let i = 0, j = 0; i + 1 < a.length && j + 1 < b.length; ) {
      const shared = Math.min(a[i + 1], b[j + 1]) - Math.max(a[i], b[j]);
      if (shared > 0) width += shared;
      if (a[i + 1] < b[j + 1]) i += 2;
      else j += 2;
    }
    if (width) sum += width * cosine(latitude(y + first.middle.y)) ** 2; // Mercator stretches both ways
  }
  return sum * step;
}
