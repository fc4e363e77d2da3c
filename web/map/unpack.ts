// Whole numbers and outlines that a page holds as short texts; see _report/packing.py.

const CHARACTERS = Array.from({length: 94}, (_, place) => String.fromCharCode(33 + place)).filter((one) => !'"&<>\\'.includes(one));
const BASE = 32;
const VALUE = new Int16Array(128);
CHARACTERS.forEach((one, value) => (VALUE[one.charCodeAt(0)] = value));
const ESCAPE = CHARACTERS.length - 1;

export interface Packed {
  count: number;
  ways?: string;
  rings?: string;
  boxes?: string; // in place of the other two
}

class Reader {
  place = 0;
  constructor(readonly text: string) {}

  character(): number {
    return VALUE[this.text.charCodeAt(this.place++)];
  }

  number(): number {
    let value = 0,
      unit = 1,
      digit = this.character();
    while (digit >= BASE) {
      value += (digit - BASE) * unit;
      unit *= BASE;
      digit = this.character();
    }
    value += digit * unit;
    return value % 2 ? -(value + 1) / 2 : value / 2;
  }

  get more(): boolean {
    return this.place < this.text.length;
  }
}

export function unpack(text: string): Float64Array {
  const reader = new Reader(text),
    found: number[] = [];
  while (reader.more) found.push(reader.number());
  return Float64Array.from(found);
}

export function unpackSteps(text: string): Float64Array {
  const found = unpack(text);
  for (let place = 1; place < found.length; place++) found[place] += found[place - 1];
  return found;
}

// Outlines as lists of rings; a ring is x, y, x, y, ... in steps.
export function unpackOutlines(packed: Packed): Float64Array[][] {
  if (packed.boxes !== undefined) return unpackBoxes(packed.boxes);
  const ways = unpack(packed.ways!),
    reader = new Reader(packed.rings!);
  let startX = 0,
    startY = 0;
  return Array.from({length: packed.count}, () =>
    Array.from({length: reader.number()}, () => {
      const ring = new Float64Array(2 * reader.number());
      startX += reader.number();
      startY += reader.number();
      ring[0] = startX;
      ring[1] = startY;
      for (let place = 2; place < ring.length; place += 2) {
        const code = reader.character();
        ring[place] = ring[place - 2] + (code === ESCAPE ? reader.number() : ways[2 * code]);
        ring[place + 1] = ring[place - 1] + (code === ESCAPE ? reader.number() : ways[2 * code + 1]);
      }
      return ring;
    }),
  );
}

function unpackBoxes(text: string): Float64Array[][] {
  const steps = unpack(text),
    found: Float64Array[][] = [];
  let x = 0,
    y = 0;
  for (let place = 0; place < steps.length; place += 4) {
    x += steps[place];
    y += steps[place + 1];
    const [right, top] = [x + steps[place + 2], y + steps[place + 3]];
    found.push([Float64Array.of(x, y, right, y, right, top, x, top)]);
  }
  return found;
}
