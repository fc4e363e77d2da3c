/** Step 3: what is promised to those who traveled. */

import {choice, field, h, put, segmented, setOptions} from './dom';
import {decimal} from './format';
import type {State, Store} from './state';

const NINETEEN_OF_TWENTY = Math.log(20); // scales of Laplace noise that 19 of 20 draws stay within
const PRESETS: Record<string, string> = {
  'ine-15': 'INE, Spain: flows of 15 persons or more',
  'mds-10': 'Mobility Data Specification: 10',
  'insee-11': 'INSEE, France: 11',
  'cnil-10': 'CNIL, France: 10',
  'flowkit-15': 'FlowKit: 15',
};

export function promiseStep(store: Store): HTMLElement {
  const {state} = store;
  const kind = segmented('Promise', [['crowds', 'Crowds'], ['noise', 'Noise']], state.promise, (value) => store.set({promise: value}));
  const lead = h('p', {class: 'lead-in'});
  const who = personControls(store);
  const crowds = crowdControls(store);
  const noise = noiseControls(store);
  const paths = pathControls(store);
  const update = () => {
    const samples = state.rowsAre === 'samples';
    kind.hidden = who.hidden = samples;
    kind.select(state.promise);
    crowds.hidden = !samples && state.promise === 'noise';
    noise.hidden = samples || state.promise !== 'noise';
    paths.hidden = !samples;
    put(
      lead,
      samples
        ? 'Whole paths are merged until at least k persons share each of them.'
        : state.promise === 'crowds'
          ? 'Crowds: every published number is shared by at least k persons. Places are joined until that is so; the numbers stay exact.'
          : 'Noise: numbers are changed at random, so that nobody can tell whether one person is in the data (differential privacy).',
    );
  };
  store.on((_, changed) => {
    if (['promise', 'rowsAre'].some((name) => changed.has(name as keyof State))) update();
  });
  update();
  return h('div', {}, kind, lead, who, crowds, noise, paths);
}

function personControls(store: Store): HTMLElement {
  const {state} = store;
  const unit = choice([['', 'single trips']], '', (value) => store.set({unit: value, ...(value ? {} : {preset: ''})}));
  store.on((_, changed) => {
    if (!['columns', 'unit'].some((name) => changed.has(name as keyof State))) return;
    setOptions(unit, [['', 'single trips (no column of persons)'], ...state.columns.map((name): [string, string] => [name, name])], state.unit);
  });
  return field('Who is protected', unit, 'A column that is the same in all rows of a person (or vehicle).');
}

function crowdControls(store: Store): HTMLElement {
  const {state} = store;
  const text = h('p', {class: 'promise'});
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
  const setK = (k: number) => store.set({k: Number.isFinite(k) ? Math.max(1, Math.round(k)) : 10, preset: ''});
  const names = Object.entries(state.about.presets);
  const preset = choice(
    [['', 'my own k'], ...names.map(([name]): [string, string] => [name, `${PRESETS[name] ?? name} (${name})`])],
    state.preset,
    (value) => store.set({preset: value, ...(value ? {k: state.about.presets[value] ?? state.k} : {})}),
  );
  const presetField = field('As others do', preset, 'Following their number is not being approved by them.');
  const more = moreDemands(store);
  const update = () => {
    const samples = state.rowsAre === 'samples';
    number.value = slider.value = String(state.k);
    preset.value = state.preset;
    presetField.hidden = samples || !state.unit;
    more.hidden = samples;
    put(
      text,
      samples ? 'Every published path is shared by at least ' : 'Every published flow is shared by at least ',
      h('b', {}, samples ? Math.max(2, state.k) : state.k),
      samples ? ' persons.' : state.unit ? ' different values of ' : ' trips. ',
      samples ? null : state.unit ? h('code', {}, state.unit) : 'One person may have made all of them: choose who is protected, if there is a column of persons.',
    );
    text.classList.toggle('weak', !samples && !state.unit);
  };
  store.on((_, changed) => {
    if (['columns', 'unit', 'k', 'preset', 'rowsAre'].some((name) => changed.has(name as keyof State))) update();
  });
  update();
  return h('div', {}, presetField, h('div', {class: 'field'}, field('Smallest crowd, k', slider), number), text, more);
}

