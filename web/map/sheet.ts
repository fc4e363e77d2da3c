// A sheet to draw a map on: Web Mercator, moved and zoomed, with graticule, scale bar and north.

import {METERS_PER_DEGREE, type Outline, type Point, cosine, latitude, north} from './geometry';
import {show} from './text';

const STEPS = [0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 15, 30, 60];

export interface Colors {
  dark: boolean;
  sea: string;
  land: string;
  coast: string;
  edge: string;
  graticule: string;
  label: string;
  halo: string;
  line: string;
  lineStart: string;
  casing: string;
  mark: string;
  bubble: string;
}

// The middle of a sheet in degrees, north as on the map, and pixels a degree.
export interface Where {
  x: number;
  y: number;
  scale: number;
}

export class Sheet {
  readonly context: CanvasRenderingContext2D;
  readonly middle: Point;
  colors!: Colors;
  x = 0;
  y = 0;
  scale = 0;
  width = 0;
  height = 0;
  ratio = 1;
  moved: (why: 'asked' | 'resized') => void = () => {}; // by who looks at it, or to fit its frame
  private fitted = true;
  private waiting = false;

  constructor(
    readonly canvas: HTMLCanvasElement,
    readonly view: number[],
    readonly bare = false, // without graticule, scale bar and north
  ) {
    this.context = canvas.getContext('2d')!;
    const [west, south, east, top] = view;
    this.middle = {x: (west + east) / 2, y: (north(south) + north(top)) / 2};
  }

  draw(): void {}

  local(lon: number, lat: number): Point {
    return {x: lon - this.middle.x, y: north(lat) - this.middle.y};
  }

  degrees(point: Point): [number, number] {
    return [point.x + this.middle.x, latitude(point.y + this.middle.y)];
  }

  toScreen(point: Point): Point {
    return {x: this.width / 2 + (point.x - this.x) * this.scale, y: this.height / 2 - (point.y - this.y) * this.scale};
  }

  toLocal(x: number, y: number): Point {
    return {x: this.x + (x - this.width / 2) / this.scale, y: this.y - (y - this.height / 2) / this.scale};
  }

  // Of a pixel in the middle of the sheet.
  squareKilometers(): number {
    return ((METERS_PER_DEGREE * cosine(latitude(this.y + this.middle.y))) / this.scale / 1000) ** 2;
  }

  home(): void {
    this.x = 0;
    this.y = 0;
    this.fitted = true;
    if (this.width) this.fit();
    this.later();
    this.moved('asked');
  }

  get where(): Where {
    return {x: this.x + this.middle.x, y: this.y + this.middle.y, scale: this.scale};
  }

  go({x, y, scale}: Where): void {
    this.x = x - this.middle.x;
    this.y = y - this.middle.y;
    this.scale = scale;
    this.fitted = false;
    this.later();
  }

  private fit(): void {
    const [west, south, east, top] = this.view;
    this.scale = Math.min(this.width / (east - west), this.height / (north(top) - north(south)));
  }

  resize(width = this.canvas.clientWidth, height = this.canvas.clientHeight, ratio = window.devicePixelRatio || 1): void {
    if (!width || !height) return;
    this.width = width;
    this.height = height;
    this.ratio = ratio;
    this.canvas.width = Math.round(width * ratio);
    this.canvas.height = Math.round(height * ratio);
    const fits = this.fitted || !this.scale;
    if (fits) this.fit();
    this.draw();
    if (fits) this.moved('resized');
  }

  zoom(factor: number, x = this.width / 2, y = this.height / 2): void {
    const kept = this.toLocal(x, y);
    this.scale = Math.max(0.5, Math.min(2e6, this.scale * factor));
    const after = this.toLocal(x, y);
    this.x += kept.x - after.x;
    this.y += kept.y - after.y;
    this.fitted = false;
    this.later();
    this.moved('asked');
  }

  pan(across: number, down: number): void {
    this.x -= across / this.scale;
    this.y += down / this.scale;
    this.fitted = false;
    this.later();
    this.moved('asked');
  }

  follow(other: Sheet): void {
    this.x = other.x;
    this.y = other.y;
    this.scale = (other.scale * this.width) / other.width;
    this.fitted = false;
    this.later();
  }

  later(): void {
    if (this.waiting) return;
    this.waiting = true;
    requestAnimationFrame(() => {
      this.waiting = false;
      this.draw();
    });
  }

