// Beside the map: what is shown, what is chosen, and the strongest movements of it. Below: what is not drawn.

import type {Explorer, View} from './explorer';
import {ALL, type Answer, ERROR} from './model';
import type {Pair} from './pairs';
import {about, capital, compact, count, element, find, moment, show, singular} from './text';

const LISTED = 60;
const FIRST = 12;
const LARGE = 1; // km²

export function verb(explorer: Explorer, side: number): string {
  const name = explorer.scene.json.sides[side];
  return name === 'origin' ? 'leave here' : name === 'destination' ? 'arrive here' : 'are here';
}

// "about 1,300 published trips leave here (between 1,100 and 14,000)"
export function sentence(explorer: Explorer, answer: Answer, side: number, place: number): string {
  const amount = `published ${explorer.words.amount}`,
    what = verb(explorer, side),
    {low, high} = answer;
  if (answer.error > 0)
    return `about ${about(answer.about)} ± ${about(answer.error)} ${explorer.words.amount} ${what} (${about(low)} to ${about(high)} are likely)`;
  // Which other areas lie in it is not known.
  if (explorer.scene.outline[place] < 0)
    return `${count(Math.round(answer.about), amount)} ${answer.about === 1 ? 'has' : 'have'} exactly this area as ${explorer.scene.json.sides[side]}`;
  if (explorer.model.spreads(explorer.state.choice)) return `about ${about(answer.about)} ${amount} ${what}`;
  if (high - low < 0.5) return `${count(Math.round(answer.about), amount)} ${what}`;
  return `about ${about(answer.about)} ${amount} ${what} (between ${show(Math.round(low))} and ${show(Math.round(high))})`;
}

export function plusMinus(variance: number): string {
  return variance > 0 ? ` ± ${about(ERROR * Math.sqrt(variance))}` : '';
}

export function amountOf(pair: Pair): string {
  return Number.isInteger(pair.volume) ? show(pair.volume) : `about ${about(pair.volume)}`;
}

// What a column of numbers is called.
function amountName({words}: Explorer, name: string): string {
  return (name === 'persons' && words.persons) || name;
}

export function describe(explorer: Explorer, row: number): string {
  const {km2, labels, ids} = explorer.scene,
    parts = [];
  if (labels[row] !== ids[row]) parts.push(ids[row]);
  if (km2[row] > 0) parts.push(`${show(km2[row])} km²`);
  return parts.join(', ');
}

export function chosenKeys(explorer: Explorer): string {
  const {keys} = explorer.scene;
  return explorer.state.choice
    .map((value, key) => (value === ALL ? '' : keys[key].time ? keys[key].values[value] : `${keys[key].name} ${keys[key].values[value]}`))
    .filter(Boolean)
    .join(', ');
}

export class Panel implements View {
  update(explorer: Explorer): void {
    const place = find('place'),
      {state} = explorer;
    place.replaceChildren();
    if (state.pair) this.pairPanel(explorer, place, state.pair);
    else if (state.group !== null) this.groupPanel(explorer, place, state.group);
    else if (state.place !== null) this.placePanel(explorer, place, state.place);
    else this.overview(explorer, place);
    const sides = explorer.scene.json.sides,
      head = place.querySelector('.big')?.textContent ?? '';
    explorer.map.canvas.setAttribute('aria-label', `Map of ${sides[explorer.shownSide]}s. ${head}`);
    find('map-note').textContent = note(explorer);
  }

  private overview(explorer: Explorer, place: HTMLElement): void {
    const {words, model, state, scene} = explorer,
      {amount, movements} = model.total(state.choice),
      when = chosenKeys(explorer);
    const doubt = model.noisy ? plusMinus(model.totalVariance(state.choice)) : '';
    place.append(
      element(
        'div',
        {class: 'place-head'},
        element('p', {class: 'big', id: 'shown-amount', text: `${model.spreads(state.choice) ? 'about ' : ''}${show(Math.round(amount))}${doubt} ${words.amount}`}),
        element('p', {class: 'muted', id: 'shown-count', text: `in ${count(movements, words.movements)}${when ? `: ${when}` : ''}`}),
      ),
    );
    if (scene.samples) {
      this.groups(explorer, place);
      return;
    }
    place.append(element('h3', {text: `Strongest ${words.movements}`}), rows(explorer, explorer.pairs.slice(0, FIRST)));
    const bare = scene.ids
      .map((_, row) => row)
      .filter((row) => scene.side[row] === state.side && !scene.centers[row] && scene.outline[row] < 0 && explorer.tally.movements[row]);
    if (!bare.length) return;
    place.append(
      element('h3', {text: 'Not on the map'}),
      element(
        'div',
        {class: 'chips'},
        ...bare.map((row) =>
          element('button', {
            type: 'button',
            class: 'quiet',
            text: `${scene.labels[row]}: ${count(Math.round(explorer.tally.amount[row]), words.amount)}`,
            onclick: () => explorer.select(row),
          }),
        ),
      ),
    );
  }

