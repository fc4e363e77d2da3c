// What a page holds of a release, unpacked: areas, movements, matrices, and what movements that are not listed add up to.

import {type Box, Outline, type Point, latitude, north} from './geometry';
import {type Packed, unpack, unpackOutlines, unpackSteps} from './unpack';

export interface KeyJson {
  name: string;
  values: string[];
  total: number;
  time: boolean;
  hours: (number | null)[] | null;
  spans?: [string, string]; // where times differ in length: first step of each, and the first after it
}

interface OthersJson {
  matrix: string;
  area: string;
  amount: string;
  movements: string;
  deviation?: string;
}

export interface SceneJson {
  sides: string[];
  view: number[];
  step: number;
  land: Packed;
  context: {style: string; areas: Packed; lines: Packed}[]; // what the publisher shows beside the release
  outlines: Packed;
  outline: string;
  km2: (number | null)[];
  areas: {
    id: string[] | null; // null: boxes are named by their corners
    label: string[] | null;
    side: string;
    lon?: string;
    lat?: string;
    placeless: number[];
    tiles: string | null;
  };
  movements: number;
  origin: string;
  destination: string;
  matrix: string;
  amounts: Record<string, string>;
  keys: KeyJson[];
  matrices: {positions: string[]; amounts: number[]; movements: number[]; deviation?: number[]};
  remainder: string | null;
  spread: {of: string; matrix: string; origin: string; destination: string; amount: string} | null;
  deviation: string | null;
  others: OthersJson[] | null;
  samples?: {
    group: string;
    groups: number;
    start: string;
    length: string;
    begin: number; // of the time bar: seconds since 1970
    step: number;
    labels: string[];
    hours: number[];
    amounts: number[];
  };
}

export interface Others {
  matrix: Float64Array;
  area: Float64Array;
  amount: Float64Array;
  movements: Float64Array;
  deviation: Float64Array | null;
}

export interface Samples {
  group: Float64Array;
  groups: number; // in the release; the page may list fewer
  first: Float64Array; // in steps of the time bar
  last: Float64Array;
}

// What is added to movements, and taken from them, when all are spread over the whole of their areas.
export interface Spread {
  of: Float64Array; // a listed movement, or -1
  matrix: Float64Array;
  origin: Float64Array;
  destination: Float64Array;
  amount: Float64Array;
}

const HUNDREDTHS = 100;
const SPREAD_PARTS = 10000;
const METERS = 1e-5; // degrees

export class Ground {
  readonly middle: Point;
  readonly outlines: Outline[];
  readonly land: Outline;
  readonly context: {style: string; areas: Outline; lines: Outline}[];

  constructor(readonly json: Pick<SceneJson, 'view' | 'step' | 'land' | 'context' | 'outlines'>) {
    const [west, south, east, top] = json.view;
    this.middle = {x: (west + east) / 2, y: (north(south) + north(top)) / 2};
    this.outlines = unpackOutlines(json.outlines).map((rings) => new Outline(rings, json.step, this.middle));
    this.land = new Outline(unpackOutlines(json.land)[0] ?? [], json.step, this.middle);
    this.context = json.context.map(({style, areas, lines}) => ({
      style,
      areas: new Outline(unpackOutlines(areas)[0] ?? [], json.step, this.middle),
      lines: new Outline(unpackOutlines(lines)[0] ?? [], json.step, this.middle, false),
    }));
  }

  // West, south, east and north of a box on the map.
  degrees([west, south, east, top]: Box): Box {
    const {x, y} = this.middle;
    return [west + x, latitude(south + y), east + x, latitude(top + y)];
  }
}

export class Scene {
  readonly ground: Ground;
  readonly ids: string[];
  readonly labels: string[];
  readonly side: Float64Array;
  readonly lon: Float64Array;
  readonly lat: Float64Array;
  readonly centers: (Point | null)[];
  readonly tiles: Float64Array | null;
  readonly outline: Float64Array;
  readonly km2: Float64Array; // NaN where an area has no outline
  readonly origin: Float64Array;
  readonly destination: Float64Array;
  readonly matrix: Float64Array;
  readonly amounts: [string, Float64Array][];
  readonly volume: Float64Array;
  readonly deviation: Float64Array | null;
  readonly remainder: Float64Array | null;
  readonly spread: Spread | null;
  readonly positions: Float64Array[]; // by key: the value of each matrix
  readonly spans: ([Float64Array, Float64Array] | null)[]; // by key
  readonly others: Others[] | null;
  readonly samples: Samples | null;
  readonly keys: KeyJson[];
  readonly oneSided: boolean;
  readonly shaped: boolean;
  readonly order: number[]; // areas, the largest first
  readonly rows: number[][]; // by matrix: its listed movements

