// From an amount to a color: logarithmic, as amounts of places differ by powers of ten.

import {compact, drawn, show} from './text';

const SHADES = 256;
type Shade = [number, number, number];

export class Scale {
  constructor(
    readonly low: number,
    readonly high: number,
  ) {}

  static of(values: number[]): Scale {
    const positive = values.filter((value) => value > 0).sort((a, b) => a - b);
    if (!positive.length) return new Scale(1, 1);
    const high = positive[positive.length - 1],
      low = positive[Math.floor(positive.length / 20)];
    return new Scale(Math.min(high, Math.max(low, high / 3000)), high);
  }

  share(value: number): number {
    if (this.high <= this.low) return 0.6;
    if (value <= this.low) return 0;
    return Math.min(1, Math.log(value / this.low) / Math.log(this.high / this.low));
  }
}

// Land shines through, most where there is little: what is next to nothing must not shout.
export function opacity(share: number): number {
  return 0.35 + 0.55 * Math.min(1, share / 0.4);
}

export class Shades {
  private readonly shades: Shade[];

  constructor(colors: string[], dark: boolean) {
    const given = (dark ? [...colors].reverse() : colors).map((color) =>
      [1, 3, 5].map((place) => parseInt(color.slice(place, place + 2), 16)),
    );
    this.shades = Array.from({length: SHADES}, (_, number) => {
      const place = (number / (SHADES - 1)) * (given.length - 1),
        left = Math.floor(place),
        right = Math.min(left + 1, given.length - 1);
      return given[left].map((part, channel) => Math.round(part + (given[right][channel] - part) * (place - left))) as Shade;
    });
  }

  at(share: number): Shade {
    return this.shades[Math.round(share * (SHADES - 1))];
  }

  css(share: number): string {
    return `rgb(${this.at(share).join(',')})`;
  }

  picture(scale: Scale, faded = false): SVGElement {
    const width = 190,
      {low, high} = scale;
    const made = drawn('svg', {width, height: 30, role: 'img', 'aria-label': `from ${show(low)} to ${show(high)}`});
    // A mark a pixel: a gradient would be referred to by url(), which no page may have.
    for (let x = 0; x < width; x++) {
      const share = x / (width - 1);
      made.append(drawn('rect', {x, y: 0, width: 1, height: 11, fill: this.css(share), 'fill-opacity': faded ? opacity(share) : 1, 'shape-rendering': 'crispEdges'}));
    }
    const texts: [number, number, string][] =
      high > low
        ? [
            [0, low, 'start'],
            [0.5, Math.sqrt(low * high), 'middle'],
            [1, high, 'end'],
          ]
        : [[0, low, 'start']];
    for (const [share, value, anchor] of texts)
      made.append(
        drawn(
          'text',
          {x: share * width, y: 26, 'text-anchor': anchor, fill: 'currentColor', 'font-size': 11},
          compact(Number(value.toPrecision(2))),
        ),
      );
    return made;
  }
}
