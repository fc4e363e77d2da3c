// Colors of the map, light or dark.

import type {Colors} from './sheet';

export function themeColors(): Colors {
  const style = getComputedStyle(document.documentElement),
    dark = document.documentElement.dataset.theme === 'dark';
  const named = (name: string) => style.getPropertyValue(`--${name}`).trim();
  const ground = {dark, sea: named('sea'), land: named('land')};
  return dark
    ? {
        ...ground,
        coast: 'rgba(200,220,235,.38)',
        edge: 'rgba(6,10,14,.75)',
        graticule: 'rgba(200,220,235,.10)',
        label: '#aebbc6',
        halo: 'rgba(11,17,22,.85)',
        line: '#ffb454',
        lineStart: 'rgba(255,180,84,.25)',
        casing: 'rgba(6,10,14,.45)',
        mark: '#ff7a4d',
        bubble: 'rgba(86,180,233,.6)',
      }
    : {
        ...ground,
        coast: 'rgba(40,60,80,.45)',
        edge: 'rgba(255,255,255,.8)',
        graticule: 'rgba(30,50,70,.10)',
        label: '#44515d',
        halo: 'rgba(255,255,255,.85)',
        line: '#d55e00',
        lineStart: 'rgba(213,94,0,.28)',
        casing: 'rgba(255,255,255,.55)',
        mark: '#d55e00',
        bubble: 'rgba(0,114,178,.55)',
      };
}

export function nameTheme(theme: string): void {
  document.documentElement.dataset.theme = theme;
  const button = document.getElementById('theme')!;
  button.textContent = theme === 'dark' ? 'Light' : 'Dark';
  button.setAttribute('aria-label', theme === 'dark' ? 'Switch to light colors' : 'Switch to dark colors');
  button.setAttribute('aria-pressed', String(theme === 'dark'));
}
