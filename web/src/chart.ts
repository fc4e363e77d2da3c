/** The frontier: what each share that is left out buys in precision. */

import {put, s} from './dom';
import {percent} from './format';

const NARROW = 352;
const EDGE = {left: 44, right: 20, top: 22, bottom: 34};

/** What a point of any frontier has. */
interface Suppressing {
  suppressed: number;
}

/** What a frontier is drawn against, and what is said of it. */
export interface Axes<Point extends Suppressing> {
  most: number; // of the axis of what is left out
  leftOut: string;
  value: (point: Point) => number; // on the other axis, which is logarithmic
  label: string;
  tell: (point: Point) => string;
}

/** Return the finest point that leaves out no more than a budget; null if none does. */
export function within<Point extends Suppressing>(points: Point[], budget: number, coarse: (point: Point) => number): Point | null {
  const kept = points.filter((point) => point.suppressed <= budget);
  return kept.reduce<Point | null>((best, point) => (best && coarse(best) <= coarse(point) ? best : point), null);
}

export function drawFrontier<Point extends Suppressing>(
  element: SVGElement,
  points: Point[],
  axes: Axes<Point>,
  budget: number,
  chosen: Point | null,
  pick: (budget: number) => void,
): void {
  const width = Math.max(element.clientWidth, NARROW);
  const height = width > 500 ? 300 : 168;
  element.setAttribute('viewBox', `0 0 ${width} ${height}`);
  const drawn = points.filter((point) => point.suppressed <= axes.most).sort((one, two) => one.suppressed - two.suppressed);
  if (drawn.length < 2) return put(element);
  const low = Math.min(...drawn.map(axes.value));
  const high = Math.max(...drawn.map(axes.value));
  const x = (share: number) => EDGE.left + (share / axes.most) * (width - EDGE.left - EDGE.right);
  const y = (value: number) => {
    const part = high === low ? 0.5 : Math.log(value / low) / Math.log(high / low);
    return height - EDGE.bottom - part * (height - EDGE.top - EDGE.bottom);
  };
  const line = drawn.map((point) => `${x(point.suppressed).toFixed(1)},${y(axes.value(point)).toFixed(1)}`);
  const bottom = height - EDGE.bottom;
  put(
    element,
    s('title', {}, `${axes.label}, against ${axes.leftOut}`),
    ...ticks(low, high).flatMap((value) => [
      s('line', {class: 'rule', x1: EDGE.left, x2: width - EDGE.right, y1: y(value), y2: y(value)}),
      s('text', {class: 'tick', x: EDGE.left - 6, y: y(value) + 3.5, 'text-anchor': 'end'}, shortNumber(value)),
    ]),
    ...[0, 0.2, 0.4, 0.6, 0.8, 1].map((part) =>
      s('text', {class: 'tick', x: x(part * axes.most), y: bottom + 14, 'text-anchor': 'middle'}, percent(part * axes.most, 0)),
    ),
    s('text', {class: 'axis', x: (EDGE.left + width - EDGE.right) / 2, y: height - 4, 'text-anchor': 'middle'}, axes.leftOut),
    s('text', {class: 'axis', x: 0, y: 10}, axes.label),
    s('rect', {class: 'within', x: EDGE.left, y: EDGE.top, width: x(budget) - EDGE.left, height: bottom - EDGE.top}),
    s('polyline', {class: 'curve', points: line.join(' ')}),
    ...drawn.map((point) =>
      s(
        'circle',
        {
          class: point === chosen ? 'dot chosen' : 'dot',
          cx: x(point.suppressed),
          cy: y(axes.value(point)),
          r: point === chosen ? 5.5 : 3,
          onclick: () => pick(Math.ceil(point.suppressed * 1000) / 1000),
        },
        s('title', {}, axes.tell(point)),
      ),
    ),
    s('line', {class: 'budget', x1: x(budget), x2: x(budget), y1: EDGE.top, y2: bottom}),
  );
}

function ticks(low: number, high: number): number[] {
  const found: [number, number][] = [];
  for (let power = -3; power <= 7; power++) {
    for (const step of [1, 2, 5]) {
      const value = Number(`${step}e${power}`);
      if (value >= low && value <= high) found.push([step, value]);
    }
  }
  return (found.length > 5 ? found.filter(([step]) => step !== 2).slice(-5) : found).map(([, value]) => value);
}

function shortNumber(value: number): string {
  return value >= 1000 ? `${value / 1000}k` : String(value);
}
