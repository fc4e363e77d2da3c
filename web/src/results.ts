/** What came out: figures, map, strongest flows, promise, download; one release, or two side by side. */

import {download} from './api';
import {choice, h, put, segmented, setOptions} from './dom';
import {count, decimal, meters, percent} from './format';
import type {Direction} from './map';
import {FlowMap, flowsOf} from './map';
import type {Run, Store} from './state';
import {title} from './state';
import {onTheme} from './theme';
import type {Work} from './work';

const LISTED = 12;

interface Figure {
  name: string;
  meaning: string;
  value: (run: Run) => number | null;
  show: (value: number | null) => string;
  better?: 'less' | 'more';
}

const FIGURES: Figure[] = [
  {name: 'Flows', meaning: 'published flows', value: (run) => run.result.metrics.flows, show: count, better: 'more'},
  {
    name: 'Left out',
    meaning: 'share of trips in no flow',
    value: (run) => run.result.metrics.suppressed,
    show: (value) => percent(value ?? 0),
    better: 'less',
  },
  {
    name: 'Mean error',
    meaning: 'tiles of both ends of a trip; 2 is none',
    value: (run) => run.result.metrics.gbar,
    show: decimal,
    better: 'less',
  },
  {
    name: 'Displacement',
    meaning: 'mean distance from a tile to the middle of its area',
    value: (run) => run.result.metrics.gdm?.mean ?? null,
    show: (value) => (value === null ? '–' : meters(value)),
    better: 'less',
  },
  {name: 'Origin areas', meaning: 'distinct areas where flows start', value: (run) => run.result.metrics.origin_areas, show: count, better: 'more'},
  {
    name: 'Destination areas',
    meaning: 'distinct areas where flows end',
    value: (run) => run.result.metrics.destination_areas,
    show: count,
    better: 'more',
  },
  {
    name: 'Smallest crowd',
    meaning: 'fewest persons (or trips) of a flow',
    value: (run) => run.result.metrics.min_persons ?? run.result.metrics.min_trips,
    show: count,
  },
];

export function resultsPanel(store: Store, work: Work): HTMLElement {
  const one = new Exploration('Map of the release');
  const compared = new Comparison(store, work);
  const runs = choice([], '', (value) => store.set({shown: Number(value)}));
  runs.setAttribute('aria-label', 'Release');
  const mode = segmented('View', [['one', 'Explore'], ['two', 'Compare']], 'one', (value) => store.set({comparing: value === 'two'}));
  const fetchZip = (run: Run) => void download(`/api/releases/${run.job}/zip`, 'flowveil-release.zip');
  const current = () => store.state.runs[store.state.shown];
  const act = (use: (run: Run) => void) => () => {
    const run = current();
    if (run) use(run);
  };
  const files = h(
    'div',
    {class: 'files'},
    h(
      'button',
      {
        type: 'button',
        title: 'Exact figures, and what verifying needs: for the publisher only',
        onclick: act((run) => void download(`/api/releases/${run.job}/private`, 'flowveil-private.zip')),
      },
      'Private files',
    ),
    h('button', {type: 'button', class: 'primary', id: 'download', onclick: act(fetchZip)}, 'Download release'),
  );
  const bar = h('div', {class: 'bar'}, mode, runs, h('span', {class: 'grow'}), compared.invite, files);
  const panel = h('section', {class: 'results', 'aria-label': 'Release', hidden: true}, bar, one.element, compared.element);
  store.on((state, changed) => {
    if (!['runs', 'shown', 'other', 'comparing'].some((name) => changed.has(name as keyof typeof state))) return;
    panel.hidden = !state.runs.length;
    const run = current();
    if (!run) return;
    setOptions(runs, state.runs.map((each, place) => [String(place), `${each.number}: ${title(each)}`]), String(state.shown));
    mode.select(state.comparing ? 'two' : 'one');
    runs.hidden = files.hidden = state.comparing;
    compared.invite.hidden = !state.comparing;
    one.element.hidden = state.comparing;
    compared.element.hidden = !state.comparing;
    if (state.comparing) compared.show();
    else one.show(run);
  });
  return panel;
}

