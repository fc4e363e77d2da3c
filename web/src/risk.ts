/** What known attacks learn from a release: asked for once, kept while the page is open. */

import {h, put} from './dom';
import type {Run, Store} from './state';
import type {Finding, RiskResult} from './types';
import type {Work} from './work';

const ORDER = ['breaks', 'tells', 'holds'];
const WORST: Record<string, string> = {
  holds: 'No attack learned anything.',
  tells: 'The promise holds. Some attacks learned what it does not exclude.',
  breaks: 'An attack broke the promise: do not publish this release.',
};

export class RiskView {
  private readonly content = h('div', {class: 'findings', 'aria-live': 'polite'});
  private readonly found = new Map<string, RiskResult>();
  readonly element = h(
    'div',
    {class: 'risk', hidden: true},
    h('p', {}, h('b', {}, 'Private: '), 'what a stranger learns who knows how the release was made, checked against your trips. Do not publish this list.'),
    this.content,
  );

  constructor(
    private readonly store: Store,
    private readonly work: Work,
  ) {}

  async show(run: Run): Promise<void> {
    const known = this.found.get(run.job);
    put(this.content, known ? list(known) : h('button', {type: 'button', id: 'attack', onclick: () => void this.attack(run)}, 'Attack this release'));
  }

  private async attack(run: Run): Promise<void> {
    const found = await this.work.attack(run);
    if (found) this.found.set(run.job, found);
    const {view, runs, shown} = this.store.state;
    if (found && view === 'risk' && runs[shown] === run) put(this.content, list(found));
  }
}

function list({worst, findings}: RiskResult): HTMLElement {
  const rows = [...findings].sort((one, other) => ORDER.indexOf(one.verdict) - ORDER.indexOf(other.verdict));
  return h('div', {}, h('p', {class: 'lead-in'}, WORST[worst] ?? ''), ...rows.map(finding), h('p', {class: 'help'}, 'Attacks that take minutes are not tried here: ', h('code', {}, 'flowveil risk out --against TRIPS'), ' tries all.'));
}

function finding({question, verdict, figure, sentence, advice}: Finding): HTMLElement {
  return h(
    'article',
    {class: `finding ${verdict}`},
    h('h3', {}, h('span', {class: 'verdict'}, verdict), ` ${question}`),
    h('p', {}, sentence),
    advice ? h('p', {class: 'help'}, advice) : null,
    h('p', {class: 'help'}, figure),
  );
}
