/** Step 4: how areas are joined, and how many trips may be left out; what comes of it is drawn beforehand. */

import {fetchPage} from './api';
import type {Axes} from './chart';
import {drawFrontier, within} from './chart';
import {choice, field, h, put, s} from './dom';
import {count, decimal, meters, percent} from './format';
import {Frame} from './frame';
import type {Point, State, Store} from './state';
import {kindOf, methodOf} from './state';
import {aboutRelease} from './about-release';
import {pathTradeOff} from './path-tradeoff';
import type {FrontierPoint} from './types';
import type {Work} from './work';

const TILES: Axes<FrontierPoint> = {
  most: 0.5,
  leftOut: 'trips left out',
  value: (point) => point.gbar,
  label: 'mean size of both ends, tiles',
  tell: (point) => `${percent(point.suppressed)} left out, both ends together have ${decimal(point.gbar)} tiles on average`,
};
const OWN = ['mosaic', 'nested', 'crosscut'];

export function tradeOffStep(store: Store, work: Work): HTMLElement {
  const {state} = store;
  const crowds = h('div', {class: 'trade'}, h('div', {class: 'trade-choices'}, ...methodControls(store), budgetControls(store), moreOptions(store)), pointsMap(store));
  const noise = h(
    'p',
    {class: 'lead-in'},
    'With noise nothing is left out: epsilon of the step before says how far numbers are off. Noise is drawn once; do not draw it again and again until you like it, as every draw that is seen costs epsilon.',
  );
  const paths = pathTradeOff(store, work);
  const report = check(store, 'report', 'Add a page that shows the release (report.html)');
  const update = () => {
    const kind = kindOf(state);
    crowds.hidden = kind !== 'anonymize';
    noise.hidden = kind !== 'noise';
    paths.hidden = kind !== 'paths';
  };
  store.on((_, changed) => {
    if (['promise', 'rowsAre'].some((name) => changed.has(name as keyof State))) update();
  });
  update();
  return h('div', {}, noise, paths, crowds, report, aboutRelease(store));
}

function methodControls(store: Store): HTMLElement[] {
  const {state} = store;
  const method = choice(methodChoices(state), state.method, (value) =>
    store.set({method: value, options: {}, loss: methodOf(state, value)?.losses ? state.loss : 'tiles'}),
  );
  const summary = h('p', {class: 'help'});
  const update = () => {
    method.value = state.method;
    const chosen = methodOf(state);
    put(summary, chosen ? `${capital(chosen.summary)}.` : '');
  };
  store.on((_, changed) => {
    if (changed.has('method')) update();
  });
  update();
  return [field('Method', method), summary];
}

const LOSSES: Record<string, string> = {
  tiles: 'tiles: sizes of areas, in tiles with trips',
  metres: 'metres: distance to the middle of an area',
  reconstruction: 'reconstruction: error of flows between tiles',
  area: 'area: sizes of areas, in all tiles',
};

function moreOptions(store: Store): HTMLElement {
  const {state} = store;
  const options = h('div', {class: 'pair'});
  const loss = choice(state.about.losses.map((name) => [name, LOSSES[name] ?? name]), state.loss, (value) => store.set({loss: value}));
  const lossField = field('What to lose little of', loss);
  const totals = check(store, 'totals', 'Publish all groups together too, where that is safe (totals)');
  const update = () => {
    lossField.hidden = !methodOf(state)?.losses;
    loss.value = state.loss;
    totals.hidden = !state.by.length;
    put(options, ...optionFields(store));
  };
  store.on((_, changed) => {
    if (['method', 'by', 'loss'].some((name) => changed.has(name as keyof State))) update();
  });
  update();
  return h(
    'details',
    {},
    h('summary', {}, 'More options'),
    lossField,
    options,
    check(store, 'elsewhere', 'Report what is left out as going elsewhere'),
    check(store, 'remainders', 'Let a flow count all other trips after finer flows inside it (remainders)'),
    totals,
  );
}

function check(store: Store, name: 'elsewhere' | 'report' | 'totals' | 'remainders', text: string): HTMLElement {
  const input = h('input', {
    type: 'checkbox',
    id: name,
    checked: store.state[name],
    onchange: () => store.set({[name]: input.checked}),
  });
  store.on((state, changed) => {
    if (changed.has(name)) input.checked = state[name];
  });
  return h('label', {class: 'check', for: name}, input, text);
}

function methodChoices(state: State): [string, string][] {
  const named = state.about.methods.map((one): [string, string] => [one.name, `${one.name}: ${one.family}`]);
  return [...OWN.flatMap((name) => named.filter(([one]) => one === name)), ...named.filter(([name]) => !OWN.includes(name))];
}

function optionFields(store: Store): HTMLElement[] {
  return (methodOf(store.state)?.options ?? []).map((option) => {
    const input = h('input', {
      type: 'text',
      placeholder: String(option.default),
      spellcheck: 'false',
      value: store.state.options[option.name] ?? '',
      onchange: () => {
        const options = {...store.state.options, [option.name]: input.value.trim()};
        if (!input.value.trim()) delete options[option.name];
        store.set({options});
      },
    });
    return field(option.name, input, option.meaning);
  });
}

