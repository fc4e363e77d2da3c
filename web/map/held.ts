// A page that is held in a frame tells its holder where its map is, and goes where the holder says: so two maps move together.

import type {Sheet} from './sheet';

const NAMES = ['x', 'y', 'scale'] as const;

// Returns what tells the holder; nothing is told where nobody holds the page.
export function heed(map: Sheet): () => void {
  if (!('held' in document.documentElement.dataset)) return () => {};
  addEventListener('message', ({source, data}: MessageEvent) => {
    const where = data?.flowveil;
    if (source === parent && where && NAMES.every((name) => Number.isFinite(where[name])) && where.scale > 0) map.go(where);
  });
  return () => parent.postMessage({flowveil: map.where}, '*');
}
