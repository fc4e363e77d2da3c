// Puts the page together: map, controls, panel, time bar, tables, charts, theme.

import {Address} from './address';
import {type Distribution, bars, histogram} from './charts';
import {Controls} from './controls';
import {Explorer, type Words} from './explorer';
import {FlowMap} from './flowmap';
import {Held} from './held';
import {Legend, hover} from './legend';
import {Multiples} from './multiples';
import {Panel} from './panel';
import {type Losses, showPrivate} from './private';
import {Shades} from './scale';
import {Scene, type SceneJson} from './scene';
import {steer} from './steer';
import {Tables} from './tables';
import {capital, element, find, read} from './text';
import {nameTheme, themeColors} from './theme';
import {TimeBar} from './timebar';

interface Drawing {
  scene: SceneJson;
  words: Words;
  palette: {amounts: string[]};
  private?: Losses;
}
interface Numbers {
  distributions: Distribution[];
  by: {key: string; values: string[]; trips: number[]}[];
}

function copyCommand(): void {
  const button = find('copy');
  button.addEventListener('click', () => {
    const range = document.createRange();
    range.selectNodeContents(find('command'));
    getSelection()!.removeAllRanges();
    getSelection()!.addRange(range);
    button.textContent = document.execCommand('copy') ? 'Copied' : 'Selected';
    setTimeout(() => (button.textContent = 'Copy'), 1500);
  });
}

function themes(explorer: Explorer, maps: FlowMap[], palette: string[]): void {
  const wanted = matchMedia('(prefers-color-scheme: dark)');
  // Whoever holds this page in a frame may say which.
  let theme = document.documentElement.dataset.theme ?? (wanted.matches ? 'dark' : 'light');
  const set = (name: string) => {
    nameTheme(name);
    const colors = themeColors();
    explorer.shades = new Shades(palette, colors.dark);
    for (const map of maps) map.colors = colors;
    explorer.refresh();
    for (const map of maps) map.draw();
  };
  const choose = (name: string) => set((theme = name));
  wanted.addEventListener('change', (event) => choose(event.matches ? 'dark' : 'light'));
  find('theme').addEventListener('click', () => choose(theme === 'dark' ? 'light' : 'dark'));
  // Paper is light, has no screen to measure, and shows more dots to the inch.
  addEventListener('beforeprint', () => {
    for (const part of document.querySelectorAll<HTMLDetailsElement>('details.all-figures')) part.open = true;
    set('light');
    for (const map of maps) map.resize(720, 450, 3);
  });
  addEventListener('afterprint', () => {
    set(theme);
    for (const map of maps) map.resize();
  });
  set(theme);
}

function start(): void {
  const began = performance.now(),
    {scene: json, words, palette, private: losses} = read<Drawing>('drawing'),
    numbers = read<Numbers>('numbers');
  const scene = new Scene(json),
    map = new FlowMap(find('map') as HTMLCanvasElement, scene.ground),
    explorer = new Explorer(map, scene, words),
    multiples = new Multiples(explorer, find('multiples')),
    address = new Address(multiples.ways());
  address.read(explorer);
  explorer.views.push(new Controls(explorer, multiples), new Panel(), new Legend(), new Tables(explorer), multiples, address);
  const time = scene.keys.findIndex((key) => key.time);
  if (time >= 0) {
    find('time').hidden = false;
    explorer.views.push(new TimeBar(explorer, find('time'), time));
  }
  const held = new Held(explorer);
  explorer.views.push(held);
  map.moved = (why) => {
    multiples.follow();
    held.moved(why);
  };
  steer(map, {
    hover: (x, y) => hover(explorer, x, y),
    click: (x, y) => explorer.click(x, y),
    clear: () => explorer.change({place: null, pair: null, group: null}),
  });
  addEventListener('hashchange', () => {
    address.read(explorer);
    explorer.refresh();
  });
  copyCommand();
  const charts = find('charts');
  for (const part of numbers.distributions) charts.append(histogram(part));
  for (const part of numbers.by) charts.append(bars(`${capital(words.amount)} by ${part.key}`, part.values, part.trips, 'trips'));
  if (!charts.childElementCount) charts.append(element('p', {class: 'note', text: 'There is nothing to chart.'}));
  const more = losses ? showPrivate(losses, explorer) : [];
  map.resize();
  themes(explorer, [map, ...more], palette.amounts);
  // For tests and measurements.
  Object.assign(window, {
    flowveil: {
      map,
      scene,
      maps: [map, ...more],
      explorer,
      multiples,
      density: (lon: number, lat: number) => explorer.model.density(explorer.shown, map.local(lon, lat)).value,
      drawn: () => {
        const from = performance.now();
        map.changed();
        map.draw();
        map.context.getImageData(0, 0, 1, 1);
        return performance.now() - from;
      },
      started: performance.now() - began,
    },
  });
}

start();