function budgetControls(store: Store): HTMLElement {
  const {state} = store;
  const chart = s('svg', {class: 'frontier', role: 'img', 'aria-label': 'Size of places against trips left out'});
  const share = h('output', {class: 'share'});
  const reading = h('dl', {class: 'reading', 'aria-live': 'polite'});
  const without = h('p', {class: 'help'});
  const slider = h('input', {
    type: 'range',
    min: 0,
    max: TILES.most * 1000,
    step: 1,
    value: state.budget * 1000,
    oninput: () => store.set({budget: slider.valueAsNumber / 1000}),
  });
  const control = h('div', {}, h('div', {class: 'split'}, h('label', {for: (slider.id = 'budget')}, 'Most trips to leave out'), share), slider);
  const box = h('div', {class: 'budget-box'}, control, without, chart, reading);
  const update = () => {
    const method = methodOf(state);
    const points = state.frontier?.points ?? [];
    const drawn = points.length > 0 && Boolean(method?.frontier);
    control.hidden = !method?.steers;
    slider.value = String(state.budget * 1000);
    put(share, percent(state.budget));
    chart.toggleAttribute('hidden', !drawn);
    if (drawn) drawFrontier(chart, points, TILES, state.budget, within(points, state.budget, TILES.value), (budget) => store.set({budget}));
    put(reading, ...(drawn ? readings(state) : []));
    put(without, method && !method.frontier ? methodNote(method.steers) : drawn && !within(points, state.budget, TILES.value) ? tooLittle(state) : '');
  };
  store.on((_, changed) => {
    if (['budget', 'frontier', 'method', 'page'].some((name) => changed.has(name as keyof State))) update();
    if (changed.has('frontier')) box.classList.remove('stale');
    else if (['k', 'preset', 'unit', 'method', 'resolution', 'hierarchy', 'mapping', 'options', 'loss'].some((name) => changed.has(name as keyof State))) box.classList.add('stale');
  });
  new ResizeObserver(update).observe(control);
  return box;
}

function tooLittle(state: State): string {
  const least = Math.min(...(state.frontier?.points ?? []).map((point) => point.suppressed));
  return `No release leaves out so little: at least ${percent(least)} of the trips cannot be hidden. Move the slider, or lower k.`;
}

function methodNote(steers: boolean): string {
  return steers
    ? 'This method keeps within the budget but has no frontier to show beforehand.'
    : 'This method has one answer and cannot be steered: its release says what it leaves out.';
}

function readings(state: State): HTMLElement[] {
  const point = within(state.frontier?.points ?? [], state.budget, TILES.value);
  if (!point) return [];
  const entry = (value: string, name: string, meaning: string) => h('div', {title: meaning}, h('dd', {}, value), h('dt', {}, name));
  return [
    entry(percent(point.suppressed), 'left out', 'Share of trips in no published flow: never more than the slider says'),
    entry(count(point.flows), 'flows', 'Published flows at this point of the frontier'),
    entry(decimal(point.gbar), 'tiles, both ends', 'Mean number of tiles of both ends of a published trip; 2 is the finest'),
  ];
}

/** The map of a few budgets: never of one above the slider. */
function pointsMap(store: Store): HTMLElement {
  const {state} = store;
  const map = new Frame('What a budget gives');
  const cards = h('div', {class: 'cards', role: 'group', 'aria-label': 'What budgets give'});
  const words = h('p', {class: 'help', 'aria-live': 'polite'});
  const maps = new Map<string, string>();
  let drawn = '';
  const show = async (point: Point) => {
    if (drawn === point.job) return;
    drawn = point.job;
    const page = maps.get(point.job) ?? (await fetchPage(`/api/maps/${point.job}/0`).catch(() => null));
    if (!page || drawn !== point.job) return;
    maps.set(point.job, page);
    map.show(page);
  };
  const update = () => {
    const allowed = state.points.filter((point) => point.budget <= state.budget);
    const current = allowed.at(-1);
    const steers = methodOf(state)?.steers;
    frame.hidden = !current;
    put(cards, ...allowed.map((point) => card(point, point === current, () => store.set({budget: point.budget}))));
    put(
      words,
      current
        ? `The map shows what leaving out at most ${percent(current.budget, 0)} gives: published areas and flows.`
        : !steers
          ? 'What this method gives is shown with its release.'
          : state.activity && state.page === 3
            ? 'What a few budgets give is being drawn.'
            : '',
    );
    if (current) void show(current);
  };
  store.on((_, changed) => {
    if (['points', 'budget', 'page', 'method', 'activity'].some((name) => changed.has(name as keyof State))) update();
  });
  const frame = h('div', {class: 'map-frame'}, map.element);
  frame.hidden = true;
  return h('div', {class: 'trade-map'}, cards, words, frame);
}

function card(point: Point, chosen: boolean, pick: () => void): HTMLElement {
  const blur = point.metrics.gdm ? `off by ${meters(point.metrics.gdm.mean)}` : `${decimal(point.metrics.gbar)} tiles`;
  return h(
    'button',
    {type: 'button', class: chosen ? 'card-choice chosen' : 'card-choice', 'aria-pressed': chosen ? 'true' : 'false', onclick: pick},
    h('b', {}, point.budget ? `up to ${percent(point.budget, 0)} left out` : 'nothing left out'),
    h('span', {}, `${count(point.metrics.flows)} flows, ${blur}`),
  );
}

function capital(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}
