/** Step 5: figures, map, strongest flows, promise, downloads; one release, before and after, or two side by side. */

import {choice, h, put, segmented, setOptions} from './dom';
import {count, percent} from './format';
import {Exploration} from './explore';
import {downloadButton, filesPanel} from './files';
import {Comparison} from './pair';
import {RiskView} from './risk';
import type {Run, State, Store} from './state';
import {isStale, kindOf, title} from './state';
import type {Work} from './work';

export function resultStep(store: Store, work: Work): HTMLElement {
  const one = new Exploration('Map of the release');
  const compared = new Comparison(store, work);
  const risk = new RiskView(store, work);
  const runs = choice([], '', (value) => store.set({shown: Number(value)}));
  runs.setAttribute('aria-label', 'Release');
  const views: [State['view'], string][] = [['one', 'Explore'], ['before', 'Before and after'], ['two', 'Compare'], ['risk', 'Risk']];
  const view = segmented('View', views, 'one', (value) => store.set({view: value}));
  const current = () => store.state.runs[store.state.shown];
  const stale = staleBox(store, work, current);
  const files = filesPanel(store, work, current);
  const take = downloadButton(current);
  const bar = h('div', {class: 'bar'}, view, runs, h('span', {class: 'grow'}), compared.invite, take);
  const panel = h('div', {class: 'results'}, stale, bar, one.element, compared.element, risk.element, files);
  const none = h('p', {class: 'lead-in'}, 'There is no release yet. Choose in the steps before, then make it.');
  store.on((state, changed) => {
    const run = current();
    panel.hidden = !run;
    none.hidden = Boolean(run);
    if (!run || !['runs', 'shown', 'other', 'view', 'page'].some((name) => changed.has(name as keyof State)) || state.page !== 4) return;
    const of = run.kind === 'anonymize';
    const shown = of ? state.view : 'one';
    setOptions(runs, state.runs.map((each, place) => [String(place), `${each.number}: ${title(each)}`]), String(state.shown));
    view.hidden = !of;
    view.select(shown);
    runs.hidden = files.hidden = take.hidden = shown === 'two';
    compared.invite.hidden = shown !== 'two';
    one.element.hidden = shown !== 'one';
    compared.element.hidden = shown === 'one' || shown === 'risk';
    risk.element.hidden = shown !== 'risk';
    if (shown === 'one') one.show(run);
    else if (shown === 'risk') void risk.show(run);
    else compared.show(shown);
  });
  return h('div', {}, none, panel);
}

/** Say that a release belongs to other settings than those of now, and offer both ways out. */
function staleBox(store: Store, work: Work, current: () => Run | undefined): HTMLElement {
  const box = h('div', {class: 'note warn stale-note', role: 'status', hidden: true});
  store.on((state) => {
    const run = current();
    const stale = run !== undefined && state.view !== 'two' && isStale(state, run);
    if (stale === !box.hidden) return;
    box.hidden = !stale;
    if (!stale || !run) return;
    put(
      box,
      h('b', {}, 'These results belong to the settings before your change: '),
      `${title(run)}. Map, figures and downloads are theirs.`,
      h('button', {type: 'button', class: 'small', id: 'again', onclick: () => void work.anonymize()}, 'Make the release again'),
      h('button', {type: 'button', class: 'small', id: 'back-to', onclick: () => store.set({...(current() ?? run).choices})}, 'Go back to these settings'),
    );
  });
  return box;
}

/** Say in short what is chosen now. */
export function choicesInShort(state: State): string {
  const kind = kindOf(state);
  if (kind === 'noise') return `noise, epsilon = ${state.epsilon}`;
  if (kind === 'paths') return `paths of ${count(Math.max(2, state.k))} persons${state.pathMethod === 'glove' ? '' : `, at most ${percent(state.pathBudget)} of samples left out`}`;
  return `${state.method}, k = ${count(state.k)}, at most ${percent(state.budget)} left out`;
}
