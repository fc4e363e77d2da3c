// What is chosen, after the # of the address, so that a view can be sent and comes back after a reload.

import type {Explorer, Layer, View} from './explorer';
import {ALL} from './model';

export class Address implements View {
  private written = '';

  constructor(private readonly ways: string[]) {} // what can be compared

  update(explorer: Explorer): void {
    const {state, scene} = explorer,
      parts = new URLSearchParams();
    if (state.layer !== (scene.shaped ? 'density' : 'flows')) parts.set('layer', state.layer);
    if (state.side) parts.set('side', scene.json.sides[state.side]);
    state.choice.forEach((value, key) => value !== ALL && parts.set(`key-${scene.keys[key].name}`, scene.keys[key].values[value]));
    if (state.place !== null) parts.set('place', scene.ids[state.place]);
    if (state.group !== null) parts.set('group', String(state.group));
    if (state.lines !== 100) parts.set('lines', String(state.lines));
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
    const layer = parts.get('layer') as Layer | null;
    if (layer && ['density', 'flows', 'areas'].includes(layer) && (scene.shaped || layer === 'flows')) state.layer = layer;
    state.side = Math.max(0, scene.json.sides.indexOf(parts.get('side') ?? ''));
    state.choice = scene.keys.map((key) => key.values.indexOf(parts.get(`key-${key.name}`) ?? '\0'));
    const place = scene.ids.findIndex((id, row) => id === parts.get('place') && (scene.oneSided || scene.side[row] === state.side));
    state.place = place < 0 ? null : place;
    const group = Number(parts.get('group') ?? NaN);
    state.group = scene.samples && scene.samples.group.includes(group) ? group : null;
    state.compare = this.ways.find((way) => way === parts.get('compare')) ?? '';
    const lines = Number(parts.get('lines') ?? NaN);
    if (lines >= 0 && lines <= 1000) state.lines = lines;
  }
}
