// What must not be published: before and after, exact metrics, the frontier, who is left out.

import {bars, beside, frontier, type Beside} from './charts';
import type {Explorer} from './explorer';
import {FlowMap} from './flowmap';
import {Scale} from './scale';
import {Ground, type SceneJson} from './scene';
import {segments} from './controls';
import {element, find} from './text';
import {unpack, unpackSteps} from './unpack';

interface Maps extends Pick<SceneJson, 'sides' | 'view' | 'step' | 'land' | 'context' | 'outlines' | 'outline' | 'km2'> {
  side: string;
  before: string;
  left_over: number; // tiles that are too many to draw
  distance: number[]; // by side: share of the trips that stand somewhere else
}

export interface Losses {
  tables: {title: string; rows: [string, string, string][]}[];
  maps?: Maps | null;
  lead?: string[];
  frontier?: [number, number][] | null;
  chosen?: [number, number] | null;
  left_out?: {key: string; values: string[]; shares: number[]}[];
  risk?: Finding[];
  questions?: {rows: [string, string][]; charts: Beside[]; note: string} | null;
}

interface Finding {
  question: string;
  verdict: string; // holds, tells or breaks
  figure: string;
  sentence: string;
  advice: string;
}

export function showPrivate(found: Losses, explorer: Explorer): FlowMap[] {
  const place = find('private-content');
  find('private-section').hidden = false;
  for (const text of found.lead ?? []) place.append(element('p', {class: 'private-lead', text}));
  const maps = found.maps ? beforeAndAfter(place, found.maps, explorer) : [];
  const columns = element('div', {class: 'columns sub'});
  if (found.frontier?.length)
    columns.append(
      part(
        'What each share of left-out trips would have bought',
        'Mean tiles of both ends of a trip (gbar; 2 is no loss) against the share of trips left out.',
        frontier(found.frontier, found.chosen ?? null),
      ),
    );
  for (const {key, values, shares} of found.left_out ?? []) {
    const percent = shares.map((share) => Math.round(share * 1000) / 10);
    columns.append(bars(`Trips left out by ${key}`, values, percent, '%', 'Share of the trips of each that are in no flow.'));
  }
  place.append(columns);
  if (found.questions) place.append(questions(found.questions));
  if (found.risk?.length) place.append(risk(found.risk));
  for (const table of found.tables) place.append(metrics(table));
  return maps;
}

// What people ask of trips, answered from the input and from the release.
function questions({rows, charts, note}: NonNullable<Losses['questions']>): HTMLElement {
  return element(
    'section',
    {class: 'sub', id: 'questions'},
    element('h3', {text: 'What people ask, before and after'}),
    element('p', {class: 'note', text: note}),
    element(
      'table',
      {class: 'figures'},
      element(
        'tbody',
        {},
        ...rows.map(([name, value]) =>
          element('tr', {}, element('th', {scope: 'row', text: name}), element('td', {text: value, 'data-question': name})),
        ),
      ),
    ),
    element('div', {class: 'columns'}, ...charts.map(beside)),
  );
}

function part(title: string, note: string, picture: Node): HTMLElement {
  return element('div', {class: 'chart'}, element('h3', {text: title}), picture, element('p', {class: 'note', text: note}));
}

// What known attacks learn, the worst first.
function risk(findings: Finding[]): HTMLElement {
  const order = ['breaks', 'tells', 'holds'];
  const rows = [...findings].sort((one, other) => order.indexOf(one.verdict) - order.indexOf(other.verdict));
  return element(
    'section',
    {class: 'sub risk', id: 'risk'},
    element('h3', {text: 'Risk: what known attacks learn'}),
    element('p', {
      class: 'note',
      text: 'As a stranger would who knows how the release was made. It holds: nothing was learned. It tells: something that the promise does not exclude. It breaks: do not publish. Attacks that take minutes are not tried here; the command flowveil risk tries all.',
    }),
    ...rows.map(({question, verdict, figure, sentence, advice}) =>
      element(
        'div',
        {class: 'finding', 'data-verdict': verdict},
        element('p', {}, element('b', {class: 'verdict', text: verdict}), element('b', {text: ` ${question}`})),
        element('p', {text: sentence}),
        ...(advice ? [element('p', {class: 'muted', text: advice})] : []),
        element('p', {class: 'muted', text: figure}),
      ),
    ),
  );
}

