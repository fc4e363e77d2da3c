// What can be told of a release: amounts by area, how dense they are at a place, at least and at most. Nothing is drawn here.

import {type Point, common} from './geometry';
import type {Weight} from './raster';
import type {Others, Scene} from './scene';

export const ALL = -1;
export type Choice = number[]; // by key: which value, or ALL
// Laplace noise is smaller than so many deviations in 95 of 100 cases; a sum of several, in more.
export const ERROR = Math.log(20) / Math.SQRT2;
const SAME = 0.99; // share from which on an area counts as inside another

export interface Tally {
  amount: Float64Array; // by area
  even: Float64Array; // what to spread evenly over the area: the amount, unless remainders lie on parts of their areas only
  variance: Float64Array | null;
  movements: Float64Array;
}

export interface Answer {
  about: number;
  low: number;
  high: number;
  error: number; // of `about`, by noise; 0 without
}

interface Shares {
  rows: number[];
  share: number[]; // of the area that lies in the place
  inside: boolean[];
}

export class Model {
  private readonly shareCache = new Map<string, Shares>();
  private readonly otherRows: number[][][];
  private readonly sampleRows: number[][] = []; // of trajectories, by step of time
  private readonly boxes: Float64Array; // of all areas, one after the other: quick to look through

  constructor(readonly scene: Scene) {
    this.boxes = new Float64Array(4 * scene.ids.length).fill(NaN);
    scene.outline.forEach((number, row) => number >= 0 && this.boxes.set(scene.ground.outlines[number].box, 4 * row));
    const {samples} = scene;
    if (samples) {
      const last = scene.keys[0].values.length - 1;
      this.sampleRows = scene.keys[0].values.map(() => []);
      samples.first.forEach((first, row) => {
        const end = Math.max(Math.min(last, Math.floor(first)), Math.min(last, Math.ceil(samples.last[row]) - 1));
        for (let step = Math.min(last, Math.floor(first)); step <= end; step++) this.sampleRows[step].push(row);
      });
    }
    this.otherRows = (scene.others ?? []).map((others) => {
      const rows: number[][] = scene.json.matrices.amounts.map(() => []);
      others.matrix.forEach((matrix, row) => rows[matrix].push(row));
      return rows;
    });
  }

  get noisy(): boolean {
    return this.scene.deviation !== null;
  }

  all(): Choice {
    return this.scene.keys.map(() => ALL);
  }

  // The share of a matrix that is in a choice. ALL leaves out what stands for all others together, or it would count
  // twice; a time that spans several steps is spread over them.
  private share(matrix: number, choice: Choice): number {
    const {scene} = this;
    if (scene.samples) return 1;
    let share = 1;
    choice.forEach((value, key) => {
      const position = scene.positions[key][matrix],
        spans = scene.spans[key];
      if (value === ALL) share *= position === scene.keys[key].total ? 0 : 1;
      else if (!spans) share *= position === value ? 1 : 0;
      else share *= value >= spans[0][position] && value < spans[1][position] ? 1 / (spans[1][position] - spans[0][position]) : 0;
    });
    return share;
  }

  // Matrices of a choice, and the share of each.
  matrices(choice: Choice): [number, number][] {
    return this.scene.json.matrices.amounts
      .map((_, matrix): [number, number] => [matrix, this.share(matrix, choice)])
      .filter(([, share]) => share > 0);
  }

  // Whether times longer than a step are spread over what is chosen: then there are no bounds.
  spreads(choice: Choice): boolean {
    const {scene} = this;
    return choice.some((value, key) => value !== ALL && (scene.samples !== null || scene.spans[key] !== null));
  }

  // All movements of a choice, listed or not.
  total(choice: Choice): {amount: number; movements: number} {
    const {matrices, samples} = this.scene.json;
    if (samples) {
      if (choice[0] === ALL) return {amount: matrices.amounts[0], movements: matrices.movements[0]};
      return {amount: samples.amounts[choice[0]], movements: this.rows(choice).length};
    }
    let amount = 0,
      movements = 0;
    for (const [matrix, share] of this.matrices(choice)) {
      amount += matrices.amounts[matrix] * share;
      movements += matrices.movements[matrix];
    }
    return {amount, movements};
  }

