// Small charts as SVG, each with the same numbers as a table.

import {compact, drawn, element, show} from './text';

export interface Distribution {
  name: string;
  title: string;
  axis: string;
  counted: string;
  bounds: (number | null)[]; // the first is null where a class has no lower end
  amounts: number[];
  mark?: number;
}

const CHART = window.innerWidth < 620 ? 340 : 560; // units across, so that letters keep their size on a phone

function chartCard(title: string, note: string | undefined, picture: SVGElement, rows: HTMLElement): HTMLElement {
  const card = element("section", { class: "chart" }, element("h2", { text: title }));
  card.append(picture);
  if (note) card.append(element("p", { class: "note", text: note }));
  if (rows)
    card.append(
      element(
        "details",
        { class: "screen" },
        element("summary", { text: "As a table" }),
        element("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": title }, rows),
      ),
    );
  return card;
}

export function table(heads: string[], rows: string[][]): HTMLElement {
  const made = element("table", { class: "rows" });
  made.append(
    element(
      "thead",
      {},
      element(
        "tr",
        {},
        ...heads.map((head, place) => element("th", { text: head, scope: "col", class: place ? "number" : "" })),
      ),
    ),
  );
  made.append(
    element(
      "tbody",
      {},
      ...rows.map((row) =>
        element("tr", {}, ...row.map((cell, place) => element("td", { text: cell, class: place ? "number" : "" }))),
      ),
    ),
  );
  return made;
}

