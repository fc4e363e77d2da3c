// Movements between two areas, added up over what is chosen.

import type {Explorer} from './explorer';
import type {Choice} from './model';

export interface Pair {
  origin: number;
  destination: number; // -1 for none
  volume: number;
  variance: number;
  part: number; // of it in the chosen place, about
  rows: number[];
}

// The pairs of a choice with movements that are listed, the strongest first; of a place, those that have an end there.
export function pairs(explorer: Explorer, place: number | null, choice: Choice = explorer.state.choice): Pair[] {
  const {scene, model, state} = explorer,
    shares = place === null ? null : model.sharesByArea(place, state.side),
    near = model.near(state.side),
    known = new Map<number, Pair>(),
    size = scene.ids.length + 1,
    keyOf = (row: number) => scene.origin[row] * size + scene.destination[row] + 1;
  for (const row of model.rows(choice)) {
    const share = shares ? shares[near[row]] : 1;
    if (!(share > 0)) continue;
    const key = keyOf(row),
      time = model.part(row, choice),
      volume = scene.volume[row] * time,
      variance = scene.deviation ? (scene.deviation[row] * time) ** 2 : 0,
      found = known.get(key);
    if (found) {
      found.volume += volume;
      found.variance += variance;
      found.part += volume * share;
      found.rows.push(row);
    } else {
      const [origin, destination] = [scene.origin[row], scene.destination[row]];
      known.set(key, {origin, destination, volume, variance, part: volume * share, rows: [row]});
    }
  }
  if (shares && scene.spread) {
    const {of, amount} = scene.spread,
      ends = near === scene.origin ? scene.spread.origin : scene.spread.destination;
    of.forEach((row, number) => {
      const found = row < 0 ? undefined : known.get(keyOf(row));
      if (found) found.part += amount[number] * model.part(row, choice) * shares[ends[number]];
    });
  }
  return [...known.values()].sort((a, b) => b.part - a.part || b.volume - a.volume || a.rows[0] - b.rows[0]);
}
