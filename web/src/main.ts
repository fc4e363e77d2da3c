/** The page: steps on the left, what came of them on the right. */

import {ServerError, call} from './api';
import {h, put, segmented} from './dom';
import {bytes, decimal} from './format';
import {budgetControls, methodPanel} from './panel-method';
import {placesPanel} from './panel-places';
import {promisePanel} from './panel-promise';
import {exchangeButton, filePicker, tripsPanel} from './panel-trips';
import {resultsPanel} from './results';
import {Store, initialState, missing, settings} from './state';
import {apply, setTheme, theme} from './theme';
import type {About} from './types';
import {Work} from './work';

const WATCHED = [
  ...['file', 'mapping', 'places', 'grid', 'resolution', 'hierarchy', 'squares', 'bbox', 'zones', 'levels', 'time', 'timezone', 'by', 'unit', 'weight'],
  ...['k', 'kWeight', 'minTiles', 'method', 'budget', 'loss', 'elsewhere', 'report', 'options'],
];

const WITHOUT_FRONTIER = ['budget', 'elsewhere', 'report']; // they do not change it

function header(about: About | null): HTMLElement {
  const themes = segmented('Colors', [['auto', 'Auto'], ['light', 'Light'], ['dark', 'Dark']], theme(), setTheme);
  return h(
    'header',
    {},
    h('img', {src: '/assets/mark.svg', alt: '', width: 28, height: 28}),
    h('h1', {}, 'flowveil'),
    about ? h('span', {class: 'version'}, about.version) : null,
    h('span', {class: 'grow'}),
    h('span', {class: 'local'}, 'On this computer only'),
    themes,
  );
}

function step(number: number, name: string, content: HTMLElement): HTMLElement {
  return h('section', {class: 'step', 'aria-label': name}, h('h2', {}, h('span', {class: 'number'}, number), name), content);
}

function welcome(store: Store, work: Work): HTMLElement {
  const {about} = store.state;
  const point = (name: string, text: string) => h('li', {}, h('b', {}, name), text);
  return h(
    'section',
    {class: 'welcome', 'aria-label': 'Start'},
    h('h2', {}, 'Publish how people move, not who moved'),
    h('p', {class: 'lead'}, 'Give it trips. It joins places until every published flow is shared by a crowd, shows what that costs, and proves it.'),
    filePicker('Choose a file of trips', about.endings.trips, (file) => void work.takeFile(file)),
    h(
      'p',
      {class: 'or'},
      'No data at hand? ',
      h('button', {type: 'button', id: 'demo', onclick: () => void work.takeDemo()}, 'Try the demo city'),
    ),
    h(
      'ul',
      {class: 'points'},
      point('Stays here', `Files are kept in a private folder of this computer, up to ${bytes(about.upload_limit)}, and deleted when flowveil ends.`),
      point('Columns', 'start_lon, start_lat, end_lon, end_lat or zone ids origin, destination; a column of persons makes the promise strong.'),
      point('Reproducible', 'Every release comes with the command line that gives the same bytes.'),
    ),
  );
}

function activityBar(store: Store, work: Work): HTMLElement {
  const run = h('button', {type: 'button', class: 'primary wide', id: 'run', onclick: () => void work.anonymize()}, 'Anonymize');
  const stage = h('span', {class: 'stage-text'});
  const bar = h('progress', {'aria-label': 'Progress'});
  const cancel = h('button', {type: 'button', id: 'cancel', onclick: () => void work.cancel()}, 'Cancel');
  const doing = h('div', {class: 'doing', role: 'status', hidden: true}, bar, stage, cancel);
  const element = h('div', {class: 'action'}, run, doing);
  store.on((state) => {
    const {activity} = state;
    doing.hidden = !activity;
    run.hidden = Boolean(activity?.main);
    run.disabled = !settings(state);
    cancel.hidden = !activity?.job;
    if (!activity) return;
    put(stage, `${activity.stage}${activity.seconds >= 1 ? `, ${decimal(activity.seconds)} s` : ''}`);
    if (activity.share === null) bar.removeAttribute('value');
    else bar.value = activity.share;
  });
  return element;
}

