/** Step 1: which trips, which column is what, and what is wrong with them. */

import {choice, field, h, put} from './dom';
import {bytes, count} from './format';
import type {State, Store} from './state';
import type {Work} from './work';

const MEANINGS = {
  grid: {start_lon: 'Start longitude', start_lat: 'Start latitude', end_lon: 'End longitude', end_lat: 'End latitude'},
  zones: {origin: 'Origin zone', destination: 'Destination zone', count: 'Number of trips'},
};
const MANY_ROWS = 0.1;

export function filePicker(label: string, endings: string[], take: (file: File) => void): HTMLElement {
  const input = h('input', {
    type: 'file',
    accept: endings.join(','),
    class: 'hidden-input',
    'aria-label': label,
    onchange: () => {
      const file = input.files?.[0];
      if (file) take(file);
      input.value = '';
    },
  });
  const zone = h('label', {class: 'drop'}, input, h('b', {}, label), h('span', {}, `or drop it here: ${endings.join(' ')}`));
  for (const name of ['dragover', 'dragleave', 'drop'] as const) {
    zone.addEventListener(name, (event) => {
      event.preventDefault();
      event.stopPropagation();
      zone.classList.toggle('over', name === 'dragover');
      const file = name === 'drop' ? event.dataTransfer?.files[0] : undefined;
      if (file) take(file);
    });
  }
  return zone;
}

export function tripsPanel(store: Store, work: Work): HTMLElement {
  const about = h('div', {class: 'file-card'});
  const columns = h('div', {});
  const problems = h('div', {class: 'problems', 'aria-live': 'polite'});
  const replace = h(
    'div',
    {class: 'row'},
    filePicker('Another file', store.state.about.endings.trips, (file) => void work.takeFile(file)),
  );
  store.on((state, changed) => {
    if (changed.has('file') || changed.has('count')) put(about, ...describeFile(state));
    if (['columns', 'mapping', 'places', 'file'].some((name) => changed.has(name as keyof State))) {
      put(columns, state.file ? columnChoices(store) : null);
    }
    if (changed.has('count')) put(problems, ...describeProblems(store));
  });
  return h('div', {}, about, problems, columns, replace);
}

function describeFile(state: State): (HTMLElement | null)[] {
  if (!state.file) return [];
  const facts = state.count
    ? [
        [count(state.count.trips), 'trips'],
        state.count.persons === null ? null : [count(state.count.persons), 'persons'],
        [count(state.count.pairs), 'pairs of places'],
      ]
    : [];
  return [
    h('div', {class: 'file-name'}, h('b', {title: state.file.name}, state.file.name), h('span', {}, bytes(state.file.bytes))),
    h(
      'dl',
      {class: 'facts'},
      ...facts.flatMap((fact) => (fact ? [h('div', {}, h('dd', {}, fact[0]), h('dt', {}, fact[1]))] : [])),
    ),
  ];
}

function columnChoices(store: Store): HTMLElement {
  const {state} = store;
  const meanings = Object.entries(MEANINGS[state.places]);
  const options: [string, string][] = [['', '–'], ...state.columns.map((name): [string, string] => [name, name])];
  const missing = meanings.some(([name]) => name !== 'count' && !(state.mapping[name] ?? state.known[name]));
  return h(
    'details',
    {open: missing},
    h('summary', {}, `${state.columns.length} columns`, missing ? h('span', {class: 'badge warn'}, 'choose') : null),
    h('p', {class: 'chips'}, ...state.columns.slice(0, 60).map((name) => h('code', {}, name))),
    h(
      'div',
      {class: 'pair'},
      ...meanings.map(([name, label]) =>
        field(
          label,
          choice(options, state.mapping[name] ?? state.known[name] ?? '', (column) => {
            const mapping = {...state.mapping, [name]: column};
            if (column === (state.known[name] ?? '')) delete mapping[name];
            if (!column && name !== 'count') delete mapping[name];
            store.set({mapping});
          }),
        ),
      ),
    ),
  );
}

/** Offer to exchange longitude and latitude where the engine says that they look exchanged. */
export function exchangeButton(store: Store, text: string): HTMLElement | null {
  if (!text.includes('look exchanged')) return null;
  const now = (name: string) => store.state.mapping[name] ?? store.state.known[name] ?? '';
  const exchanged = () => ({
    start_lon: now('start_lat'),
    start_lat: now('start_lon'),
    end_lon: now('end_lat'),
    end_lat: now('end_lon'),
  });
  return h('button', {type: 'button', class: 'small', onclick: () => store.set({mapping: exchanged()})}, 'Exchange them');
}

function describeProblems(store: Store): (HTMLElement | null)[] {
  const found = store.state.count;
  if (!found) return [];
  const dropped = Object.values(found.dropped).reduce((sum, rows) => sum + rows, 0);
  if (!found.notes.length) {
    return [h('p', {class: 'note good'}, `All ${count(found.rows)} rows can be used.`)];
  }
  const kind = dropped > MANY_ROWS * found.rows ? 'note bad' : 'note warn';
  return found.notes.map((text) => h('p', {class: kind}, text.replace(/^WARNING: /, ''), exchangeButton(store, text)));
}
