/** All that the page knows, in one place. Whoever changes it tells everyone. */

import type {About, CountResult, FrontierResult, Picture, ReleaseResult, Settings, StoredFile, ZonesResult} from './types';

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

export interface Run {
  number: number;
  job: string;
  settings: Settings;
  command: string;
  result: ReleaseResult;
  picture: Picture;
  seconds: number;
}

export interface State {
  about: About;
  file: StoredFile | null;
  columns: string[];
  known: Record<string, string>;
  mapping: Record<string, string>;
  places: 'grid' | 'zones';
  grid: 'h3' | 'quadtree';
  resolution: number;
  hierarchy: 'h3' | 'h3-binary';
  squares: number;
  bbox: string;
  zones: (StoredFile & ZonesResult) | null;
  levels: string; // ward, or columns from fine to coarse
  time: string;
  timezone: string;
  by: string;
  unit: string;
  weight: string;
  k: number;
  kWeight: number | null;
  minTiles: number;
  method: string;
  budget: number;
  loss: string;
  elsewhere: boolean;
  report: boolean;
  options: Record<string, string>;
  count: CountResult | null;
  frontier: FrontierResult | null;
  trouble: Trouble | null;
  command: string;
  activity: Activity | null;
  runs: Run[];
  shown: number; // of a run
  other: number | null; // the run to compare it with
  comparing: boolean;
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

const PERSONS = ['person_id', 'user_id', 'uid', 'userid', 'user', 'person', 'device_id', 'participant_id', 'rider_id', 'vehicle_id', 'taxi_id'];

/** Guess the column of persons from its name. */
export function guessUnit(columns: string[]): string {
  const lower = new Map(columns.map((column) => [column.toLowerCase(), column]));
  const found = PERSONS.find((name) => lower.has(name));
  return (found && lower.get(found)) || '';
}

export function initialState(about: About): State {
  return {
    about,
    file: null,
    columns: [],
    known: {},
    mapping: {},
    places: 'grid',
    grid: 'h3',
    resolution: 9,
    hierarchy: 'h3',
    squares: 200,
    bbox: '',
    zones: null,
    levels: 'ward',
    time: '',
    timezone: '',
    by: '',
    unit: '',
    weight: '',
    k: 10,
    kWeight: null,
    minTiles: 1,
    method: 'mosaic',
    budget: 0.1,
    loss: 'tiles',
    elsewhere: false,
    report: true,
    options: {},
    count: null,
    frontier: null,
    trouble: null,
    command: '',
    activity: null,
    runs: [],
    shown: 0,
    other: null,
    comparing: false,
  };
}

export function methodOf(state: State, name = state.method) {
  return state.about.methods.find((method) => method.name === name);
}

const NEEDED = {grid: ['start_lon', 'start_lat', 'end_lon', 'end_lat'], zones: ['origin', 'destination']};

/** Say what is still to be chosen before anything can be counted. */
export function missing(state: State): string | null {
  if (NEEDED[state.places].some((name) => !(state.mapping[name] ?? state.known[name]))) {
    const what = state.places === 'zones' ? 'the zones' : 'longitude and latitude';
    return `Which columns hold ${what} where trips start and end? Choose them in step 1.`;
  }
  if (state.places === 'zones' && !state.zones) return 'These trips go between zones. Give a file that describes them in step 2.';
  if (state.places === 'grid' && state.grid === 'quadtree' && !state.bbox) {
    return 'Squares are laid out inside limits: west, south, east and north. Give them in step 2.';
  }
  return null;
}

/** Return what would be asked of the server; null while something is missing. */
export function settings(state: State): Settings | null {
  if (!state.file || missing(state)) return null;
  const method = methodOf(state);
  const shared = {
    trips: state.file.id,
    columns: state.mapping,
    unit: state.unit || null,
    weight: state.weight || null,
    time: state.time || null,
    timezone: (state.time && state.timezone) || null,
    by: state.by || null,
    method: state.method,
    k: state.k,
    k_weight: state.weight ? state.kWeight : null,
    min_tiles: state.minTiles,
    loss: method?.losses ? state.loss : 'tiles',
    max_suppression: method?.steers ? state.budget : null,
    elsewhere: state.elsewhere,
    report: state.report,
    options: state.options,
  };
  if (state.places === 'zones') {
    return {...shared, zones: state.zones?.id ?? null, hierarchy: state.levels || 'ward'};
  }
  if (state.grid === 'quadtree') {
    return {...shared, grid: `quadtree:${state.squares}`, bbox: state.bbox};
  }
  return {...shared, grid: `h3:${state.resolution}`, hierarchy: state.hierarchy, bbox: state.bbox || null};
}

/** Say in short what a run asked for. */
export function title(run: Run): string {
  const {method, k, max_suppression: budget} = run.settings;
  return `${method}, k = ${k}${budget === null || budget === undefined ? '' : `, ${Math.round(budget * 1000) / 10} %`}`;
}