  constructor(readonly json: SceneJson) {
    const {areas} = json;
    this.ground = new Ground(json);
    const boxes = areas.id ? [] : this.ground.outlines.map((outline) => this.ground.degrees(outline.box));
    this.ids = areas.id ?? boxes.map(boxName);
    this.labels = areas.label ?? this.ids;
    this.side = unpackSteps(areas.side);
    this.lon = areas.lon ? unpackSteps(areas.lon).map((value) => value * METERS) : Float64Array.from(boxes, (box) => (box[0] + box[2]) / 2);
    this.lat = areas.lat ? unpackSteps(areas.lat).map((value) => value * METERS) : Float64Array.from(boxes, (box) => (box[1] + box[3]) / 2);
    const placeless = new Set(areas.placeless);
    this.centers = this.ids.map((_, row) =>
      placeless.has(row) ? null : {x: this.lon[row] - this.ground.middle.x, y: north(this.lat[row]) - this.ground.middle.y},
    );
    this.tiles = areas.tiles === null ? null : unpack(areas.tiles);
    this.outline = unpackSteps(json.outline);
    this.km2 = this.outline.map((number) => (number < 0 ? NaN : (json.km2[number] ?? NaN)));
    this.origin = unpackSteps(json.origin);
    this.destination = unpack(json.destination);
    this.matrix = unpackSteps(json.matrix);
    this.amounts = Object.entries(json.amounts).map(([name, text]) => [name, unpack(text)]);
    this.volume = this.amounts[0][1];
    this.deviation = json.deviation === null ? null : unpack(json.deviation).map((value) => value / HUNDREDTHS);
    this.remainder = json.remainder === null ? null : unpack(json.remainder);
    this.spread = json.spread ? readSpread(json.spread) : null;
    this.keys = json.samples ? [timeOf(json.samples)] : json.keys;
    this.positions = json.matrices.positions.map(unpack);
    this.spans = this.keys.map(({spans}) => spans ? [unpack(spans[0]), unpack(spans[1])] : null);
    this.others = json.others && json.others.map(readOthers);
    this.samples = json.samples ? readSamples(json.samples) : null;
    this.oneSided = json.sides.length < 2;
    this.shaped = this.outline.some((number) => number >= 0);
    this.order = this.ids.map((_, row) => row).sort((a, b) => (this.km2[b] || 0) - (this.km2[a] || 0) || a - b);
    this.rows = json.matrices.amounts.map(() => []);
    this.matrix.forEach((number, row) => this.rows[number].push(row));
  }
}

function readOthers(json: OthersJson): Others {
  return {
    matrix: unpackSteps(json.matrix),
    area: unpackSteps(json.area),
    amount: unpack(json.amount),
    movements: unpack(json.movements),
    deviation: json.deviation === undefined ? null : unpack(json.deviation).map((value) => value / HUNDREDTHS),
  };
}

function readSpread({of, matrix, origin, destination, amount}: NonNullable<SceneJson['spread']>): Spread {
  return {
    of: unpackSteps(of),
    matrix: unpackSteps(matrix),
    origin: unpackSteps(origin),
    destination: unpack(destination),
    amount: unpack(amount).map((value) => value / SPREAD_PARTS),
  };
}

function readSamples(json: NonNullable<SceneJson['samples']>): Samples {
  const first = unpack(json.start).map((value) => value / json.step),
    length = unpack(json.length);
  return {
    group: unpackSteps(json.group),
    groups: json.groups,
    first,
    last: first.map((value, row) => value + length[row] / json.step),
  };
}

// Trajectories are divided by time as well, but a sample may be in several steps.
function timeOf(json: NonNullable<SceneJson['samples']>): KeyJson {
  return {name: 'time', values: json.labels, total: -1, time: true, hours: json.hours};
}

function boxName([west, south, east, top]: Box): string {
  return `${west.toFixed(4)},${south.toFixed(4)} to ${east.toFixed(4)},${top.toFixed(4)}`;
}
