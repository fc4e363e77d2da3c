/** What happens in the background: counting, following frontiers, making releases; one thing at a time. */

import {askNoMore, call, download, fetchPage, follow, ServerError, upload} from './api';
import {bytes} from './format';
import {forgetAll, keepSoon, readKept} from './keep';
import type {Run, Store, Trouble} from './state';
import {CHOICES, choicesOf, guessSamples, guessUnit, kindOf, settings} from './state';
import type {ColumnsResult, CountResult, FrontierResult, Job, Kind, PathFrontierResult, PointsResult, ReleaseResult, RiskResult, Settings, StoredFile, ZonesResult} from './types';

const MOST_RUNS = 8; // kept in this page; the server keeps a few more
const PAUSE_MS = 250; // after the last change of a setting
export const TRADE_OFF = 3; // the step that shows what budgets give
export const RESULT = 4;
export const BUDGETS = [0, 0.02, 0.05, 0.1, 0.2]; // drawn beforehand
const COORDINATES = ['start_lon', 'start_lat', 'end_lon', 'end_lat'];

export class Work {
  private readonly store: Store;
  private timer = 0;
  private busy = false;
  private wanted = false; // a release, as soon as what is being done is done
  private stopped = false; // by the user: what was not counted is not started again until a setting changes
  private countedKey = '';
  private frontierKey = '';
  private pointsKey = '';
  private pathKey = '';
  private drawn = 0; // how many budgets were drawn, or could not be kept

  constructor(store: Store) {
    this.store = store;
  }

  /** Count again and follow the frontier again where settings changed, soon. */
  refresh(): void {
    clearTimeout(this.timer);
    this.timer = window.setTimeout(() => void this.catchUp(), PAUSE_MS);
  }

  async takeFile(file: File): Promise<void> {
    await this.guarded(async () => {
      this.checkSize(file);
      this.tell('sending the file', 0);
      await this.openFile(await upload(file, 'trips', (share) => this.tell('sending the file', share)));
    });
  }

  async takeDemo(): Promise<void> {
    await this.guarded(async () => {
      this.tell('making a synthetic city');
      await this.openFile(await call<StoredFile>('POST', '/api/demo'));
    });
  }

  async takeZones(file: File): Promise<void> {
    await this.guarded(async () => {
      this.checkSize(file);
      this.tell('sending the zones', 0);
      const stored = await upload(file, 'zones', (share) => this.tell('sending the zones', share));
      const job = await follow<ZonesResult>(`/api/zones/${stored.id}`, undefined, (now) => this.watch(now, true));
      const before = this.store.state.zones;
      if (job) this.store.set({zones: {...stored, ...job.result}, levels: ''});
      if (before && !this.store.state.runs.length) await call('DELETE', `/api/files/${before.id}`);
    });
  }

  /** Bring back what a reload of the page interrupted. */
  async restore(): Promise<void> {
    const kept = await readKept();
    if (!kept?.file) return;
    const {file} = kept;
    await this.guarded(async () => {
      const job = await follow<ColumnsResult>(`/api/columns/${file.id}`, undefined, (now) => this.watch(now, true));
      if (!job) return;
      const runs: Run[] = [];
      for (const run of kept.runs) {
        const map = await fetchPage(`/api/maps/${run.job}/map`).catch(() => null);
        if (map) runs.push({...run, map});
      }
      const shown = Math.max(0, Math.min(kept.shown, runs.length - 1));
      const page = kept.page === RESULT && !runs.length ? TRADE_OFF : kept.page;
      this.store.set({...kept.choices, ...job.result, file, zones: kept.zones, runs, shown, page});
    });
  }

  /** Remove all files and releases and begin anew. */
  async startOver(): Promise<void> {
    this.wanted = false;
    askNoMore();
    await forgetAll();
    location.reload();
  }

  /** Make a release with the settings of now, or with another method. */
  async anonymize(method?: string): Promise<void> {
    const now = settings(this.store.state);
    if (!now) return;
    const kind = kindOf(this.store.state);
    const wanted = method ? this.with(now, method) : now;
    const choices = choicesOf(this.store.state);
    this.wanted = true;
    const {activity} = this.store.state;
    this.store.set({activity: {job: null, share: null, seconds: 0, stage: 'waiting', ...activity, main: true}});
    await this.guarded(async () => {
      if (!this.wanted) return;
      this.wanted = false;
      const job = await follow<ReleaseResult>(`/api/${kind}`, wanted, (current) => this.watch(current, true));
      if (!job) return;
      const map = await fetchPage(`/api/maps/${job.id}/map`);
      this.add({kind, job: job.id, settings: wanted, choices, command: job.command ?? '', python: job.python ?? '', result: job.result, map, seconds: job.seconds});
    });
  }

  private with(now: Settings, method: string): Settings {
    const steers = this.store.state.about.methods.find((one) => one.name === method)?.steers;
    return {...now, method, options: {}, loss: 'tiles', remainders: false, max_suppression: steers ? this.store.state.budget : null};
  }

