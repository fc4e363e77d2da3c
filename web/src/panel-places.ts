/** Step 2: between which places trips are counted. */

import {choice, field, h, put, segmented, setOptions} from './dom';
import {count} from './format';
import {filePicker} from './panel-trips';
import type {Store} from './state';
import type {Work} from './work';

// Mean distance across an H3 cell (between opposite sides), in meters, from resolution 4 to 12.
const ACROSS: Record<number, string> = {
  4: '45 km',
  5: '17 km',
  6: '6.5 km',
  7: '2.4 km',
  8: '920 m',
  9: '350 m',
  10: '130 m',
  11: '50 m',
  12: '19 m',
};

type Kind = 'h3' | 'quadtree' | 'zones';

export function placesPanel(store: Store, work: Work): HTMLElement {
  const chosen = (): Kind => (store.state.places === 'zones' ? 'zones' : store.state.grid);
  const kinds: [Kind, string][] = [['h3', 'Hexagons'], ['quadtree', 'Squares'], ['zones', 'Own zones']];
  const kind = segmented('Places', kinds, chosen(), (value) =>
    store.set(value === 'zones' ? {places: 'zones'} : {places: 'grid', grid: value}),
  );
  const contents: Record<Kind, HTMLElement> = {
    h3: h('div', {}, ...hexagonControls(store)),
    quadtree: h('div', {}, ...squareControls(store)),
    zones: h('div', {}, ...zoneControls(store, work)),
  };
  const limits = limitControls(store);
  const update = () => {
    kind.select(chosen());
    for (const [name] of kinds) contents[name].hidden = name !== chosen();
    limits.hidden = chosen() === 'zones';
    if (chosen() === 'quadtree') limits.open = true;
  };
  store.on((_, changed) => {
    if (changed.has('places') || changed.has('grid')) update();
  });
  update();
  return h('div', {}, kind, contents.h3, contents.quadtree, contents.zones, limits, timeControls(store));
}

function hexagonControls(store: Store): HTMLElement[] {
  const {state} = store;
  const size = h('output', {});
  const resolution = h('input', {
    type: 'range',
    id: 'resolution',
    min: 4,
    max: 12,
    step: 1,
    value: state.resolution,
    oninput: () => show(),
    onchange: () => store.set({resolution: resolution.valueAsNumber}),
  });
  const show = () => put(size, `level ${resolution.value}, about ${ACROSS[resolution.valueAsNumber]} across`);
  show();
  const joins = choice(
    [
      ['h3', 'seven to one (h3)'],
      ['h3-binary', 'two by two, finer areas (h3-binary)'],
    ],
    state.hierarchy,
    (value) => store.set({hierarchy: value as 'h3' | 'h3-binary'}),
  );
  return [
    h('div', {class: 'field'}, h('div', {class: 'split'}, h('label', {for: 'resolution'}, 'Size of cells'), size), resolution),
    field('How cells join', joins),
  ];
}

function squareControls(store: Store): HTMLElement[] {
  const meters = h('input', {
    type: 'number',
    min: 1,
    max: 1_000_000,
    value: store.state.squares,
    onchange: () => store.set({squares: meters.valueAsNumber || 200}),
  });
  return [field('Side of a square, meters', meters)];
}

function limitControls(store: Store): HTMLDetailsElement {
  const bbox = h('input', {
    type: 'text',
    placeholder: 'west, south, east, north',
    spellcheck: 'false',
    value: store.state.bbox,
    onchange: () => store.set({bbox: bbox.value.replace(/\s/g, '')}),
  });
  return h(
    'details',
    {},
    h('summary', {}, 'Limits'),
    field('Keep trips with both ends inside', bbox, 'In degrees. Optional for hexagons, needed for squares: it lays them out.'),
  );
}

const STEPS: [string, string][] = [
  ['', 'not at all'],
  ['1h', 'every hour'],
  ['1d', 'every day'],
  ['hour-of-day', 'hour of the day'],
  ['hour-of-week', 'hour of the week'],
  ['15min', 'every 15 minutes'],
];

function timeControls(store: Store): HTMLElement {
  const time = choice(STEPS, '', (value) => store.set({time: value}));
  const timezone = h('input', {
    type: 'text',
    placeholder: 'as written',
    spellcheck: 'false',
    onchange: () => store.set({timezone: timezone.value.trim()}),
  });
  const zone = field('Time zone', timezone, 'For example Europe/Rome.');
  const by = choice([['', 'none']], '', (value) => store.set({by: value}));
  store.on((state, changed) => {
    if (changed.has('columns')) setOptions(by, [['', 'none'], ...state.columns.map((name): [string, string] => [name, name])], state.by);
    if (changed.has('time') || changed.has('columns')) time.value = state.time;
    zone.hidden = !state.time;
  });
  zone.hidden = true;
  return h(
    'details',
    {},
    h('summary', {}, 'Divide by time or group'),
    h('div', {class: 'pair'}, field('Cut time', time), field('A matrix for each', by)),
    zone,
  );
}

function zoneControls(store: Store, work: Work): HTMLElement[] {
  const about = h('p', {class: 'note'});
  const levels = h('input', {
    type: 'text',
    spellcheck: 'false',
    placeholder: 'zone_id,district,region',
    onchange: () => store.set({levels: levels.value.replace(/\s*,\s*/g, ',').trim() || 'ward'}),
  });
  const kind = choice([['ward', 'near zones first (ward)'], ['columns', 'by columns of the file']], 'ward', (value) => {
    custom.hidden = value === 'ward';
    store.set({levels: value === 'ward' ? 'ward' : levels.value || 'ward'});
  });
  const custom = field('Columns from fine to coarse', levels);
  custom.hidden = true;
  store.on((state, changed) => {
    if (!changed.has('zones')) return;
    const zones = state.zones;
    about.hidden = !zones;
    if (!zones) return;
    const shapes = zones.shapes === zones.zones ? 'all with shapes' : `${count(zones.shapes)} with shapes`;
    put(about, h('b', {}, zones.name), ` ${count(zones.zones)} zones, ${shapes}. Columns: ${zones.columns.join(', ')}`);
    setOptions(kind, [['ward', 'near zones first (ward)'], ['columns', 'by columns of the file']], 'ward');
    custom.hidden = true;
  });
  about.hidden = true;
  return [
    filePicker('Choose a file of zones', store.state.about.endings.zones, (file) => void work.takeZones(file)),
    about,
    field('How zones join', kind),
    custom,
  ];
}
