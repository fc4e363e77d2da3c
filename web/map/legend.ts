// On the map: what colors, sizes and widths mean, and what the pointer is on.

import type {Explorer, View} from './explorer';
import {layerKey} from './layers';
import {ALL} from './model';
import {amountOf, describe, large, plusMinus, sentence} from './panel';
import {about, compact, count, drawn, element, find, show} from './text';

// What is colored, in words; the same in the legend and in the label at the pointer.
export function colored(explorer: Explorer): string {
  const {words, onward, state, scene} = explorer,
    each = scene.keys.some((key, place) => key.time && state.choice[place] !== ALL) ? ', in this step of time' : '',
    of = onward ? (state.side ? ' that arrive in the chosen place, by origin' : ' from the chosen place, by destination') : '';
  return state.layer === 'density' ? `${words.amount} per km²${of}${each}` : `${words.amount} of an area${of}${each}`;
}

export class Legend implements View {
  update(explorer: Explorer): void {
    const place = find('legend'),
      {state} = explorer;
    find('tip').hidden = true; // it told of what was shown before
    place.replaceChildren(element('b', {text: colored(explorer)}));
    if (state.layer === 'flows') place.append(this.sizes(explorer));
    else place.append(explorer.shades.picture(explorer.range, state.layer === 'density'));
    if (state.layer === 'density' && explorer.model.noisy)
      place.append(element('span', {class: 'hatch-key'}, element('i', {class: 'hatch'}), ' no more than noise'));
    const {dark, sea} = explorer.map.colors,
      layers = layerKey(explorer.scene.ground, dark, sea);
    if (layers) place.append(layers);
  }

  private sizes(explorer: Explorer): SVGElement {
    const {map} = explorer,
      {most, strongest} = explorer.scales,
      made = drawn('svg', {width: 200, height: map.lines.length ? 92 : 56, role: 'img', 'aria-label': 'sizes of bubbles, widths of lines'});
    let x = 2;
    for (const share of [1, 0.25, 0.04]) {
      const radius = 24 * Math.sqrt(share);
      made.append(drawn('circle', {cx: x + radius, cy: 50 - radius, r: radius, fill: map.colors.bubble, stroke: 'currentColor', 'stroke-width': 0.5}));
      made.append(drawn('text', {x: x + 2 * radius + 3, y: 48, fill: 'currentColor', 'font-size': 11}, compact(Number((most * share).toPrecision(2)))));
      x += 2 * radius + 40;
    }
    if (!map.lines.length) return made;
    made.append(drawn('text', {x: 2, y: 68, fill: 'currentColor', 'font-size': 11}, `${explorer.words.amount} of a line`));
    x = 2;
    for (const share of [1, 0.3, 0.05]) {
      made.append(drawn('line', {x1: x, x2: x + 26, y1: 82, y2: 82, stroke: map.colors.line, 'stroke-width': 0.8 + 7 * share}));
      made.append(drawn('text', {x: x + 30, y: 86, fill: 'currentColor', 'font-size': 11}, compact(Number((strongest * share).toPrecision(2)))));
      x += 66;
    }
    return made;
  }
}

export function hover(explorer: Explorer, x: number, y: number): void {
  const tip = find('tip'),
    {map, scene, words} = explorer,
    {pair, area, point} = explorer.at(x, y);
  tip.hidden = !pair && area === null;
  map.canvas.classList.toggle('over', !tip.hidden);
  if (tip.hidden) return;
  if (pair) {
    const ends = [pair.origin, pair.destination].map((row) => scene.labels[row] + large(explorer, row)).join(' → ');
    tip.replaceChildren(element('b', {text: ends}), element('div', {text: `${amountOf(pair)}${plusMinus(pair.variance)} ${words.amount}`}));
  } else tip.replaceChildren(...areaTip(explorer, area!, point));
  const [width, height] = [tip.offsetWidth, tip.offsetHeight];
  tip.style.left = `${Math.max(6, Math.min(x + 14, map.width - width - 6))}px`;
  tip.style.top = `${y + 18 + height > map.height ? y - height - 10 : y + 18}px`;
}

function areaTip(explorer: Explorer, area: number, point: {x: number; y: number}): HTMLElement[] {
  const {scene, model, state, words, shown, shownSide, onward} = explorer,
    answer = model.answer(shown, area, shownSide);
  const lines = [element('b', {text: scene.labels[area]})];
  if (describe(explorer, area)) lines.push(element('div', {text: describe(explorer, area)}));
  lines.push(
    element('div', {
      id: 'tip-answer',
      text: onward
        ? `about ${about(answer.about)} of the ${words.amount} ${state.side ? 'that arrive in' : 'from'} the chosen place`
        : sentence(explorer, answer, shownSide, area),
      'data-about': answer.about,
      'data-low': answer.low,
      'data-high': answer.high,
    }),
  );
  if (state.layer === 'density') {
    const {value, error} = model.density(shown, point);
    lines.push(
      element('div', {
        id: 'tip-density',
        text: `${show(Number(value.toPrecision(3)))}${error > 0 ? ` ± ${show(Number(error.toPrecision(2)))}` : ''} ${words.amount} per km² at this point`,
        'data-density': value,
      }),
    );
  } else if (!onward)
    lines.push(
      element('div', {text: `${count(Math.round(shown.amount[area]), words.amount)} in ${count(shown.movements[area], words.movements)} of exactly this area`}),
    );
  return lines;
}
