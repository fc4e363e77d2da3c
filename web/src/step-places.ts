/** Step 2: between which places trips are counted, and when. */

import {choice, field, h, put, segmented, setOptions} from './dom';
import {count} from './format';
import type {State, Store} from './state';
import {filePicker} from './step-trips';
import type {Work} from './work';

// Mean distance across an H3 cell (between opposite sides), from resolution 4 to 12.
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

export function placesStep(store: Store, work: Work): HTMLElement {
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
  const time = timeControls(store);
  const lead = h('p', {class: 'lead-in'});
  const paths = pathControls(store);
  const tripsOnly = [kind, ...Object.values(contents)];
  const update = () => {
    const samples = store.state.rowsAre === 'samples';
    kind.select(chosen());
    for (const element of tripsOnly) element.hidden = samples;
    if (!samples) for (const [name] of kinds) contents[name].hidden = name !== chosen();
    time.hidden = samples || store.state.promise === 'noise';
    paths.hidden = !samples;
    limits.hidden = !samples && chosen() === 'zones';
    put(
      lead,
      samples
        ? 'Paths are put on a grid of space and time inside limits of your choice. Both are published.'
        : 'Trips are counted between small places. Where too few share a flow, neighboring places are joined.',
    );
  };
  store.on((_, changed) => {
    if (['places', 'grid', 'rowsAre', 'promise'].some((name) => changed.has(name as keyof State))) update();
  });
  update();
  return h('div', {}, lead, kind, contents.h3, contents.quadtree, contents.zones, paths, limits, time);
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
  const joins = choice(
    [
      ['', 'as finely as the method can (default)'],
      ['lattice', 'any block of neighbors (lattice)'],
      ['h3', 'seven to one (h3)'],
      ['h3-binary', 'two by two (h3-binary)'],
    ],
    state.hierarchy,
    (value) => store.set({hierarchy: value as State['hierarchy']}),
  );
  store.on((_, changed) => {
    if (changed.has('resolution')) resolution.value = String(state.resolution);
    if (changed.has('hierarchy')) joins.value = state.hierarchy;
    if (changed.has('resolution')) show();
  });
  show();
  return [
    h('div', {class: 'field'}, h('div', {class: 'split'}, h('label', {for: 'resolution'}, 'Size of cells'), size), resolution),
    field('How cells join', joins),
  ];
}

function squareControls(store: Store): HTMLElement[] {
  const {state} = store;
  const meters = h('input', {
    type: 'number',
    min: 1,
    max: 1_000_000,
    value: state.squares,
    onchange: () => store.set({squares: meters.valueAsNumber || 200}),
  });
  const joins = choice(
    [
      ['', 'as finely as the method can (default)'],
      ['lattice', 'any block of neighbors (lattice)'],
      ['quadtree', 'four to one (quadtree)'],
    ],
    state.squareHierarchy,
    (value) => store.set({squareHierarchy: value as State['squareHierarchy']}),
  );
  const crs = text(store, 'crs', 'by the limits');
  return [
    h('div', {class: 'pair'}, field('Side of a square, meters', meters), field('How squares join', joins)),
    field('Projection', crs, 'For example EPSG:32631; by default the UTM zone of the limits.'),
  ];
}

/** A field of text that follows the state. */
function text(store: Store, name: 'crs' | 'timezone' | 'timeHierarchy' | 'step' | 'maxExtent' | 'maxDuration' | 'bbox', placeholder: string): HTMLInputElement {
  const input = h('input', {
    type: 'text',
    placeholder,
    spellcheck: 'false',
    value: store.state[name],
    onchange: () => store.set({[name]: name === 'bbox' ? input.value.replace(/\s/g, '') : input.value.trim()}),
  });
  store.on((state, changed) => {
    if (changed.has(name)) input.value = state[name];
  });
  return input;
}

function limitControls(store: Store): HTMLElement {
  return field('Limits', text(store, 'bbox', 'west, south, east, north'), 'In degrees. Trips with an end outside are left out. Optional for hexagons with crowds; needed for squares, noise and paths.');
}

