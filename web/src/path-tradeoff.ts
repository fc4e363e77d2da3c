/** Step 4 of paths: how persons are grouped, how many samples may be left out, and what each share buys. */

import type {Axes} from './chart';
import {drawFrontier, within} from './chart';
import {choice, field, h, put, s} from './dom';
import {count, decimal, percent} from './format';
import type {State, Store} from './state';
import type {PathPoint} from './types';
import type {Work} from './work';

const METHODS: [State['pathMethod'], string][] = [
  ['glove', 'glove: at least k persons share each path'],
  ['complete', 'glove, and all of them were seen in every sample of it'],
  ['gather', 'gather: all were seen in every sample, grouped by what they share'],
];
const AXES = {most: 1, leftOut: 'samples left out'};
const tell = (point: PathPoint) => `${percent(point.suppressed)} left out: ${decimal(point.extent / 1000)} km and ${decimal(point.duration)} minutes on average`;
const EXTENT: Axes<PathPoint> = {...AXES, value: (point) => point.extent / 1000, label: 'mean extent of a sample, km', tell};
const DURATION: Axes<PathPoint> = {...AXES, value: (point) => point.duration, label: 'mean duration of a sample, minutes', tell};
const price = (point: PathPoint) => point.price;

export function pathTradeOff(store: Store, work: Work): HTMLElement {
  const {state} = store;
  const method = choice(METHODS, state.pathMethod, (value) => store.set({pathMethod: value as State['pathMethod']}));
  const share = h('output', {class: 'share'});
  const slider = h('input', {
    type: 'range',
    min: 0,
    max: 990,
    step: 1,
    id: 'path-budget',
    value: state.pathBudget * 1000,
    oninput: () => store.set({pathBudget: slider.valueAsNumber / 1000}),
  });
  const ask = h('button', {type: 'button', id: 'path-frontier', onclick: () => void work.followPaths()}, 'Show what each share buys');
  const charts = [EXTENT, DURATION].map((axes) => ({axes, element: s('svg', {class: 'frontier', role: 'img', 'aria-label': `${axes.label}, against samples left out`})}));
  const reading = h('dl', {class: 'reading', 'aria-live': 'polite'});
  const words = h('p', {class: 'help', 'aria-live': 'polite'});
  const pair = h('div', {class: 'side-by-side'}, ...charts.map(({element}) => element));
  const steered = h(
    'div',
    {class: 'budget-box'},
    h('div', {class: 'split'}, h('label', {for: slider.id}, 'Most samples to leave out'), share),
    slider,
    h('p', {class: 'help'}, 'The less is left out, the larger and longer samples become.'),
    ask,
    pair,
    words,
    reading,
  );
  const update = () => {
    const points = state.pathFrontier?.points ?? [];
    const chosen = within(points, state.pathBudget, price);
    method.value = state.pathMethod;
    steered.hidden = state.pathMethod === 'glove';
    slider.value = String(state.pathBudget * 1000);
    put(share, percent(state.pathBudget));
    ask.hidden = points.length > 0;
    ask.disabled = Boolean(state.activity);
    pair.hidden = points.length < 2;
    if (!pair.hidden) for (const {axes, element} of charts) drawFrontier(element, points, axes, state.pathBudget, chosen, (budget) => store.set({pathBudget: Math.min(0.99, budget)}));
    put(words, wordsOf(state, chosen));
    put(reading, ...(chosen ? readings(chosen) : []));
  };
  store.on((_, changed) => {
    if (['pathBudget', 'pathFrontier', 'pathMethod', 'page', 'activity'].some((name) => changed.has(name as keyof State))) update();
  });
  new ResizeObserver(update).observe(slider);
  update();
  return h('div', {}, field('How persons are grouped', method), steered);
}

function wordsOf(state: State, chosen: PathPoint | null): string {
  const found = state.pathFrontier;
  if (!found) return 'That makes eight releases, and may take minutes with many persons. It is counted from true samples: keep it to yourself.';
  if (!found.points.length) return 'No sample can be published at any price. Lower k, or take larger limits of samples.';
  if (chosen) return 'Of the releases that were tried, the finest that leaves out no more than the slider says. The release itself is searched for between them.';
  const least = Math.min(...found.points.map((point) => point.suppressed));
  return `None of the releases that were tried leaves out so little: at least ${percent(least)}. Move the slider, or lower k.`;
}

function readings(point: PathPoint): HTMLElement[] {
  const entry = (value: string, name: string, meaning: string) => h('div', {title: meaning}, h('dd', {}, value), h('dt', {}, name));
  return [
    entry(percent(point.suppressed), 'left out', 'Share of samples in no published box: never more than the slider says'),
    entry(`${decimal(point.extent / 1000)} km`, 'mean extent', 'The longer edge of a published box, mean over samples of persons'),
    entry(`${decimal(point.duration)} min`, 'mean duration', 'How long a published sample lasts, mean over samples of persons'),
    entry(count(point.users), 'persons', 'Persons who are in a published path'),
  ];
}
