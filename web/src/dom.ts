/** Elements. Text from files and servers only ever becomes text nodes: markup is only ever parsed in the sandbox of frame.ts. */

type Child = Node | string | number | null | undefined | false;
type Properties = Record<string, unknown>;

const SVG = 'http://www.w3.org/2000/svg';

function fill(element: Element, properties: Properties, children: Child[]): void {
  for (const [name, value] of Object.entries(properties)) {
    if (value === undefined || value === null || value === false) continue;
    if (name.startsWith('on') && typeof value === 'function') {
      element.addEventListener(name.slice(2), value as EventListener);
    } else {
      element.setAttribute(name, value === true ? '' : String(value));
    }
  }
  put(element, ...children);
}

export function h<Name extends keyof HTMLElementTagNameMap>(
  name: Name,
  properties: Properties = {},
  ...children: Child[]
): HTMLElementTagNameMap[Name] {
  const element = document.createElement(name);
  fill(element, properties, children);
  return element;
}

export function s(name: string, properties: Properties = {}, ...children: Child[]): SVGElement {
  const element = document.createElementNS(SVG, name);
  fill(element, properties, children);
  return element;
}

/** Replace what an element holds. */
export function put(element: Element, ...children: Child[]): void {
  element.replaceChildren(
    ...children
      .filter((child): child is Node | string | number => child !== null && child !== undefined && child !== false)
      .map((child) => (child instanceof Node ? child : document.createTextNode(String(child)))),
  );
}

let names = 0;

/** Return an id that no other element has. */
export function freshId(): string {
  names += 1;
  return `f${names}`;
}

/** A labeled control. */
export function field(label: string, control: HTMLElement, help?: Child): HTMLElement {
  control.id ||= freshId();
  return h(
    'div',
    {class: 'field'},
    h('label', {for: control.id}, label),
    control,
    help ? h('p', {class: 'help'}, help) : null,
  );
}

/** A choice from a list of [value, text]. */
export function choice(options: [string, string][], value: string, change: (value: string) => void): HTMLSelectElement {
  const element = h('select', {onchange: () => change(element.value)});
  setOptions(element, options, value);
  return element;
}

export function setOptions(element: HTMLSelectElement, options: [string, string][], value: string): void {
  put(element, ...options.map(([name, text]) => h('option', {value: name}, text)));
  element.value = value;
}

/** Buttons of which one is pressed. */
export function segmented<Value extends string>(
  label: string,
  options: [Value, string][],
  value: Value,
  change: (value: Value) => void,
): HTMLElement & {select: (value: Value) => void} {
  const name = freshId();
  const inputs = options.map(([option]) =>
    h('input', {type: 'radio', name, value: option, id: freshId(), checked: option === value, onchange: () => change(option)}),
  );
  const parts = inputs.flatMap((input, place) => [input, h('label', {for: input.id}, options[place]?.[1])]);
  const group = h('div', {class: 'segmented', role: 'radiogroup', 'aria-label': label}, ...parts);
  const select = (chosen: Value) => {
    for (const input of inputs) input.checked = input.value === chosen;
  };
  return Object.assign(group, {select});
}