const STEPS: [string, string][] = [
  ['', 'not at all'],
  ['1h', 'every hour'],
  ['1d', 'every day'],
  ['hour-of-day', 'hour of the day'],
  ['hour-of-week', 'hour of the week'],
  ['15min', 'every 15 minutes'],
  ['join', 'joined like places, where few travel'],
];
const LEVELS = '1h<part-of-day<day';

function timeControls(store: Store): HTMLElement {
  const {state} = store;
  const chosen = () => (state.timeHierarchy ? 'join' : state.time);
  const time = choice(STEPS, chosen(), (value) =>
    store.set(value === 'join' ? {time: '', timeHierarchy: state.timeHierarchy || LEVELS} : {time: value, timeHierarchy: ''}),
  );
  const zone = field('Time zone', text(store, 'timezone', 'as written'), 'For example Europe/Rome.');
  const levels = field('Steps from fine to coarse', text(store, 'timeHierarchy', LEVELS), 'Method mosaic only.');
  const groups = h('p', {class: 'note'});
  const update = () => {
    time.value = chosen();
    zone.hidden = !chosen();
    levels.hidden = chosen() !== 'join';
    groups.hidden = !state.by.length;
    put(groups, 'A matrix for each group of ', h('code', {}, state.by.join(', ')), ', which is tagged in step 1.');
  };
  store.on((_, changed) => {
    if (['time', 'timeHierarchy', 'by', 'columns'].some((name) => changed.has(name as keyof State))) update();
  });
  update();
  return h('div', {}, field('Cut time', time), zone, levels, groups);
}

const JOINS: [string, string][] = [
  ['', 'as finely as the method can (default)'],
  ['many', 'near zones in many ways (many)'],
  ['ward', 'near zones first (ward)'],
  ['columns', 'by columns of the file'],
];

function zoneControls(store: Store, work: Work): HTMLElement[] {
  const {state} = store;
  const about = h('p', {class: 'note'});
  const levels = h('input', {
    type: 'text',
    spellcheck: 'false',
    placeholder: 'zone_id,district,region',
    onchange: () => store.set({levels: levels.value.replace(/\s*,\s*/g, ',').trim()}),
  });
  const named = () => !['', 'many', 'ward'].includes(state.levels);
  const kind = choice(JOINS, named() ? 'columns' : state.levels, (value) => {
    custom.hidden = value !== 'columns';
    store.set({levels: value === 'columns' ? levels.value : value});
  });
  const custom = field('Columns from fine to coarse', levels);
  custom.hidden = true;
  store.on((_, changed) => {
    if (changed.has('levels') && (named() || kind.value !== 'columns')) {
      setOptions(kind, JOINS, named() ? 'columns' : state.levels);
      custom.hidden = !named();
      if (named()) levels.value = state.levels;
    }
    if (!changed.has('zones')) return;
    const zones = state.zones;
    about.hidden = !zones;
    if (!zones) return;
    const shapes = zones.shapes === zones.zones ? 'all with shapes' : `${count(zones.shapes)} with shapes`;
    put(about, h('b', {}, zones.name), ` ${count(zones.zones)} zones, ${shapes}. Columns: ${zones.columns.join(', ')}`);
  });
  about.hidden = true;
  return [
    filePicker('Choose a file of zones', state.about.endings.zones, (file) => void work.takeZones(file)),
    about,
    field('How zones join', kind),
    custom,
  ];
}

function pathControls(store: Store): HTMLElement {
  const {state} = store;
  const least = h('input', {
    type: 'number',
    min: 1,
    value: state.minSamples,
    onchange: () => store.set({minSamples: Math.max(1, Math.round(least.valueAsNumber || 1))}),
  });
  return h(
    'div',
    {class: 'pair'},
    field('Grid: edge of a cell, step of time', text(store, 'step', '100m,1min'), 'For example 1km,30min.'),
    field('Fewest samples of a person', least, 'Persons with fewer are left out.'),
  );
}
