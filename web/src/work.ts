/** What happens in the background: counting, following frontiers, making releases; one thing at a time. */

import {ServerError, call, follow, upload} from './api';
import {bytes} from './format';
import type {Store, Trouble} from './state';
import {guessUnit, settings} from './state';
import type {ColumnsResult, CountResult, FrontierResult, Job, Picture, ReleaseResult, StoredFile, ZonesResult} from './types';

const MOST_RUNS = 8; // kept in this page; the server keeps a few more
const PAUSE_MS = 250; // after the last change of a setting

export class Work {
  private readonly store: Store;
  private timer = 0;
  private busy = false;
  private wanted = false; // a release, as soon as what is being done is done
  private stopped = false; // by the user: what was not counted is not started again until a setting changes
  private countedKey = '';
  private frontierKey = '';

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
      if (job) this.store.set({zones: {...stored, ...job.result}, levels: 'ward'});
      if (before) await call('DELETE', `/api/files/${before.id}`);
    });
  }

  /** Make a release with the settings of now, or with another method. */
  async anonymize(method?: string): Promise<void> {
    const now = settings(this.store.state);
    if (!now) return;
    const steers = this.store.state.about.methods.find((one) => one.name === (method ?? now.method))?.steers;
    const wanted = method
      ? {...now, method, options: {}, loss: 'tiles', max_suppression: steers ? this.store.state.budget : null}
      : now;
    this.wanted = true;
    const {activity} = this.store.state;
    this.store.set({activity: {job: null, share: null, seconds: 0, stage: 'waiting', ...activity, main: true}});
    await this.guarded(async () => {
      if (!this.wanted) return;
      this.wanted = false;
      const job = await follow<ReleaseResult>('/api/anonymize', wanted, (current) => this.watch(current, true));
      if (!job) return;
      const picture = await call<Picture>('GET', `/api/releases/${job.id}/picture`);
      const {runs, shown, comparing} = this.store.state;
      const run = {
        number: (runs.at(-1)?.number ?? 0) + 1,
        job: job.id,
        settings: wanted,
        command: job.command ?? '',
        result: job.result,
        picture,
        seconds: job.seconds,
      };
      const before = runs[shown];
      const kept = [...runs, run].slice(-MOST_RUNS);
      const first = before ? kept.indexOf(before) : -1;
      const last = kept.length - 1;
      this.store.set(
        comparing && first >= 0
          ? {runs: kept, shown: first, other: last}
          : {runs: kept, shown: last, other: first >= 0 ? first : null, comparing: false},
      );
    });
  }

  async cancel(): Promise<void> {
    const job = this.store.state.activity?.job;
    this.wanted = false;
    this.stopped = Boolean(job);
    if (job) await call('DELETE', `/api/jobs/${job}`).catch(() => undefined);
  }

  /** Leave nothing with the server when the page goes. */
  leave(): void {
    const {activity, file, zones} = this.store.state;
    if (activity?.job) void call('DELETE', `/api/jobs/${activity.job}`).catch(() => undefined);
    for (const stored of [file, zones]) {
      if (stored) void call('DELETE', `/api/files/${stored.id}`).catch(() => undefined);
    }
  }

  private async openFile(stored: StoredFile): Promise<void> {
    const before = this.store.state.file;
    const job = await follow<ColumnsResult>(`/api/columns/${stored.id}`, undefined, (now) => this.watch(now, true));
    if (before) await call('DELETE', `/api/files/${before.id}`).catch(() => undefined);
    if (!job) return;
    const {columns, known} = job.result;
    const coordinates = ['start_lon', 'start_lat', 'end_lon', 'end_lat'].every((name) => name in known);
    this.store.set({
      file: stored,
      columns,
      known,
      mapping: {},
      unit: guessUnit(columns),
      weight: '',
      time: '',
      by: '',
      places: coordinates ? 'grid' : 'zones',
      count: null,
      frontier: null,
      runs: [],
      shown: 0,
      other: null,
      comparing: false,
    });
  }

  private checkSize(file: File): void {
    const most = this.store.state.about.upload_limit;
    if (file.size > most) {
      throw new ServerError(`${file.name} has ${bytes(file.size)}, more than ${bytes(most)}`, 'start flowveil serve with a larger --upload-limit, or use the command line');
    }
  }

  /** Do what settings ask for until nothing changes any more. */
  private async catchUp(): Promise<void> {
    if (this.busy) return this.refresh();
    const now = settings(this.store.state);
    if (!now) return this.store.set({count: null, frontier: null, command: ''});
    const {method, k, k_weight, min_tiles, loss, options, max_suppression: _, elsewhere: __, report: ___, ...places} = now;
    const placesKey = JSON.stringify(places);
    const frontierKey = JSON.stringify([places, method, k, k_weight, min_tiles, loss, options]);
    void this.showCommand();
    const stopped = this.stopped;
    this.stopped = false;
    const newPlaces = placesKey !== this.countedKey;
    if (!newPlaces && frontierKey === this.frontierKey) return this.store.set({frontier: this.store.state.frontier});
    this.countedKey = placesKey;
    this.frontierKey = frontierKey;
    if (stopped) return this.store.set(newPlaces ? {count: null, frontier: null} : {frontier: null});
    await this.guarded(async () => {
      if (newPlaces) {
        this.store.set({count: null, frontier: null});
        const counted = await follow<CountResult>('/api/count', now, (job) => this.watch(job, false));
        this.store.set({count: counted?.result ?? null});
        if (!counted) return;
      }
      const able = this.store.state.about.methods.find((one) => one.name === method)?.frontier;
      const wanted = able && this.store.state.count !== null;
      const found = wanted ? await follow<FrontierResult>('/api/frontier', now, (job) => this.watch(job, false)) : null;
      this.store.set({frontier: found?.result ?? null});
    });
  }

  private async showCommand(): Promise<void> {
    const now = settings(this.store.state);
    if (!now) return;
    try {
      this.store.set({command: (await call<{command: string}>('POST', '/api/command', now)).command});
    } catch {
      this.store.set({command: ''});
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

function describe(error: unknown): Trouble {
  if (error instanceof ServerError) return {message: error.message, hint: error.hint};
  return {message: String(error), hint: 'reload the page'};
}
