"""The rooms of the house as a picture: a flowchart is laid out in layers and drawn as SVG, without a script."""

from __future__ import annotations

import re
from html import escape

_WIDTH, _HEIGHT, _ACROSS, _DOWN = 104, 26, 118, 74
_ROUNDS = 12  # of ordering each layer by the middle of its neighbors
_MOST = 7  # rooms in one row: more do not fit on a page


def draw(flowchart: str) -> str:
    """Return a flowchart of mermaid (`A --> B` lines) as an SVG element, arrows pointing down."""
    arrows = re.findall(r"(\w+) --> (\w+)", flowchart)
    rows = _rows(arrows)
    _order(rows, arrows)
    place = {
        room: ((column + (_MOST - len(row)) / 2) * _ACROSS + 2, number * _DOWN + 2)
        for number, row in enumerate(rows)
        for column, room in enumerate(row)
    }
    size = f"{_MOST * _ACROSS} {len(rows) * _DOWN - _DOWN + _HEIGHT + 4}"
    said = f"{len(place)} rooms; an arrow points to what a room builds on"
    parts = [f'<div class="rooms"><svg viewBox="0 0 {size}" role="img" aria-label="{said}">']
    parts.append(
        '<defs><marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto">'
    )
    parts.append('<path d="M0 0L8 4L0 8z"/></marker></defs>')
    parts += [_arrow(place[above], place[below]) for above, below in arrows]
    parts += [_box(room, *corner) for room, corner in place.items()]
    return "".join([*parts, "</svg></div>"])


def _rows(arrows: list[tuple[str, str]]) -> list[list[str]]:
    """Return rooms by row: each below all that point to it, no row longer than a page is wide."""
    rooms = dict.fromkeys(room for arrow in arrows for room in arrow)
    row = dict.fromkeys(rooms, 0)
    filled: dict[int, int] = {}
    above = {room: [first for first, second in arrows if second == room] for room in rooms}
    waiting = list(rooms)
    while waiting:
        room = next(each for each in waiting if not set(above[each]) & set(waiting))
        waiting.remove(room)
        row[room] = max((row[each] + 1 for each in above[room]), default=0)
        while filled.get(row[room], 0) >= _MOST:
            row[room] += 1
        filled[row[room]] = filled.get(row[room], 0) + 1
    return [[room for room in rooms if row[room] == number] for number in range(max(row.values()) + 1)]


def _order(rows: list[list[str]], arrows: list[tuple[str, str]]) -> None:
    """Sort each row by the mean place of what its rooms are joined with, again and again."""
    near: dict[str, list[str]] = {}
    for first, second in arrows:
        near.setdefault(first, []).append(second)
        near.setdefault(second, []).append(first)
    for _ in range(_ROUNDS):
        place = {room: column - len(row) / 2 for row in rows for column, room in enumerate(row)}
        for row in rows:
            row.sort(key=lambda room: sum(place[each] for each in near[room]) / len(near[room]))
            place |= {room: column - len(row) / 2 for column, room in enumerate(row)}


def _arrow(start: tuple[float, float], end: tuple[float, float]) -> str:
    x0, y0, x1, y1 = start[0] + _WIDTH / 2, start[1] + _HEIGHT, end[0] + _WIDTH / 2, end[1]
    bend = (y1 - y0) / 2
    line = f"M{x0:g} {y0:g}C{x0:g} {y0 + bend:g} {x1:g} {y1 - bend:g} {x1:g} {y1:g}"
    return f'<path class="arrow" d="{line}" marker-end="url(#tip)"/>'


def _box(room: str, x: float, y: float) -> str:
    box = f'<rect x="{x:g}" y="{y:g}" width="{_WIDTH}" height="{_HEIGHT}" rx="5"/>'
    middle = f'x="{x + _WIDTH / 2:g}" y="{y + _HEIGHT / 2 + 4:g}"'
    return f"<g>{box}<text {middle}>{escape(room)}</text></g>"
