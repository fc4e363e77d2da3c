/** One release: figures, map, list, promise. */

import {choice, h, put, segmented, setOptions} from './dom';
import {count, decimal, meters, percent} from './format';
import type {Direction} from './map';
import {FlowMap, flowsOf} from './map';
import type {Run} from './state';
import {onTheme} from './theme';

const LISTED = 12;

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
    name: 'Blurred by',
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
  const {counts, noisy_total: total, paths} = run.result;
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
    const errors = run.picture.error ?? [];
    const middle = [...errors].sort((one, two) => one - two)[Math.floor(errors.length / 2)];
    return [
      ['Counts', 'published, with noise', count(counts)],
      ['Above zero', 'counts that can be drawn', count(run.picture.trips.length)],
      ['Trips, noisy', 'sum of all counts', count(total)],
      ['Error of a count', '19 of 20 counts are off by no more (median over counts)', middle === undefined ? '–' : `± ${count(middle)}`],
    ];
  }
  return FIGURES.map((figure) => [figure.name, figure.meaning, figure.show(figure.value(run))]);
}

export class Exploration {
  readonly element: HTMLElement;
  private readonly map: FlowMap;
  private readonly figures = h('dl', {class: 'figures'});
  private readonly list = h('div', {class: 'list'});
  private readonly promise = h('div', {class: 'statement'});
  private readonly hint = h('p', {class: 'map-note'});
  private readonly heading = h('h3', {});
  private run: Run | null = null;
  private selected: string | null = null;
  private direction: Direction = 'both';
  private division: number | null = null;
  private readonly divisions = choice([], '', (value) => {
    this.division = value === '' ? null : Number(value);
    if (this.run) this.map.show(this.run.picture, this.division);
    this.select(null);
  });

  constructor(label: string) {
    this.map = new FlowMap(label);
    this.map.onSelect = (area) => this.select(area);
    const direction = segmented('Flows of the place', [['both', 'Both'], ['leaving', 'Leaving'], ['arriving', 'Arriving']], 'both', (value) => {
      this.direction = value;
      this.select(this.selected);
    });
    const outlines = h('input', {type: 'checkbox', id: 'outlines', checked: true, onchange: () => this.map.showOutlines(outlines.checked)});
    const side = h('aside', {class: 'side', 'aria-label': 'Flows'}, this.promise, this.heading, direction, this.list);
    this.divisions.setAttribute('aria-label', 'Step of time or group');
    const tools = h('div', {class: 'map-tools'}, this.divisions, legend(), h('label', {class: 'check', for: 'outlines'}, outlines, 'Outlines of areas'), this.hint);
    this.element = h('div', {class: 'explore'}, this.figures, h('div', {class: 'stage'}, h('div', {class: 'map-frame'}, this.map.element, tools), side));
    onTheme(() => this.map.draw());
  }

  show(run: Run): void {
    if (run === this.run) return this.map.draw();
    this.run = run;
    put(this.figures, ...figuresOf(run).map(([name, meaning, value]) => h('div', {title: meaning}, h('dt', {}, name), h('dd', {}, value))));
    put(this.promise, ...statement(run));
    put(this.heading, run.kind === 'paths' ? 'Largest groups: where their paths start and end' : 'Strongest flows');
    this.division = null;
    const {divisions} = run.picture;
    this.divisions.hidden = !divisions.length;
    setOptions(this.divisions, [['', `all ${divisions.length - run.picture.totals.length} together`], ...divisions.map((name, place): [string, string] => [String(place), name])], '');
    this.map.amount = run.kind === 'paths' ? 'persons' : 'trips';
    this.map.show(run.picture);
    this.select(null);
  }

  private select(area: string | null): void {
    this.selected = area;
    this.map.select(area, this.direction);
    const run = this.run;
    if (!run) return;
    put(this.list, ...this.rows(run));
    const drawn = run.picture.trips.length;
    const what = run.kind === 'paths' ? 'paths' : run.kind === 'noise' ? 'counts' : 'flows';
    put(
      this.hint,
      area ? h('button', {type: 'button', class: 'small', onclick: () => this.select(null)}, 'All flows') : 'Click a place for its flows. ',
      area ? ` of ${area} ` : null,
      drawn < run.picture.flows ? `The strongest ${count(drawn)} of ${count(run.picture.flows)} ${what} are drawn.` : null,
      run.kind === 'paths' ? ' Lines join where a path starts and where it ends; the report shows all of it.' : null,
    );
  }

  private rows(run: Run): HTMLElement[] {
    const flows = flowsOf(run.picture, this.division);
    const leaves = (origin: string) => origin === this.selected && this.direction !== 'arriving';
    const arrives = (destination: string) => destination === this.selected && this.direction !== 'leaving';
    const chosen = flows.filter((flow) => !this.selected || leaves(flow.origin) || arrives(flow.destination));
    return chosen.slice(0, LISTED).map(({origin, destination, trips, error}) => {
      const meter = h('span', {class: 'meter'});
      meter.style.width = `${(100 * trips) / (chosen[0]?.trips ?? 1)}%`;
      const mark = () => this.map.mark([origin, destination]);
      const unmark = () => this.map.mark([]);
      return h(
        'button',
        {
          type: 'button',
          class: 'flow',
          title: `${origin} → ${destination}`,
          onmouseenter: mark,
          onfocus: mark,
          onmouseleave: unmark,
          onblur: unmark,
          onclick: () => this.select(origin === this.selected ? null : origin),
        },
        meter,
        h('span', {class: 'ends'}, h('code', {}, origin), h('span', {class: 'arrow'}, '→'), h('code', {}, destination)),
        h('b', {}, `${count(trips)}${error ? ` ± ${count(error)}` : ''}`),
      );
    });
  }
}

function legend(): HTMLElement {
  const entry = (kind: string, text: string) => h('span', {}, h('i', {class: kind}), text);
  return h('div', {class: 'legend'}, entry('leaving', 'more leave'), entry('arriving', 'more arrive'));
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
