"""The frontier of a method: how coarse it is (log) against the share that is left out."""

from __future__ import annotations

import math
from html import escape
from typing import TYPE_CHECKING, NamedTuple

from flowveil._charts.ticks import log_ticks, share_ticks

if TYPE_CHECKING:
    import pyarrow as pa

_TEXT_WIDTH, _TEXT_HEIGHT = 64, 16
_WIDTH, _HEIGHT = 640, 400
_LEFT, _RIGHT, _TOP, _BOTTOM = 64, 16, 44, 48


class Axes(NamedTuple):
    """What a frontier is drawn against, and what is said of it."""

    value: str  # the column of the vertical axis, which is logarithmic
    unit: float  # what it is divided by
    short: str
    long: str
    left_out: str  # what is suppressed
    nothing: str  # where there is no point


_GBAR = Axes(
    "gbar",
    1,
    "gbar, tiles of both ends",
    "gbar, mean tiles of both ends of a trip (2 is no loss)",
    "trips left out",
    "no flow can be published at any price",
)
_NO_PATH = "no sample can be published at any price"
_PATHS = (
    Axes("extent", 1000, "km, mean extent", "mean extent of a sample, km", "samples left out", _NO_PATH),
    Axes("duration", 1, "minutes, mean duration", "mean duration of a sample, minutes", "samples left out", _NO_PATH),
)


def frontier_text(table: pa.Table) -> str:
    """Draw a frontier with characters."""
    return _text(table, _GBAR)


def frontier_svg(table: pa.Table, method: str) -> str:
    """Draw a frontier as an SVG document."""
    return _svg(table, f"{method}: precision against suppression", (_GBAR,))


def path_frontier_text(table: pa.Table) -> str:
    """Draw the frontier of trajectories with characters: extent, then duration."""
    return "\n\n".join(_text(table, axes) for axes in _PATHS) if table.num_rows else _NO_PATH


def path_frontier_svg(table: pa.Table, method: str) -> str:
    """Draw the frontier of trajectories as an SVG document: extent and duration side by side."""
    return _svg(table, f"{method}: precision against suppression", _PATHS)


def _text(table: pa.Table, axes: Axes) -> str:
    points = _points(table, axes)
    if not points:
        return axes.nothing
    scale = _Scale(points, _TEXT_WIDTH - 1, _TEXT_HEIGHT - 1)
    canvas = [[" "] * _TEXT_WIDTH for _ in range(_TEXT_HEIGHT)]
    for share, value in points:
        canvas[round(scale.down(value))][round(scale.across(share))] = "●"
    labels = {round(scale.down(value)): f"{value:g}" for value in log_ticks(scale.low, scale.high)}
    lines = [f"{labels.get(row, ''):>8} ┤{''.join(cells).rstrip()}" for row, cells in enumerate(canvas)]
    axis = [" "] * (_TEXT_WIDTH + 6)
    for share in share_ticks(scale.most):
        place = round(scale.across(share))
        axis[place : place + 5] = f"{share:.4g}%".ljust(5)
    return "\n".join(
        [
            axes.short,
            *lines,
            " " * 9 + "└" + "─" * _TEXT_WIDTH,
            " " * 10 + "".join(axis).rstrip(),
            " " * 10 + axes.left_out,
        ]
    )


def _svg(table: pa.Table, title: str, panels: tuple[Axes, ...]) -> str:
    wide = _WIDTH * len(panels)
    size = f'viewBox="0 0 {wide} {_HEIGHT}" width="{wide}" height="{_HEIGHT}"'
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" {size} font-family="sans-serif" font-size="12" fill="#222">',
        f'<rect width="{wide}" height="{_HEIGHT}" fill="#fff"/>',
        f'<text x="{_LEFT}" y="20" font-size="15" font-weight="600">{escape(title)}</text>',
    ]
    for number, axes in enumerate(panels):
        points = _points(table, axes)
        parts.append(f'<g transform="translate({number * _WIDTH})">')
        parts.append(f'<text x="{_LEFT}" y="36" fill="#666">{axes.long}</text>')
        parts += [*(_body(points, axes) if points else []), "</g>"]
    return "\n".join([*parts, "</svg>", ""])


def _body(points: list[tuple[float, float]], axes: Axes) -> list[str]:
    scale = _Scale(points, _WIDTH - _LEFT - _RIGHT, _HEIGHT - _TOP - _BOTTOM)
    bottom = _HEIGHT - _BOTTOM
    parts = []
    for value in log_ticks(scale.low, scale.high):
        y = _TOP + scale.down(value)
        parts.append(f'<line x1="{_LEFT}" x2="{_WIDTH - _RIGHT}" y1="{y:.1f}" y2="{y:.1f}" stroke="#e4e4e4"/>')
        parts.append(f'<text x="{_LEFT - 8}" y="{y + 4:.1f}" text-anchor="end">{value:g}</text>')
    for share in share_ticks(scale.most):
        x = _LEFT + scale.across(share)
        parts.append(f'<line x1="{x:.1f}" x2="{x:.1f}" y1="{bottom}" y2="{bottom + 5}" stroke="#888"/>')
        parts.append(f'<text x="{x:.1f}" y="{bottom + 20}" text-anchor="middle">{share:.4g} %</text>')
    parts.append(f'<line x1="{_LEFT}" x2="{_WIDTH - _RIGHT}" y1="{bottom}" y2="{bottom}" stroke="#888"/>')
    middle = (_LEFT + _WIDTH - _RIGHT) / 2
    parts.append(f'<text x="{middle}" y="{_HEIGHT - 8}" text-anchor="middle">{axes.left_out}</text>')
    places = [(_LEFT + scale.across(share), _TOP + scale.down(value)) for share, value in points]
    line = " ".join(f"{x:.1f},{y:.1f}" for x, y in places)
    parts.append(f'<polyline points="{line}" fill="none" stroke="#0b6e99" stroke-width="2"/>')
    for (x, y), (share, value) in zip(places, points, strict=True):
        parts.append(
            f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3.5" fill="#0b6e99">'
            f"<title>{share:.3g} % left out, {axes.value} {value:.4g}</title></circle>"
        )
    return parts


class _Scale:
    """From share in percent and a positive value to a place in a box of the given width and height."""

    def __init__(self, points: list[tuple[float, float]], width: float, height: float) -> None:
        self.most = max(1e-9, *(share for share, _ in points))
        self.low, self.high = min(value for _, value in points), max(value for _, value in points)
        if self.high <= self.low * 1.001:
            self.low, self.high = self.low / 2, self.high * 2
        self.width, self.height = width, height

    def across(self, share: float) -> float:
        return self.width * share / self.most

    def down(self, value: float) -> float:
        return self.height * math.log(self.high / value) / math.log(self.high / self.low)


def _points(table: pa.Table, axes: Axes) -> list[tuple[float, float]]:
    """Return (percent left out, value), ascending."""
    shares, values = (table[name].to_numpy().tolist() for name in ("suppressed", axes.value))
    return sorted((100 * share, value / axes.unit) for share, value in zip(shares, values, strict=True))
