// Pointer and keyboard on a map. A page must scroll over it: one finger scrolls, two move the map.

import type {FlowMap} from './flowmap';
import {find} from './text';

export interface Pointed {
  hover(x: number, y: number): void;
  click(x: number, y: number): void;
  clear(): void;
}

export function steer(map: FlowMap, pointed: Pointed): void {
  const {canvas} = map,
    pointers = new Map<number, {x: number; y: number}>();
  let moved = 0,
    spread = 0;
  const spot = (event: MouseEvent) => {
    const box = canvas.getBoundingClientRect();
    return {x: event.clientX - box.left, y: event.clientY - box.top};
  };
  canvas.addEventListener('pointerdown', (event) => {
    if (event.pointerType === 'mouse') canvas.setPointerCapture(event.pointerId);
    pointers.set(event.pointerId, spot(event));
    moved = 0;
    spread = 0;
  });
  canvas.addEventListener('pointermove', (event) => {
    const here = spot(event),
      before = pointers.get(event.pointerId);
    if (!before) {
      pointed.hover(here.x, here.y);
      return;
    }
    pointers.set(event.pointerId, here);
    moved += Math.hypot(here.x - before.x, here.y - before.y);
    if (pointers.size === 1) {
      if (moved > 3 && event.pointerType === 'mouse') {
        canvas.classList.add('dragging');
        map.pan(here.x - before.x, here.y - before.y);
      }
      return;
    }
    const [a, b] = [...pointers.values()],
      apart = Math.hypot(a.x - b.x, a.y - b.y);
    map.pan((here.x - before.x) / 2, (here.y - before.y) / 2);
    if (spread) map.zoom(apart / spread, (a.x + b.x) / 2, (a.y + b.y) / 2);
    spread = apart;
  });
  const end = (event: PointerEvent) => {
    canvas.classList.remove('dragging');
    if (pointers.delete(event.pointerId) && event.type === 'pointerup' && moved <= 6) {
      const here = spot(event);
      pointed.click(here.x, here.y);
      if (event.pointerType === 'mouse') pointed.hover(here.x, here.y);
    }
  };
  canvas.addEventListener('pointerup', end);
  canvas.addEventListener('pointercancel', end);
  canvas.addEventListener('pointerleave', () => (find('tip').hidden = true));
  canvas.addEventListener(
    'wheel',
    (event) => {
      if (document.activeElement !== canvas && !event.ctrlKey) return; // the page scrolls until the map is in use
      event.preventDefault();
      const here = spot(event);
      map.zoom(2 ** (-event.deltaY / 300), here.x, here.y);
    },
    {passive: false},
  );
  keys(map, pointed);
}

function keys(map: FlowMap, pointed: Pointed): void {
  const actions: Record<string, () => void> = {
    ArrowLeft: () => map.pan(60, 0),
    ArrowRight: () => map.pan(-60, 0),
    ArrowUp: () => map.pan(0, 60),
    ArrowDown: () => map.pan(0, -60),
    '+': () => map.zoom(1.5),
    '=': () => map.zoom(1.5),
    '-': () => map.zoom(1 / 1.5),
    '0': () => map.home(),
    Enter: () => pointed.click(map.width / 2, map.height / 2),
    Escape: () => pointed.clear(),
  };
  map.canvas.addEventListener('keydown', (event) => {
    if (!actions[event.key] || event.ctrlKey || event.metaKey) return;
    event.preventDefault();
    actions[event.key]();
  });
  find('zoom-in').addEventListener('click', () => map.zoom(1.6));
  find('zoom-out').addEventListener('click', () => map.zoom(1 / 1.6));
  find('zoom-home').addEventListener('click', () => map.home());
}
