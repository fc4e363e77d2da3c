/** All that the page knows, in one place. Whoever changes it tells everyone. */

import type {About, CountResult, FrontierResult, Kind, Metrics, PathFrontierResult, ReleaseResult, StoredFile, ZonesResult} from './types';
import type {Settings} from './types';

export interface Trouble {
  message: string;
  hint: string;
}

export interface Activity {
  job: string | null; // what can be canceled
  stage: string;
  share: number | null; // of an upload
  seconds: number;
  main: boolean; // asked for by the user, not in passing
}

/** A release with what it was asked for: `choices` bring the page back to it. */
export interface Run {
  number: number;
  job: string;
  kind: Kind;
  settings: Settings;
  choices: Choices;
  command: string;
  python: string;
  result: ReleaseResult;
  map: string; // a page
  seconds: number;
}

/** What a budget gives, drawn beforehand. */
export interface Point {
  budget: number;
  job: string;
  metrics: Metrics;
}

/** What the user chooses: it survives a reload. */
export interface Choices {
  rowsAre: 'trips' | 'samples';
  mapping: Record<string, string>; // of trips: meaning to column, where it is not as the library understands it
  samples: Record<string, string>; // of samples: meaning to column
  places: 'grid' | 'zones';
  grid: 'h3' | 'quadtree';
  resolution: number;
  hierarchy: '' | 'lattice' | 'h3' | 'h3-binary';
  squares: number;
  squareHierarchy: '' | 'lattice' | 'quadtree';
  crs: string;
  bbox: string;
  levels: string; // of zones: empty for the finest, many, ward, or columns from fine to coarse
  time: string;
  timeHierarchy: string;
  timezone: string;
  by: string[];
  unit: string;
  weight: string;
  promise: 'crowds' | 'noise';
  preset: string;
  k: number;
  kWeight: string;
  minTiles: number;
  method: string;
  budget: number;
  loss: string;
  elsewhere: boolean;
  totals: boolean;
  remainders: boolean;
  options: Record<string, string>;
  noiseMethod: string;
  epsilon: number;
  mostTrips: number;
  step: string; // of the grid of trajectories
  minSamples: number;
  pathMethod: 'glove' | 'complete' | 'gather'; // complete: groups of glove with complete support
  pathBudget: number; // largest share of samples left out
  variant: string;
  maxExtent: string;
  maxDuration: string;
  report: boolean;
  description: Record<string, string>; // what is published with the release: title, period and the like
}

export interface State extends Choices {
  about: About;
  page: number; // which step is shown
  file: StoredFile | null;
  columns: string[];
  known: Record<string, string>;
  rows: string[][];
  zones: (StoredFile & ZonesResult) | null;
  count: CountResult | null;
  frontier: FrontierResult | null;
  pathFrontier: PathFrontierResult | null;
  points: Point[];
  trouble: Trouble | null;
  command: string;
  python: string;
  activity: Activity | null;
  runs: Run[];
  shown: number; // of a run
  other: number | null; // the run to compare it with
  view: 'one' | 'before' | 'two' | 'risk';
}

type Listener = (state: State, changed: Set<keyof State>) => void;

export class Store {
  private readonly listeners: Listener[] = [];

  constructor(readonly state: State) {}

  on(listener: Listener): void {
    this.listeners.push(listener);
  }

  set(change: Partial<State>): void {
    Object.assign(this.state, change);
    const changed = new Set(Object.keys(change) as (keyof State)[]);
    for (const listener of this.listeners) listener(this.state, changed);
  }
}

const PERSONS = ['person_id', 'user_id', 'uid', 'userid', 'user', 'person', 'device_id', 'participant_id', 'rider_id', 'vehicle_id', 'taxi_id', 'bike_id', 'bikeid'];

// Names under which the library knows samples: src/flowveil/_trips/samples.py.
const SAMPLES: Record<string, string[]> = {
  user: ['user_id', 'uid', 'user', 'person_id', 'id'],
  lon: ['lon', 'lng', 'longitude', 'x'],
  lat: ['lat', 'latitude', 'y'],
  time: ['time', 'datetime', 'timestamp', 'start_time', 't'],
};