/** One release: figures, map, list, promise. */
class Exploration {
  readonly element: HTMLElement;
  private readonly map: FlowMap;
  private readonly figures = h('dl', {class: 'figures'});
  private readonly list = h('div', {class: 'list'});
  private readonly promise = h('div', {class: 'statement'});
  private readonly hint = h('p', {class: 'map-note'});
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
    const direction = segmented(
      'Flows of the place',
      [['both', 'Both'], ['leaving', 'Leaving'], ['arriving', 'Arriving']],
      'both',
      (value) => {
        this.direction = value;
        this.select(this.selected);
      },
    );
    const outlines = h('input', {
      type: 'checkbox',
      id: 'outlines',
      checked: true,
      onchange: () => this.map.showOutlines(outlines.checked),
    });
    const side = h(
      'aside',
      {class: 'side', 'aria-label': 'Flows'},
      this.promise,
      h('h3', {}, 'Strongest flows'),
      direction,
      this.list,
    );
    this.divisions.setAttribute('aria-label', 'Step of time or group');
    const tools = h('div', {class: 'map-tools'}, this.divisions, legend(), h('label', {class: 'check', for: 'outlines'}, outlines, 'Outlines of areas'), this.hint);
    this.element = h('div', {class: 'explore'}, this.figures, h('div', {class: 'stage'}, h('div', {class: 'map-frame'}, this.map.element, tools), side));
    onTheme(() => this.map.draw());
  }

  show(run: Run): void {
    if (run === this.run) return this.map.draw();
    this.run = run;
    put(this.figures, ...FIGURES.map((figure) => h('div', {title: figure.meaning}, h('dt', {}, figure.name), h('dd', {}, figure.show(figure.value(run))))));
    put(this.promise, ...statement(run));
    this.division = null;
    const {divisions} = run.picture;
    this.divisions.hidden = !divisions.length;
    setOptions(this.divisions, [['', `all ${divisions.length} together`], ...divisions.map((name, place): [string, string] => [String(place), name])], '');
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
    put(
      this.hint,
      area ? h('button', {type: 'button', class: 'small', onclick: () => this.select(null)}, 'All flows') : 'Click a place for its flows. ',
      area ? ` of ${area} ` : null,
      drawn < run.picture.flows ? `The strongest ${count(drawn)} of ${count(run.picture.flows)} flows are drawn.` : null,
    );
  }

  private rows(run: Run): HTMLElement[] {
    const flows = flowsOf(run.picture, this.division);
    const leaves = (origin: string) => origin === this.selected && this.direction !== 'arriving';
    const arrives = (destination: string) => destination === this.selected && this.direction !== 'leaving';
    const chosen = flows.filter((flow) => !this.selected || leaves(flow.origin) || arrives(flow.destination));
    return chosen.slice(0, LISTED).map(({origin, destination, trips}) => {
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
        h('b', {}, count(trips)),
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
      h('summary', {}, h('span', {class: 'badge good'}, '✓ verified'), ` ${run.result.checks.length} kinds of checks against the trips`),
      h('ul', {}, ...run.result.checks.map((check) => h('li', {}, check))),
      run.result.notes.length ? h('p', {class: 'help'}, `Of the method: ${run.result.notes.join('; ')}`) : null,
    ),
    h('details', {}, h('summary', {}, 'Its command line'), h('code', {class: 'its-command'}, run.command)),
  ];
}

/** Two releases: maps that move together, figures beside each other. */
class Comparison {
  readonly element: HTMLElement;
  private readonly maps = [new FlowMap('Map of the first release'), new FlowMap('Map of the second release')] as const;
  private readonly choices = [0, 1].map((side) => {
    const element = choice([], '', (value) => this.store.set(side === 0 ? {shown: Number(value)} : {other: Number(value)}));
    element.setAttribute('aria-label', side === 0 ? 'First release' : 'Second release');
    return element;
  });
  private readonly table = h('div', {class: 'table-frame'});
  readonly invite = h('div', {class: 'invite', hidden: true});
  private readonly sides: HTMLElement[];
  private readonly drawn: (Run | undefined)[] = [];

  constructor(
    private readonly store: Store,
    work: Work,
  ) {
    const [left, right] = this.maps;
    left.onView = (view) => right.setView(view);
    right.onView = (view) => left.setView(view);
    this.sides = this.maps.map((map, side) => h('div', {class: 'half'}, this.choices[side], map.element));
    const method = choice(
      store.state.about.methods.map((one) => [one.name, `${one.name}: ${one.family}`]),
      'crosscut',
      () => undefined,
    );
    method.setAttribute('aria-label', 'Method to compare with');
    put(
      this.invite,
      h('span', {}, 'The same settings with'),
      method,
      h('button', {type: 'button', id: 'run-other', onclick: () => void work.anonymize(method.value)}, 'Run and compare'),
    );
    this.element = h('div', {class: 'compare', hidden: true}, h('div', {class: 'halves'}, ...this.sides), this.table);
    onTheme(() => this.maps.forEach((map) => map.draw()));
  }

  show(): void {
    const {runs, shown, other} = this.store.state;
    const pair = [runs[shown], other === null ? undefined : runs[other]];
    const named = runs.map((run, place): [string, string] => [String(place), `${run.number}: ${title(run)}`]);
    setOptions(this.choices[0] as HTMLSelectElement, named, String(shown));
    setOptions(this.choices[1] as HTMLSelectElement, other === null ? [['', '–'], ...named] : named, other === null ? '' : String(other));
    pair.forEach((run, side) => {
      (this.sides[side] as HTMLElement).classList.toggle('empty', !run);
      if (run && run !== this.drawn[side]) this.maps[side as 0 | 1].show(run.picture);
      this.drawn[side] = run;
    });
    const [first, second] = pair;
    put(this.table, first && second ? comparisonTable(first, second) : null);
  }
}

function comparisonTable(first: Run, second: Run): HTMLElement {
  const cell = (figure: Figure, mine: Run, theirs: Run) => {
    const [own, other] = [figure.value(mine), figure.value(theirs)];
    const ahead = own !== null && other !== null && figure.better && figure.show(own) !== figure.show(other) && own < other === (figure.better === 'less');
    return h('td', {class: ahead ? 'ahead' : ''}, figure.show(own), ahead ? h('span', {class: 'sr'}, ' (better)') : null);
  };
  const row = (figure: Figure) =>
    h(
      'tr',
      {},
      h('th', {scope: 'row'}, figure.name, h('small', {}, figure.meaning)),
      cell(figure, first, second),
      cell(figure, second, first),
    );
  const time = (run: Run) => h('td', {}, `${decimal(run.seconds)} s`);
  return h(
    'table',
    {},
    h('thead', {}, h('tr', {}, h('td', {}), h('th', {scope: 'col'}, title(first)), h('th', {scope: 'col'}, title(second)))),
    h('tbody', {}, ...FIGURES.map(row), h('tr', {}, h('th', {scope: 'row'}, 'Time', h('small', {}, 'with writing and verifying')), time(first), time(second))),
  );
}