  private add(made: Omit<Run, 'number'>): void {
    const {runs, shown, view} = this.store.state;
    const run = {number: (runs.at(-1)?.number ?? 0) + 1, ...made};
    const before = runs[shown];
    const kept = [...runs, run].slice(-MOST_RUNS);
    const first = before ? kept.indexOf(before) : -1;
    const last = kept.length - 1;
    this.store.set(
      view === 'two' && first >= 0
        ? {runs: kept, shown: first, other: last, page: RESULT}
        : {runs: kept, shown: last, other: first >= 0 ? first : null, view: 'one', page: RESULT},
    );
  }

  /** Let the server make something of a release, then fetch it. */
  async make(job: string, source: (made: Job<unknown>) => string, name: string): Promise<void> {
    await this.guarded(async () => {
      const made = await follow<unknown>(job, undefined, (now) => this.watch(now, true));
      if (made) await download(source(made), name);
    });
  }

  /** Make the private report of a release, with the trips as they are, and return it; null if that fails. */
  async before(run: Run): Promise<string | null> {
    let page: string | null = null;
    await this.guarded(async () => {
      const path = `/api/releases/${run.job}/private-report`;
      if (await follow<unknown>(path, undefined, (now) => this.watch(now, false))) page = await fetchPage(path);
    });
    return page;
  }

  /** Let known attacks try a release, and return what they found; null if that fails. */
  async attack(run: Run): Promise<RiskResult | null> {
    let found: RiskResult | null = null;
    await this.guarded(async () => {
      const made = await follow<RiskResult>(`/api/releases/${run.job}/risk`, undefined, (now) => this.watch(now, false));
      found = made ? made.result : null;
    });
    return found;
  }

  /** Follow the frontier of paths: it takes as long as some releases, so that it is asked for. */
  async followPaths(): Promise<void> {
    const now = settings(this.store.state);
    if (!now) return;
    await this.guarded(async () => {
      const found = await follow<PathFrontierResult>('/api/frontier/paths', now, (job) => this.watch(job, false));
      this.pathKey = pathKeyOf(now);
      this.store.set({pathFrontier: found?.result ?? null});
    });
  }

  async cancel(): Promise<void> {
    const job = this.store.state.activity?.job;
    this.wanted = false;
    this.stopped = Boolean(job);
    if (job) await call('DELETE', `/api/jobs/${job}`).catch(() => undefined);
  }

  /** End what is being done when the page goes: nobody would wait for it. Files and releases stay for a reload. */
  leave(): void {
    const job = this.store.state.activity?.job;
    if (job) void call('DELETE', `/api/jobs/${job}`).catch(() => undefined);
  }

  private async openFile(stored: StoredFile): Promise<void> {
    const before = this.store.state.file;
    const job = await follow<ColumnsResult>(`/api/columns/${stored.id}`, undefined, (now) => this.watch(now, true));
    if (before) await call('DELETE', `/api/files/${before.id}`).catch(() => undefined);
    if (!job) return;
    const {columns, known, rows} = job.result;
    const coordinates = COORDINATES.every((name) => name in known);
    const zones = 'origin' in known && 'destination' in known;
    const samples = guessSamples(columns);
    const areSamples = !coordinates && !zones && Object.keys(samples).length === 4;
    this.countedKey = this.frontierKey = this.pointsKey = '';
    this.store.set({
      ...CHOICES,
      file: stored,
      columns,
      known,
      rows,
      rowsAre: areSamples ? 'samples' : 'trips',
      samples,
      unit: guessUnit(columns),
      bbox: stored.bbox ?? '',
      // Zones only where the names say so: other columns may be coordinates under names that nobody knows.
      places: !coordinates && zones ? 'zones' : 'grid',
      page: 0,
      count: null,
      frontier: null,
      pathFrontier: null,
      points: [],
      runs: [],
      shown: 0,
      other: null,
      view: 'one',
    });
  }

  private checkSize(file: File): void {
    const most = this.store.state.about.upload_limit;
    if (file.size > most) {
      throw new ServerError(`${file.name} has ${bytes(file.size)}, more than ${bytes(most)}`, 'start it again as flowveil serve --upload-limit 10GB, or use the command line');
    }
  }