function commandBox(store: Store): HTMLElement {
  const code = h('code', {tabindex: 0, 'aria-label': 'Command line'});
  const copy = h(
    'button',
    {
      type: 'button',
      class: 'small',
      onclick: () => {
        void navigator.clipboard.writeText(store.state.command).then(() => {
          put(copy, 'Copied');
          setTimeout(() => put(copy, 'Copy'), 1500);
        });
      },
    },
    'Copy',
  );
  const box = h('section', {class: 'command', 'aria-label': 'Command line', hidden: true}, h('div', {class: 'split'}, h('h2', {}, 'The same on the command line'), copy), code);
  store.on((state, changed) => {
    if (!changed.has('command')) return;
    box.hidden = !state.command;
    put(code, state.command);
  });
  return box;
}

function troubleBox(store: Store): HTMLElement {
  const box = h('div', {class: 'trouble', role: 'alert', hidden: true});
  store.on((state, changed) => {
    if (!changed.has('trouble')) return;
    box.hidden = !state.trouble;
    if (state.trouble) put(box, h('b', {}, state.trouble.message), h('p', {}, state.trouble.hint), exchangeButton(store, state.trouble.hint));
  });
  return box;
}

function build(about: About): void {
  const store = new Store(initialState(about));
  const work = new Work(store);
  const start = welcome(store, work);
  const budget = budgetControls(store);
  const [large, small] = [h('div', {class: 'card'}), h('div', {})];
  const first = h('p', {class: 'note warn'});
  const waiting = h(
    'section',
    {class: 'waiting', 'aria-label': 'What it costs', hidden: true},
    h('h2', {}, 'What the promise costs'),
    h('p', {}, 'Crowds are made by joining places, which blurs where trips start and end. Leaving out the trips that are hardest to hide keeps the rest sharper. Choose how many, then anonymize.'),
    first,
    large,
  );
  const steps = h(
    'div',
    {class: 'steps', hidden: true},
    step(1, 'Trips', tripsPanel(store, work)),
    step(2, 'Places and times', placesPanel(store, work)),
    step(3, 'Promise', promisePanel(store)),
    step(4, 'Method and budget', methodPanel(store, small)),
    commandBox(store),
  );
  const action = activityBar(store, work);
  const left = h('aside', {class: 'panel', 'aria-label': 'Settings'}, troubleBox(store), steps, action);
  put(document.body, header(about), h('div', {class: 'page start'}, left, h('main', {}, start, waiting, resultsPanel(store, work))));
  store.on((state, changed) => {
    start.hidden = Boolean(state.file);
    steps.hidden = !state.file;
    waiting.hidden = !state.file || state.runs.length > 0;
    const lacking = state.file ? missing(state) : null;
    first.hidden = !lacking;
    large.hidden = Boolean(lacking);
    put(first, lacking);
    const home = state.runs.length ? small : large;
    if (budget.parentElement !== home) home.append(budget);
    document.querySelector('.page')?.classList.toggle('start', !state.file);
    action.classList.toggle('idle', !state.file);
    const news = WATCHED.filter((name) => changed.has(name as keyof typeof state));
    if (news.length) work.refresh();
    if (news.some((name) => !WITHOUT_FRONTIER.includes(name))) budget.classList.add('stale');
    if (changed.has('frontier')) budget.classList.remove('stale');
  });
  window.addEventListener('pagehide', () => work.leave());
  for (const name of ['dragover', 'drop'] as const) {
    document.addEventListener(name, (event) => {
      event.preventDefault();
      const file = name === 'drop' ? event.dataTransfer?.files[0] : undefined;
      if (file) void work.takeFile(file);
    });
  }
  store.set({});
}

async function begin(): Promise<void> {
  apply();
  try {
    build(await call<About>('GET', '/api/about'));
  } catch (error) {
    const {message, hint} = error instanceof ServerError ? error : {message: String(error), hint: ''};
    put(document.body, header(null), h('div', {class: 'refused', role: 'alert'}, h('h2', {}, capital(message)), h('p', {}, capital(hint))));
  }
}

function capital(text: string): string {
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}.`;
}

void begin();