function canvas(width: number, height: number, label: string): SVGElement {
  return drawn("svg", { viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": label });
}

export function histogram(part: Distribution): HTMLElement {
  const width = CHART,
    height = 250,
    bottom = 40,
    top = part.mark === undefined ? 22 : 42,
    count = part.amounts.length;
  const names = part.amounts.map((_, place) => className(part, place));
  const picture = canvas(width, height, `${part.title}: ${part.counted} by ${part.axis}`);
  const most = Math.max(...part.amounts),
    step = width / count,
    gap = Math.min(4, step * 0.15);
  const every = Math.ceil((count * 44) / width);
  part.amounts.forEach((amount, place) => {
    const tall = most ? ((height - bottom - top) * amount) / most : 0;
    const bar = drawn("rect", {
      class: "bar-shape",
      x: place * step + gap / 2,
      y: height - bottom - tall,
      width: step - gap,
      height: tall,
      rx: 2,
    });
    bar.append(drawn("title", {}, `${names[place]}: ${show(amount)} ${part.counted}`));
    picture.append(bar);
    if (amount === most)
      picture.append(
        drawn(
          "text",
          { class: "value", x: (place + 0.5) * step, y: height - bottom - tall - 6, "text-anchor": "middle" },
          compact(amount),
        ),
      );
  });
  part.bounds.forEach((bound, place) => {
    if (place % every === 0)
      picture.append(
        drawn(
          "text",
          {
            x: place * step,
            y: height - bottom + 16,
            "text-anchor": place === 0 ? "start" : place === count ? "end" : "middle",
          },
          bound === null ? "≤ 0" : compact(bound),
        ),
      );
  });
  picture.append(drawn("line", { class: "axis", x1: 0, x2: width, y1: height - bottom, y2: height - bottom }));
  picture.append(drawn("text", { x: width / 2, y: height - 4, "text-anchor": "middle" }, part.axis));
  if (part.mark !== undefined) {
    const x = part.bounds.findIndex((bound) => bound !== null && bound >= part.mark!) * step;
    picture.append(drawn("line", { class: "mark-line", x1: x + 1, x2: x + 1, y1: 4, y2: height - bottom }));
    picture.append(drawn("text", { class: "mark", x: x + 8, y: 14 }, `k = ${show(part.mark)}: none below`));
  }
  const rows = part.amounts.map((amount, place) => [names[place], show(amount)]);
  return chartCard(
    part.title,
    `Number of ${part.counted} by ${part.axis}; classes grow with the value.`,
    picture,
    table([part.axis, part.counted], rows),
  );
}

export function bars(title: string, values: string[], amounts: number[], counted: string, note?: string): HTMLElement {
  const width = CHART,
    height = 230,
    bottom = 40,
    top = 22,
    step = width / values.length,
    gap = Math.min(4, step * 0.15);
  const picture = canvas(width, height, `${title}: ${counted}`),
    most = Math.max(...amounts, 0);
  const every = Math.max(
    1,
    Math.ceil((values.length * (10 + 7 * Math.max(...values.map((value) => value.length)))) / width),
  );
  amounts.forEach((amount, place) => {
    const tall = most > 0 ? ((height - bottom - top) * Math.max(amount, 0)) / most : 0;
    const bar = drawn("rect", {
      class: "bar-shape",
      x: place * step + gap / 2,
      y: height - bottom - tall,
      width: Math.max(step - gap, 0.5),
      height: tall,
      rx: 2,
    });
    bar.append(drawn("title", {}, `${values[place]}: ${show(amount)} ${counted}`));
    picture.append(bar);
    if (place % every === 0)
      picture.append(
        drawn("text", { x: (place + 0.5) * step, y: height - bottom + 16, "text-anchor": "middle" }, values[place]),
      );
  });
  picture.append(drawn("line", { class: "axis", x1: 0, x2: width, y1: height - bottom, y2: height - bottom }));
  picture.append(drawn("text", { class: "value", x: 0, y: 12 }, `most: ${compact(most)} ${counted}`));
  return chartCard(
    title,
    note,
    picture,
    table(
      ["value", counted],
      values.map((value, place) => [value, show(amounts[place])]),
    ),
  );
}

// Points from low to high suppression, precision on a logarithmic axis; `chosen` is [suppressed, gbar] or null.
export interface Beside {
  title: string;
  unit: string;
  values: string[];
  before: number[];
  after: number[];
}

// The same numbers from the input and from the release, one pair of bars a row.
export function beside({title, unit, values, before, after}: Beside): HTMLElement {
  const width = CHART,
    many = values.length > 12, // then a row is one line, and numbers are in the table
    left = many ? 48 : 0,
    row = many ? 22 : 42,
    height = row * values.length + 28,
    most = Math.max(...before, ...after, 0);
  const picture = canvas(width, height, `${title}: before and after, ${unit}`);
  const across = (amount: number) => (most > 0 ? (Math.max(amount, 0) / most) * (width - left - 90) : 0);
  values.forEach((value, place) => {
    const top = 24 + place * row;
    picture.append(drawn('text', {x: 0, y: top + (many ? 12 : 8)}, value));
    [before[place], after[place]].forEach((amount, which) => {
      const y = top + (many ? 0 : 12) + which * (many ? 9 : 13);
      const bar = drawn('rect', {
        class: which ? 'bar-shape' : 'bar-before',
        x: left,
        y,
        width: Math.max(across(amount), 0.5),
        height: many ? 8 : 11,
      });
      bar.append(drawn('title', {}, `${value}, ${which ? 'after' : 'before'}: ${show(amount)} ${unit}`));
      picture.append(bar);
      if (!many) picture.append(drawn('text', {class: 'value', x: across(amount) + 5, y: y + 10}, compact(amount)));
    });
  });
  picture.append(drawn('rect', {class: 'bar-before', x: 0, y: 0, width: 10, height: 8}));
  picture.append(drawn('text', {class: 'value', x: 14, y: 8}, 'before'));
  picture.append(drawn('rect', {class: 'bar-shape', x: 70, y: 0, width: 10, height: 8}));
  picture.append(drawn('text', {class: 'value', x: 84, y: 8}, `after (${unit})`));
  return chartCard(
    title,
    undefined,
    picture,
    table(
      ['value', `before, ${unit}`, `after, ${unit}`],
      values.map((value, place) => [value, show(before[place]), show(after[place])]),
    ),
  );
}

export function frontier(points: [number, number][], chosen: [number, number] | null): SVGElement {
  const width = CHART,
    height = 300,
    left = 52,
    bottom = 44,
    top = 16,
    right = 16;
  const all = chosen ? points.concat([chosen]) : points;
  const most = Math.max(...all.map((point) => point[0]), 1e-6) * 1.05;
  const low = Math.log(Math.min(...all.map((point) => point[1])) / 1.15),
    high = Math.log(Math.max(...all.map((point) => point[1])) * 1.15);
  const across = (share: number) => left + ((width - left - right) * share) / most;
  const down = (gbar: number) => top + ((height - top - bottom) * (high - Math.log(gbar))) / (high - low);
  const picture = canvas(width, height, "Precision against suppression");
  for (let power = -1; power < 8; power++)
    for (const factor of [1, 2, 5]) {
      const value = factor * 10 ** power;
      if (Math.log(value) < low || Math.log(value) > high) continue;
      picture.append(drawn("line", { class: "axis", x1: left, x2: width - right, y1: down(value), y2: down(value) }));
      picture.append(drawn("text", { x: left - 8, y: down(value) + 4, "text-anchor": "end" }, show(value)));
    }
  const unit = [0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5].find((step) => most / step <= 6) || 1;
  for (let share = 0; share <= most; share += unit)
    picture.append(
      drawn(
        "text",
        { x: across(share), y: height - bottom + 18, "text-anchor": "middle" },
        `${show(Math.round(share * 1e4) / 100)} %`,
      ),
    );
  picture.append(drawn("text", { x: (left + width) / 2, y: height - 4, "text-anchor": "middle" }, "trips left out"));
  picture.append(
    drawn("polyline", {
      class: "curve",
      points: points.map(([share, gbar]) => `${across(share)},${down(gbar)}`).join(" "),
    }),
  );
  for (const [share, gbar] of points) {
    const dot = drawn("circle", { class: "point", cx: across(share), cy: down(gbar), r: 3.5 });
    dot.append(drawn("title", {}, `${show(100 * share)} % left out, gbar ${show(gbar)}`));
    picture.append(dot);
  }
  if (chosen) {
    picture.append(drawn("circle", { class: "chosen", cx: across(chosen[0]), cy: down(chosen[1]), r: 7 }));
    picture.append(
      drawn(
        "text",
        {
          class: "mark",
          x: across(chosen[0]) + (across(chosen[0]) > width / 2 ? -12 : 12),
          y: down(chosen[1]) - 10,
          "text-anchor": across(chosen[0]) > width / 2 ? "end" : "start",
        },
        "this release",
      ),
    );
  }
  return picture;
}

// "10 to 15"; the first class of counts with noise has no lower end, and ends at zero.
function className(part: Distribution, place: number): string {
  const [low, high] = [part.bounds[place], part.bounds[place + 1]];
  return low === null ? '0 or less' : `${show(low)} to ${show(high)}`;
}
