"""Shares against values: cumulative distributions as SVG."""

from __future__ import annotations

import math
from html import escape
from typing import TYPE_CHECKING

import numpy as np

from flowveil._charts.ticks import log_ticks, share_ticks

if TYPE_CHECKING:
    from collections.abc import Mapping

    from flowveil._arrays import FloatArray

_WIDTH, _HEIGHT = 640, 400
_LEFT, _RIGHT, _TOP, _BOTTOM = 64, 150, 44, 48
_COLORS = ("#0b6e99", "#d1495b", "#66a182", "#edae49", "#5c4d7d", "#444444", "#00798c", "#a63d40")
_POINTS = 200  # more cannot be told apart


def distributions_svg(title: str, axis: str, series: Mapping[str, FloatArray], *, logarithmic: bool = False) -> str:
    """Draw for each series which share of its values is at most so large; `axis` names the values and their unit."""
    drawn = {name: np.sort(values[np.isfinite(values)]) for name, values in series.items()}
    drawn = {name: values for name, values in drawn.items() if len(values)}
    size = f'viewBox="0 0 {_WIDTH} {_HEIGHT}" width="{_WIDTH}" height="{_HEIGHT}"'
    font = 'font-family="system-ui, sans-serif" font-size="12"'
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" {size} {font} fill="#222">',
        f'<rect width="{_WIDTH}" height="{_HEIGHT}" fill="#fff"/>',
        f'<text x="{_LEFT}" y="20" font-size="15" font-weight="600">{escape(title)}</text>',
        f'<text x="{_LEFT}" y="36" fill="#666">share with at most this value</text>',
    ]
    if drawn:
        scale = _Scale(list(drawn.values()), logarithmic=logarithmic)
        parts += _axes(scale, axis)
        for number, (name, values) in enumerate(drawn.items()):
            parts += _curve(scale, name, values, number)
    return "\n".join([*parts, "</svg>", ""])


class _Scale:
    """From a value to a place on the horizontal axis."""

    def __init__(self, series: list[FloatArray], *, logarithmic: bool) -> None:
        self.logarithmic = logarithmic
        self.high = max(float(values[-1]) for values in series)
        positive = [float(values[values > 0].min()) for values in series if (values > 0).any()]
        self.low = min(positive, default=1.0) if logarithmic else min(0.0, *(float(values[0]) for values in series))
        if self.high <= self.low:
            self.high = self.low * 2 if logarithmic else self.low + 1

    def ticks(self) -> list[float]:
        """Return round values."""
        if self.logarithmic:
            return log_ticks(self.low, self.high)
        return [self.low + tick for tick in share_ticks(self.high - self.low)]

    def across(self, value: float) -> float:
        """Return the place of a value; what is below the least is put there."""
        if self.logarithmic:
            share = math.log(max(value, self.low) / self.low) / math.log(self.high / self.low)
        else:
            share = (value - self.low) / (self.high - self.low)
        return _LEFT + (_WIDTH - _LEFT - _RIGHT) * share


def _axes(scale: _Scale, axis: str) -> list[str]:
    bottom, right = _HEIGHT - _BOTTOM, _WIDTH - _RIGHT
    parts = []
    for share in (0.0, 0.25, 0.5, 0.75, 1.0):
        y = _down(share)
        parts.append(f'<line x1="{_LEFT}" x2="{right}" y1="{y:.1f}" y2="{y:.1f}" stroke="#e4e4e4"/>')
        parts.append(f'<text x="{_LEFT - 8}" y="{y + 4:.1f}" text-anchor="end">{share:.0%}</text>')
    for value in scale.ticks():
        x = scale.across(value)
        parts.append(f'<line x1="{x:.1f}" x2="{x:.1f}" y1="{bottom}" y2="{bottom + 5}" stroke="#888"/>')
        parts.append(f'<text x="{x:.1f}" y="{bottom + 20}" text-anchor="middle">{value:.4g}</text>')
    parts.append(f'<line x1="{_LEFT}" x2="{right}" y1="{bottom}" y2="{bottom}" stroke="#888"/>')
    parts.append(f'<text x="{(_LEFT + right) / 2}" y="{_HEIGHT - 8}" text-anchor="middle">{escape(axis)}</text>')
    return parts


def _curve(scale: _Scale, name: str, values: FloatArray, number: int) -> list[str]:
    color = _COLORS[number % len(_COLORS)]
    shares = np.linspace(0, 1, min(len(values), _POINTS) + 1)[1:]
    chosen = values[np.ceil(shares * len(values)).astype(np.int64) - 1]
    places = [f"{scale.across(float(chosen[0])):.1f},{_down(0):.1f}"]
    places += [
        f"{scale.across(value):.1f},{_down(share):.1f}"
        for value, share in zip(chosen.tolist(), shares.tolist(), strict=True)
    ]
    y = _TOP + 12 + 18 * number
    return [
        f'<polyline points="{" ".join(places)}" fill="none" stroke="{color}" stroke-width="2"/>',
        f'<rect x="{_WIDTH - _RIGHT + 12}" y="{y - 9}" width="10" height="10" fill="{color}"/>',
        f'<text x="{_WIDTH - _RIGHT + 28}" y="{y}">{escape(name)}</text>',
    ]


def _down(share: float) -> float:
    return _TOP + (_HEIGHT - _TOP - _BOTTOM) * (1 - share)
