/** Two maps side by side: they move together, are looked at in the same way, and have one scale of colors and one legend. */

import {h, put} from './dom';
import type {Frame} from './frame';

interface Scales {
  low: number;
  high: number;
  most: number;
  strongest: number;
}

/** What a map says of itself: why it says so, how it is looked at, whether its colors tell of one chosen place only. */
interface Told {
  why: 'begun' | 'chosen' | 'told';
  look: string;
  alone: boolean;
  scales: Scales;
  at: object; // where the map is
}

/** What a map says when it has moved: because its reader asked for it, or to fit a frame of another size. */
interface Moved {
  moved: 'asked' | 'resized';
  at: object;
}

export class Together {
  readonly note = h('p', {class: 'help scales-note', role: 'status', hidden: true});
  private readonly told: [Told | null, Told | null] = [null, null];
  private place: object = {}; // where both of them are
  private sent = '';

  constructor(private readonly maps: readonly [Frame, Frame]) {
    addEventListener('message', ({source, data}) => {
      const side = maps.findIndex((map) => map.element.contentWindow === source);
      if (side < 0 || !data?.flowveil) return;
      if (data.flowveil.moved) this.follow(side, data.flowveil as Moved);
      else this.hear(side, data.flowveil as Told);
    });
  }

  private send(side: number, order: object): void {
    this.maps[side]?.element.contentWindow?.postMessage({flowveil: order}, '*');
  }

  // Each would take the other's place if both fitted their frames and followed: the first one leads.
  private follow(side: number, {moved, at}: Moved): void {
    const leads = side === 0 || moved === 'asked' || !this.told[0];
    if (leads) this.place = at;
    this.send(leads ? 1 - side : side, {where: this.place});
  }

  private hear(side: number, told: Told): void {
    const other = this.told[1 - side];
    this.told[side] = told;
    // What a reader chooses in one map the other one shows, too; a map that has just begun does as the one beside it.
    if (other && other.look !== told.look) {
      if (told.why === 'chosen') this.send(1 - side, {look: told.look});
      else if (told.why === 'begun') this.send(side, {look: other.look});
    }
    if (told.why === 'begun') {
      this.sent = '';
      if (other) this.send(side, {where: this.place});
      else this.place = told.at;
    }
    this.share();
  }

  private share(): void {
    const scales = common(...this.told);
    const text = JSON.stringify(scales);
    if (text === this.sent) return;
    this.sent = text;
    [0, 1].forEach((side) => this.send(side, {common: {scales, legend: !scales || side === 0}}));
    put(
      this.note,
      scales
        ? 'Colors, sizes and widths mean the same in both maps; the legend is in the first one.'
        : 'The maps show different things, and each has its own legend: colors cannot be compared.',
    );
  }
}

/** One scale for two maps, if they show the same of their releases. */
function common(first: Told | null, second: Told | null): Scales | null {
  if (!first || !second || first.alone || second.alone || first.look !== second.look) return null;
  const [a, b] = [first.scales, second.scales];
  return {
    low: Math.min(a.low, b.low),
    high: Math.max(a.high, b.high),
    most: Math.max(a.most, b.most),
    strongest: Math.max(a.strongest, b.strongest),
  };
}