  private placePanel(explorer: Explorer, place: HTMLElement, row: number): void {
    const {state, model, words, scene, tally} = explorer,
      answer = model.answer(tally, row, state.side),
      {movements} = tally;
    place.append(
      element(
        'div',
        {class: 'place-head'},
        element('p', {class: 'big', text: scene.labels[row]}),
        element('p', {
          id: 'place-answer',
          text: capital(sentence(explorer, answer, state.side, row)) + '.',
          'data-about': answer.about,
          'data-low': answer.low,
          'data-high': answer.high,
          'data-error': answer.error,
        }),
        element('p', {class: 'muted', text: describe(explorer, row)}),
        element('p', {
          class: 'muted',
          id: 'place-own',
          text: `${count(Math.round(tally.amount[row]), words.amount)} in ${count(movements[row], words.movements)} of exactly this area`,
        }),
        chosenKeys(explorer) ? element('p', {class: 'muted', text: chosenKeys(explorer)}) : null,
        clear(explorer),
      ),
    );
    const listed = explorer.pairs;
    if (!listed.length || scene.oneSided) return;
    place.append(
      element('h3', {text: `${capital(words.movements)} that touch this place`}),
      rows(explorer, listed.slice(0, LISTED)),
    );
    if (listed.length > LISTED) place.append(element('p', {class: 'muted', text: `and ${show(listed.length - LISTED)} more`}));
  }

  private pairPanel(explorer: Explorer, place: HTMLElement, pair: Pair): void {
    const {scene, words} = explorer;
    place.append(
      element(
        'div',
        {class: 'place-head'},
        element('p', {class: 'big', id: 'pair-amount', text: `${amountOf(pair)}${plusMinus(pair.variance)} ${words.amount}`}),
        element('p', {}, 'from ', link(explorer, pair.origin), ' to ', link(explorer, pair.destination)),
        element('p', {class: 'muted', text: `${describe(explorer, pair.origin)} → ${describe(explorer, pair.destination)}`}),
        ...(pair.rows.length === 1
          ? scene.amounts.slice(1).map(([name, values]) => element('p', {class: 'muted', text: count(values[pair.rows[0]], amountName(explorer, name))}))
          : [element('p', {class: 'muted', text: `in ${count(pair.rows.length, words.movements)} of different times or groups`})]),
        clear(explorer),
      ),
    );
  }

  private groups(explorer: Explorer, place: HTMLElement): void {
    const {scene, model, state} = explorer,
      size = new Map<number, [number, number]>();
    for (const row of model.rows(state.choice)) {
      const known = size.get(scene.samples!.group[row]);
      size.set(scene.samples!.group[row], [scene.volume[row], (known?.[1] ?? 0) + 1]);
    }
    const listed = [...size].sort((a, b) => b[1][0] - a[1][0] || a[0] - b[0]);
    const body = element('tbody', {});
    for (const [group, [users, samples]] of listed.slice(0, LISTED))
      body.append(
        element(
          'tr',
          {'data-group': group},
          element(
            'td',
            {},
            element('button', {type: 'button', class: 'link', text: `group ${group}`, onclick: () => explorer.change({group})}),
          ),
          element('td', {class: 'number', text: show(users)}),
          element('td', {class: 'number', text: show(samples)}),
        ),
      );
    place.append(
      element('h3', {text: `${count(size.size, 'groups')} ${state.choice[0] === ALL ? '' : 'at this time'}`}),
      element('table', {class: 'rows'}, header(['group', explorer.words.persons ?? 'users', 'samples']), body),
    );
    if (listed.length > LISTED) place.append(element('p', {class: 'muted', text: `and ${show(listed.length - LISTED)} more`}));
  }

  private groupPanel(explorer: Explorer, place: HTMLElement, group: number): void {
    const {scene, state, words} = explorer,
      users = words.persons ?? 'users',
      samples = explorer.samplesOf(group),
      body = element('tbody', {}),
      last = scene.keys[0].values.length - 1,
      seen = scene.amounts.find(([name]) => name === 'seen')?.[1],
      {begin, step: seconds} = scene.json.samples!;
    for (const row of samples.slice(0, LISTED)) {
      const first = scene.samples!.first[row],
        step = Math.min(last, Math.floor(first)),
        text = moment(begin + Math.round(first * seconds));
      body.append(
        element(
          'tr',
          {'aria-current': explorer.model.part(row, state.choice) > 0 && state.choice[0] !== ALL ? 'true' : null},
          element('td', {}, element('button', {type: 'button', class: 'link', text, onclick: () => explorer.choose(0, step)})),
          element('td', {class: 'number', text: `${show(scene.km2[scene.origin[row]])} km²`}),
          ...(seen ? [element('td', {class: 'number', text: `${show(seen[row])} of ${show(scene.volume[row])}`})] : []),
        ),
      );
    }
    place.append(
      element(
        'div',
        {class: 'place-head'},
        element('p', {class: 'big', id: 'group-users', text: `Group ${group}: ${count(scene.volume[samples[0]], users)}`}),
        element('p', {class: 'muted', text: `${count(samples.length, 'samples')}: seen says how many of the ${users} were in the box in its time`}),
        clear(explorer),
      ),
      element('table', {class: 'rows'}, header(['begins', 'box', ...(seen ? ['seen'] : [])]), body),
    );
  }
}

