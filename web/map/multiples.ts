// Small maps side by side, with one scale: parts of the day, or groups.

import type {Explorer, View} from './explorer';
import {FlowMap} from './flowmap';
import type {Choice, Tally} from './model';
import {Scale} from './scale';
import {about, element} from './text';

const PARTS: [string, number, number][] = [
  ['Night, 0 to 6', 0, 6],
  ['Morning, 6 to 10', 6, 10],
  ['Midday, 10 to 16', 10, 16],
  ['Evening, 16 to 20', 16, 20],
  ['Late, 20 to 24', 20, 24],
];
const MOST = 6; // groups

interface Part {
  title: string;
  choices: Choice[];
}

export class Multiples implements View {
  private maps: {map: FlowMap; title: HTMLElement; part: Part}[] = [];
  private wanted = '';

  constructor(
    private readonly explorer: Explorer,
    private readonly place: HTMLElement,
  ) {}

  // What can be compared: names of ways to divide.
  ways(): string[] {
    return this.explorer.scene.keys.flatMap((key) => {
      if (key.time) return key.hours && new Set(key.hours).size >= 5 ? ['parts of the day'] : [];
      return key.values.length - (key.total >= 0 ? 1 : 0) > 1 ? [key.name] : [];
    });
  }

  private show(way: string): void {
    this.wanted = way;
    this.place.replaceChildren();
    this.place.hidden = !way;
    this.maps = way ? this.parts(way).map((part) => this.make(part)) : [];
  }

  private parts(way: string): Part[] {
    const {keys} = this.explorer.scene,
      key = keys.findIndex((one) => (way === 'parts of the day' ? one.time : one.name === way)),
      with_ = (value: number, start = this.explorer.state.choice) => start.map((other, place) => (place === key ? value : other));
    if (keys[key].time)
      return PARTS.map(([title, from, to]) => ({
        title,
        choices: keys[key].hours!.flatMap((hour, value) => (hour !== null && hour >= from && hour < to ? [with_(value)] : [])),
      })).filter((part) => part.choices.length);
    const values = keys[key].values.map((_, value) => value).filter((value) => value !== keys[key].total);
    const amount = (value: number) => this.explorer.model.total(with_(value, this.explorer.model.all())).amount;
    return values
      .sort((a, b) => amount(b) - amount(a))
      .slice(0, MOST)
      .map((value) => ({title: `${keys[key].name} ${keys[key].values[value]}`, choices: [with_(value)]}));
  }

  private make(part: Part): {map: FlowMap; title: HTMLElement; part: Part} {
    const canvas = element('canvas', {role: 'img', 'aria-label': part.title}),
      title = element('h3', {text: part.title});
    this.place.append(element('div', {class: 'small'}, title, element('div', {class: 'frame'}, canvas)));
    const map = new FlowMap(canvas, this.explorer.scene.ground, true);
    map.noisy = this.explorer.model.noisy;
    return {map, title, part};
  }

  // Per step of time, so that parts of different lengths can be compared.
  tally(part: Part): Tally {
    const {model, state} = this.explorer,
      tallies = part.choices.map((choice) => model.tally(choice, state.side)),
      sum = model.tally(part.choices[0], state.side);
    sum.amount.fill(0);
    sum.even.fill(0);
    sum.variance?.fill(0);
    for (const one of tallies)
      one.amount.forEach((amount, row) => {
        sum.amount[row] += amount / tallies.length;
        if (sum.even !== sum.amount) sum.even[row] += one.even[row] / tallies.length;
        sum.movements[row] += one.movements[row];
        if (sum.variance) sum.variance[row] += one.variance![row] / tallies.length ** 2;
      });
    return sum;
  }

  update(): void {
    if (this.explorer.state.compare !== this.wanted) this.show(this.explorer.state.compare);
    if (!this.wanted) return;
    this.parts(this.wanted).forEach((part, number) => (this.maps[number].part = part));
    const {explorer} = this,
      tallies = this.maps.map(({part}) => this.tally(part)),
      weights = tallies.map((tally) => explorer.model.weights(tally));
    const range = Scale.of(tallies.flatMap((tally) => explorer.ranges.densities(tally, explorer.state.side)));
    this.maps.forEach(({map, title, part}, number) => {
      map.colors = explorer.map.colors;
      map.shades = explorer.shades;
      map.range = range;
      map.weights = weights[number];
      const amount = part.choices.reduce((sum, choice) => sum + explorer.model.total(choice).amount, 0);
      title.textContent = `${part.title}: ${about(amount)} ${explorer.words.amount}`;
      map.changed();
    });
    let legend = this.place.querySelector('.small-legend');
    if (!legend) this.place.append((legend = element('div', {class: 'small-legend'})));
    const each = this.maps.some(({part}) => part.choices.length > 1) ? ', mean of a step' : '';
    legend.replaceChildren(element('b', {text: `${explorer.words.amount} per km²${each}`}), explorer.shades.picture(range, true));
  }

  follow(): void {
    for (const {map} of this.maps) map.follow(this.explorer.map);
  }
}
