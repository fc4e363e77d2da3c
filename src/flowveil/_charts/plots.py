"""Plots of studies as SVG: boxes of quartiles in panels, and lines over a number."""

from __future__ import annotations

import math
from html import escape
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from flowveil._charts.ticks import log_ticks, share_ticks

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_PANEL, _HEIGHT = 300, 380
_LEFT, _RIGHT, _TOP, _BOTTOM = 64, 150, 52, 110
_COLORS = (
    *("#0b6e99", "#d1495b", "#66a182", "#edae49", "#5c4d7d", "#444444", "#00798c", "#a63d40", "#8a6d3b", "#7aa6c2"),
    *("#b07aa1", "#2f6b3a", "#c76a29", "#999999"),
)
_WIDTH, _TALL = 640, 420
_WIDE = 1.3  # how far a logarithmic axis goes beyond its values

Point = tuple[float, float]


class _Axis(NamedTuple):
    """From values to places between two ends."""

    low: float
    high: float
    start: float
    end: float
    logarithmic: bool

    def at(self, value: float) -> float:
        low, high = (math.log(self.low), math.log(self.high)) if self.logarithmic else (self.low, self.high)
        share = ((math.log(value) if self.logarithmic else value) - low) / (high - low)
        return self.start + (self.end - self.start) * share

    def ticks(self) -> list[float]:
        if self.logarithmic:
            return log_ticks(self.low, self.high)
        return [tick for tick in share_ticks(self.high) if tick >= self.low]


def _axis(values: Sequence[float], start: float, end: float, *, logarithmic: bool) -> _Axis:
    low, high = min(values), max(values)
    if logarithmic:
        return _Axis(low / _WIDE, high * _WIDE, start, end, logarithmic=True)
    return _Axis(min(0.0, low), high if high > min(0.0, low) else low + 1, start, end, logarithmic=False)


def boxes_svg(title: str, panels: Mapping[str, Mapping[str, Sequence[float]]], line: float = 1.0) -> str:
    """Draw for each panel one box a name: quartiles, median, and whiskers to all values, on a logarithmic axis.

    line: a value that is marked. What is not above 0 cannot be drawn, and is left out.
    """
    kept = {
        panel: {name: found for name, values in boxes.items() if (found := [value for value in values if value > 0])}
        for panel, boxes in panels.items()
    }
    kept = {panel: boxes for panel, boxes in kept.items() if boxes}
    wide = max(1, len(kept)) * _PANEL
    parts = _head(title, "box: middle half; line: all; a mark at the median", wide, _HEIGHT)
    for number, (panel, boxes) in enumerate(kept.items()):
        parts += [f'<g transform="translate({number * _PANEL})">', *_box_panel(panel, boxes, line), "</g>"]
    return "\n".join([*parts, "</svg>", ""])


def _box_panel(panel: str, boxes: Mapping[str, Sequence[float]], line: float) -> list[str]:
    right, bottom = _PANEL - 12, _HEIGHT - _BOTTOM
    axis = _axis([line, *(value for values in boxes.values() for value in values)], bottom, _TOP, logarithmic=True)
    parts = [f'<text x="{_LEFT}" y="{_TOP - 4}" font-weight="600">{escape(panel)}</text>', *_rules(axis, _LEFT, right)]
    y = axis.at(line)
    parts.append(f'<line x1="{_LEFT}" x2="{right}" y1="{y:.1f}" y2="{y:.1f}" stroke="#222" stroke-dasharray="4 3"/>')
    step = (right - _LEFT) / len(boxes)
    for number, (name, values) in enumerate(boxes.items()):
        x, half = _LEFT + step * (number + 0.5), min(step * 0.3, 16)
        least, low, middle, high, most = (axis.at(value) for value in np.quantile(values, [0, 0.25, 0.5, 0.75, 1]))
        told = f"{escape(name)}: median {np.median(values):.3g}, {len(values)} values"
        corner = f'x="{x - half:.1f}" y="{high:.1f}"'
        size = f'width="{2 * half:.1f}" height="{max(low - high, 1):.1f}"'
        mark = f'x1="{x - half:.1f}" x2="{x + half:.1f}" y1="{middle:.1f}" y2="{middle:.1f}"'
        turned = f'text-anchor="end" transform="rotate(-45 {x:.1f} {bottom + 12})"'
        parts += [
            f'<line x1="{x:.1f}" x2="{x:.1f}" y1="{least:.1f}" y2="{most:.1f}" stroke="#0b6e99"/>',
            f'<rect {corner} {size} fill="#cfe3ec" stroke="#0b6e99"><title>{told}</title></rect>',
            f'<line {mark} stroke="#d1495b" stroke-width="2"/>',
            f'<text x="{x:.1f}" y="{bottom + 12}" {turned}>{escape(name)}</text>',
        ]
    return parts


