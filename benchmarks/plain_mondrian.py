"""Mondrian as the papers describe it: a recursion over pandas frames. Plain, and slow on purpose."""

from __future__ import annotations

import numpy as np
import pandas as pd

AXES = ["origin_lon", "origin_lat", "destination_lon", "destination_lat"]


def solve(points, trips, passes, low, high):
    """Return the regions as {(low, high): rows}.

    points: one row an axis. passes: whether rows may be published. low, high: bounds of everything, by axis.
    """
    frame = pd.DataFrame(dict(zip(AXES, points, strict=True)))
    frame["trips"] = trips
    span = (frame[AXES].max() - frame[AXES].min()).clip(lower=1)
    waiting = [(frame, tuple(low), tuple(high))]  # a recursion could be deeper than Python allows
    regions = {}
    while waiting:
        part, low, high = waiting.pop()
        halves = _halves(part, span, passes)
        if halves is None:
            regions[low, high] = part.index.to_numpy()
            continue
        below, above, axis, value = halves
        waiting.append((below, low, _with(high, axis, value)))
        waiting.append((above, _with(low, axis, value), high))
    return regions


def _halves(part, span, passes):
    width = (part[AXES].max() - part[AXES].min()) / span
    for axis in sorted(AXES, key=lambda name: (-width[name], AXES.index(name))):
        if width[axis] == 0:
            break
        by_value = part.groupby(axis)["trips"].sum()
        median = by_value.index[int(np.argmax(2 * by_value.cumsum().to_numpy() >= by_value.sum()))]
        for value in (median, by_value.index[by_value.index < median].max()):
            if np.isnan(value) or value >= by_value.index[-1]:
                continue
            below, above = part[part[axis] <= value], part[part[axis] > value]
            if passes(below.index.to_numpy()) and passes(above.index.to_numpy()):
                return below, above, AXES.index(axis), int(value)
    return None


def _with(values, place, value):
    return (*values[:place], value, *values[place + 1 :])