/** Guess the column of persons from its name. */
export function guessUnit(columns: string[]): string {
  const plain = new Map(columns.map((column) => [column.toLowerCase().replace(/[\W_]+/g, '_'), column]));
  const found = PERSONS.find((name) => plain.has(name));
  return (found && plain.get(found)) || '';
}

/** Return which columns the library takes for who, where and when. */
export function guessSamples(columns: string[]): Record<string, string> {
  const found: Record<string, string> = {};
  for (const [meaning, names] of Object.entries(SAMPLES)) {
    const column = names.find((name) => columns.includes(name));
    if (column) found[meaning] = column;
  }
  return found;
}

export const CHOICES: Choices = {
  rowsAre: 'trips',
  mapping: {},
  samples: {},
  places: 'grid',
  grid: 'h3',
  resolution: 9,
  hierarchy: '',
  squares: 200,
  squareHierarchy: '',
  crs: '',
  bbox: '',
  levels: '',
  time: '',
  timeHierarchy: '',
  timezone: '',
  by: [],
  unit: '',
  weight: '',
  promise: 'crowds',
  preset: '',
  k: 10,
  kWeight: '',
  minTiles: 1,
  method: 'mosaic',
  budget: 0.1,
  loss: 'tiles',
  elsewhere: false,
  totals: false,
  remainders: false,
  options: {},
  noiseMethod: 'noisy-mosaic',
  epsilon: 1,
  mostTrips: 4,
  step: '100m,1min',
  minSamples: 1,
  pathMethod: 'glove',
  pathBudget: 0.1,
  variant: 'strict',
  maxExtent: '',
  maxDuration: '',
  report: true,
  description: {},
};

export function initialState(about: About): State {
  return {
    ...CHOICES,
    about,
    page: 0,
    file: null,
    columns: [],
    known: {},
    rows: [],
    zones: null,
    count: null,
    frontier: null,
    pathFrontier: null,
    points: [],
    trouble: null,
    command: '',
    python: '',
    activity: null,
    runs: [],
    shown: 0,
    other: null,
    view: 'one',
  };
}

export function choicesOf(state: State): Choices {
  return Object.fromEntries(Object.keys(CHOICES).map((name) => [name, state[name as keyof Choices]])) as unknown as Choices;
}

export function methodOf(state: State, name = state.method) {
  return state.about.methods.find((method) => method.name === name);
}

export function kindOf(state: State): Kind {
  return state.rowsAre === 'samples' ? 'paths' : state.promise === 'noise' ? 'noise' : 'anonymize';
}

/** Return the column of a meaning, as chosen or as understood. */
export function columnOf(state: State, meaning: string): string {
  return state.mapping[meaning] ?? state.known[meaning] ?? '';
}

const NEEDED = {grid: ['start_lon', 'start_lat', 'end_lon', 'end_lat'], zones: ['origin', 'destination']};

/** Say what is still to be chosen, and in which step; null if nothing is. */
export function missing(state: State): {step: number; text: string} | null {
  if (state.rowsAre === 'samples') {
    if (Object.keys(SAMPLES).some((name) => !state.samples[name])) {
      return {step: 0, text: 'Which columns say who was where and when? Tag them in the table: person, longitude, latitude and time.'};
    }
    if (!state.bbox) return {step: 1, text: 'Give limits around the paths: west, south, east and north. They are published, so take those of the city, not of the data.'};
    return null;
  }
  if (NEEDED[state.places].some((name) => !columnOf(state, name))) {
    const what = state.places === 'zones' ? 'the zones' : 'longitude and latitude';
    return {step: 0, text: `Which columns hold ${what} where trips start and end? Tag them in the table.`};
  }
  if (state.places === 'zones' && !state.zones) return {step: 1, text: 'These trips go between zones. Give a file that describes them.'};
  if (state.places === 'grid' && state.grid === 'quadtree' && !state.bbox) {
    return {step: 1, text: 'Squares are laid out inside limits: west, south, east and north. Give them.'};
  }
  if ((state.time || state.timeHierarchy) && !columnOf(state, 'start_time')) {
    return {step: 0, text: 'Which column says when trips start? Tag it in the table, or do not cut time.'};
  }
  if (state.promise === 'noise' && state.places === 'grid' && !state.bbox) {
    return {step: 1, text: 'Noise needs limits: west, south, east and north. They are published, so take those of the city, not of the data.'};
  }
  return null;
}

