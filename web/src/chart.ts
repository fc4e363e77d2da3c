/** The frontier: what each share of left-out trips buys in precision. */

import {put, s} from './dom';
import {decimal, percent} from './format';
import type {FrontierPoint} from './types';

export const MOST = 0.5; // of the axis of left-out trips and of the slider
const NARROW = 352;
const EDGE = {left: 44, right: 20, top: 22, bottom: 34};

/** Return the finest point that leaves out no more than a budget; null if none does. */
export function within(points: FrontierPoint[], budget: number): FrontierPoint | null {
  const kept = points.filter((point) => point.suppressed <= budget);
  return kept.reduce<FrontierPoint | null>((best, point) => (best && best.gbar <= point.gbar ? best : point), null);
}

export function drawFrontier(element: SVGElement, points: FrontierPoint[], budget: number, pick: (budget: number) => void): void {
  const width = Math.max(element.clientWidth, NARROW);
  const height = width > 500 ? 300 : 168;
  element.setAttribute('viewBox', `0 0 ${width} ${height}`);
  const drawn = points.filter((point) => point.suppressed <= MOST).sort((one, two) => one.suppressed - two.suppressed);
  if (drawn.length < 2) return put(element);
  const low = Math.min(...drawn.map((point) => point.gbar));
  const high = Math.max(...drawn.map((point) => point.gbar));
  const x = (share: number) => EDGE.left + (share / MOST) * (width - EDGE.left - EDGE.right);
  const y = (gbar: number) => {
    const part = high === low ? 0.5 : Math.log(gbar / low) / Math.log(high / low);
    return height - EDGE.bottom - part * (height - EDGE.top - EDGE.bottom);
  };
  const line = drawn.map((point) => `${x(point.suppressed).toFixed(1)},${y(point.gbar).toFixed(1)}`);
  const chosen = within(drawn, budget);
  const bottom = height - EDGE.bottom;
  put(
    element,
    s('title', {}, 'Size of places against the share of trips that are left out'),
    ...ticks(low, high).flatMap((value) => [
      s('line', {class: 'rule', x1: EDGE.left, x2: width - EDGE.right, y1: y(value), y2: y(value)}),
      s('text', {class: 'tick', x: EDGE.left - 6, y: y(value) + 3.5, 'text-anchor': 'end'}, shortNumber(value)),
    ]),
    ...[0, 0.1, 0.2, 0.3, 0.4, 0.5].map((share) =>
      s('text', {class: 'tick', x: x(share), y: bottom + 14, 'text-anchor': 'middle'}, percent(share, 0)),
    ),
    s('text', {class: 'axis', x: (EDGE.left + width - EDGE.right) / 2, y: height - 4, 'text-anchor': 'middle'}, 'trips left out'),
    s('text', {class: 'axis', x: 0, y: 10}, 'mean size of both ends, tiles'),
    s('rect', {class: 'within', x: EDGE.left, y: EDGE.top, width: x(budget) - EDGE.left, height: bottom - EDGE.top}),
    s('polyline', {class: 'curve', points: line.join(' ')}),
    ...drawn.map((point) =>
      s(
        'circle',
        {
          class: point === chosen ? 'dot chosen' : 'dot',
          cx: x(point.suppressed),
          cy: y(point.gbar),
          r: point === chosen ? 5.5 : 3,
          onclick: () => pick(Math.ceil(point.suppressed * 1000) / 1000),
        },
        s('title', {}, `${percent(point.suppressed)} left out, both ends together have ${decimal(point.gbar)} tiles on average`),
      ),
    ),
    s('line', {class: 'budget', x1: x(budget), x2: x(budget), y1: EDGE.top, y2: bottom}),
  );
}

function ticks(low: number, high: number): number[] {
  const found = [];
  for (let power = 1; power <= 1e7; power *= 10) {
    for (const step of [1, 2, 5]) if (step * power >= low && step * power <= high) found.push(step * power);
  }
  return found.length > 5 ? found.filter((value) => /^[15]/.test(String(value))).slice(-5) : found;
}

function shortNumber(value: number): string {
  return value >= 1000 ? `${value / 1000}k` : String(value);
}
