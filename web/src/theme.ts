/** Light or dark: as the system says, unless the user chose. */

export type Theme = 'auto' | 'light' | 'dark';

const KEY = 'flowveil-theme';
const system = matchMedia('(prefers-color-scheme: dark)');
const listeners = new Set<() => void>();

export function theme(): Theme {
  const kept = localStorage.getItem(KEY);
  return kept === 'light' || kept === 'dark' ? kept : 'auto';
}

export function isDark(): boolean {
  return theme() === 'dark' || (theme() === 'auto' && system.matches);
}

export function setTheme(value: Theme): void {
  localStorage.setItem(KEY, value);
  apply();
}

export function onTheme(listener: () => void): void {
  listeners.add(listener);
}

export function apply(): void {
  document.documentElement.dataset.theme = isDark() ? 'dark' : 'light';
  for (const listener of listeners) listener();
}

system.addEventListener('change', apply);
