"use strict";
// What must not be published: before and after, exact metrics, the frontier, who is left out.

function showPrivate(found, palette) {
  const section = document.getElementById("private-section"),
    place = document.getElementById("private-content");
  section.hidden = false;
  const maps = found.maps ? beforeAndAfter(place, found.maps, palette) : [];
  const columns = element("div", { class: "columns sub" });
  if (found.frontier && found.frontier.length) {
    columns.append(
      privatePart(
        "What each share of left-out trips would have bought",
        "Mean tiles of both ends of a trip (gbar; 2 is no loss) against the share of trips left out.",
        frontier(found.frontier, found.chosen),
      ),
    );
  }
  for (const part of found.left_out || []) {
    const shares = part.shares.map((share) => Math.round(share * 1000) / 10);
    columns.append(
      bars(
        `Trips left out by ${part.key}`,
        part.values,
        shares,
        "%",
        "Share of the trips of each that are in no flow.",
      ),
    );
  }
  place.append(columns);
  for (const part of found.tables) place.append(privateTable(part));
  return maps;
}

function privatePart(title, note, picture) {
  return element(
    "div",
    { class: "chart" },
    element("h3", { text: title }),
    picture,
    element("p", { class: "note", text: note }),
  );
}

function privateTable(part) {
  const half = part.rows.length > 12 ? Math.ceil(part.rows.length / 2) : part.rows.length;
  const made = [part.rows.slice(0, half), part.rows.slice(half)]
    .filter((rows) => rows.length)
    .map((rows) =>
      element(
        "table",
        { class: "figures" },
        element(
          "tbody",
          {},
          ...rows.map(([name, value, meaning]) =>
            element(
              "tr",
              {},
              element(
                "th",
                { scope: "row" },
                element("b", { text: name }),
                element("div", { class: "muted", text: meaning }),
              ),
              element("td", { text: value, "data-metric": name }),
            ),
          ),
        ),
      ),
    );
  return element(
    "div",
    { class: "sub" },
    element("h3", { text: part.title }),
    element("div", { class: "columns" }, ...made),
  );
}

function beforeAndAfter(place, scene, palette) {
  const side = { now: 0 },
    pair = element("div", { class: "pair" }),
    maps = [];
  const names = { before: "Before: the true trips", after: "After: what a reader of the release sees, spread evenly" };
  place.append(
    segments(
      "Trips by",
      "private-side",
      scene.sides.map((name, number) => [number, name]),
      0,
      (value) => {
        side.now = Number(value);
        for (const { refresh } of maps) refresh();
      },
    ),
  );
  place.append(pair);
  for (const amount of ["before", "after"]) {
    const canvasElement = element("canvas", { role: "img", "aria-label": names[amount] });
    const legend = element("div", { class: "legend" });
    pair.append(
      element(
        "div",
        {},
        element("h3", { text: names[amount] }),
        element("div", { class: "frame" }, canvasElement, legend),
      ),
    );
    const map = new FlowMap(canvasElement, scene);
    const refresh = () => {
      const rows = map.order.filter((row) => scene.areas.side[row] === side.now);
      // One scale for both maps: the same color is the same number of trips.
      const scale = new Amounts(
        rows.flatMap((row) => [scene.amounts.before[row], scene.amounts.after[row]]),
        palette.amounts,
        map.colors.dark,
      );
      map.fills = rows
        .filter((row) => scene.amounts[amount][row] > 0)
        .map((row) => [row, scale.color(scene.amounts[amount][row])]);
      legend.replaceChildren(element("b", { text: "trips of a tile" }), scale.picture());
      map.later();
    };
    maps.push({ map, refresh });
  }
  link(maps[0].map, maps[1].map);
  return maps;
}

// Two maps that move together.
function link(first, second) {
  for (const [map, other] of [
    [first, second],
    [second, first],
  ]) {
    let held = null;
    map.canvas.addEventListener("pointerdown", (event) => {
      held = { x: event.clientX, y: event.clientY };
      map.canvas.setPointerCapture(event.pointerId);
    });
    map.canvas.addEventListener("pointerup", () => {
      held = null;
    });
    map.canvas.addEventListener("pointermove", (event) => {
      if (!held) return;
      for (const each of [map, other]) each.pan(event.clientX - held.x, event.clientY - held.y);
      held = { x: event.clientX, y: event.clientY };
    });
    map.canvas.addEventListener("dblclick", () => {
      for (const each of [map, other]) each.zoom(2);
    });
  }
}
