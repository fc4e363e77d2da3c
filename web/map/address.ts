// What is chosen, after the # of the address, so that a view can be sent and comes back after a reload.

import {type Explorer, LINES, LINES_AT_FIRST, type Layer, type View} from './explorer';
import {ALL} from './model';

export class Address implements View {
  private written = '';

  constructor(private readonly ways: string[]) {} // what can be compared

  update(explorer: Explorer): void {
    const parts = look(explorer),
      {state, scene} = explorer;
    if (state.place !== null) parts.set('place', scene.ids[state.place]);
    if (state.group !== null) parts.set('group', String(state.group));
    if (state.compare) parts.set('compare', state.compare);
    this.written = parts.toString();
    try {
      history.replaceState(null, '', this.written ? `#${this.written}` : location.href.split('#')[0]);
    } catch {
      // a frame of a notebook has no address of its own
    }
  }

  // Takes over what the address says; what it names and the release does not have is left out.
  read(explorer: Explorer): void {
    const parts = new URLSearchParams(location.hash.slice(1)),
      {state, scene} = explorer;
    if (location.hash.slice(1) === this.written && this.written) return;
    takeLook(explorer, parts);
    const place = scene.ids.findIndex((id, row) => id === parts.get('place') && (scene.oneSided || scene.side[row] === state.side));
    state.place = place < 0 ? null : place;
    const group = Number(parts.get('group') ?? NaN);
    state.group = scene.samples && scene.samples.group.includes(group) ? group : null;
    state.compare = this.ways.find((way) => way === parts.get('compare')) ?? '';
  }
}

// How the release is looked at, whatever places it has: layer, side, time and groups, lines.
export function look({state, scene}: Explorer): URLSearchParams {
  const parts = new URLSearchParams();
  if (state.layer !== (scene.shaped ? 'density' : 'flows')) parts.set('layer', state.layer);
  if (state.side) parts.set('side', scene.json.sides[state.side]);
  state.choice.forEach((value, key) => value !== ALL && parts.set(`key-${scene.keys[key].name}`, scene.keys[key].values[value]));
  if (state.lines !== LINES_AT_FIRST) parts.set('lines', String(state.lines));
  return parts;
}

export function takeLook({state, scene}: Explorer, parts: URLSearchParams): void {
  const layer = (parts.get('layer') ?? (scene.shaped ? 'density' : 'flows')) as Layer;
  if (layer === 'flows' ? !scene.oneSided || !scene.shaped : ['density', 'areas'].includes(layer) && scene.shaped) state.layer = layer;
  state.side = Math.max(0, scene.json.sides.indexOf(parts.get('side') ?? ''));
  state.choice = scene.keys.map((key) => key.values.indexOf(parts.get(`key-${key.name}`) ?? '\0'));
  const lines = Number(parts.get('lines') ?? LINES_AT_FIRST);
  if (lines >= 0 && lines <= LINES[LINES.length - 1]) state.lines = lines;
}
