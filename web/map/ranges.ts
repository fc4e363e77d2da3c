// Ranges of what is shown, over everything that must have the same colors and sizes.

import {ALL, type Choice, type Model, type Tally} from './model';
import {Scale} from './scale';

const POINTS = 2500; // where densities are looked at to find their range
const LOOKS = 2e7; // of points at areas

export class Ranges {
  private readonly known = new Map<string, Scale>();
  private readonly stacks: (number[][] | undefined)[] = [];

  constructor(private readonly model: Model) {}

  // One range of densities for all values of the keys of which one is chosen, so that colors can be compared.
  densityScale(choice: Choice, side: number, place: number | null): Scale {
    const pattern = choice.map((value) => (value === ALL ? 'a' : 'o')).join(''),
      key = `${pattern} ${side} ${place}`;
    let scale = this.known.get(key);
    if (!scale) {
      const shown = place === null || this.model.scene.oneSided ? side : 1 - side;
      scale = Scale.of(
        this.alike(choice).flatMap((one) =>
          this.densities(place === null ? this.model.tally(one, side) : this.model.tallyFrom(one, side, place), shown),
        ),
      );
      this.known.set(key, scale);
    }
    return scale;
  }

  // Densities at a point in every area of a side (of many areas, in some).
  densities(tally: Tally, side: number): number[] {
    const {km2} = this.model.scene;
    return this.stack(side).map((rows) => rows.reduce((sum, row) => sum + tally.even[row] / km2[row], 0));
  }

  // All choices that have one value where this one has.
  alike(choice: Choice): Choice[] {
    let found: Choice[] = [[]];
    choice.forEach((value, key) => {
      const values = value === ALL ? [ALL] : this.model.scene.keys[key].values.map((_, place) => place);
      found = found.flatMap((start) => values.map((next) => [...start, next]));
    });
    return found;
  }

  // The largest amount of an area, over all such choices.
  most(choice: Choice, side: number): number {
    const key = `most ${choice.map((value) => value === ALL)} ${side}`;
    let scale = this.known.get(key);
    if (!scale) {
      scale = new Scale(0, Math.max(1, ...this.alike(choice).map((one) => this.model.tally(one, side).amount.reduce((a, b) => Math.max(a, b), 0))));
      this.known.set(key, scale);
    }
    return scale.high;
  }

  // For points in areas of a side: which areas hold each.
  private stack(side: number): number[][] {
    const {scene} = this.model;
    const known = this.stacks[side];
    if (known) return known;
    const own = scene.order.filter((row) => scene.side[row] === side && scene.km2[row] > 0),
      every = Math.ceil(own.length / Math.min(POINTS, LOOKS / Math.max(1, own.length))),
      outlines = scene.ground.outlines;
    const found = own
      .filter((_, place) => (own.length - 1 - place) % every === 0)
      .map((row) => {
        const {x, y} = outlines[scene.outline[row]].inner;
        return own.filter((other) => this.model.holds(other, x, y));
      });
    return (this.stacks[side] = found);
  }
}
