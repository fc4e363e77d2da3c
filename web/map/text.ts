// Numbers and elements. Text from a release goes into the page as text, never as markup.

const whole = new Intl.NumberFormat('en-US', {maximumFractionDigits: 0});
const short = new Intl.NumberFormat('en-US', {maximumSignificantDigits: 3});

export function show(value: number | null | undefined): string {
  if (value === null || value === undefined || Number.isNaN(value)) return '–';
  return Number.isInteger(value) || Math.abs(value) >= 1000 ? whole.format(value) : short.format(value);
}

export function compact(value: number): string {
  const size = Math.abs(value);
  if (size >= 1e9) return short.format(value / 1e9) + ' bn';
  if (size >= 1e6) return short.format(value / 1e6) + ' M';
  if (size >= 1e4) return short.format(value / 1e3) + ' k';
  return show(value);
}

// A guess: three digits tell all there is to know.
export function about(value: number): string {
  if (Math.abs(value) < 0.5) return '0';
  return whole.format(Math.abs(value) < 100 ? Math.round(value) : Number(value.toPrecision(3)));
}

// "1 flow", "2 flows"
export function count(amount: number, plural: string): string {
  return `${show(amount)} ${amount === 1 ? singular(plural) : plural}`;
}

// Seconds since 1970 as a reader writes them, in UTC; seconds only where there are any.
export function moment(seconds: number): string {
  return new Date(1000 * seconds).toISOString().replace('T', ' ').slice(0, seconds % 60 ? 19 : 16);
}

export function singular(plural: string): string {
  return plural.replace(/s( of .*)?$/, '$1'); // samples of cabs
}

export function capital(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}

type Attribute = string | number | boolean | null | undefined | ((event: Event) => void);
type Child = Node | string | null | undefined;

export function element<Name extends keyof HTMLElementTagNameMap>(
  name: Name,
  attributes: Record<string, Attribute> = {},
  ...children: Child[]
): HTMLElementTagNameMap[Name] {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (key === 'text') made.textContent = String(value);
    else if (typeof value === 'function') made.addEventListener(key.slice(2), value);
    else if (value !== false && value !== null && value !== undefined) made.setAttribute(key, value === true ? '' : String(value));
  }
  made.append(...children.filter((child): child is Node | string => child !== null && child !== undefined));
  return made;
}

export function drawn(name: string, attributes: Record<string, string | number>, text?: string): SVGElement {
  const made = document.createElementNS('http://www.w3.org/2000/svg', name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, String(value));
  if (text !== undefined) made.textContent = text;
  return made;
}

export function find(id: string): HTMLElement {
  return document.getElementById(id)!;
}

export function read<Type>(id: string): Type {
  return JSON.parse(find(id).textContent!) as Type;
}
