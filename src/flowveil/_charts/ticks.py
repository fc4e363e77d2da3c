"""Round numbers for axes."""

from __future__ import annotations

import math

_STEPS = (1, 2, 5)


def log_ticks(low: float, high: float) -> list[float]:
    """Return 1, 2, 5 times powers of ten between two positive numbers; every power only when there would be many."""
    ticks = [
        step * 10.0**power
        for power in range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
        for step in _STEPS
        if low <= step * 10.0**power <= high
    ]
    return ticks if len(ticks) <= 7 else [tick for tick in ticks if math.log10(tick) % 1 < 1e-9]


def share_ticks(most: float) -> list[float]:
    """Return about five round numbers from 0 to `most`."""
    raw = most / 5
    power = 10.0 ** math.floor(math.log10(raw))
    step = next(power * factor for factor in (1, 2, 5, 10) if power * factor >= raw)
    return [round(step * number, 12) for number in range(math.floor(most / step) + 1)]
