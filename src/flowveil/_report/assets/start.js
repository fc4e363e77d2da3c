"use strict";
// Puts the page together: theme, controls, pointer and keyboard, charts.

function themeColors() {
  const style = getComputedStyle(document.documentElement),
    dark = document.documentElement.dataset.theme === "dark";
  const named = (name) => style.getPropertyValue(`--${name}`).trim();
  return dark
    ? {
        dark,
        sea: named("sea"),
        land: named("land"),
        coast: "rgba(200,220,235,.38)",
        edge: "rgba(6,10,14,.75)",
        graticule: "rgba(200,220,235,.10)",
        label: "#aebbc6",
        halo: "rgba(11,17,22,.85)",
        line: "#ffb454",
        lineStart: "rgba(255,180,84,.25)",
        casing: "rgba(6,10,14,.45)",
        mark: "#ff7a4d",
      }
    : {
        dark,
        sea: named("sea"),
        land: named("land"),
        coast: "rgba(40,60,80,.45)",
        edge: "rgba(255,255,255,.8)",
        graticule: "rgba(30,50,70,.10)",
        label: "#44515d",
        halo: "rgba(255,255,255,.85)",
        line: "#d55e00",
        lineStart: "rgba(213,94,0,.28)",
        casing: "rgba(255,255,255,.55)",
        mark: "#d55e00",
      };
}

function setTheme(theme, maps) {
  document.documentElement.dataset.theme = theme;
  const button = document.getElementById("theme");
  button.textContent = theme === "dark" ? "Light" : "Dark";
  button.setAttribute("aria-label", theme === "dark" ? "Switch to light colors" : "Switch to dark colors");
  button.setAttribute("aria-pressed", String(theme === "dark"));
  for (const { map, refresh } of maps) {
    map.colors = themeColors();
    refresh();
    map.draw();
  }
}

function segments(legend, name, choices, chosen, act) {
  const set = element("fieldset", {}, element("legend", { text: legend })),
    group = element("div", { class: "segments" });
  for (const [value, text] of choices) {
    const input = element("input", { type: "radio", name, value, onchange: () => act(value) });
    input.checked = value === chosen;
    group.append(element("label", {}, input, element("span", { text })));
  }
  set.append(group);
  return set;
}

function choice(text, id, values, chosen, act) {
  const select = element(
    "select",
    { id, onchange: (event) => act(Number(event.target.value)) },
    ...values.map(([value, name]) => element("option", { value, text: name })),
  );
  select.value = chosen;
  return element("label", { class: "choice" }, text, select);
}

function capital(text) {
  return text.charAt(0).toUpperCase() + text.slice(1);
}

function controls(explorer) {
  const place = document.getElementById("controls"),
    { scene, words } = explorer;
  if (!explorer.oneSided) {
    place.append(
      segments(
        "Show",
        "side",
        scene.sides.map((name, side) => [side, capital(name) + "s"]),
        0,
        (side) => {
          explorer.selection = null;
          explorer.turn(side);
          explorer.refresh();
        },
      ),
    );
  }
  place.append(
    segments(
      "Color by",
      "color",
      [
        ["amount", capital(words.amount)],
        ["size", "Size"],
      ],
      "amount",
      (value) => {
        explorer.colorBy = value;
        explorer.refresh();
      },
    ),
  );
  scene.keys.forEach((key, number) => {
    const values = [[-1, "all"], ...key.values.map((value, place) => [place, value])];
    place.append(
      choice(capital(key.name), `key-${number}`, values, -1, (value) => {
        explorer.chosen[number] = value;
        explorer.count();
        explorer.list();
        explorer.refresh();
      }),
    );
  });
  if (scene.destination.some((end) => end >= 0)) {
    place.append(
      choice(
        "Lines",
        "lines",
        LINES.map((count) => [count, count ? `strongest ${count}` : "none"]),
        explorer.lines,
        (value) => {
          explorer.lines = value;
          explorer.refresh();
        },
      ),
    );
  }
}

