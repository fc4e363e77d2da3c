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
  presets: Record<string, number>;
  formats: Record<'flows' | 'trajectories', string[]>;
  methods: Method[];
  noise: Method[];
}

export interface StoredFile {
  id: string;
  name: string;
  bytes: number;
  bbox?: string; // of the demo: public limits
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
  python?: string;
}

export interface ColumnsResult {
  columns: string[];
  known: Record<string, string>;
  rows: string[][];
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
  unknown_zones: number;
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

export interface PathPoint {
  price: number;
  suppressed: number;
  extent: number; // meters
  duration: number; // minutes
  users: number;
  groups: number;
  samples: number;
}

export interface PathFrontierResult {
  samples: number;
  points: PathPoint[];
}

export interface PointsResult {
  points: {budget: number; metrics: Metrics}[];
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

/** Of crowds there are metrics, of noise a noisy total, of trajectories counts of paths. */
export interface ReleaseResult {
  metrics?: Metrics;
  total?: number;
  counts?: number;
  above_zero?: number;
  noisy_total?: number;
  error?: number | null; // 19 of 20 counts are off by no more
  paths?: Record<string, number>;
  promise: string;
  absence: string;
  checks: string[];
  notes: string[];
}

export interface Finding {
  question: string;
  verdict: string; // holds, tells or breaks
  figure: string;
  sentence: string;
  advice: string;
}

export interface RiskResult {
  worst: string;
  findings: Finding[];
}

export type Kind = 'anonymize' | 'noise' | 'paths';

/** Options of `flowveil anonymize`, with files by their ids. */
export interface Settings {
  trips: string;
  columns?: Record<string, string>;
  bbox?: string | null;
  report?: boolean;
  method?: string;
  k?: number;
  max_suppression?: number | null;
  epsilon?: number;
  [option: string]: unknown;
}
