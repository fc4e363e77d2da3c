"""Methods side by side: mean tiles of both ends (log) against the share of trips left out."""

from __future__ import annotations

import itertools
import math
from html import escape
from typing import TYPE_CHECKING

from flowveil._charts.ticks import log_ticks, share_ticks

if TYPE_CHECKING:
    import pyarrow as pa

_WIDTH, _HEIGHT = 640, 420
_LEFT, _RIGHT, _TOP, _BOTTOM = 64, 120, 52, 48
_LINE, _LEADER = 14, 18  # height of a label, and its distance from the point
_PUSHES = 50  # rounds of moving labels apart
_ONE_MAP, _OTHER = "#d1495b", "#0b6e99"

Point = tuple[float, float, str, bool]  # percent left out, gbar, method, one map for each end


def comparison_svg(table: pa.Table, title: str) -> str:
    """Draw the methods of a comparison that have a result; lower and further left is better."""
    points = [
        (100 * row["suppressed"], row["gbar"], row["method"], bool(row["homogeneous"]))
        for row in table.to_pylist()
        if row["gbar"] is not None and row["suppressed"] is not None
    ]
    size = f'viewBox="0 0 {_WIDTH} {_HEIGHT}" width="{_WIDTH}" height="{_HEIGHT}"'
    legend = f'<tspan fill="{_ONE_MAP}">one map for each end</tspan>, <tspan fill="{_OTHER}">other areas</tspan>'
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" {size} font-family="sans-serif" font-size="12" fill="#222">',
        f'<rect width="{_WIDTH}" height="{_HEIGHT}" fill="#fff"/>',
        f'<text x="{_LEFT}" y="20" font-size="15" font-weight="600">{escape(title)}</text>',
        f'<text x="{_LEFT}" y="38" fill="#666">gbar, mean tiles of both ends of a trip; {legend}</text>',
    ]
    return "\n".join([*parts, *(_body(points) if points else []), "</svg>", ""])


def _body(points: list[Point]) -> list[str]:
    most = max(1e-9, *(point[0] for point in points)) if len(points) > 1 else max(1e-9, points[0][0])
    low, high = min(point[1] for point in points), max(point[1] for point in points)
    low, high = low / 1.3, high * 1.3
    width, bottom = _WIDTH - _LEFT - _RIGHT, _HEIGHT - _BOTTOM

    def across(share: float) -> float:
        return _LEFT + width * share / most

    def down(gbar: float) -> float:
        return _TOP + (bottom - _TOP) * math.log(high / gbar) / math.log(high / low)

    parts = [f'<line x1="{_LEFT}" x2="{_LEFT + width}" y1="{bottom}" y2="{bottom}" stroke="#888"/>']
    for value in log_ticks(low, high):
        y = down(value)
        parts.append(f'<line x1="{_LEFT}" x2="{_LEFT + width}" y1="{y:.1f}" y2="{y:.1f}" stroke="#e4e4e4"/>')
        parts.append(f'<text x="{_LEFT - 8}" y="{y + 4:.1f}" text-anchor="end">{value:g}</text>')
    parts += [
        f'<text x="{across(share):.1f}" y="{bottom + 20}" text-anchor="middle">{share:.4g} %</text>'
        for share in share_ticks(most)
    ]
    parts.append(f'<text x="{_LEFT + width / 2}" y="{_HEIGHT - 8}" text-anchor="middle">trips left out</text>')
    places = [(across(share), down(gbar)) for share, gbar, _, _ in points]
    for (x, y), label, (share, gbar, method, one_map) in zip(places, _labels(places), points, strict=True):
        color = _ONE_MAP if one_map else _OTHER
        told = f"{escape(method)}: {share:.3g} % left out, gbar {gbar:.4g}"
        parts.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="4.5" fill="{color}"><title>{told}</title></circle>')
        parts.append(f'<line x1="{x:.1f}" x2="{x + _LEADER - 2:.1f}" y1="{y:.1f}" y2="{label:.1f}" stroke="{color}"/>')
        parts.append(f'<text x="{x + _LEADER:.1f}" y="{label + 4:.1f}">{escape(method)}</text>')
    return parts


def _labels(places: list[tuple[float, float]]) -> list[float]:
    """Return heights of labels beside their points, pushed apart where one would lie on another."""
    heights = [y for _, y in places]
    order = sorted(range(len(places)), key=lambda row: places[row][1])
    for _ in range(_PUSHES):
        for above, below in itertools.combinations(order, 2):
            missing = _LINE - (heights[below] - heights[above])
            if missing > 0 and abs(places[above][0] - places[below][0]) < _RIGHT:
                heights[above] -= missing / 2
                heights[below] += missing / 2
    return heights
