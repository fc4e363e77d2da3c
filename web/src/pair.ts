/** Two maps that move together: a release and the trips before it, or two releases with their figures. */

import {choice, h, put, setOptions} from './dom';
import {count, decimal, percent} from './format';
import type {Figure} from './explore';
import {FIGURES} from './explore';
import {FlowMap} from './map';
import type {Run, Store} from './state';
import {title} from './state';
import {onTheme} from './theme';
import type {Picture} from './types';
import type {Work} from './work';

export class Comparison {
  readonly element: HTMLElement;
  private readonly maps = [new FlowMap('Map on the left'), new FlowMap('Map on the right')] as const;
  private readonly choices = [0, 1].map((side) => {
    const element = choice([], '', (value) => this.store.set(side === 0 ? {shown: Number(value)} : {other: Number(value)}));
    element.setAttribute('aria-label', side === 0 ? 'First release' : 'Second release');
    return element;
  });
  private readonly names = [h('p', {class: 'half-name'}), h('p', {class: 'half-name'})] as const;
  private readonly table = h('div', {class: 'table-frame'});
  readonly invite = h('div', {class: 'invite', hidden: true});
  private readonly sides: HTMLElement[];
  private readonly drawn: (Picture | undefined)[] = [];
  private readonly before = new Map<string, Picture>();

  constructor(
    private readonly store: Store,
    private readonly work: Work,
  ) {
    const [left, right] = this.maps;
    left.onView = (view) => right.setView(view);
    right.onView = (view) => left.setView(view);
    this.sides = this.maps.map((map, side) => h('div', {class: 'half'}, this.choices[side], this.names[side], map.element));
    const method = choice(store.state.about.methods.map((one) => [one.name, `${one.name}: ${one.family}`]), 'crosscut', () => undefined);
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

  show(view: 'before' | 'two'): void {
    for (const select of this.choices) select.hidden = view === 'before';
    for (const name of this.names) name.hidden = view === 'two';
    if (view === 'two') this.showTwo();
    else void this.showBefore();
  }

  private put(side: 0 | 1, picture: Picture | undefined): void {
    (this.sides[side] as HTMLElement).classList.toggle('empty', !picture);
    if (picture && picture !== this.drawn[side]) this.maps[side].show(picture);
    this.drawn[side] = picture;
  }

  private showTwo(): void {
    const {runs, shown, other} = this.store.state;
    const [first, second] = [runs[shown], other === null ? undefined : runs[other]];
    const named = runs.map((run, place): [string, string] => [String(place), `${run.number}: ${title(run)}`]);
    setOptions(this.choices[0] as HTMLSelectElement, named, String(shown));
    setOptions(this.choices[1] as HTMLSelectElement, other === null ? [['', '–'], ...named] : named, other === null ? '' : String(other));
    this.put(0, first?.picture);
    this.put(1, second?.picture);
    put(this.table, first && second ? comparisonTable(first, second) : null);
  }

  private async showBefore(): Promise<void> {
    const run = this.store.state.runs[this.store.state.shown];
    if (!run) return;
    const {metrics, total} = run.result;
    put(this.names[0], h('b', {}, 'Before'), ' the trips as they are. Private: do not publish this map.');
    put(this.names[1], h('b', {}, 'After'), ' what anyone can see.');
    put(this.table, h('p', {class: 'help'}, `${count(total)} trips before; ${count(metrics?.trips)} of them are published, ${percent(metrics?.suppressed ?? 0)} are left out. Its own page says what was lost: make the private report below.`));
    this.put(1, run.picture);
    if (!this.before.has(run.job)) {
      this.put(0, undefined);
      const picture = await this.work.before(run);
      if (picture) this.before.set(run.job, picture);
    }
    if (this.store.state.view === 'before') this.put(0, this.before.get(run.job));
  }
}

function comparisonTable(first: Run, second: Run): HTMLElement {
  const cell = (figure: Figure, mine: Run, theirs: Run) => {
    const [own, other] = [figure.value(mine), figure.value(theirs)];
    const ahead = own !== null && other !== null && figure.better && figure.show(own) !== figure.show(other) && own < other === (figure.better === 'less');
    return h('td', {class: ahead ? 'ahead' : ''}, figure.show(own), ahead ? h('span', {class: 'sr'}, ' (better)') : null);
  };
  const row = (figure: Figure) =>
    h('tr', {}, h('th', {scope: 'row'}, figure.name, h('small', {}, figure.meaning)), cell(figure, first, second), cell(figure, second, first));
  const time = (run: Run) => h('td', {}, `${decimal(run.seconds)} s`);
  return h(
    'table',
    {},
    h('thead', {}, h('tr', {}, h('td', {}), h('th', {scope: 'col'}, title(first)), h('th', {scope: 'col'}, title(second)))),
    h('tbody', {}, ...FIGURES.map(row), h('tr', {}, h('th', {scope: 'row'}, 'Time', h('small', {}, 'with writing and verifying')), time(first), time(second))),
  );
}
