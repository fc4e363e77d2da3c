/** What can be had of a release: the folder, its report, private files, other formats, the command line and Python. */

import {download} from './api';
import {choice, h, put, setOptions} from './dom';
import type {Run, Store} from './state';
import type {Work} from './work';

const FORMATS: Record<string, string> = {
  geojson: 'GeoJSON, for any map',
  gpkg: 'GeoPackage, for QGIS',
  'flowmap-blue': 'flowmap.blue',
  omx: 'Open Matrix, for transport models',
  skmob: 'scikit-mobility',
  movingpandas: 'MovingPandas',
  gpx: 'GPX, for GPS software',
};

// What the page does not have, by the command that has it.
const MORE: [string, string][] = [
  ['flowveil anonymize TRIPS -o out --where "CONDITION"', 'only rows that fulfill a condition'],
  ['flowveil anonymize TRIPS -o out --max-gbar 8', 'a precision to reach, in place of a share to leave out'],
  ['flowveil anonymize TRIPS -o out --beside EARLIER', 'safe beside an earlier release of the same data'],
  ['flowveil anonymize TRIPS -o out --areas-from EARLIER', 'on the areas of an earlier release'],
  ['flowveil anonymize TRIPS -o out --hide-choice 0.5', 'areas that tell of no small group: a secret draw hides their choice'],
  ['flowveil anonymize TRIPS -o out --epsilon 1 --method daf-entropy --cells 100', 'noise on boxes, with stops or frames of the day'],
  ['flowveil anonymize postgresql://… --query SQL -o out --engine spark', 'databases, the cloud, clusters'],
  ['flowveil compare TRIPS --methods all', 'all methods side by side'],
  ['flowveil evaluate out --against TRIPS', 'every figure of what was lost'],
  ['flowveil query out', 'noisy counts of any two boxes, with their errors'],
  ['flowveil reconstruct out --zones ZONES', 'estimates between zones of a reader'],
  ['flowveil trajectories gap TRIPS', 'how far paths are from being shared'],
];

export function filesPanel(store: Store, work: Work, current: () => Run | undefined): HTMLElement {
  const act = (use: (run: Run) => void) => () => {
    const run = current();
    if (run) use(run);
  };
  const button = (text: string, use: (run: Run) => void, properties: Record<string, unknown> = {}) =>
    h('button', {type: 'button', ...properties, onclick: act(use)}, text);
  const format = choice([], '', () => undefined);
  format.setAttribute('aria-label', 'Format');
  const report = button('Report', (run) => void download(`/api/releases/${run.job}/report`, 'report.html'), {id: 'report-page'});
  const privately = button(
    'Private report',
    (run) => void work.make(`/api/releases/${run.job}/private-report`, () => `/api/releases/${run.job}/private-report`, 'private-report.html'),
    {id: 'private-report', title: 'Before and after, and what was lost'},
  );
  const exports = h(
    'span',
    {class: 'export'},
    format,
    button('Export', (run) => void work.make(`/api/releases/${run.job}/export/${format.value}`, (made) => `/api/exports/${made.id}/zip`, `flowveil-${format.value}.zip`), {id: 'export'}),
  );
  const publicly = h(
    'div',
    {class: 'file-group'},
    h('h3', {}, 'Also safe to publish'),
    h('div', {class: 'files'}, report, exports),
  );
  const kept = h(
    'div',
    {class: 'file-group'},
    h('h3', {}, 'Stays with you'),
    h('div', {class: 'files'}, privately, button('Private files', (run) => void download(`/api/releases/${run.job}/private`, 'flowveil-private.zip'), {id: 'private-files', title: 'Exact figures, and what verifying needs'})),
  );
  const command = h('code', {class: 'its-command', tabindex: 0, 'aria-label': 'Command line of this release'});
  const python = h('code', {class: 'its-python', tabindex: 0, 'aria-label': 'Python of this release'});
  const note = h('p', {class: 'help'});
  store.on(() => {
    const run = current();
    if (!run) return;
    put(command, run.command);
    put(python, run.python);
    report.hidden = !run.settings.report;
    const formats = store.state.about.formats[run.kind === 'paths' ? 'trajectories' : 'flows'];
    if (formats.length !== format.length) setOptions(format, formats.map((name) => [name, FORMATS[name] ?? name]), 'geojson');
    put(note, run.kind === 'noise' ? 'The same settings; noise is drawn anew each time, so the numbers differ.' : 'Both give the same bytes as the download.');
  });
  return h(
    'div',
    {class: 'take'},
    h('div', {class: 'file-groups'}, publicly, kept),
    h('div', {class: 'said'}, copied('On the command line', command), copied('In Python', python)),
    note,
    h(
      'details',
      {class: 'more'},
      h('summary', {}, 'What only the command line has'),
      h('dl', {}, ...MORE.flatMap(([text, meaning]) => [h('dt', {}, meaning), h('dd', {}, h('code', {}, text))])),
    ),
  );
}

/** The one thing that most want: the folder, safe to publish as a whole. */
export function downloadButton(current: () => Run | undefined): HTMLElement {
  const fetchIt = () => {
    const run = current();
    if (run) void download(`/api/releases/${run.job}/zip`, 'flowveil-release.zip');
  };
  return h('button', {type: 'button', class: 'primary', id: 'download', title: 'The folder, safe to publish as a whole', onclick: fetchIt}, 'Download release');
}

/** A text that can be copied. */
export function copied(name: string, code: HTMLElement): HTMLElement {
  const copy = h(
    'button',
    {
      type: 'button',
      class: 'small',
      'aria-label': `Copy: ${name}`,
      onclick: () => {
        void navigator.clipboard.writeText(code.textContent ?? '').then(() => {
          put(copy, 'Copied');
          setTimeout(() => put(copy, 'Copy'), 1500);
        });
      },
    },
    'Copy',
  );
  return h('section', {class: 'command', 'aria-label': name}, h('div', {class: 'split'}, h('h3', {}, name), copy), code);
}
