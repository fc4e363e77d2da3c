// What a reader chooses, and what follows from it for the map and all that stands around it.

import {FlowMap, type Line} from './flowmap';
import type {Point} from './geometry';
import {ALL, type Choice, Model, type Tally} from './model';
import {type Pair, pairs} from './pairs';
import {Ranges} from './ranges';
import {Scale, type Shades} from './scale';
import type {Scene} from './scene';

export type Layer = 'density' | 'flows' | 'areas';
export const LINES = [0, 25, 50, 100, 250, 1000];
export const LINES_AT_FIRST = 100;
const LARGEST = 24; // pixels: radius of the largest bubble
const WIDEST = 7;

export interface State {
  layer: Layer;
  side: number;
  choice: Choice;
  lines: number;
  place: number | null; // an area
  pair: Pair | null; // a line
  group: number | null; // of trajectories
  compare: string; // what is shown side by side; '' for nothing
}

// What colors, sizes of bubbles and widths of lines mean.
export interface Scales {
  low: number;
  high: number;
  most: number;
  strongest: number;
}

export interface Words {
  movements: string;
  amount: string;
  counted: string;
  title: string;
  persons?: string; // what the crowds of flows are made of
}

export interface View {
  update(explorer: Explorer): void;
}

export class Explorer {
  readonly model: Model;
  readonly ranges: Ranges;
  readonly state: State;
  readonly views: View[] = [];
  shades!: Shades;
  tally!: Tally; // of the side that is shown
  onward: Tally | null = null; // where what leaves the chosen place arrives
  readonly own: Scales = {low: 1, high: 1, most: 1, strongest: 1}; // of what is shown
  common: Scales | null = null; // of this map and one beside it
  pairs: Pair[] = []; // of the choice, of the chosen place if there is one
  private readonly strengths = new Map<string, number>();

  constructor(
    readonly map: FlowMap,
    readonly scene: Scene,
    readonly words: Words,
  ) {
    this.model = new Model(scene);
    this.ranges = new Ranges(this.model);
    const layer = scene.shaped ? 'density' : 'flows';
    this.state = {layer, side: 0, choice: this.model.all(), lines: LINES_AT_FIRST, place: null, pair: null, group: null, compare: ''};
    map.noisy = this.model.noisy;
  }

  // The side whose amounts are colored: the other one once a place is chosen.
  get shownSide(): number {
    return this.state.place !== null && !this.scene.oneSided ? 1 - this.state.side : this.state.side;
  }

  get scales(): Scales {
    return this.common ?? this.own;
  }

  // Of colors.
  get range(): Scale {
    return new Scale(this.scales.low, this.scales.high);
  }

  get shown(): Tally {
    return this.onward ?? this.tally;
  }

  change(change: Partial<State>): void {
    Object.assign(this.state, change);
    this.refresh();
  }

  choose(key: number, value: number): void {
    const choice = [...this.state.choice];
    choice[key] = value;
    this.change({choice, pair: null});
  }

  select(place: number | null): void {
    const side = place === null || this.scene.oneSided ? this.state.side : this.scene.side[place];
    this.change({place, side, pair: null});
  }

  refresh(): void {
    const {scene, model, ranges, state, map} = this,
      {choice, side, place} = state;
    this.tally = model.tally(choice, side);
    this.onward = place !== null && !scene.oneSided ? model.tallyFrom(choice, side, place) : null;
    const from = this.onward ? place : null;
    this.pairs = scene.samples ? [] : pairs(this, place);
    map.weights = [];
    map.fills = [];
    map.bubbles = [];
    map.lines = [];
    map.path = [];
    map.shades = this.shades;
    if (state.layer === 'density') {
      this.measure(ranges.densityScale(choice, side, from));
      map.range = this.range;
      map.weights = model.weights(this.shown);
    } else if (state.layer === 'areas') this.fill();
    else this.connect();
    map.marked = place !== null && scene.outline[place] >= 0 ? [scene.outline[place]] : [];
    this.follow();
    map.changed();
    for (const view of this.views) view.update(this);
  }

  private measure({low, high}: Scale): void {
    Object.assign(this.own, {low, high});
  }

