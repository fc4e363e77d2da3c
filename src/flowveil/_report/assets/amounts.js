"use strict";
// Colors of amounts.

class Amounts {
  // From an amount to a color: logarithmic, as amounts of areas differ by powers of ten.
  constructor(values, colors, dark) {
    const positive = values.filter((value) => value > 0);
    this.low = positive.length ? Math.min(...positive) : 1;
    this.high = positive.length ? Math.max(...positive) : 1;
    this.colors = (dark ? [...colors].reverse() : colors).map((color) =>
      [1, 3, 5].map((place) => parseInt(color.slice(place, place + 2), 16)),
    );
  }

  color(value) {
    const share =
      value <= this.low || this.high <= this.low
        ? this.high <= this.low
          ? 0.6
          : 0
        : Math.log(value / this.low) / Math.log(this.high / this.low);
    const place = Math.min(share, 1) * (this.colors.length - 1),
      left = Math.floor(place),
      right = Math.min(left + 1, this.colors.length - 1);
    const mixed = this.colors[left].map((part, channel) =>
      Math.round(part + (this.colors[right][channel] - part) * (place - left)),
    );
    return `rgb(${mixed.join(",")})`;
  }

  picture() {
    const width = 190,
      made = drawn("svg", {
        width,
        height: 30,
        role: "img",
        "aria-label": `from ${show(this.low)} to ${show(this.high)}`,
      });
    const steps = 48;
    for (let step = 0; step < steps; step++) {
      const value = this.low * (this.high / this.low) ** (step / (steps - 1));
      made.append(
        drawn("rect", {
          x: (step * width) / steps,
          y: 0,
          width: width / steps + 0.6,
          height: 11,
          fill: this.color(value),
        }),
      );
    }
    const texts =
      this.high > this.low
        ? [
            [0, this.low, "start"],
            [0.5, Math.sqrt(this.low * this.high), "middle"],
            [1, this.high, "end"],
          ]
        : [[0, this.low, "start"]];
    for (const [share, value, anchor] of texts)
      made.append(
        drawn(
          "text",
          { x: share * width, y: 26, "text-anchor": anchor, fill: "currentColor", "font-size": 11 },
          compact(share === 0.5 ? Number(value.toPrecision(2)) : value),
        ),
      );
    return made;
  }
}
