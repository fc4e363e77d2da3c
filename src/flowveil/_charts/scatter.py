"""Points of two values as SVG."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from flowveil._arrays import FloatArray

_WIDTH, _HEIGHT = 640, 400
_LEFT, _RIGHT, _TOP, _BOTTOM = 64, 24, 48, 48
_MOST_POINTS = 2_000  # more only make one blot
_TICKS = (0.0, 0.25, 0.5, 0.75, 1.0)


def scatter_svg(title: str, axes: tuple[str, str], across: FloatArray, up: FloatArray, said: str = "") -> str:
    """Draw points; axes: what is shown across and up, with units; said: a line below the title.

    Of many points every so many-th is drawn. Axes end at the 99th percentile: far points would press the others flat.
    """
    known = np.isfinite(across) & np.isfinite(up)
    across, up = across[known], up[known]
    font = 'font-family="system-ui, sans-serif" font-size="12"'
    size = f'viewBox="0 0 {_WIDTH} {_HEIGHT}" width="{_WIDTH}" height="{_HEIGHT}"'
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" {size} {font} fill="#222">',
        f'<rect width="{_WIDTH}" height="{_HEIGHT}" fill="#fff"/>',
        f'<text x="{_LEFT}" y="20" font-size="15" font-weight="600">{escape(title)}</text>',
        f'<text x="{_LEFT}" y="36" fill="#666">{escape(said)}</text>',
    ]
    if len(across):
        most = [float(np.quantile(values, 0.99)) or float(values.max()) or 1.0 for values in (across, up)]
        parts += _frame(axes, most)
        step = -(-len(across) // _MOST_POINTS)
        for x, y in zip(across[::step].tolist(), up[::step].tolist(), strict=True):
            if x <= most[0] and y <= most[1]:
                place = f'cx="{_across(x / most[0]):.1f}" cy="{_up(y / most[1]):.1f}"'
                parts.append(f'<circle {place} r="2.5" fill="#31688e" fill-opacity="0.45"/>')
    return "\n".join([*parts, "</svg>", ""])


def _across(share: float) -> float:
    return _LEFT + (_WIDTH - _LEFT - _RIGHT) * share


def _up(share: float) -> float:
    return _HEIGHT - _BOTTOM - (_HEIGHT - _TOP - _BOTTOM) * share


def _frame(axes: tuple[str, str], most: list[float]) -> list[str]:
    bottom, right = _HEIGHT - _BOTTOM, _WIDTH - _RIGHT
    parts = []
    for share in _TICKS:
        x, y = _across(share), _up(share)
        parts.append(f'<line x1="{_LEFT}" x2="{right}" y1="{y:.1f}" y2="{y:.1f}" stroke="#e4e4e4"/>')
        parts.append(f'<text x="{_LEFT - 8}" y="{y + 4:.1f}" text-anchor="end">{share * most[1]:.3g}</text>')
        parts.append(f'<text x="{x:.1f}" y="{bottom + 18}" text-anchor="middle">{share * most[0]:.4g}</text>')
    parts.append(f'<line x1="{_LEFT}" x2="{right}" y1="{bottom}" y2="{bottom}" stroke="#888"/>')
    parts.append(f'<text x="{(_LEFT + right) / 2}" y="{_HEIGHT - 8}" text-anchor="middle">{escape(axes[0])}</text>')
    turned = f'transform="rotate(-90 14 {_HEIGHT / 2:.0f})"'
    parts.append(f'<text x="14" y="{_HEIGHT / 2:.0f}" text-anchor="middle" {turned}>{escape(axes[1])}</text>')
    return parts