def lines_svg(
    title: str,
    axes: tuple[str, str],
    series: Mapping[str, Sequence[Point]],
    logarithmic: tuple[bool, bool] = (False, True),
) -> str:
    """Draw one line a name through its points, with a legend; axes: what is shown across and up, with units.

    On a logarithmic axis, points that are not above 0 are left out.
    """
    drawn = {
        name: sorted(
            point
            for point in points
            if all(value > 0 or not log for value, log in zip(point, logarithmic, strict=True))
        )
        for name, points in series.items()
    }
    drawn = {name: points for name, points in drawn.items() if points}
    parts = _head(title, axes[1], _WIDTH, _TALL)
    if drawn:
        every = [point for points in drawn.values() for point in points]
        right, bottom = _WIDTH - _RIGHT, _TALL - 48
        across = _axis([x for x, _ in every], _LEFT, right, logarithmic=logarithmic[0])
        up = _axis([y for _, y in every], bottom, _TOP, logarithmic=logarithmic[1])
        parts += _rules(up, _LEFT, right)
        for value in across.ticks():
            parts.append(f'<text x="{across.at(value):.1f}" y="{bottom + 18}" text-anchor="middle">{value:g}</text>')
        parts.append(f'<line x1="{_LEFT}" x2="{right}" y1="{bottom}" y2="{bottom}" stroke="#888"/>')
        middle = (_LEFT + right) / 2
        parts.append(f'<text x="{middle}" y="{_TALL - 8}" text-anchor="middle">{escape(axes[0])}</text>')
        for number, (name, points) in enumerate(drawn.items()):
            parts += _line(name, [(across.at(x), up.at(y)) for x, y in points], points, number)
    return "\n".join([*parts, "</svg>", ""])


def _line(name: str, places: list[Point], points: list[Point], number: int) -> list[str]:
    color = _COLORS[number % len(_COLORS)]
    y = _TOP + 12 + 18 * number
    line = " ".join(f"{x:.1f},{y:.1f}" for x, y in places)
    parts = [f'<polyline points="{line}" fill="none" stroke="{color}" stroke-width="2"/>']
    for (x, height), (value, up) in zip(places, points, strict=True):
        told = f"{escape(name)}: {value:.4g}, {up:.4g}"
        parts.append(f'<circle cx="{x:.1f}" cy="{height:.1f}" r="3" fill="{color}"><title>{told}</title></circle>')
    parts.append(f'<rect x="{_WIDTH - _RIGHT + 12}" y="{y - 9}" width="10" height="10" fill="{color}"/>')
    parts.append(f'<text x="{_WIDTH - _RIGHT + 28}" y="{y}">{escape(name)}</text>')
    return parts


def _head(title: str, said: str, wide: int, tall: int) -> list[str]:
    size = f'viewBox="0 0 {wide} {tall}" width="{wide}" height="{tall}"'
    font = 'font-family="system-ui, sans-serif" font-size="12"'
    return [
        f'<svg xmlns="http://www.w3.org/2000/svg" {size} {font} fill="#222">',
        f'<rect width="{wide}" height="{tall}" fill="#fff"/>',
        f'<text x="{_LEFT - 52}" y="18" font-size="15" font-weight="600">{escape(title)}</text>',
        f'<text x="{_LEFT - 52}" y="34" fill="#666">{escape(said)}</text>',
    ]


def _rules(axis: _Axis, left: float, right: float) -> list[str]:
    parts = []
    for value in axis.ticks():
        y = axis.at(value)
        parts.append(f'<line x1="{left}" x2="{right}" y1="{y:.1f}" y2="{y:.1f}" stroke="#e4e4e4"/>')
        parts.append(f'<text x="{left - 8}" y="{y + 4:.1f}" text-anchor="end">{value:g}</text>')
    return parts
