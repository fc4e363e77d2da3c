"use strict";
// What stands on, beside and below a map: legend, labels, and tables of what is chosen.

const LISTED = 60;

class Panel {
  legend(scale, side, selected) {
    const place = document.getElementById("legend");
    place.replaceChildren();
    const what =
      this.colorBy === "size"
        ? this.scene.areas.km2.some((size) => size !== null)
          ? "km²"
          : "tiles"
        : this.words.amount;
    const name = this.oneSided ? "areas" : `${this.scene.sides[side]} areas`;
    place.append(
      element("b", {
        text: `${name}: ${selected && this.colorBy === "amount" ? `${this.words.amount} of this place` : what}`,
      }),
    );
    place.append(scale.picture());
  }

  panel(rows) {
    const place = document.getElementById("place");
    place.replaceChildren();
    if (rows) this.placePanel(place, rows);
    else this.overview(place);
    this.map.canvas.setAttribute(
      "aria-label",
      `Map of ${this.oneSided ? "areas" : this.scene.sides[this.side] + " areas"}, ${show(this.map.fills.length)} drawn. ${rows ? place.querySelector(".big").textContent : ""}`,
    );
  }

  overview(place) {
    const { scene, words } = this;
    const total = this.shown.reduce((sum, row) => sum + this.volume[row], 0),
      which = scene.movements > scene.origin.length ? "the strongest " : "";
    place.append(
      element(
        "div",
        { class: "place-head" },
        element("p", { class: "big", id: "shown-amount", text: `${show(total)} ${words.amount}` }),
        element("p", {
          class: "muted",
          id: "shown-count",
          text: `in ${which}${show(this.shown.length)} ${words.movements}`,
        }),
      ),
    );
    place.append(element("h3", { text: `Strongest ${words.movements}` }));
    place.append(this.rows(this.shown.slice(0, 12), true));
    const bare = scene.areas.id
      .map((_, row) => row)
      .filter(
        (row) =>
          scene.areas.side[row] === this.side &&
          !this.map.centers[row] &&
          scene.areas.outline[row] < 0 &&
          this.counts[row],
      );
    if (bare.length) {
      place.append(element("h3", { text: "Not on the map" }));
      place.append(
        element(
          "div",
          { class: "chips" },
          ...bare.map((row) =>
            element("button", {
              type: "button",
              class: "quiet",
              text: `${scene.areas.id[row]}: ${show(this.totals[row])} ${words.amount}`,
              onclick: () => this.select([row]),
            }),
          ),
        ),
      );
    }
  }

  placePanel(place, rows) {
    const { scene, words, selection } = this,
      total = rows.reduce((sum, row) => sum + this.volume[row], 0);
    const verb = this.oneSided ? "pass this place" : this.side ? "reach this place" : "leave this place";
    const head = element(
      "div",
      { class: "place-head" },
      element("p", { class: "big", id: "place-amount", text: `${show(total)} ${words.amount}` }),
      element("p", {
        class: "muted",
        id: "place-count",
        text: `in ${show(rows.length)} ${words.movements} that ${verb}`,
      }),
    );
    const ids = element(
      "div",
      { class: "ids" },
      ...selection.areas
        .slice(0, 8)
        .map((row) =>
          element("span", {}, element("span", { class: "id", text: scene.areas.id[row] }), ` ${this.describe(row)}`),
        ),
    );
    if (selection.areas.length > 8)
      ids.append(element("span", { class: "muted", text: `and ${selection.areas.length - 8} more` }));
    head.append(
      element("p", {
        class: "muted",
        text:
          selection.areas.length > 1
            ? `${selection.areas.length} areas hold it; ${words.movements} differ in the area they have here:`
            : "One area holds it:",
      }),
      ids,
    );
    head.append(
      element("button", {
        type: "button",
        class: "quiet",
        id: "clear",
        text: "Show everything",
        onclick: () => this.select(null),
      }),
    );
    place.append(head, this.rows(rows.slice(0, LISTED), false));
    if (rows.length > LISTED)
      place.append(element("p", { class: "muted", text: `and ${show(rows.length - LISTED)} more` }));
  }

  describe(row) {
    const { tiles, km2 } = this.scene.areas,
      parts = [];
    if (tiles && tiles[row] !== null) parts.push(`${show(tiles[row])} ${tiles[row] === 1 ? "tile" : "tiles"}`);
    if (km2[row] !== null) parts.push(`${show(km2[row])} km²`);
    return parts.join(", ");
  }