/** Return what would be asked of the server; null while something is missing. */
export function settings(state: State): Settings | null {
  if (!state.file || missing(state)) return null;
  const shared = {trips: state.file.id, report: state.report, ...described(state)};
  if (state.rowsAre === 'samples') return {...shared, ...pathSettings(state)};
  const places = placeSettings(state);
  if (state.promise === 'noise') {
    const {crs: _, ...tiles} = places;
    const limit = state.unit ? {unit: state.unit, max_trips_per_person: state.mostTrips} : {};
    const method = state.places === 'zones' ? 'laplace' : state.noiseMethod;
    // A tree is all that noise can use: the finest hierarchies are none.
    const hierarchy = state.places === 'zones' ? (state.levels === 'many' ? null : state.levels || null) : state.hierarchy === 'lattice' ? null : state.hierarchy || null;
    return {...shared, ...tiles, hierarchy, columns: state.mapping, ...limit, method, epsilon: state.epsilon};
  }
  return {...shared, ...places, ...crowdSettings(state)};
}

/** Return what is said about the release; a label of the unit needs a unit. */
function described(state: State): Record<string, string> {
  const {unit_label: label, ...others} = state.description;
  return label && (state.rowsAre === 'samples' || state.unit) ? {...others, unit_label: label} : others;
}

function placeSettings(state: State) {
  if (state.places === 'zones') return {zones: state.zones?.id ?? null, hierarchy: state.levels || null};
  if (state.grid === 'quadtree') {
    return {grid: `quadtree:${state.squares}`, hierarchy: state.squareHierarchy || null, bbox: state.bbox, crs: state.crs || null};
  }
  return {grid: `h3:${state.resolution}`, hierarchy: state.hierarchy || null, bbox: state.bbox || null};
}

function crowdSettings(state: State) {
  const method = methodOf(state);
  return {
    columns: state.mapping,
    unit: state.unit || null,
    weight: state.weight || null,
    time: state.time || null,
    time_hierarchy: state.time ? null : state.timeHierarchy || null,
    timezone: ((state.time || state.timeHierarchy) && state.timezone) || null,
    by: state.by.join(',') || null,
    method: state.method,
    preset: (state.unit && state.preset) || null,
    k: state.k,
    k_weight: state.weight && state.kWeight ? (state.kWeight === 'auto' ? 'auto' : Number(state.kWeight)) : null,
    min_tiles: state.minTiles,
    loss: method?.losses ? state.loss : 'tiles',
    max_suppression: method?.steers ? state.budget : null,
    elsewhere: state.elsewhere,
    totals: state.totals && state.by.length > 0,
    remainders: state.remainders,
    options: state.options,
  };
}

function pathSettings(state: State) {
  const known = guessSamples(state.columns);
  const columns = Object.fromEntries(Object.entries(state.samples).filter(([name, column]) => known[name] !== column));
  return {
    columns,
    bbox: state.bbox,
    step: state.step,
    min_samples: state.minSamples,
    k: Math.max(2, state.k),
    method: state.pathMethod === 'gather' ? 'gather' : 'glove',
    complete_support: state.pathMethod === 'complete',
    max_suppression: state.pathMethod === 'glove' ? null : state.pathBudget,
    variant: state.variant,
    max_extent: state.maxExtent || null,
    max_duration: state.maxDuration || null,
  };
}

/** Whether a release belongs to other settings than those of now. */
export function isStale(state: State, run: Run): boolean {
  return JSON.stringify([run.kind, run.settings]) !== JSON.stringify([kindOf(state), settings(state)]);
}

/** Say in short what a run asked for. */
export function title(run: Run): string {
  const {method, k, max_suppression: budget, epsilon} = run.settings;
  if (run.kind === 'noise') return `noise, epsilon = ${epsilon}`;
  if (run.kind === 'paths') return `paths of ${k} persons`;
  return `${method}, k = ${k}${budget === null || budget === undefined ? '' : `, ${Math.round(budget * 1000) / 10} %`}`;
}
