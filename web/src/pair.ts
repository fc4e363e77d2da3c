/** A release and the trips before it, or two releases with their figures. */

import {choice, h, put, setOptions} from './dom';
import {count, decimal, percent} from './format';
import type {Figure} from './explore';
import {FIGURES} from './explore';
import {Frame} from './frame';
import type {Run, Store} from './state';
import {title} from './state';
import {Together} from './together';
import type {Work} from './work';

export class Comparison {
  readonly element: HTMLElement;
  private readonly maps = [new Frame('Map on the left'), new Frame('Map on the right')] as const;
  private readonly both = new Frame('Private report: before and after');
  private readonly choices = [0, 1].map((side) => {
    const element = choice([], '', (value) => this.store.set(side === 0 ? {shown: Number(value)} : {other: Number(value)}));
    element.setAttribute('aria-label', side === 0 ? 'First release' : 'Second release');
    return element;
  });
  private readonly halves: HTMLElement;
  private readonly name = h('p', {class: 'half-name'}, h('b', {}, 'Private: '), 'the trips as they are beside what anyone can see. Do not publish these maps.');
  private readonly table = h('div', {class: 'table-frame'});
  readonly invite = h('div', {class: 'invite', hidden: true});
  private readonly before = new Map<string, string>();
  private readonly together = new Together(this.maps);

  constructor(
    private readonly store: Store,
    private readonly work: Work,
  ) {
    this.halves = h('div', {class: 'halves'}, ...this.maps.map((map, side) => h('div', {class: 'half'}, this.choices[side], map.element)));
    const method = choice(store.state.about.methods.map((one) => [one.name, `${one.name}: ${one.family}`]), 'crosscut', () => undefined);
    method.setAttribute('aria-label', 'Method to compare with');
    put(
      this.invite,
      h('span', {}, 'The same settings with'),
      method,
      h('button', {type: 'button', id: 'run-other', onclick: () => void work.anonymize(method.value)}, 'Run and compare'),
    );
    this.element = h('div', {class: 'compare', hidden: true}, this.name, h('div', {class: 'map-frame'}, this.both.element), this.together.note, this.halves, this.table);
  }

  show(view: 'before' | 'two'): void {
    this.halves.hidden = this.together.note.hidden = view === 'before';
    this.name.hidden = view === 'two';
    if (view === 'two') this.showTwo();
    else void this.showBefore();
  }

  private showTwo(): void {
    const {runs, shown, other} = this.store.state;
    const [first, second] = [runs[shown], other === null ? undefined : runs[other]];
    const named = runs.map((run, place): [string, string] => [String(place), `${run.number}: ${title(run)}`]);
    setOptions(this.choices[0] as HTMLSelectElement, named, String(shown));
    setOptions(this.choices[1] as HTMLSelectElement, other === null ? [['', '–'], ...named] : named, other === null ? '' : String(other));
    this.both.show(undefined);
    this.together.note.hidden = !first || !second;
    this.maps[0].show(first?.map);
    this.maps[1].show(second?.map);
    put(this.table, first && second ? comparisonTable(first, second) : null);
  }

  private async showBefore(): Promise<void> {
    const run = this.store.state.runs[this.store.state.shown];
    if (!run) return;
    const {metrics, total} = run.result;
    put(this.table, h('p', {class: 'help'}, `${count(total)} trips before; ${count(metrics?.trips)} of them are published, ${percent(metrics?.suppressed ?? 0)} are left out.`));
    this.both.show(this.before.get(run.job));
    if (this.before.has(run.job)) return;
    const page = await this.work.before(run);
    if (page) this.before.set(run.job, page);
    const {view, runs, shown} = this.store.state;
    if (view === 'before' && runs[shown] === run) this.both.show(page ?? undefined);
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
