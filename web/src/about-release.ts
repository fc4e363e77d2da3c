/** What is published with a release as text: who publishes it, of when it is, what others may do with it. */

import {field, h} from './dom';
import type {Store} from './state';

const PARTS: [string, string, string, number][] = [
  ['title', 'Title', 'e.g. Bike trips in Chicago', 120],
  ['period', 'Period', 'when the trips were made, e.g. June 2024', 60],
  ['publisher', 'Publisher', 'e.g. City of Chicago', 120],
  ['license', 'License', 'what others may do with it, e.g. CC BY 4.0', 120],
  ['contact', 'Contact', 'whom to ask', 120],
  ['unit_label', 'What the column of persons tells apart', 'in the plural: bikes, cabs; only where there is such a column', 40],
];

export function aboutRelease(store: Store): HTMLElement {
  const fields = PARTS.map(([name, label, help, longest]) => {
    const input = h('input', {
      type: 'text',
      maxlength: longest,
      autocomplete: 'off',
      value: store.state.description[name] ?? '',
      onchange: () => {
        const {[name]: _, ...others} = store.state.description,
          text = input.value.trim();
        store.set({description: text ? {...others, [name]: text} : others});
      },
    });
    store.on((state, changed) => {
      if (changed.has('description')) input.value = state.description[name] ?? '';
    });
    return field(label, input, help);
  });
  return h(
    'details',
    {id: 'about-release'},
    h('summary', {}, 'About this release'),
    h('p', {class: 'help'}, 'Published with the release and shown in its report, word for word. All of it may stay empty.'),
    h('div', {class: 'pair'}, ...fields),
  );
}