  totalVariance(choice: Choice): number {
    const deviation = this.scene.json.matrices.deviation ?? [];
    return this.matrices(choice).reduce((sum, [matrix, share]) => sum + (share * deviation[matrix]) ** 2, 0);
  }

  // Listed movements of a choice.
  rows(choice: Choice): number[] {
    const {scene} = this;
    if (scene.samples && choice[0] !== ALL) return this.sampleRows[choice[0]];
    return this.matrices(choice).flatMap(([matrix]) => scene.rows[matrix]);
  }

  // The share of a movement that is in a choice: samples of trajectories are spread evenly over their time.
  part(row: number, choice: Choice): number {
    const {samples} = this.scene,
      [step] = choice;
    if (!samples) return this.share(this.scene.matrix[row], choice);
    if (step === ALL) return 1;
    const first = samples.first[row],
      last = samples.last[row];
    if (last <= first) return Math.floor(Math.min(first, this.scene.keys[0].values.length - 1)) === step ? 1 : 0;
    return Math.max(0, Math.min(last, step + 1) - Math.max(first, step)) / (last - first);
  }

  near(side: number): Float64Array {
    return side && !this.scene.oneSided ? this.scene.destination : this.scene.origin;
  }

  far(side: number): Float64Array {
    return side && !this.scene.oneSided ? this.scene.origin : this.scene.destination;
  }

  // What leaves (or reaches) each area.
  tally(choice: Choice, side: number): Tally {
    const {scene} = this,
      tally = this.empty(),
      ends = this.near(side);
    for (const row of this.rows(choice)) this.add(tally, ends[row], row, this.part(row, choice));
    if (scene.others)
      for (const [matrix, share] of this.matrices(choice))
        for (const row of this.otherRows[side][matrix]) this.addOthers(tally, scene.others[side], row, share);
    this.spread(tally, choice, ends === scene.origin ? 'origin' : 'destination');
    return tally;
  }

  // Adds what makes a sum of evenly spread amounts true: a remainder has nothing where finer movements inside it are.
  private spread(tally: Tally, choice: Choice, end: 'origin' | 'destination', shares?: Float64Array): void {
    const {spread} = this.scene;
    if (!spread) return;
    const near = spread[end === 'origin' ? 'destination' : 'origin'];
    tally.even = Float64Array.from(tally.amount);
    spread.amount.forEach((amount, row) => {
      const share = this.share(spread.matrix[row], choice) * (shares ? shares[near[row]] : 1);
      if (share > 0) tally.even[spread[end][row]] += amount * share;
    });
  }

  // Where what leaves a place arrives (or the other way around), of the listed movements.
  tallyFrom(choice: Choice, side: number, place: number): Tally {
    const tally = this.empty(),
      shares = this.sharesByArea(place, side),
      near = this.near(side),
      far = this.far(side);
    for (const row of this.rows(choice)) {
      const share = shares[near[row]] * this.part(row, choice);
      if (share > 0 && far[row] >= 0) this.add(tally, far[row], row, share);
    }
    this.spread(tally, choice, far === this.scene.origin ? 'origin' : 'destination', shares);
    return tally;
  }

  private empty(): Tally {
    const size = this.scene.ids.length,
      amount = new Float64Array(size);
    return {amount, even: amount, variance: this.noisy ? new Float64Array(size) : null, movements: new Float64Array(size)};
  }

  private add(tally: Tally, area: number, row: number, share: number): void {
    const {volume, deviation} = this.scene;
    tally.amount[area] += volume[row] * share;
    tally.movements[area] += 1;
    if (tally.variance) tally.variance[area] += (deviation![row] * share) ** 2;
  }

  private addOthers(tally: Tally, others: Others, row: number, share: number): void {
    const area = others.area[row];
    tally.amount[area] += others.amount[row] * share;
    tally.movements[area] += others.movements[row];
    if (tally.variance) tally.variance[area] += (others.deviation![row] * share) ** 2;
  }

  // Areas with an outline, and how dense their amounts are.
  weights(tally: Tally): Weight[] {
    const {scene} = this,
      found: Weight[] = [];
    for (let row = 0; row < scene.ids.length; row++) {
      const km2 = scene.km2[row];
      if ((!tally.movements[row] && !tally.even[row]) || !(km2 > 0)) continue;
      const variance = tally.variance ? tally.variance[row] / km2 ** 2 : 0;
      found.push({outline: scene.outline[row], density: tally.even[row] / km2, variance, km2});
    }
    return found;
  }

