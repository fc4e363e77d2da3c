// What the publisher shows beside a release: how each layer is drawn, and a key that says so.

import type {Ground} from './scene';
import {drawn, element} from './text';

interface Pen {
  stroke: string;
  width: number; // pixels
  dash: number[];
  fill: string; // of areas
}

// Told apart by dashes and widths as well as by colors. Light, then dark.
const PENS: Record<string, [string, string, number, number[], string, string]> = {
  park: ['#3f7d32', '#7fbf6a', 1, [], '#c3dfb4', '#2c4a24'],
  water: ['#0072b2', '#56b4e9', 1, [], '', ''],
  border: ['#6a3d7c', '#c9a0dc', 1.3, [9, 3, 2, 3], '#ece4f0', '#33293a'],
  rail: ['#1f2730', '#e6ebef', 1.6, [6, 3], '#d6d9dc', '#3a4249'],
  road: ['#7a838c', '#8d99a4', 1.6, [], '#dfe2e5', '#333b42'],
  river: ['#0072b2', '#56b4e9', 1.8, [], '', ''],
  other: ['#a2457a', '#e59cc4', 1.3, [1.5, 3], '#f0dce7', '#43303b'],
};

export function pen(style: string, dark: boolean, sea: string): Pen {
  const [light, night, width, dash, fill, nightFill] = PENS[style] ?? PENS.other;
  return {stroke: dark ? night : light, width, dash, fill: (dark ? nightFill : fill) || sea};
}

// The layers that lie around the map; null without any.
export function layerKey(ground: Ground, dark: boolean, sea: string): HTMLElement | null {
  const seen = ground.context.filter(({areas, lines}) => areas.rings.length || lines.rings.length);
  if (!seen.length) return null;
  return element(
    'div',
    {class: 'layers'},
    ...seen.map(({style, areas}) => {
      const {stroke, width, dash, fill} = pen(style, dark, sea),
        shown = {stroke, 'stroke-width': width, 'stroke-dasharray': dash.join(' ')},
        picture = drawn('svg', {width: 22, height: 10, 'aria-hidden': 'true'});
      if (areas.rings.length) picture.append(drawn('rect', {x: 1, y: 1, width: 20, height: 8, fill, ...shown}));
      else picture.append(drawn('line', {x1: 0, x2: 22, y1: 5, y2: 5, ...shown}));
      const made = element('span', {'data-layer': style});
      made.append(picture, style);
      return made;
    }),
  );
}
