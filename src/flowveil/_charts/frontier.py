"""The frontier of a method: mean tiles of both ends (log) against the share of trips left out."""

from __future__ import annotations

import math
from html import escape
from typing import TYPE_CHECKING

from flowveil._charts.ticks import log_ticks, share_ticks

if TYPE_CHECKING:
    import pyarrow as pa

_TEXT_WIDTH, _TEXT_HEIGHT = 64, 16
_WIDTH, _HEIGHT = 640, 400
_LEFT, _RIGHT, _TOP, _BOTTOM = 64, 16, 44, 48


def frontier_text(table: pa.Table) -> str:
    """Draw a frontier with characters."""
    points = _points(table)
    if not points:
        return "no flow can be published at any price"
    scale = _Scale(points, _TEXT_WIDTH - 1, _TEXT_HEIGHT - 1)
    canvas = [[" "] * _TEXT_WIDTH for _ in range(_TEXT_HEIGHT)]
    for share, gbar in points:
        canvas[round(scale.down(gbar))][round(scale.across(share))] = "●"
    labels = {round(scale.down(value)): f"{value:g}" for value in log_ticks(scale.low, scale.high)}
    lines = [f"{labels.get(row, ''):>8} ┤{''.join(cells).rstrip()}" for row, cells in enumerate(canvas)]
    axis = [" "] * (_TEXT_WIDTH + 6)
    for share in share_ticks(scale.most):
        place = round(scale.across(share))
        axis[place : place + 5] = f"{share:.4g}%".ljust(5)
    return "\n".join(
        [
            "gbar, tiles of both ends",
            *lines,
            " " * 9 + "└" + "─" * _TEXT_WIDTH,
            " " * 10 + "".join(axis).rstrip(),
            " " * 10 + "trips left out",
        ]
    )


def frontier_svg(table: pa.Table, method: str) -> str:
    """Draw a frontier as an SVG document."""
    points = _points(table)
    size = f'viewBox="0 0 {_WIDTH} {_HEIGHT}" width="{_WIDTH}" height="{_HEIGHT}"'
    title = f"{escape(method)}: precision against suppression"
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" {size} font-family="sans-serif" font-size="12" fill="#222">',
        f'<rect width="{_WIDTH}" height="{_HEIGHT}" fill="#fff"/>',
        f'<text x="{_LEFT}" y="20" font-size="15" font-weight="600">{title}</text>',
        f'<text x="{_LEFT}" y="36" fill="#666">gbar, mean tiles of both ends of a trip (2 is no loss)</text>',
    ]
    if points:
        parts += _body(points)
    return "\n".join([*parts, "</svg>", ""])


def _body(points: list[tuple[float, float]]) -> list[str]:
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
    parts.append(
        f'<text x="{(_LEFT + _WIDTH - _RIGHT) / 2}" y="{_HEIGHT - 8}" text-anchor="middle">trips left out</text>'
    )
    places = [(_LEFT + scale.across(share), _TOP + scale.down(gbar)) for share, gbar in points]
    line = " ".join(f"{x:.1f},{y:.1f}" for x, y in places)
    parts.append(f'<polyline points="{line}" fill="none" stroke="#0b6e99" stroke-width="2"/>')
    for (x, y), (share, gbar) in zip(places, points, strict=True):
        parts.append(
            f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3.5" fill="#0b6e99">'
            f"<title>{share:.3g} % left out, gbar {gbar:.4g}</title></circle>"
        )
    return parts


class _Scale:
    """From share in percent and gbar to a place in a box of the given width and height."""

    def __init__(self, points: list[tuple[float, float]], width: float, height: float) -> None:
        self.most = max(1e-9, *(share for share, _ in points))
        self.low, self.high = min(gbar for _, gbar in points), max(gbar for _, gbar in points)
        if self.high <= self.low * 1.001:
            self.low, self.high = self.low / 2, self.high * 2
        self.width, self.height = width, height

    def across(self, share: float) -> float:
        return self.width * share / self.most

    def down(self, gbar: float) -> float:
        return self.height * math.log(self.high / gbar) / math.log(self.high / self.low)


def _points(table: pa.Table) -> list[tuple[float, float]]:
    """Return (percent left out, gbar), ascending."""
    shares, gbars = table["suppressed"].to_numpy().tolist(), table["gbar"].to_numpy().tolist()
    return sorted((100 * share, gbar) for share, gbar in zip(shares, gbars, strict=True))