function clear(explorer: Explorer): HTMLElement {
  const onclick = () => {
    explorer.state.group = null;
    explorer.select(null);
  };
  return element('button', {type: 'button', class: 'quiet', id: 'clear', text: 'Show everything', onclick});
}

export function header(heads: string[]): HTMLElement {
  return element(
    'thead',
    {},
    element('tr', {}, ...heads.map((text, place) => element('th', {text, scope: 'col', class: place ? 'number' : ''}))),
  );
}

export function link(explorer: Explorer, row: number): HTMLElement {
  const {labels} = explorer.scene,
    title = describe(explorer, row);
  return element('button', {type: 'button', class: 'link', text: labels[row], title, onclick: () => explorer.select(row)});
}

// The size of an area whose name tells too little of it: " (14 km²)".
export function large({scene}: Explorer, row: number): string {
  return scene.km2[row] >= LARGE ? ` (${show(Number(scene.km2[row].toPrecision(scene.km2[row] < 10 ? 2 : 3)))} km²)` : '';
}

function rows(explorer: Explorer, listed: Pair[]): HTMLElement {
  const {scene, model, state} = explorer,
    most = Math.max(1, ...listed.map(({volume}) => volume)),
    single = listed.every((pair) => pair.rows.length === 1),
    amounts = single ? scene.amounts : scene.amounts.slice(0, 1);
  const body = element('tbody', {});
  for (const pair of listed) {
    const meter = element('div', {class: 'meter'});
    meter.style.width = `${(100 * Math.max(pair.volume, 0)) / most}%`;
    const ends = element('td', {}, link(explorer, pair.origin), large(explorer, pair.origin));
    if (pair.destination >= 0) ends.append(' → ', link(explorer, pair.destination), large(explorer, pair.destination));
    if (scene.remainder && pair.rows.some((row) => scene.remainder![row]))
      ends.append(element('div', {class: 'muted', text: 'all other trips, after finer flows inside'}));
    if (pair.part < pair.volume - 0.5 && explorer.state.place !== null)
      ends.append(element('div', {class: 'muted', text: `about ${about(pair.part)} of them here`}));
    ends.append(meter);
    const numbers = amounts.map(([, values], place) =>
      element('td', {class: 'number', text: place ? (model.part(pair.rows[0], state.choice) < 1 ? '–' : show(values[pair.rows[0]])) : amountOf(pair) + plusMinus(pair.variance)}),
    );
    body.append(element('tr', {'data-pair': pair.rows[0]}, ends, ...numbers));
  }
  const {sides} = scene.json;
  return element(
    'table',
    {class: 'rows'},
    header([sides.length > 1 ? `${sides[0]} → ${sides[1]}` : sides[0], ...amounts.map(([name]) => amountName(explorer, name))]),
    body,
  );
}

// What the page does not show, in so many words.
function note(explorer: Explorer): string {
  const {scene, words, model, state} = explorer,
    notes: string[] = [];
  if (scene.json.movements > scene.origin.length) {
    const {amount, movements} = model.total(state.choice),
      listed = model.rows(state.choice),
      missing = amount - listed.reduce((sum, row) => sum + scene.volume[row] * model.part(row, state.choice), 0);
    if (movements > listed.length)
      notes.push(
        `${count(movements - listed.length, words.movements)} with ${compact(Math.round(missing))} ${words.amount} are too many to list: ` +
          (scene.samples
            ? 'they count in the time bar, and not on the map.'
            : 'they count in all numbers and in the colors, but have no line, and are not in the map of a chosen place.'),
      );
  }
  if (model.spreads(state.choice)) notes.push('What spans several steps of time is spread over them evenly.');
  if (state.layer === 'areas')
    notes.push(`Each area is colored by the ${words.amount} of exactly this area; where areas overlap, smaller ones are on top.`);
  if (state.layer === 'density' && model.noisy) notes.push('Hatched: noise alone could make as much.');
  if (state.layer === 'flows')
    notes.push(`Lines run from pale to dark, bent to the left; ${singular(words.movements)}s to the same area are rings.`);
  return notes.join(' ');
}
