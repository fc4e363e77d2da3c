// Tables below the map: areas and movements, to search and to take away as CSV.

import type {Explorer, View} from './explorer';
import {describe, header, link, plusMinus} from './panel';
import {capital, count, element, find, show} from './text';

const SHOWN = 300;

export class Tables implements View {
  constructor(private readonly explorer: Explorer) {
    find('filter').addEventListener('input', () => this.list());
    find('areas-section').addEventListener('toggle', () => this.list());
    find('areas-csv').addEventListener('click', () => save('areas.csv', this.areas()));
    find('flows-csv').addEventListener('click', () => save(`${explorer.words.movements}.csv`, this.movements()));
    find('flows-csv').textContent = `${capital(explorer.words.movements)} as CSV`;
  }

  update(): void {
    this.list();
  }

  private found(): number[] {
    const {scene, state, tally} = this.explorer,
      wanted = (find('filter') as HTMLInputElement).value.trim().toLowerCase();
    return scene.ids
      .map((_, row) => row)
      .filter(
        (row) =>
          (scene.oneSided || scene.side[row] === state.side) &&
          tally.movements[row] &&
          (scene.ids[row].toLowerCase().includes(wanted) || scene.labels[row].toLowerCase().includes(wanted)),
      )
      .sort((a, b) => tally.amount[b] - tally.amount[a] || a - b);
  }

  list(): void {
    if (!(find('areas-section') as HTMLDetailsElement).open) return;
    const {explorer} = this,
      {scene, words, state, tally} = explorer,
      rows = this.found(),
      side = scene.oneSided ? 'area' : `${scene.json.sides[state.side]} area`,
      wanted = (find('filter') as HTMLInputElement).value.trim();
    find('found').textContent = rows.length ? `${count(rows.length, side + 's')}${wanted ? ' found' : ''}` : `No ${side} has “${wanted}” in its name.`;
    find('areas').replaceChildren(
      header([side, 'size', words.movements, words.amount]),
      element(
        'tbody',
        {},
        ...rows.slice(0, SHOWN).map((row) =>
          element(
            'tr',
            {},
            element('td', {}, link(explorer, row)),
            element('td', {class: 'number', text: describe(explorer, row)}),
            element('td', {class: 'number', text: show(tally.movements[row])}),
            element('td', {
              class: 'number',
              text: show(Math.round(tally.amount[row])) + plusMinus(tally.variance ? tally.variance[row] : 0),
            }),
          ),
        ),
      ),
    );
    if (rows.length > SHOWN)
      find('areas').append(
        element('tfoot', {}, element('tr', {}, element('td', {colspan: 4, class: 'muted', text: `and ${show(rows.length - SHOWN)} more: find them by name`}))),
      );
  }

  // What is chosen, by area.
  areas(): string[][] {
    const {scene, tally, words, model} = this.explorer;
    return [
      ['area', 'name', 'lon', 'lat', 'km2', words.movements, words.amount, ...(model.noisy ? ['standard_deviation'] : [])],
      ...this.found().map((row) => [
        scene.ids[row],
        scene.labels[row],
        scene.centers[row] ? scene.lon[row].toFixed(5) : '',
        scene.centers[row] ? scene.lat[row].toFixed(5) : '',
        scene.km2[row] > 0 ? String(scene.km2[row]) : '',
        String(tally.movements[row]),
        String(tally.amount[row]),
        ...(model.noisy ? [Math.sqrt(tally.variance![row]).toFixed(2)] : []),
      ]),
    ];
  }

  // Listed movements of what is chosen.
  movements(): string[][] {
    const {scene, model, state} = this.explorer,
      ends = scene.json.sides,
      keys = scene.samples ? [] : scene.keys;
    return [
      [
        ...ends,
        ...(scene.samples ? ['group'] : []),
        ...keys.map(({name}) => name),
        ...scene.amounts.map(([name]) => name),
        ...(model.noisy ? ['standard_deviation'] : []),
      ],
      ...model.rows(state.choice).map((row) => [
        scene.ids[scene.origin[row]],
        ...(ends.length > 1 ? [scene.destination[row] < 0 ? '' : scene.ids[scene.destination[row]]] : []),
        ...(scene.samples ? [String(scene.samples.group[row])] : []),
        ...keys.map((key, number) => key.values[scene.positions[number][scene.matrix[row]]]),
        ...scene.amounts.map(([, values]) => String(values[row])),
        ...(model.noisy ? [scene.deviation![row].toFixed(2)] : []),
      ]),
    ];
  }
}

// A spreadsheet must not take a name for a formula.
export function csv(rows: string[][]): string {
  const cell = (text: string) => {
    const safe = /^[=+\-@\t\r]/.test(text) && !/^-?[\d.]+$/.test(text) ? `'${text}` : text;
    return /[",\n\r]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
  };
  return rows.map((row) => row.map(cell).join(',')).join('\r\n') + '\r\n';
}

function save(name: string, rows: string[][]): void {
  const address = URL.createObjectURL(new Blob([csv(rows)], {type: 'text/csv'}));
  element('a', {href: address, download: name}).click();
  setTimeout(() => URL.revokeObjectURL(address), 1000);
}
