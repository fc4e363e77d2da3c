// A page that is held in a frame tells its holder where its map is and what it shows, and does as the holder says: so two maps
// move together, show the same, and have one scale of colors.

import {look, takeLook} from './address';
import type {Explorer, Scales, View} from './explorer';

const WHERE = ['x', 'y', 'scale'] as const;
const SCALES = ['low', 'high', 'most', 'strongest'] as const;

// What the holder says: where to be, how to look at the release, which scales to use.
interface Order {
  where?: Record<(typeof WHERE)[number], number>;
  look?: string;
  common?: {scales: Scales | null; legend: boolean};
}

const allFinite = (values: Record<string, unknown>, names: readonly string[]) => names.every((name) => Number.isFinite(values[name]));

export class Held implements View {
  private readonly active = 'held' in document.documentElement.dataset;
  private why: 'begun' | 'chosen' | 'told' = 'begun'; // why what is shown has changed

  constructor(private readonly explorer: Explorer) {
    if (!this.active) return; // nobody holds this page
    addEventListener('message', ({source, data}: MessageEvent) => {
      if (source === parent && data?.flowveil) this.obey(data.flowveil as Order);
    });
  }

  private obey({where, look: text, common}: Order): void {
    const {explorer} = this;
    if (where && allFinite(where, WHERE) && where.scale > 0) explorer.map.go(where);
    if (typeof text !== 'string' && !common) return;
    if (typeof text === 'string') {
      takeLook(explorer, new URLSearchParams(text));
      Object.assign(explorer.state, {place: null, pair: null});
    }
    if (common) {
      explorer.common = common.scales && allFinite({...common.scales}, SCALES) ? common.scales : null;
      document.getElementById('legend')!.hidden = !common.legend;
    }
    this.why = 'told';
    explorer.refresh();
  }

  moved(why: 'asked' | 'resized'): void {
    if (this.active) parent.postMessage({flowveil: {moved: why, at: this.explorer.map.where}}, '*');
  }

  update(explorer: Explorer): void {
    if (!this.active) return;
    const {why} = this,
      {own, onward} = explorer;
    this.why = 'chosen';
    const told = {why, look: look(explorer).toString(), alone: onward !== null, scales: own, at: explorer.map.where};
    parent.postMessage({flowveil: told}, '*');
  }
}
