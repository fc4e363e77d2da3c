/** Step 1: which rows, which column is what, and what is wrong with them. */

import {choice, h, put, segmented} from './dom';
import {bytes, count} from './format';
import type {State, Store} from './state';
import {columnOf, guessSamples, guessUnit} from './state';
import type {Work} from './work';

type Group = 'start' | 'end' | 'time' | 'person' | 'weight' | 'group' | 'zone' | 'none';

const NOTHING = '';
const TRIPS: [string, string, Group][] = [
  [NOTHING, 'not used', 'none'],
  ['start_lon', 'start longitude', 'start'],
  ['start_lat', 'start latitude', 'start'],
  ['end_lon', 'end longitude', 'end'],
  ['end_lat', 'end latitude', 'end'],
  ['start_time', 'start time', 'time'],
  ['unit', 'person', 'person'],
  ['weight', 'weight', 'weight'],
  ['by', 'group', 'group'],
  ['origin', 'start zone', 'zone'],
  ['destination', 'end zone', 'zone'],
  ['count', 'number of trips', 'weight'],
];
const SAMPLES: [string, string, Group][] = [
  [NOTHING, 'not used', 'none'],
  ['user', 'person', 'person'],
  ['lon', 'longitude', 'start'],
  ['lat', 'latitude', 'start'],
  ['time', 'time', 'time'],
];
const MOST_COLUMNS = 60;
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

export function tripsStep(store: Store, work: Work): HTMLElement {
  const about = h('div', {class: 'file-card'});
  const preview = h('div', {class: 'preview', role: 'region', 'aria-label': 'First rows, and what each column is', tabindex: 0});
  const problems = h('div', {class: 'problems', 'aria-live': 'polite'});
  const kind = segmented('Each row is', [['trips', 'a trip'], ['samples', 'a sample of a path: who was where, when']], store.state.rowsAre, (value) =>
    store.set({rowsAre: value}),
  );
  const again = h('div', {class: 'row'}, filePicker('Another file', store.state.about.endings.trips, (file) => void work.takeFile(file)));
  store.on((state, changed) => {
    if (changed.has('file') || changed.has('count')) put(about, ...describeFile(state));
    if (changed.has('rowsAre')) kind.select(state.rowsAre);
    if (['columns', 'mapping', 'samples', 'unit', 'weight', 'by', 'rowsAre', 'file'].some((name) => changed.has(name as keyof State))) {
      put(preview, state.file ? previewTable(store) : null);
    }
    if (['count', 'rowsAre', 'mapping'].some((name) => changed.has(name as keyof State))) put(problems, ...describeProblems(store));
  });
  return h(
    'div',
    {},
    about,
    h('div', {class: 'line'}, h('span', {class: 'label'}, 'Each row is'), kind),
    h('p', {class: 'help'}, 'The first rows as they are in the file. Above each column stands what it is taken for: change it where that is wrong.'),
    preview,
    problems,
    again,
  );
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
    h('dl', {class: 'facts'}, ...facts.flatMap((fact) => (fact ? [h('div', {}, h('dd', {}, fact[0]), h('dt', {}, fact[1]))] : []))),
  ];
}

/** Return what a column is taken for. */
function tagOf(state: State, column: string): string {
  if (state.rowsAre === 'samples') return Object.keys(state.samples).find((name) => state.samples[name] === column) ?? NOTHING;
  if (state.unit === column) return 'unit';
  if (state.weight === column) return 'weight';
  if (state.by.includes(column)) return 'by';
  return TRIPS.map(([tag]) => tag).find((tag) => tag && columnOf(state, tag) === column) ?? NOTHING;
}

/** Give a column a tag; whatever had that tag before loses it, but groups may be several. */
function setTag(store: Store, column: string, tag: string): void {
  const {state} = store;
  const before = tagOf(state, column);
  if (state.rowsAre === 'samples') {
    const samples = {...state.samples};
    if (before) delete samples[before];
    if (tag) samples[tag] = column;
    return store.set({samples});
  }
  const mapping = {...state.mapping};
  const change: Partial<State> = {};
  if (before === 'unit' || before === 'weight') change[before] = '';
  else if (before === 'by') change.by = state.by.filter((name) => name !== column);
  else if (before) mapping[before] = '';
  if (tag === 'unit' || tag === 'weight') change[tag] = column;
  else if (tag === 'by') change.by = [...(change.by ?? state.by), column];
  else if (tag) mapping[tag] = column;
  for (const [meaning, chosen] of Object.entries(mapping)) if (chosen === (state.known[meaning] ?? '')) delete mapping[meaning];
  const named = tag.startsWith('start_l') || tag.startsWith('end_l');
  const zoned = tag === 'origin' || tag === 'destination';
  store.set({...change, mapping, ...(named ? {places: 'grid'} : zoned ? {places: 'zones'} : {})});
}