  rows(rows, plain) {
    const { scene } = this,
      most = rows.length ? Math.max(...rows.map((row) => this.volume[row]), 1) : 1;
    const made = element("table", { class: "rows" });
    made.append(
      element(
        "thead",
        {},
        element(
          "tr",
          {},
          element("th", { text: this.oneSided ? "from → to" : `${scene.sides[0]} → ${scene.sides[1]}`, scope: "col" }),
          ...this.amounts.map(([name]) => element("th", { class: "number", text: name, scope: "col" })),
        ),
      ),
    );
    const body = element("tbody", {});
    for (const row of rows) {
      const meter = element("div", { class: "meter" });
      meter.style.width = `${(100 * Math.max(this.volume[row], 0)) / most}%`;
      const ends = element(
        "td",
        {},
        this.link(scene.origin[row]),
        scene.destination[row] < 0 ? "" : " → ",
        scene.destination[row] < 0 ? "" : this.link(scene.destination[row]),
        this.keyText(row),
        meter,
      );
      body.append(
        element(
          "tr",
          { "data-flow": row },
          ends,
          ...this.amounts.map(([, values]) => element("td", { class: "number", text: show(values[row]) })),
        ),
      );
    }
    made.append(body);
    return made;
  }

  keyText(row) {
    const parts = this.scene.keys
      .filter((_, key) => this.chosen[key] < 0)
      .map((key) => `${key.name} ${key.values[key.position[row]]}`);
    return parts.length ? element("div", { class: "muted", text: parts.join(" · ") }) : "";
  }

  link(row) {
    return element("button", {
      type: "button",
      class: "link id",
      text: this.scene.areas.id[row],
      title: this.describe(row),
      onclick: () => this.select([row]),
    });
  }

  note() {
    const { scene, words } = this,
      notes = [];
    if (scene.origin.length < scene.movements)
      notes.push(
        `This page lists the ${show(scene.origin.length)} strongest of ${show(scene.movements)} ${words.movements}; the map counts those.`,
      );
    if (this.overlapping === undefined) this.overlapping = this.map.overlap();
    if (this.overlapping)
      notes.push(
        `Areas overlap, since they can differ from ${this.oneSided ? "group to group" : "flow to flow"}; smaller ones are drawn on top.`,
      );
    document.getElementById("map-note").textContent = notes.join(" ");
  }

  hover(x, y) {
    const tip = document.getElementById("tip"),
      drawnRows = new Set(this.map.fills.map(([row]) => row));
    const side = this.selection && !this.oneSided ? 1 - this.side : this.side;
    const row = this.map.at(x, y, side).find((area) => drawnRows.has(area));
    tip.hidden = row === undefined;
    this.map.canvas.classList.toggle("over", row !== undefined);
    if (row === undefined) return;
    tip.replaceChildren(element("b", { class: "id", text: this.scene.areas.id[row] }));
    if (this.describe(row)) tip.append(element("div", { text: this.describe(row) }));
    tip.append(
      element("div", {
        text: `${show(this.totals[row])} ${this.words.amount} in ${show(this.counts[row])} ${this.words.movements}`,
      }),
    );
    const [width, height] = [tip.offsetWidth, tip.offsetHeight];
    tip.style.left = `${Math.max(6, Math.min(x + 14, this.map.width - width - 6))}px`;
    tip.style.top = `${y + 18 + height > this.map.height ? y - height - 10 : y + 18}px`;
  }

  list() {
    const { scene, words } = this,
      wanted = document.getElementById("filter").value.trim().toLowerCase();
    const rows = scene.areas.id
      .map((_, row) => row)
      .filter(
        (row) =>
          scene.areas.side[row] === this.side && this.counts[row] && scene.areas.id[row].toLowerCase().includes(wanted),
      )
      .sort((a, b) => this.totals[b] - this.totals[a] || a - b);
    const made = document.getElementById("areas");
    made.className = "rows";
    made.replaceChildren(
      element(
        "thead",
        {},
        element(
          "tr",
          {},
          element("th", { text: this.oneSided ? "area" : `${scene.sides[this.side]} area`, scope: "col" }),
          element("th", { class: "number", text: "size", scope: "col" }),
          element("th", { class: "number", text: words.movements, scope: "col" }),
          element("th", { class: "number", text: words.amount, scope: "col" }),
        ),
      ),
    );
    made.append(
      element(
        "tbody",
        {},
        ...rows
          .slice(0, 300)
          .map((row) =>
            element(
              "tr",
              {},
              element("td", {}, this.link(row)),
              element("td", { class: "number", text: this.describe(row) }),
              element("td", { class: "number", text: show(this.counts[row]) }),
              element("td", { class: "number", text: show(this.totals[row]) }),
            ),
          ),
      ),
    );
    if (rows.length > 300)
      made.append(
        element(
          "tfoot",
          {},
          element(
            "tr",
            {},
            element("td", {
              colspan: 4,
              class: "muted",
              text: `and ${show(rows.length - 300)} more: find them by name`,
            }),
          ),
        ),
      );
  }
}
