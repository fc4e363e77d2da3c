// Steps of time as bars: click one, play them, move with the keys.

import type {Explorer, View} from './explorer';
import {ALL} from './model';
import {compact, drawn, element, show} from './text';

const BEAT = 700; // milliseconds a step is shown while playing, at most
const SHORTEST = 150;
const ROUND = 60_000; // milliseconds in which all steps are shown, if they can
const HEIGHT = 64;

export class TimeBar implements View {
  private readonly bars: SVGElement;
  private readonly label: HTMLElement;
  private readonly playing: HTMLButtonElement;
  private readonly slider: HTMLElement;
  private timer = 0;
  private drawnFor = '';
  private played: boolean[] = []; // the steps that have anything to show

  constructor(
    private readonly explorer: Explorer,
    place: HTMLElement,
    private readonly key: number,
  ) {
    const values = explorer.scene.keys[key].values;
    this.bars = drawn('svg', {viewBox: `0 0 1000 ${HEIGHT}`, preserveAspectRatio: 'none', 'aria-hidden': 'true'});
    this.slider = element('div', {
      class: 'time-bars',
      role: 'slider',
      tabindex: 0,
      'aria-label': 'Time',
      'aria-valuemin': -1,
      'aria-valuemax': values.length - 1,
    });
    this.slider.append(this.bars);
    this.playing = element('button', {type: 'button', class: 'quiet', id: 'play', text: 'Play', onclick: () => this.toggle()});
    const all = element('button', {type: 'button', class: 'quiet', id: 'all-times', text: 'All', onclick: () => this.go(ALL)});
    this.label = element('output', {class: 'time-label', id: 'time-label'});
    const ends = element('div', {class: 'time-ends', 'aria-hidden': 'true'}, element('span', {text: values[0]}), element('span', {text: values[values.length - 1]}));
    place.append(element('div', {class: 'time-buttons'}, this.playing, all, this.label), this.slider, ends);
    this.slider.addEventListener('click', (event) => {
      const box = this.slider.getBoundingClientRect();
      this.go(Math.max(0, Math.min(values.length - 1, Math.floor(((event.clientX - box.left) / box.width) * values.length))));
    });
    this.slider.addEventListener('keydown', (event) => this.press(event));
  }

  private press(event: KeyboardEvent): void {
    const last = this.explorer.scene.keys[this.key].values.length - 1,
      now = this.now;
    const to: Record<string, number> = {
      ArrowLeft: Math.max(ALL, now - 1),
      ArrowDown: Math.max(ALL, now - 1),
      ArrowRight: Math.min(last, now + 1),
      ArrowUp: Math.min(last, now + 1),
      Home: 0,
      End: last,
      Escape: ALL,
    };
    if (event.key === ' ') this.toggle();
    else if (event.key in to) this.go(to[event.key]);
    else return;
    event.preventDefault();
  }

  private get now(): number {
    return this.explorer.state.choice[this.key];
  }

  private go(value: number): void {
    this.explorer.choose(this.key, value);
  }

  toggle(): void {
    if (this.timer) {
      clearInterval(this.timer);
      this.timer = 0;
    } else {
      const shown = this.played.filter(Boolean).length;
      this.go(this.next());
      this.timer = window.setInterval(() => this.go(this.next()), Math.max(SHORTEST, Math.min(BEAT, ROUND / Math.max(1, shown))));
    }
    this.playing.textContent = this.timer ? 'Pause' : 'Play';
  }

  /** Return the step after this one that has anything to show; with nothing anywhere, the one after this. */
  private next(): number {
    const after = this.played.map((_, place) => (this.now + 1 + place) % this.played.length);
    return after.find((value) => this.played[value]) ?? after[0];
  }

  amounts(): number[] {
    const {model, state, scene} = this.explorer;
    return scene.keys[this.key].values.map((_, value) => {
      const choice = [...state.choice];
      choice[this.key] = value;
      return model.total(choice).amount;
    });
  }

  update(explorer: Explorer): void {
    const {values} = explorer.scene.keys[this.key],
      {words, state} = explorer,
      now = this.now;
    const wanted = state.choice.filter((_, key) => key !== this.key).join() + `/${state.group}`;
    if (wanted !== this.drawnFor) this.redraw(wanted);
    [...this.bars.querySelectorAll('.time-step')].forEach((bar, value) => bar.classList.toggle('chosen-step', value === now));
    const amount = explorer.model.total(state.choice).amount,
      text = `${now === ALL ? 'All times' : values[now]}: ${explorer.model.spreads(state.choice) ? 'about ' : ''}${show(Math.round(amount))} ${words.amount}`;
    this.label.textContent = text;
    this.slider.setAttribute('aria-valuenow', String(now));
    this.slider.setAttribute('aria-valuetext', text);
  }

  private redraw(wanted: string): void {
    const {explorer} = this,
      amounts = this.amounts(),
      most = Math.max(1, ...amounts),
      step = 1000 / amounts.length,
      bottom = HEIGHT - 8;
    this.drawnFor = wanted;
    this.played = amounts.map((amount) => amount > 0);
    this.bars.replaceChildren();
    amounts.forEach((amount, value) => {
      const tall = (bottom * Math.max(0, amount)) / most,
        bar = drawn('g', {class: 'time-step'});
      bar.append(
        drawn('rect', {class: 'time-back', x: value * step, y: 0, width: step, height: HEIGHT}),
        drawn('rect', {class: 'time-bar', x: value * step + step * 0.08, y: bottom - tall, width: step * 0.84, height: tall}),
        drawn('title', {}, `${explorer.scene.keys[this.key].values[value]}: ${compact(Math.round(amount))} ${explorer.words.amount}`),
      );
      this.bars.append(bar);
    });
    if (explorer.state.group === null || !explorer.scene.samples) return;
    this.played.fill(false);
    for (const row of explorer.samplesOf(explorer.state.group)) {
      const {first, last} = explorer.scene.samples,
        width = Math.max(2, (last[row] - first[row]) * step);
      this.played.fill(true, Math.floor(first[row]), Math.ceil(last[row]));
      this.bars.append(drawn('rect', {class: 'time-span', x: first[row] * step, y: HEIGHT - 6, width, height: 5}));
    }
  }
}