function previewTable(store: Store): HTMLElement {
  const {state} = store;
  const tags = state.rowsAre === 'samples' ? SAMPLES : TRIPS;
  const places = inOrder(state).slice(0, MOST_COLUMNS);
  const shown = places.map((place) => state.columns[place] ?? '');
  const groups = new Map(tags.map(([tag, , group]) => [tag, group]));
  const heads = shown.map((column) => {
    const tag = tagOf(state, column);
    const picker = choice(tags.map(([value, text]): [string, string] => [value, text]), tag, (value) => setTag(store, column, value));
    picker.setAttribute('aria-label', `What ${column} is`);
    return h('th', {scope: 'col', class: `tag ${groups.get(tag) ?? 'none'}`}, picker, h('code', {}, column));
  });
  const body = state.rows.map((row) => h('tr', {}, ...places.map((place) => h('td', {}, row[place] ?? ''))));
  const more = state.columns.length - shown.length;
  return h(
    'div',
    {},
    h('table', {}, h('thead', {}, h('tr', {}, ...heads)), h('tbody', {}, ...body)),
    more > 0 ? h('p', {class: 'help'}, `${count(more)} more columns are not shown.`) : null,
  );
}

/** Return places of columns: those that were understood first, so that they are seen. It stays when tags change. */
function inOrder(state: State): number[] {
  const known = new Set(state.rowsAre === 'samples' ? Object.values(guessSamples(state.columns)) : [...Object.values(state.known), guessUnit(state.columns)]);
  const all = state.columns.map((_, place) => place);
  const is = (place: number) => known.has(state.columns[place] ?? '');
  return [...all.filter(is), ...all.filter((place) => !is(place))];
}

/** Offer to exchange longitude and latitude where the engine says that they look exchanged. */
export function exchangeButton(store: Store, text: string): HTMLElement | null {
  if (!text.includes('look exchanged')) return null;
  const now = (name: string) => columnOf(store.state, name);
  const exchanged = () => ({
    ...store.state.mapping,
    start_lon: now('start_lat'),
    start_lat: now('start_lon'),
    end_lon: now('end_lat'),
    end_lat: now('end_lon'),
  });
  return fix('Exchange them', () => store.set({mapping: exchanged()}));
}

function fix(text: string, act: () => void): HTMLElement {
  return h('button', {type: 'button', class: 'small', onclick: act}, text);
}

/** Say in counts what is wrong with the rows, each with what can be done about it. */
function describeProblems(store: Store): (HTMLElement | null)[] {
  const {state} = store;
  const found = state.count;
  if (state.rowsAre === 'samples' || !found) return [];
  const dropped = Object.values(found.dropped).reduce((sum, rows) => sum + rows, 0);
  const kind = dropped > MANY_ROWS * found.rows ? 'note bad' : 'note warn';
  const line = (rows: number, text: string, mend: HTMLElement | null = null) =>
    h('p', {class: kind}, h('b', {}, count(rows)), rows === 1 ? ` row ${text.replace('and are', 'and is').replace('lie outside', 'lies outside').replace('limits and are', 'limits and is')}` : ` rows ${text}`, mend);
  const exchanged = found.notes.find((note) => note.includes('look exchanged')) ?? '';
  const lines = [
    ...Object.entries(found.dropped).map(([reason, rows]) =>
      line(rows, `cannot be used and are left out: ${reason}.`, reason === 'out of range' ? exchangeButton(store, exchanged) : null),
    ),
    found.outside_bbox ? line(found.outside_bbox, 'lie outside the limits and are left out.', fix('Remove the limits', () => store.set({bbox: ''}))) : null,
    ...found.notes.map((note) => noteLine(store, note)),
  ].filter((one) => one !== null);
  return lines.length ? lines : [h('p', {class: 'note good'}, `All ${count(found.rows)} rows can be used.`)];
}

/** Say what is not a count of rows; null for what the counts say already. */
function noteLine(store: Store, note: string): HTMLElement | null {
  const {state} = store;
  if (/^[\d,]+ of [\d,]+ rows (dropped|left out)/.test(note) || note.startsWith('WARNING:')) return null;
  if (note.includes('look exchanged')) {
    return h('p', {class: 'note warn'}, 'Longitude and latitude look exchanged.', state.count?.dropped['out of range'] ? null : exchangeButton(store, note));
  }
  const named = /column '(.*?)'/.exec(note)?.[1];
  if (named !== undefined && note.includes('is read as the number of trips')) {
    const none = fix('It is not', () => store.set({mapping: {...state.mapping, count: ''}}));
    return h('p', {class: 'note'}, h('code', {}, named), ' is read as how many trips a row stands for.', none);
  }
  if (named !== undefined && note.startsWith('each row counts as one trip')) {
    const counts = fix('It does', () => store.set({mapping: {...state.mapping, count: named}}));
    return h('p', {class: 'note'}, 'Each row counts as one trip. Does ', h('code', {}, named), ' say how many trips it stands for?', counts);
  }
  return h('p', {class: 'note'}, `${note.charAt(0).toUpperCase()}${note.slice(1)}`);
}
