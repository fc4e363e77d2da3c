/** The page: steps from a file to a release, one at a time. */

import {ServerError, call} from './api';
import {h, put, segmented} from './dom';
import {copied} from './files';
import {bytes, decimal} from './format';
import {keepSoon} from './keep';
import {choicesInShort, resultStep} from './results';
import type {State} from './state';
import {CHOICES, Store, initialState, isStale, missing, settings} from './state';
import {placesStep} from './step-places';
import {promiseStep} from './step-promise';
import {tradeOffStep} from './step-tradeoff';
import {exchangeButton, filePicker, tripsStep} from './step-trips';
import {apply, setTheme, theme} from './theme';
import type {About} from './types';
import {RESULT, TRADE_OFF, Work} from './work';

const STEPS = ['Trips', 'Places', 'Promise', 'Trade-off', 'Result'];
const WATCHED = [...Object.keys(CHOICES), 'file', 'zones', 'page'] as (keyof State)[];

function header(about: About | null, over: HTMLElement | null = null): HTMLElement {
  const themes = segmented('Colors', [['auto', 'Auto'], ['light', 'Light'], ['dark', 'Dark']], theme(), setTheme);
  return h(
    'header',
    {},
    h('img', {src: '/assets/mark.svg', alt: '', width: 28, height: 28}),
    h('h1', {}, 'flowveil'),
    about ? h('span', {class: 'version'}, about.version) : null,
    h('span', {class: 'grow'}),
    h('span', {class: 'local'}, 'On this computer only'),
    over,
    themes,
  );
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
    h('p', {class: 'or'}, 'No data at hand? ', h('button', {type: 'button', id: 'demo', onclick: () => void work.takeDemo()}, 'Try the demo city')),
    h(
      'ul',
      {class: 'points'},
      point('Stays here', `Files are kept in a private folder of this computer, up to ${bytes(about.upload_limit)}, and deleted when flowveil ends.`),
      point('Columns', 'Where trips start and end, as longitude and latitude or as zones. A column of persons makes the promise strong.'),
      point('Reproducible', 'Every release comes with the command line and the lines of Python that make it.'),
    ),
  );
}

/** The steps by name: all of them can be gone to at any time. */
function stepper(store: Store): HTMLElement {
  const buttons = STEPS.map((name, page) =>
    h('button', {type: 'button', class: 'step-button', onclick: () => store.set({page})}, h('span', {class: 'number'}, page + 1), name),
  );
  store.on((state, changed) => {
    const lacking = missing(state);
    buttons.forEach((button, page) => {
      if (page === state.page) {
        button.setAttribute('aria-current', 'step');
        if (changed.has('page')) button.scrollIntoView({block: 'nearest', inline: 'nearest'});
      } else button.removeAttribute('aria-current');
      button.classList.toggle('lacking', lacking?.step === page);
      button.classList.toggle('done', page < state.page && lacking?.step !== page);
      button.disabled = page === RESULT && !state.runs.length;
    });
  });
  return h('nav', {class: 'stepper', 'aria-label': 'Steps'}, ...buttons);
}

function activityBar(store: Store, work: Work): HTMLElement {
  const back = h('button', {type: 'button', id: 'back', onclick: () => store.set({page: Math.max(0, store.state.page - 1)})}, 'Back');
  const next = h('button', {type: 'button', id: 'next', onclick: () => store.set({page: Math.min(RESULT, store.state.page + 1)})}, 'Next');
  const run = h('button', {type: 'button', class: 'primary', id: 'run', onclick: () => void work.anonymize()}, 'Make the release');
  const short = h('span', {class: 'short-text'});
  const stage = h('span', {class: 'stage-text'});
  const bar = h('progress', {'aria-label': 'Progress'});
  const cancel = h('button', {type: 'button', id: 'cancel', onclick: () => void work.cancel()}, 'Cancel');
  const doing = h('div', {class: 'doing', role: 'status', hidden: true}, bar, stage, cancel);
  const element = h('footer', {class: 'action'}, back, doing, short, next, run);
  store.on((state) => {
    const {activity} = state;
    const ready = Boolean(settings(state));
    element.classList.toggle('idle', !state.file);
    doing.hidden = !activity;
    short.hidden = Boolean(activity);
    back.hidden = state.page === 0 || !state.file;
    next.hidden = !state.file || state.page === RESULT || (state.page === TRADE_OFF && !state.runs.length);
    const current = state.page === RESULT ? state.runs[state.shown] : undefined;
    run.hidden = !state.file || Boolean(activity?.main) || Boolean(current && !isStale(state, current));
    run.disabled = !ready;
    put(short, state.file && ready ? choicesInShort(state) : '');
    cancel.hidden = !activity?.job;
    if (!activity) return;
    put(stage, `${activity.stage}${activity.seconds >= 1 ? `, ${decimal(activity.seconds)} s` : ''}`);
    if (activity.share === null) bar.removeAttribute('value');
    else bar.value = activity.share;
  });
  return element;
}