  /** Do what settings ask for until nothing changes any more. */
  private async catchUp(): Promise<void> {
    if (this.busy) return this.refresh();
    keepSoon(this.store);
    const {state} = this.store;
    const now = settings(state);
    if (!now) {
      this.countedKey = this.frontierKey = this.pointsKey = '';
      return this.store.set({count: null, frontier: null, points: [], command: '', python: ''});
    }
    void this.showCommand(kindOf(state));
    const stopped = this.stopped;
    this.stopped = false;
    if (state.pathFrontier && this.pathKey !== pathKeyOf(now)) this.store.set({pathFrontier: null});
    if (kindOf(state) !== 'anonymize') return;
    const {method, preset, k, k_weight, min_tiles, loss, options, max_suppression: _, report: __, elsewhere, totals, remainders, ...others} = now;
    const places = Object.fromEntries(Object.entries(others).filter(([name]) => !(name in state.description)));
    const placesKey = JSON.stringify(places);
    const frontierKey = JSON.stringify([places, method, preset, k, k_weight, min_tiles, loss, options]);
    const allowed = inOrder(state.budget).length; // more of them are drawn when the slider goes up
    const pointsKey = JSON.stringify([frontierKey, elsewhere, totals, remainders]);
    const newPlaces = placesKey !== this.countedKey;
    const newFrontier = frontierKey !== this.frontierKey;
    const sameDemand = pointsKey === this.pointsKey;
    const newPoints = (!sameDemand || allowed > this.drawn) && state.page === TRADE_OFF;
    if (!newPlaces && !newFrontier && !newPoints) return;
    this.countedKey = placesKey;
    this.frontierKey = frontierKey;
    if (newFrontier) this.pointsKey = '';
    if (newPoints) this.pointsKey = pointsKey;
    if (newPoints) this.drawn = sameDemand ? Math.max(this.drawn, allowed) : allowed;
    if (newPoints && !sameDemand) this.store.set({points: []});
    if (stopped) return this.store.set(newPlaces ? {count: null, frontier: null, points: []} : {frontier: null, points: []});
    await this.guarded(async () => {
      if (newPlaces) await this.count(now);
      if (newFrontier && this.store.state.count) await this.follow(now);
      if (newPoints && this.store.state.count) await this.draw(now);
    });
  }

  private async count(now: Settings): Promise<void> {
    this.store.set({count: null, frontier: null, points: []});
    const counted = await follow<CountResult>('/api/count', now, (job) => this.watch(job, false));
    this.store.set({count: counted?.result ?? null});
  }

  private async follow(now: Settings): Promise<void> {
    const able = this.store.state.about.methods.find((one) => one.name === now.method)?.frontier;
    this.store.set({points: []});
    const found = able ? await follow<FrontierResult>('/api/frontier', now, (job) => this.watch(job, false)) : null;
    this.store.set({frontier: found?.result ?? null});
  }

  /** Draw what each budget gives, one job each, so that a release that is asked for need not wait for all. */
  private async draw(now: Settings): Promise<void> {
    const steers = this.store.state.about.methods.find((one) => one.name === now.method)?.steers;
    for (const budget of steers ? inOrder(this.store.state.budget) : []) {
      if (this.store.state.points.some((point) => point.budget === budget)) continue;
      const job = this.wanted ? null : await follow<PointsResult>('/api/points', {...now, budgets: [budget]}, (one) => this.watch(one, false));
      if (!job) {
        this.pointsKey = '';
        return;
      }
      const drawn = job.result.points.map(({metrics}) => ({budget, metrics, job: job.id}));
      const points = [...this.store.state.points, ...drawn].sort((one, two) => one.budget - two.budget);
      this.store.set({points});
    }
  }

  private async showCommand(kind: Kind): Promise<void> {
    const now = settings(this.store.state);
    if (!now) return;
    const path = kind === 'anonymize' ? '/api/command' : `/api/command/${kind}`;
    try {
      this.store.set(await call<{command: string; python: string}>('POST', path, now));
    } catch {
      this.store.set({command: '', python: ''});
    }
  }

  private async guarded(work: () => Promise<void>): Promise<void> {
    while (this.busy) await new Promise((resolve) => setTimeout(resolve, 50));
    this.busy = true;
    this.store.set({trouble: null});
    try {
      await work();
    } catch (error) {
      this.store.set({trouble: describe(error)});
    } finally {
      this.busy = false;
      this.store.set({activity: null});
    }
    this.refresh();
  }

  private watch(job: Job<unknown>, main: boolean): void {
    this.store.set({activity: {job: job.id, stage: job.stage, share: null, seconds: job.seconds, main: main || this.wanted}});
  }

  private tell(stage: string, share: number | null = null): void {
    this.store.set({activity: {job: null, stage, share, seconds: 0, main: true}});
  }
}

/** Return what a frontier of paths depends on. */
function pathKeyOf({trips, columns, bbox, step, min_samples, k, method, complete_support, variant, max_extent, max_duration}: Settings): string {
  return JSON.stringify([trips, columns, bbox, step, min_samples, k, method, complete_support, variant, max_extent, max_duration]);
}

/** Return the budgets to draw: none above the slider, the nearest to it first. */
function inOrder(budget: number): number[] {
  const [first, ...others] = BUDGETS.filter((one) => one <= budget).reverse();
  return first === undefined ? [] : [first, ...others.reverse()];
}

function describe(error: unknown): Trouble {
  if (error instanceof ServerError) return {message: error.message, hint: error.hint};
  return {message: String(error), hint: 'reload the page'};
}