  // From here on, units are degrees around the middle of the first view.
  protected world(): void {
    const size = this.scale * this.ratio;
    this.context.setTransform(
      size,
      0,
      0,
      size,
      (this.width / 2 - this.x * this.scale) * this.ratio,
      (this.height / 2 + this.y * this.scale) * this.ratio,
    );
  }

  protected screen(): void {
    this.context.setTransform(this.ratio, 0, 0, this.ratio, 0, 0);
  }

  protected seen(outline: Outline): boolean {
    const low = this.toLocal(0, this.height),
      high = this.toLocal(this.width, 0),
      box = outline.box;
    return box[0] <= high.x && box[2] >= low.x && box[1] <= high.y && box[3] >= low.y;
  }

  protected drawGraticule(): void {
    const context = this.context,
      low = this.toLocal(0, this.height),
      high = this.toLocal(this.width, 0);
    const step = STEPS.find((size) => size * this.scale >= 110) || 90;
    const digits = step < 0.01 ? 3 : step < 0.1 ? 2 : step < 1 ? 1 : 0;
    context.strokeStyle = this.colors.graticule;
    context.fillStyle = this.colors.label;
    context.lineWidth = 0.6;
    context.font = '11px system-ui, sans-serif';
    context.textAlign = 'center';
    context.textBaseline = 'top';
    const named = (value: number, positive: string, negative: string) =>
      `${Math.abs(value).toFixed(digits)}° ${value >= 0 ? positive : negative}`;
    for (let lon = Math.ceil((low.x + this.middle.x) / step) * step; lon <= high.x + this.middle.x; lon += step) {
      const x = this.toScreen(this.local(lon, 0)).x;
      this.segment(x, 0, x, this.height);
      if (x > 30 && x < this.width - 80) this.label(named(lon, 'E', 'W'), x, 6);
    }
    context.textAlign = 'left';
    context.textBaseline = 'middle';
    const bottom = latitude(low.y + this.middle.y),
      top = latitude(high.y + this.middle.y);
    for (let lat = Math.ceil(bottom / step) * step; lat <= top; lat += step) {
      const y = this.toScreen(this.local(0, lat)).y;
      this.segment(0, y, this.width, y);
      if (y > 30 && y < this.height - 120) this.label(named(lat, 'N', 'S'), 6, y - 8);
    }
  }

  private segment(x1: number, y1: number, x2: number, y2: number): void {
    this.context.beginPath();
    this.context.moveTo(Math.round(x1) + 0.5, Math.round(y1) + 0.5);
    this.context.lineTo(Math.round(x2) + 0.5, Math.round(y2) + 0.5);
    this.context.stroke();
  }

  private label(text: string, x: number, y: number): void {
    this.context.save();
    this.context.lineWidth = 3;
    this.context.strokeStyle = this.colors.halo;
    this.context.strokeText(text, x, y);
    this.context.restore();
    this.context.fillText(text, x, y);
  }

  protected drawScale(): void {
    const context = this.context,
      middle = latitude(this.y + this.middle.y);
    const pixel = (METERS_PER_DEGREE * cosine(middle)) / this.scale;
    const longest = pixel * Math.min(120, this.width / 6),
      power = 10 ** Math.floor(Math.log10(longest));
    const meters = [5, 2, 1].map((factor) => factor * power).find((size) => size <= longest)!;
    const width = meters / pixel,
      x = this.width - 16 - width,
      y = this.height - 16;
    context.strokeStyle = this.colors.label;
    context.fillStyle = this.colors.label;
    context.lineWidth = 1.5;
    context.beginPath();
    context.moveTo(x, y - 5);
    context.lineTo(x, y);
    context.lineTo(x + width, y);
    context.lineTo(x + width, y - 5);
    context.stroke();
    context.font = '12px system-ui, sans-serif';
    context.textAlign = 'center';
    context.textBaseline = 'bottom';
    this.label(meters >= 1000 ? `${show(meters / 1000)} km` : `${show(meters)} m`, x + width / 2, y - 4);
  }

  protected drawNorth(): void {
    const context = this.context,
      x = this.width - 29,
      y = this.height - 62;
    context.fillStyle = this.colors.label;
    context.beginPath();
    context.moveTo(x, y - 12);
    context.lineTo(x + 6, y + 5);
    context.lineTo(x, y + 1);
    context.lineTo(x - 6, y + 5);
    context.fill();
    context.font = '600 11px system-ui, sans-serif';
    context.textAlign = 'center';
    context.textBaseline = 'bottom';
    this.label('N', x, y - 13);
  }
}
