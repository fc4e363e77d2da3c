// Bubbles, curved lines with a head, and the path of a group, on a map. What is out of sight is not drawn.

import type {FlowMap} from './flowmap';
import type {Point} from './geometry';

const MANY = 300; // lines: more are drawn plainly, to stay quick

export function drawBubbles(map: FlowMap): void {
  const {context, colors, width, height} = map;
  context.fillStyle = colors.bubble;
  context.strokeStyle = colors.edge;
  context.lineWidth = 0.8;
  for (const {center, radius} of map.bubbles) {
    const {x, y} = map.toScreen(center);
    if (x < -radius || y < -radius || x > width + radius || y > height + radius) continue;
    context.beginPath();
    context.arc(x, y, radius, 0, 2 * Math.PI);
    context.fill();
    context.stroke();
  }
}

export function drawLines(map: FlowMap): void {
  const {context, colors} = map,
    many = map.lines.length > MANY;
  context.lineCap = 'butt';
  for (const line of map.lines) {
    const curve = map.curve(line),
      {width} = line;
    context.globalAlpha = 0.45 + 0.5 * line.strength;
    if (!curve) {
      drawRing(map, map.toScreen(line.from), width);
      continue;
    }
    const [a, bend, b] = curve;
    if (isOut(map, curve, 2 * width + 4)) continue;
    context.beginPath();
    context.moveTo(a.x, a.y);
    context.quadraticCurveTo(bend.x, bend.y, b.x, b.y);
    if (!many) {
      context.strokeStyle = colors.casing;
      context.lineWidth = width + 1.6;
      context.stroke();
    }
    context.strokeStyle = many ? colors.line : fade(map, a, b);
    context.lineWidth = width;
    context.stroke();
    drawHead(map, bend, b, width);
  }
  context.globalAlpha = 1;
}

// Whether all points lie on one side of the map, and further from it than a margin: then so does what they span.
function isOut({width, height}: FlowMap, points: Point[], margin: number): boolean {
  return (
    points.every(({x}) => x < -margin) ||
    points.every(({x}) => x > width + margin) ||
    points.every(({y}) => y < -margin) ||
    points.every(({y}) => y > height + margin)
  );
}

// From pale where a line starts to strong where it ends.
function fade({context, colors}: FlowMap, start: Point, end: Point): CanvasGradient {
  const made = context.createLinearGradient(start.x, start.y, end.x, end.y);
  made.addColorStop(0, colors.lineStart);
  made.addColorStop(1, colors.line);
  return made;
}

function drawRing({context, colors}: FlowMap, center: Point, width: number): void {
  context.lineWidth = Math.max(1.2, width * 0.7);
  context.strokeStyle = colors.line;
  context.beginPath();
  context.arc(center.x, center.y, 5 + width, 0, 2 * Math.PI);
  context.stroke();
}

function drawHead({context, colors}: FlowMap, bend: Point, end: Point, width: number): void {
  const angle = Math.atan2(end.y - bend.y, end.x - bend.x),
    size = 4 + width * 1.1;
  context.fillStyle = colors.line;
  context.beginPath();
  context.moveTo(end.x + Math.cos(angle) * size * 0.5, end.y + Math.sin(angle) * size * 0.5);
  context.lineTo(end.x - size * Math.cos(angle - 0.5), end.y - size * Math.sin(angle - 0.5));
  context.lineTo(end.x - size * Math.cos(angle + 0.5), end.y - size * Math.sin(angle + 0.5));
  context.fill();
}

export function drawPath(map: FlowMap): void {
  const {context} = map;
  if (!map.path.length) return;
  const spots = map.path.map((point) => map.toScreen(point));
  context.lineWidth = 2;
  context.strokeStyle = context.fillStyle = map.colors.line;
  context.beginPath();
  spots.forEach(({x, y}, place) => (place ? context.lineTo(x, y) : context.moveTo(x, y)));
  context.stroke();
  for (const {x, y} of spots) {
    context.beginPath();
    context.arc(x, y, 3, 0, 2 * Math.PI);
    context.fill();
  }
}
