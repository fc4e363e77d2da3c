/** One release: figures, map, promise. */

import {h, put} from './dom';
import {count, decimal, meters, percent} from './format';
import {Frame} from './frame';
import type {Run} from './state';

export interface Figure {
  name: string;
  meaning: string;
  value: (run: Run) => number | null;
  show: (value: number | null) => string;
  better?: 'less' | 'more';
}

export const FIGURES: Figure[] = [
  {name: 'Flows', meaning: 'published flows', value: (run) => run.result.metrics?.flows ?? null, show: count, better: 'more'},
  {
    name: 'Left out',
    meaning: 'share of trips in no flow',
    value: (run) => run.result.metrics?.suppressed ?? null,
    show: (value) => percent(value ?? 0),
    better: 'less',
  },
  {
    name: 'Off by',
    meaning: 'mean distance from a tile, where a trip starts or ends, to the middle of its area',
    value: (run) => run.result.metrics?.gdm?.mean ?? null,
    show: (value) => (value === null ? '–' : meters(value)),
    better: 'less',
  },
  {
    name: 'Smallest crowd',
    meaning: 'fewest persons (or trips) of a flow',
    value: (run) => run.result.metrics?.min_persons ?? run.result.metrics?.min_trips ?? null,
    show: count,
  },
  {name: 'Start areas', meaning: 'distinct areas where flows start', value: (run) => run.result.metrics?.origin_areas ?? null, show: count, better: 'more'},
  {name: 'End areas', meaning: 'distinct areas where flows end', value: (run) => run.result.metrics?.destination_areas ?? null, show: count, better: 'more'},
  {
    name: 'Tiles, both ends',
    meaning: 'mean number of tiles of both ends of a trip; 2 is the finest',
    value: (run) => run.result.metrics?.gbar ?? null,
    show: decimal,
    better: 'less',
  },
];

function figuresOf(run: Run): [string, string, string][] {
  const {counts, above_zero: above, noisy_total: total, error, paths} = run.result;
  if (paths) {
    const released = (paths.users ?? 0) - (paths.suppressed_users ?? 0);
    return [
      ['Paths', 'published paths, each of a group of persons', count(paths.groups)],
      ['Persons', 'in groups', count(released)],
      ['Left out', 'persons in no group', count(paths.suppressed_users)],
      ['Largest group', 'persons of one path', count(paths.largest_group)],
      ['Samples left out', 'rows of the file that no path holds', percent((paths.suppressed_rows ?? 0) / Math.max(1, paths.rows ?? 1))],
    ];
  }
  if (counts !== undefined) {
    return [
      ['Counts', 'published, with noise', count(counts)],
      ['Above zero', 'counts of at least one trip', count(above)],
      ['Trips, noisy', 'sum of all counts', count(total)],
      ['Error of a count', '19 of 20 counts are off by no more (median over counts)', error == null ? '–' : `± ${count(error)}`],
    ];
  }
  return FIGURES.map((figure) => [figure.name, figure.meaning, figure.show(figure.value(run))]);
}

export class Exploration {
  readonly element: HTMLElement;
  private readonly map: Frame;
  private readonly figures = h('dl', {class: 'figures'});
  private readonly promise = h('aside', {class: 'side statement', 'aria-label': 'Promise'});
  private run: Run | null = null;

  constructor(label: string) {
    this.map = new Frame(label);
    this.element = h('div', {class: 'explore'}, this.figures, h('div', {class: 'map-frame'}, this.map.element), this.promise);
  }

  show(run: Run): void {
    if (run === this.run) return;
    this.run = run;
    put(this.figures, ...figuresOf(run).map(([name, meaning, value]) => h('div', {title: meaning}, h('dt', {}, name), h('dd', {}, value))));
    put(this.promise, ...statement(run));
    this.map.show(run.map);
  }
}

function statement(run: Run): HTMLElement[] {
  return [
    h('h3', {}, 'What is promised'),
    h('p', {}, run.result.promise),
    h('p', {}, run.result.absence),
    h(
      'details',
      {class: 'verified'},
      h('summary', {}, h('span', {class: 'badge good'}, '✓ verified'), ` ${run.result.checks.length} kinds of checks${run.kind === 'noise' ? '' : ' against the file'}`),
      h('ul', {}, ...run.result.checks.map((check) => h('li', {}, check))),
      run.result.notes.length ? h('p', {class: 'help'}, `Of the method: ${run.result.notes.join('; ')}`) : null,
    ),
  ];
}
