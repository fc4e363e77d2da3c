/** What the server tells: the same names as in src/flowveil/_app. */

export interface MethodOption {
  name: string;
  default: boolean | number | string;
  meaning: string;
}

export interface Method {
  name: string;
  family: string;
  summary: string;
  steers: boolean;
  frontier: boolean;
  losses: boolean;
  options: MethodOption[];
}

export interface About {
  version: string;
  upload_limit: number;
  endings: Record<'trips' | 'zones', string[]>;
  losses: string[];
  methods: Method[];
}

export interface StoredFile {
  id: string;
  name: string;
  bytes: number;
}

export interface Job<Result> {
  id: string;
  kind: string;
  state: 'waiting' | 'running' | 'done' | 'failed' | 'canceled';
  stage: string;
  seconds: number;
  result: Result | null;
  error: string | null;
  hint: string | null;
  command?: string;
}

export interface ColumnsResult {
  columns: string[];
  known: Record<string, string>;
}

export interface ZonesResult {
  zones: number;
  columns: string[];
  shapes: number;
}

export interface CountResult {
  rows: number;
  dropped: Record<string, number>;
  outside_bbox: number;
  notes: string[];
  trips: number;
  pairs: number;
  persons: number | null;
}

export interface FrontierPoint {
  lambda: number;
  gbar: number;
  suppressed: number;
  flows: number;
  origin_areas: number;
  destination_areas: number;
}

export interface FrontierResult {
  trips: number;
  points: FrontierPoint[];
}

export interface Metrics {
  gbar: number;
  e: number | null;
  suppressed: number;
  c_avg: number | null;
  gdm: {mean: number; median: number; sd: number} | null;
  mao: number | null;
  mad: number | null;
  flows: number;
  origin_areas: number;
  destination_areas: number;
  trips: number;
  min_trips: number | null;
  min_persons: number | null;
}

export interface ReleaseResult {
  metrics: Metrics;
  total: number;
  promise: string;
  absence: string;
  checks: string[];
  notes: string[];
}

export type Position = [number, number];

export interface Area {
  id: string;
  lon: number | null;
  lat: number | null;
  tiles: number | null;
  shape: Position[][][];
}

export interface Picture {
  areas: Area[];
  origin: number[];
  destination: number[];
  trips: number[];
  persons: number[] | null;
  division: number[] | null; // which step of time and group a flow is of
  divisions: string[];
  flows: number;
  extent: [number, number, number, number];
  land: Position[][];
}

/** Options of `flowveil anonymize`, with files by their ids. */
export interface Settings {
  trips: string;
  zones?: string | null;
  grid?: string | null;
  hierarchy?: string | null;
  bbox?: string | null;
  columns?: Record<string, string>;
  unit?: string | null;
  weight?: string | null;
  time?: string | null;
  timezone?: string | null;
  by?: string | null;
  method: string;
  k: number;
  k_weight?: number | null;
  min_tiles?: number;
  loss?: string;
  max_suppression?: number | null;
  elsewhere?: boolean;
  report?: boolean;
  options?: Record<string, string>;
}
