// What a reader can choose above the map.

import {type Explorer, LINES, type Layer, type View} from './explorer';
import {ALL} from './model';
import type {Multiples} from './multiples';
import {capital, element, find} from './text';

export function segments<Value extends string | number>(
  legend: string,
  name: string,
  choices: [Value, string][],
  chosen: Value,
  act: (value: Value) => void,
): HTMLElement {
  const group = element('div', {class: 'segments'});
  for (const [value, text] of choices) {
    const input = element('input', {type: 'radio', name, value, onchange: () => act(value)});
    input.checked = value === chosen;
    group.append(element('label', {}, input, element('span', {text})));
  }
  return element('fieldset', {}, element('legend', {text: legend}), group);
}

function choice(text: string, id: string, values: [number | string, string][], act: (value: string) => void): HTMLElement {
  const select = element(
    'select',
    {id, onchange: (event) => act((event.target as HTMLSelectElement).value)},
    ...values.map(([value, name]) => element('option', {value, text: name})),
  );
  return element('label', {class: 'choice'}, text, select);
}

export class Controls implements View {
  constructor(explorer: Explorer, multiples: Multiples) {
    const place = find('controls'),
      {scene, state} = explorer,
      {sides} = scene.json;
    const layers: [Layer, string][] = [];
    if (scene.shaped) layers.push(['density', 'Density']);
    if (!scene.oneSided) layers.push(['flows', capital(explorer.words.movements)]);
    if (scene.shaped && !scene.samples) layers.push(['areas', 'Published areas']);
    if (layers.length > 1) place.append(segments('Show', 'layer', layers, state.layer, (layer) => explorer.change({layer, pair: null})));
    if (!scene.oneSided) {
      const names = sides.map((name, side): [number, string] => [side, capital(name) + 's']);
      place.append(segments('By', 'side', names, state.side, (side) => explorer.change({side, place: null, pair: null})));
    }
    scene.keys.forEach((key, number) => {
      if (key.time) return; // has a bar of its own
      const values = key.values.map((value, position): [number, string] => [position, value]);
      place.append(choice(capital(key.name), `key-${number}`, [[ALL, 'all'], ...values], (value) => explorer.choose(number, Number(value))));
    });
    if (!scene.oneSided)
      place.append(
        choice('Lines', 'lines', LINES.map((many) => [many, many ? `strongest ${many}` : 'none']), (value) => explorer.change({lines: Number(value)})),
      );
    const ways = multiples.ways();
    if (ways.length && scene.shaped)
      place.append(choice('Compare', 'compare', [['', 'nothing'], ...ways.map((way): [string, string] => [way, way])], (compare) => explorer.change({compare})));
  }

  update(explorer: Explorer): void {
    const {state} = explorer;
    for (const [name, value] of [
      ['layer', state.layer],
      ['side', state.side],
    ] as const) {
      const input = document.querySelector<HTMLInputElement>(`input[name=${name}][value="${value}"]`);
      if (input) input.checked = true;
    }
    state.choice.forEach((value, key) => {
      const select = document.querySelector<HTMLSelectElement>(`#key-${key}`);
      if (select) select.value = String(value);
    });
    const compare = document.querySelector<HTMLSelectElement>('#compare');
    if (compare) compare.value = state.compare;
    const lines = document.querySelector<HTMLSelectElement>('#lines');
    if (!lines) return;
    lines.value = String(state.lines);
    lines.parentElement!.hidden = state.layer !== 'flows';
  }
}
