/** A map, or a whole report: a page of its own in a sandbox, which runs nothing but its program and sees nothing of this page. */

import {h} from './dom';
import {isDark, onTheme} from './theme';

export class Frame {
  readonly element: HTMLIFrameElement;
  private page = '';

  constructor(label: string) {
    this.element = h('iframe', {class: 'map', title: label, sandbox: 'allow-scripts allow-downloads', hidden: true});
    onTheme(() => this.load());
  }

  show(page: string | undefined): void {
    this.element.hidden = !page;
    if (!page || page === this.page) return;
    this.page = page;
    this.load();
  }

  private load(): void {
    if (this.page) this.element.srcdoc = this.page.replace('<html ', `<html data-held data-theme="${isDark() ? 'dark' : 'light'}" `);
  }
}
