/** Step 3: what is promised to those who traveled. */

import {choice, field, h, put, setOptions} from './dom';
import type {Store} from './state';

export function promisePanel(store: Store): HTMLElement {
  const {state} = store;
  const text = h('p', {class: 'promise'});
  const unit = choice([['', 'trips']], '', (value) => store.set({unit: value}));
  const weight = choice([['', 'none']], '', (value) => store.set({weight: value}));
  const number = h('input', {
    type: 'number',
    min: 1,
    max: 100_000,
    value: state.k,
    class: 'short',
    'aria-label': 'k as a number',
    onchange: () => setK(number.valueAsNumber),
  });
  const slider = h('input', {
    type: 'range',
    min: 2,
    max: 50,
    value: state.k,
    oninput: () => {
      number.value = slider.value;
    },
    onchange: () => setK(slider.valueAsNumber),
  });
  const setK = (k: number) => store.set({k: Number.isFinite(k) ? Math.max(1, Math.round(k)) : 10});
  const people = h('input', {
    type: 'number',
    min: 0,
    placeholder: 'none',
    onchange: () => store.set({kWeight: people.value === '' ? null : people.valueAsNumber}),
  });
  const represented = field('Fewest people a flow stands for', people);
  const tiles = h('input', {
    type: 'number',
    min: 1,
    value: state.minTiles,
    onchange: () => store.set({minTiles: Math.max(1, Math.round(tiles.valueAsNumber || 1))}),
  });
  const update = () => {
    number.value = slider.value = String(state.k);
    represented.hidden = !state.weight;
    put(
      text,
      'Every published flow is shared by at least ',
      h('b', {}, state.k),
      state.unit ? ' different values of ' : ' trips. ',
      state.unit ? h('code', {}, state.unit) : 'One person may have made all of them: choose a column of persons if there is one.',
    );
    text.classList.toggle('weak', !state.unit);
  };
  store.on((_, changed) => {
    if (changed.has('columns')) {
      const named = state.columns.map((name): [string, string] => [name, name]);
      setOptions(unit, [['', 'trips (no column of persons)'], ...named], state.unit);
      setOptions(weight, [['', 'none'], ...named], state.weight);
    }
    if (['columns', 'unit', 'k', 'weight'].some((name) => changed.has(name as keyof typeof state))) update();
  });
  update();
  return h(
    'div',
    {},
    field('k counts', unit),
    h('div', {class: 'field'}, field('Smallest crowd, k', slider), number),
    text,
    h(
      'details',
      {},
      h('summary', {}, 'More demands'),
      field('Column of weights', weight, 'People that a person stands for, as in surveys.'),
      represented,
      field('Fewest tiles at both ends', tiles),
    ),
  );
}