/** The settings of now, as they are said elsewhere. */
function saidBox(store: Store): HTMLElement {
  const command = h('code', {class: 'now-command', tabindex: 0, 'aria-label': 'Command line'});
  const python = h('code', {class: 'now-python', tabindex: 0, 'aria-label': 'Python'});
  const box = h('details', {class: 'said-now'}, h('summary', {}, 'The same on the command line and in Python'), h('div', {class: 'said'}, copied('Command line', command), copied('Python', python)));
  store.on((state) => {
    box.hidden = !state.command || state.page === RESULT;
    put(command, state.command);
    put(python, state.python);
  });
  return box;
}

function troubleBox(store: Store): HTMLElement {
  const box = h('div', {class: 'trouble', role: 'alert', hidden: true});
  store.on((state, changed) => {
    if (!changed.has('trouble')) return;
    box.hidden = !state.trouble;
    if (state.trouble) put(box, h('b', {}, capital(state.trouble.message)), h('p', {}, capital(state.trouble.hint)), exchangeButton(store, state.trouble.hint));
  });
  return box;
}

function lackingBox(store: Store): HTMLElement {
  const box = h('p', {class: 'note warn lacking-note', hidden: true});
  store.on((state) => {
    const lacking = state.file ? missing(state) : null;
    box.hidden = !lacking || state.page === RESULT;
    if (!lacking) return;
    const there = lacking.step === state.page;
    put(box, lacking.text, there ? null : h('button', {type: 'button', class: 'small', onclick: () => store.set({page: lacking.step})}, `Go to step ${lacking.step + 1}`));
  });
  return box;
}

function build(about: About): void {
  const store = new Store(initialState(about));
  const work = new Work(store);
  const start = welcome(store, work);
  const contents = [tripsStep(store, work), placesStep(store, work), promiseStep(store), tradeOffStep(store, work), resultStep(store, work)];
  const sections = contents.map((content, page) =>
    h('section', {class: page >= TRADE_OFF ? 'step wide-step' : 'step', 'aria-label': STEPS[page]}, h('h2', {tabindex: -1}, STEPS[page]), content),
  );
  const over = h(
    'button',
    {type: 'button', class: 'small', id: 'over', title: 'Remove all files and releases from flowveil and begin anew', onclick: () => void work.startOver()},
    'Start over',
  );
  const main = h('main', {}, troubleBox(store), start, lackingBox(store), ...sections, saidBox(store));
  const steps = stepper(store);
  put(document.body, header(about, over), steps, main, activityBar(store, work));
  store.on((state, changed) => {
    start.hidden = Boolean(state.file);
    steps.hidden = over.hidden = !state.file;
    sections.forEach((section, page) => {
      section.hidden = !state.file || page !== state.page;
    });
    if (changed.has('page') && state.file) {
      main.scrollTop = 0;
      sections[state.page]?.querySelector<HTMLElement>('h2')?.focus({preventScroll: true});
    }
    if (WATCHED.some((name) => changed.has(name))) work.refresh();
    if (changed.has('runs') || changed.has('shown')) keepSoon(store);
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
  void work.restore();
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
  return text ? `${text.charAt(0).toUpperCase()}${text.slice(1)}${/[.?!]$/.test(text) ? '' : '.'}` : '';
}

void begin();