function moreDemands(store: Store): HTMLElement {
  const {state} = store;
  const weight = choice([['', 'none']], '', (value) => store.set({weight: value}));
  const people = h('input', {
    type: 'text',
    placeholder: 'none',
    spellcheck: 'false',
    onchange: () => store.set({kWeight: people.value.trim() === 'auto' || Number(people.value) > 0 ? people.value.trim() : ''}),
  });
  const represented = field('Fewest people a flow stands for', people, 'A number, or auto: k times the mean weight.');
  const tiles = h('input', {
    type: 'number',
    min: 1,
    value: state.minTiles,
    onchange: () => store.set({minTiles: Math.max(1, Math.round(tiles.valueAsNumber || 1))}),
  });
  store.on((_, changed) => {
    if (['columns', 'weight', 'kWeight', 'minTiles'].some((name) => changed.has(name as keyof State))) {
      setOptions(weight, [['', 'none'], ...state.columns.map((name): [string, string] => [name, name])], state.weight);
      represented.hidden = !state.weight;
      people.value = state.kWeight;
      tiles.value = String(state.minTiles);
    }
  });
  represented.hidden = !state.weight;
  return h(
    'details',
    {},
    h('summary', {}, 'More demands'),
    field('Column of weights', weight, 'People that a person stands for, as in surveys.'),
    represented,
    field('Fewest tiles at both ends', tiles),
  );
}

function noiseControls(store: Store): HTMLElement {
  const {state} = store;
  const epsilon = h('input', {
    type: 'number',
    min: 0.01,
    max: 20,
    step: 0.1,
    value: state.epsilon,
    onchange: () => store.set({epsilon: epsilon.valueAsNumber > 0 ? epsilon.valueAsNumber : 1}),
  });
  const most = h('input', {
    type: 'number',
    min: 1,
    max: 1000,
    value: state.mostTrips,
    onchange: () => store.set({mostTrips: Math.max(1, Math.round(most.valueAsNumber || 1))}),
  });
  const mostField = field('Trips of a person that count', most, 'Others are left out at random. Choose it without looking at the trips: more of them need more noise.');
  const method = choice(state.about.noise.map((one) => [one.name, one.name]), state.noiseMethod, (value) => store.set({noiseMethod: value}));
  const summary = h('p', {class: 'help'});
  const methodField = h('div', {}, field('Method', method), summary);
  const text = h('p', {class: 'promise'});
  const update = () => {
    epsilon.value = String(state.epsilon);
    most.value = String(state.mostTrips);
    method.value = state.noiseMethod;
    mostField.hidden = !state.unit;
    methodField.hidden = state.places === 'zones';
    put(summary, state.about.noise.find((one) => one.name === state.noiseMethod)?.summary);
    const off = Math.ceil((NINETEEN_OF_TWENTY * (state.unit ? state.mostTrips : 1)) / state.epsilon);
    put(
      text,
      state.unit ? 'Whether one value of ' : 'Whether one single trip',
      state.unit ? h('code', {}, state.unit) : null,
      ` is in the data changes what anyone can learn by a factor of at most ${decimal(Math.exp(state.epsilon))}. 19 of 20 counts are off by about ${off} trips or less, more where areas are cut finely.`,
    );
  };
  store.on((_, changed) => {
    if (['epsilon', 'mostTrips', 'unit', 'noiseMethod', 'places', 'columns'].some((name) => changed.has(name as keyof State))) update();
  });
  update();
  return h('div', {}, h('div', {class: 'pair'}, field('Epsilon', epsilon, 'Less is safer and noisier; 1 is usual.'), mostField), text, methodField);
}

function pathControls(store: Store): HTMLElement {
  const {state} = store;
  const variant = choice(
    [
      ['strict', 'strict: persons without a near group are left out'],
      ['absorb', 'absorb: they join the nearest group'],
      ['loose', 'loose: groups take in others, as published'],
    ],
    state.variant,
    (value) => store.set({variant: value}),
  );
  const limit = (name: 'maxExtent' | 'maxDuration', placeholder: string) => {
    const input = h('input', {type: 'text', placeholder, spellcheck: 'false', value: state[name], onchange: () => store.set({[name]: input.value.trim()})});
    store.on((_, changed) => {
      if (changed.has(name)) input.value = state[name];
    });
    return input;
  };
  store.on((_, changed) => {
    if (changed.has('variant')) variant.value = state.variant;
  });
  return h(
    'details',
    {},
    h('summary', {}, 'More demands'),
    field('How paths merge', variant),
    h(
      'div',
      {class: 'pair'},
      field('Leave out samples larger than', limit('maxExtent', 'none, e.g. 15km')),
      field('Leave out samples longer than', limit('maxDuration', 'none, e.g. 6h')),
    ),
  );
}
