"use strict";
// Numbers and elements. Text from a release goes into the page as text, never as markup.

const whole = new Intl.NumberFormat("en-US", { maximumFractionDigits: 0 });
const short = new Intl.NumberFormat("en-US", { maximumSignificantDigits: 3 });

function show(value) {
  if (value === null || value === undefined || Number.isNaN(value)) return "–";
  return Number.isInteger(value) || Math.abs(value) >= 1000 ? whole.format(value) : short.format(value);
}

function compact(value) {
  const size = Math.abs(value);
  if (size >= 1e9) return short.format(value / 1e9) + " bn";
  if (size >= 1e6) return short.format(value / 1e6) + " M";
  if (size >= 1e4) return short.format(value / 1e3) + " k";
  return show(value);
}

function element(name, attributes, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes || {})) {
    if (key === "text") made.textContent = value;
    else if (key.startsWith("on")) made.addEventListener(key.slice(2), value);
    else if (value !== false && value !== null) made.setAttribute(key, value === true ? "" : value);
  }
  made.append(...children.filter((child) => child !== null && child !== undefined));
  return made;
}

function drawn(name, attributes, text) {
  const made = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes || {})) made.setAttribute(key, value);
  if (text !== undefined) made.textContent = text;
  return made;
}

function read(id) {
  return JSON.parse(document.getElementById(id).textContent);
}
