/** Step 4: how areas are joined, and how many trips may be left out. */

import {MOST, drawFrontier, nearest} from './chart';
import {choice, field, h, put, s} from './dom';
import {count, decimal, percent} from './format';
import type {State, Store} from './state';
import {methodOf} from './state';

const OWN = ['mosaic', 'nested', 'crosscut'];

/** budget: the controls of the budget, or a place for them. */
export function methodPanel(store: Store, budget: HTMLElement): HTMLElement {
  const {state} = store;
  const method = choice(methodChoices(state), state.method, (value) =>
    store.set({method: value, options: {}, loss: methodOf(state, value)?.losses ? state.loss : 'tiles'}),
  );
  const summary = h('p', {class: 'help'});
  const options = h('div', {class: 'pair'});
  const loss = choice(state.about.losses.map((name) => [name, name]), state.loss, (value) => store.set({loss: value}));
  const lossField = field('What to lose little of', loss);
  const update = () => {
    const chosen = methodOf(state);
    put(summary, chosen ? `${capital(chosen.summary)}.` : '');
    lossField.hidden = !chosen?.losses;
    loss.value = state.loss;
    put(options, ...optionFields(store));
  };
  store.on((_, changed) => {
    if (changed.has('method')) update();
  });
  update();
  return h(
    'div',
    {},
    field('Method', method),
    summary,
    budget,
    h(
      'details',
      {},
      h('summary', {}, 'More options'),
      lossField,
      options,
      check(store, 'elsewhere', 'Report what is left out as going elsewhere'),
      check(store, 'report', 'Add a page that shows the release (report.html)'),
    ),
  );
}

function check(store: Store, name: 'elsewhere' | 'report', text: string): HTMLElement {
  const input = h('input', {
    type: 'checkbox',
    id: name,
    checked: store.state[name],
    onchange: () => store.set({[name]: input.checked}),
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
      onchange: () => {
        const options = {...store.state.options, [option.name]: input.value.trim()};
        if (!input.value.trim()) delete options[option.name];
        store.set({options});
      },
    });
    return field(option.name, input, option.meaning);
  });
}

export function budgetControls(store: Store): HTMLElement {
  const {state} = store;
  const chart = s('svg', {class: 'frontier', role: 'img', 'aria-label': 'Mean error against trips left out'});
  const share = h('output', {class: 'share'});
  const reading = h('dl', {class: 'reading', 'aria-live': 'polite'});
  const without = h('p', {class: 'help'});
  const slider = h('input', {
    type: 'range',
    min: 0,
    max: MOST * 1000,
    step: 1,
    value: state.budget * 1000,
    oninput: () => store.set({budget: slider.valueAsNumber / 1000}),
  });
  const control = h('div', {}, h('div', {class: 'split'}, h('label', {for: (slider.id = 'budget')}, 'Most trips to leave out'), share), slider);
  const update = () => {
    const method = methodOf(state);
    const points = state.frontier?.points ?? [];
    const drawn = points.length > 0 && Boolean(method?.frontier);
    control.hidden = !method?.steers;
    slider.value = String(state.budget * 1000);
    put(share, percent(state.budget));
    chart.toggleAttribute('hidden', !drawn);
    if (drawn) drawFrontier(chart, points, state.budget, (budget) => store.set({budget}));
    put(reading, ...(drawn ? readings(state) : []));
    put(without, method && !method.frontier ? methodNote(method.steers) : '');
  };
  store.on((_, changed) => {
    if (['budget', 'frontier', 'method'].some((name) => changed.has(name as keyof State))) update();
  });
  new ResizeObserver(update).observe(control);
  return h('div', {class: 'budget-box'}, control, without, chart, reading);
}

function methodNote(steers: boolean): string {
  return steers
    ? 'This method keeps within the budget but has no frontier to show beforehand.'
    : 'This method has one answer and cannot be steered: its release says what it leaves out.';
}

function readings(state: State): HTMLElement[] {
  const point = nearest(state.frontier?.points ?? [], state.budget);
  if (!point) return [];
  const entry = (value: string, name: string, meaning: string) => h('div', {title: meaning}, h('dd', {}, value), h('dt', {}, name));
  return [
    entry(decimal(point.gbar), 'mean error, tiles', 'Mean number of tiles of both ends of a published trip; 2 is none'),
    entry(percent(point.suppressed), 'left out', 'Share of trips in no published flow, at the nearest point of the frontier'),
    entry(count(point.flows), 'flows', 'Published flows at the nearest point of the frontier'),
  ];
}

function capital(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}