function steer(map, explorer) {
  const { canvas } = map,
    pointers = new Map();
  let moved = 0,
    spread = 0;
  const spot = (event) => {
    const box = canvas.getBoundingClientRect();
    return { x: event.clientX - box.left, y: event.clientY - box.top };
  };
  canvas.addEventListener("pointerdown", (event) => {
    canvas.setPointerCapture(event.pointerId);
    pointers.set(event.pointerId, spot(event));
    moved = 0;
    spread = 0;
  });
  canvas.addEventListener("pointermove", (event) => {
    const here = spot(event),
      before = pointers.get(event.pointerId);
    if (!before) {
      explorer.hover(here.x, here.y);
      return;
    }
    pointers.set(event.pointerId, here);
    moved += Math.hypot(here.x - before.x, here.y - before.y);
    if (pointers.size === 1) {
      if (moved > 3) {
        canvas.classList.add("dragging");
        map.pan(here.x - before.x, here.y - before.y);
      }
      return;
    }
    const [a, b] = [...pointers.values()],
      apart = Math.hypot(a.x - b.x, a.y - b.y);
    if (spread) map.zoom(apart / spread, (a.x + b.x) / 2, (a.y + b.y) / 2);
    spread = apart;
  });
  const end = (event) => {
    canvas.classList.remove("dragging");
    if (pointers.delete(event.pointerId) && event.type === "pointerup" && moved <= 3) {
      const here = spot(event);
      explorer.selectAt(here.x, here.y);
    }
  };
  canvas.addEventListener("pointerup", end);
  canvas.addEventListener("pointercancel", end);
  canvas.addEventListener("pointerleave", () => {
    document.getElementById("tip").hidden = true;
  });
  canvas.addEventListener(
    "wheel",
    (event) => {
      if (document.activeElement !== canvas && !event.ctrlKey) return; // the page scrolls until the map is in use
      event.preventDefault();
      const here = spot(event);
      map.zoom(2 ** (-event.deltaY / 300), here.x, here.y);
    },
    { passive: false },
  );
  const keys = {
    ArrowLeft: () => map.pan(60, 0),
    ArrowRight: () => map.pan(-60, 0),
    ArrowUp: () => map.pan(0, 60),
    ArrowDown: () => map.pan(0, -60),
    "+": () => map.zoom(1.5),
    "=": () => map.zoom(1.5),
    "-": () => map.zoom(1 / 1.5),
    0: () => {
      map.home();
      map.later();
    },
    Enter: () => explorer.selectAt(map.width / 2, map.height / 2),
    Escape: () => explorer.select(null),
  };
  canvas.addEventListener("keydown", (event) => {
    if (keys[event.key] && !event.ctrlKey && !event.metaKey) {
      event.preventDefault();
      keys[event.key]();
    }
  });
  document.getElementById("zoom-in").addEventListener("click", () => map.zoom(1.6));
  document.getElementById("zoom-out").addEventListener("click", () => map.zoom(1 / 1.6));
  document.getElementById("zoom-home").addEventListener("click", () => {
    map.home();
    map.later();
  });
}

function copyCommand() {
  const button = document.getElementById("copy"),
    code = document.getElementById("command");
  button.addEventListener("click", () => {
    const range = document.createRange();
    range.selectNodeContents(code);
    getSelection().removeAllRanges();
    getSelection().addRange(range);
    button.textContent = document.execCommand("copy") ? "Copied" : "Selected";
    setTimeout(() => {
      button.textContent = "Copy";
    }, 1500);
  });
}

function start() {
  const began = performance.now(),
    { scene, words, palette, private: hidden } = read("drawing"),
    numbers = read("numbers");
  const map = new FlowMap(document.getElementById("map"), scene),
    explorer = new Explorer(map, scene, words, palette);
  const maps = [{ map, refresh: () => explorer.refresh() }];
  controls(explorer);
  steer(map, explorer);
  copyCommand();
  document.getElementById("filter").addEventListener("input", () => explorer.list());
  const charts = document.getElementById("charts");
  for (const part of numbers.distributions) charts.append(histogram(part));
  for (const part of numbers.by)
    charts.append(bars(`${capital(words.amount)} by ${part.key}`, part.values, part.trips, "trips"));
  if (hidden) maps.push(...showPrivate(hidden, palette));
  const wanted = matchMedia("(prefers-color-scheme: dark)");
  let theme = wanted.matches ? "dark" : "light";
  setTheme(theme, maps);
  explorer.list();
  wanted.addEventListener("change", (event) => {
    theme = event.matches ? "dark" : "light";
    setTheme(theme, maps);
  });
  document.getElementById("theme").addEventListener("click", () => {
    theme = theme === "dark" ? "light" : "dark";
    setTheme(theme, maps);
  });
  // Paper is light, has no screen to measure, and shows more dots to the inch.
  addEventListener("beforeprint", () => {
    setTheme("light", maps);
    for (const { map: each } of maps) each.resize(720, 450, 3);
  });
  addEventListener("afterprint", () => {
    setTheme(theme, maps);
    for (const { map: each } of maps) each.resize();
  });
  // For tests and measurements.
  window.flowveil = {
    map,
    explorer,
    drawn: () => {
      const from = performance.now();
      map.draw();
      map.context.getImageData(0, 0, 1, 1);
      return performance.now() - from;
    },
    started: performance.now() - began,
  };
}

start();