  // Published areas, each by itself, the smallest on top.
  private fill(): void {
    const {scene, map} = this,
      {amount, movements} = this.shown;
    const rows = scene.order.filter((row) => scene.side[row] === this.shownSide && scene.outline[row] >= 0 && movements[row]);
    this.measure(
      this.onward
        ? Scale.of(rows.map((row) => amount[row]))
        : Scale.of(this.ranges.alike(this.state.choice).flatMap((one) => [...this.model.tally(one, this.state.side).amount])),
    );
    const {range} = this;
    map.fills = rows.map((row) => [scene.outline[row], this.shades.css(range.share(amount[row]))]);
  }

  // Bubbles and lines.
  private connect(): void {
    const {scene, map, ranges, state} = this,
      {amount, movements} = this.shown;
    this.own.most = this.onward ? amount.reduce((a, b) => Math.max(a, b), 1) : ranges.most(state.choice, state.side);
    this.own.strongest = this.strength();
    const {most, strongest} = this.scales;
    map.bubbles = scene.order
      .filter((row) => scene.side[row] === this.shownSide && movements[row] && scene.centers[row] && amount[row] > 0)
      .map((row) => ({row, center: scene.centers[row]!, radius: LARGEST * Math.sqrt(amount[row] / most)}))
      .sort((a, b) => b.radius - a.radius);
    const usable = this.pairs.filter(
      ({origin, destination, volume}) => destination >= 0 && volume > 0 && scene.centers[origin] && scene.centers[destination],
    );
    map.lines = usable
      .slice(0, state.lines)
      .reverse()
      .map((pair): Line => {
        const strength = Math.min(1, pair.volume / strongest);
        const [from, to] = [scene.centers[pair.origin]!, scene.centers[pair.destination]!];
        return {row: this.pairs.indexOf(pair), from, to, width: 0.8 + WIDEST * strength, strength: Math.sqrt(strength)};
      });
  }

  // The volume of the strongest line, over all choices of this kind, so that widths can be compared.
  private strength(): number {
    const key = this.state.choice.map((value) => value === ALL).join();
    let found = this.strengths.get(key);
    if (found === undefined) {
      found = Math.max(1, ...this.ranges.alike(this.state.choice).map((one) => pairs(this, null, one)[0]?.volume ?? 0));
      this.strengths.set(key, found);
    }
    return found;
  }

  // The way of a group of trajectories, and where it is in the chosen step of time.
  private follow(): void {
    const {scene, state, map, model} = this;
    if (state.group === null || !scene.samples) return;
    const rows = this.samplesOf(state.group);
    const until = state.choice[0] === ALL ? Infinity : state.choice[0] + 1; // the path grows with time
    map.path = rows.filter((row) => scene.samples!.first[row] < until).map((row) => scene.centers[scene.origin[row]]!);
    map.marked = rows
      .filter((row) => state.choice[0] === ALL || model.part(row, state.choice) > 0)
      .map((row) => scene.outline[scene.origin[row]]);
  }

  samplesOf(group: number): number[] {
    const {samples} = this.scene,
      rows: number[] = [];
    samples!.group.forEach((one, row) => one === group && rows.push(row));
    return rows.sort((a, b) => samples!.first[a] - samples!.first[b]);
  }

  // What a point of the screen is about: a line, or the smallest area there.
  at(x: number, y: number): {pair: Pair | null; area: number | null; point: Point} {
    const {map, model, state} = this,
      point = map.toLocal(x, y);
    if (state.layer === 'flows') {
      const bubble = map.bubbleAt(x, y);
      const line = bubble ? null : map.lineAt(x, y);
      if (line) return {pair: this.pairs[line.row], area: null, point};
      if (bubble) return {pair: null, area: bubble.row, point};
    }
    return {pair: null, area: model.holding(point, this.shownSide).find((row) => this.shown.movements[row]) ?? null, point};
  }

  click(x: number, y: number): void {
    const {state, model} = this,
      found = this.at(x, y);
    if (found.pair) this.change({pair: found.pair});
    else if (state.layer === 'flows' && found.area !== null && this.scene.outline[found.area] < 0) this.select(found.area);
    else this.change({place: this.placeAt(found.point, model), pair: null});
  }

  private placeAt(point: Point, model: Model): number | null {
    return model.holding(point, this.state.side).find((row) => this.tally.movements[row]) ?? null;
  }
}
