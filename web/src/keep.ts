/** What survives a reload: choices and releases, kept by the server for whoever has the token. */

import {call} from './api';
import type {Choices, Run, Store} from './state';
import {choicesOf} from './state';
import type {StoredFile, ZonesResult} from './types';

interface Kept {
  choices: Choices;
  file: StoredFile | null;
  zones: (StoredFile & ZonesResult) | null;
  page: number;
  shown: number;
  runs: Omit<Run, 'map'>[];
}

const PAUSE_MS = 300;
const MOST_BYTES = 90_000; // the server takes a little more
let timer = 0;
let last = '';

/** Return what is kept as text; the oldest releases go where it would be too much. */
function now({state}: Store): string {
  const {file, zones, page} = state;
  for (let first = 0; ; first++) {
    const runs = state.runs.slice(first).map(({map: _, ...run}) => run);
    const kept: Kept = {choices: choicesOf(state), file, zones, page, shown: state.shown - first, runs};
    const text = JSON.stringify(kept);
    if (new Blob([text]).size < MOST_BYTES || first >= state.runs.length) return text;
  }
}

/** Keep what is chosen, soon. */
export function keepSoon(store: Store): void {
  clearTimeout(timer);
  timer = window.setTimeout(() => void keep(store), PAUSE_MS);
}

export async function keep(store: Store): Promise<void> {
  clearTimeout(timer);
  const text = now(store);
  if (text === last || !store.state.file) return;
  last = text;
  await call('PUT', '/api/state', JSON.parse(text)).catch(() => undefined);
}

export async function readKept(): Promise<Kept | null> {
  const kept = await call<Kept | null>('GET', '/api/state').catch(() => null);
  return kept && typeof kept === 'object' && 'choices' in kept ? kept : null;
}

export async function forgetAll(): Promise<void> {
  clearTimeout(timer);
  await call('DELETE', '/api/state').catch(() => undefined);
}