  holds(row: number, x: number, y: number): boolean {
    const {boxes, scene} = this,
      place = 4 * row;
    if (!(x >= boxes[place] && x <= boxes[place + 2] && y >= boxes[place + 1] && y <= boxes[place + 3])) return false;
    return scene.ground.outlines[scene.outline[row]].holds(x, y);
  }

  // Amount per square kilometer at a point, and its error: all areas that hold the point, added up.
  density(tally: Tally, point: Point): {value: number; error: number} {
    const {scene} = this;
    let value = 0,
      variance = 0;
    for (let row = 0; row < scene.ids.length; row++) {
      const km2 = scene.km2[row];
      if ((!tally.movements[row] && !tally.even[row]) || !(km2 > 0) || !this.holds(row, point.x, point.y)) continue;
      value += tally.even[row] / km2;
      if (tally.variance) variance += tally.variance[row] / km2 ** 2;
    }
    return {value, error: ERROR * Math.sqrt(variance)};
  }

  // Areas of a side that hold a point, the smallest first.
  holding(point: Point, side: number): number[] {
    const {scene} = this,
      found: number[] = [];
    for (let place = scene.order.length - 1; place >= 0; place--) {
      const row = scene.order[place];
      if (scene.side[row] === side && this.holds(row, point.x, point.y)) found.push(row);
    }
    return found;
  }

  // How much of the published amounts of a side is in a place (an area): about, at least, and at most.
  answer(tally: Tally, place: number, side: number): Answer {
    const {rows, share, inside} = this.shares(place, side);
    let about = 0,
      low = 0,
      high = 0,
      variance = 0,
      lowVariance = 0,
      highVariance = 0;
    rows.forEach((row, number) => {
      const amount = tally.amount[row],
        doubt = tally.variance ? tally.variance[row] : 0;
      about += tally.even[row] * share[number];
      variance += doubt * share[number] ** 2;
      high += amount;
      highVariance += doubt;
      if (inside[number]) {
        low += amount;
        lowVariance += doubt;
      }
    });
    if (this.noisy) {
      low = Math.max(0, low - ERROR * Math.sqrt(lowVariance));
      high = Math.max(0, high + ERROR * Math.sqrt(highVariance));
    }
    return {about, low, high, error: ERROR * Math.sqrt(variance)};
  }

  sharesByArea(place: number, side: number): Float64Array {
    const {rows, share} = this.shares(place, side),
      found = new Float64Array(this.scene.ids.length);
    rows.forEach((row, number) => (found[row] = share[number]));
    return found;
  }

  // Areas of a side that touch a place, and which share of each lies in it.
  private shares(place: number, side: number): Shares {
    const {scene} = this,
      number = scene.outline[place],
      key = number < 0 ? `area ${place}` : `${number} ${side}`;
    const known = this.shareCache.get(key);
    if (known) return known;
    const found: Shares = {rows: [], share: [], inside: []};
    if (number < 0) {
      found.rows.push(place);
      found.share.push(1);
      found.inside.push(true);
    } else this.overlaps(number, side, found);
    this.shareCache.set(key, found);
    return found;
  }

  private overlaps(number: number, side: number, found: Shares): void {
    const {scene} = this,
      outlines = scene.ground.outlines,
      outline = outlines[number],
      size = common(outline, outline),
      known = new Map<number, number>();
    scene.outline.forEach((other, row) => {
      if (scene.side[row] !== side) return;
      if (other < 0) {
        // The whole world, all zones, elsewhere, zones of which one has no outline: trips of these may be in any place.
        if (scene.tiles?.[row] === 1) return; // another zone
        found.rows.push(row);
        found.share.push(0);
        found.inside.push(false);
        return;
      }
      if (!outlines[other].meets(outline)) return;
      let share = known.get(other);
      if (share === undefined) {
        const own = common(outlines[other], outlines[other]),
          shared = other === number ? own : common(outline, outlines[other]);
        // A common border is no common ground.
        share = shared > (1 - SAME) * Math.min(size, own) ? Math.min(1, shared / own) : 0;
        known.set(other, share);
      }
      if (share <= 0) return;
      found.rows.push(row);
      found.share.push(share >= SAME ? 1 : share);
      found.inside.push(share >= SAME);
    });
  }
}