function metrics(table: Losses['tables'][0]): HTMLElement {
  const half = table.rows.length > 12 ? Math.ceil(table.rows.length / 2) : table.rows.length;
  const made = [table.rows.slice(0, half), table.rows.slice(half)]
    .filter((rows) => rows.length)
    .map((rows) =>
      element(
        'table',
        {class: 'figures'},
        element(
          'tbody',
          {},
          ...rows.map(([name, value, meaning]) =>
            element(
              'tr',
              {},
              element('th', {scope: 'row'}, element('b', {text: name}), element('div', {class: 'muted', text: meaning})),
              element('td', {text: value, 'data-metric': name}),
            ),
          ),
        ),
      ),
    );
  return element(
    'details',
    {class: 'sub'},
    element('summary', {text: table.title}),
    element('div', {class: 'columns'}, ...made),
  );
}

// Before: true trips of tiles. After: what any reader of the release sees, on the same scale.
function beforeAndAfter(place: HTMLElement, maps: Maps, explorer: Explorer): FlowMap[] {
  const tiles = new Ground(maps),
    side = unpackSteps(maps.side),
    outline = unpackSteps(maps.outline),
    trips = unpack(maps.before);
  const pair = element('div', {class: 'pair'}),
    distance = element('p', {class: 'big', id: 'distance'});
  let now = 0;
  const make = (title: string, ground: Ground): [FlowMap, HTMLElement] => {
    const canvas = element('canvas', {role: 'img', 'aria-label': title}),
      legend = element('div', {class: 'legend'});
    pair.append(element('div', {}, element('h3', {text: title}), element('div', {class: 'frame'}, canvas, legend)));
    return [new FlowMap(canvas, ground), legend];
  };
  const [before, legendBefore] = make('Before: the true trips', tiles),
    [after, legendAfter] = make('After: what any reader of the release sees', explorer.scene.ground);
  const refresh = () => {
    const {model} = explorer,
      tally = model.tally(model.all(), now);
    before.weights = [...trips].flatMap((amount, row) => {
      const km2 = outline[row] < 0 ? null : maps.km2[outline[row]];
      return side[row] === now && km2 ? [{outline: outline[row], density: amount / km2, variance: 0, km2}] : [];
    });
    after.weights = model.weights(tally);
    const range = Scale.of([...before.weights.map(({density}) => density), ...explorer.ranges.densities(tally, now)]);
    distance.textContent = `${(100 * maps.distance[now]).toFixed(1)} % of the trips by ${maps.sides[now]} stand somewhere else on the map of the release, or are left out.`;
    for (const [map, legend] of [
      [before, legendBefore],
      [after, legendAfter],
    ] as const) {
      map.colors = explorer.map.colors;
      map.shades = explorer.shades;
      map.range = range;
      map.changed();
      legend.replaceChildren(element('b', {text: 'trips per km²'}), explorer.shades.picture(range, true));
    }
  };
  explorer.views.push({update: refresh});
  place.append(
    distance,
    segments('Trips by', 'private-side', maps.sides.map((name, number) => [number, name]), 0, (value) => {
      now = value;
      refresh();
    }),
    pair,
  );
  if (maps.left_over)
    place.append(element('p', {class: 'note', text: `The map before leaves out the ${maps.left_over} tiles with the fewest trips.`}));
  together(before, after);
  return [before, after];
}

// Two maps that move together.
function together(first: FlowMap, second: FlowMap): void {
  for (const map of [first, second]) {
    let held: {x: number; y: number} | null = null;
    map.canvas.addEventListener('pointerdown', (event) => {
      if (event.pointerType !== 'mouse') return; // a finger scrolls the page
      held = {x: event.clientX, y: event.clientY};
      map.canvas.setPointerCapture(event.pointerId);
    });
    map.canvas.addEventListener('pointerup', () => (held = null));
    map.canvas.addEventListener('pointermove', (event) => {
      if (!held) return;
      for (const each of [first, second]) each.pan(event.clientX - held.x, event.clientY - held.y);
      held = {x: event.clientX, y: event.clientY};
    });
    map.canvas.addEventListener('dblclick', () => {
      for (const each of [first, second]) each.zoom(2);
    });
  }
}
