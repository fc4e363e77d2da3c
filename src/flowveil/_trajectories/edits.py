"""Compiled edit distance of two trajectories."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from flowveil._compiled import compiled

if TYPE_CHECKING:
    from flowveil._arrays import FloatArray, IntArray


@compiled
def align(points: FloatArray, pivot: FloatArray, meters: float, minutes: float) -> IntArray:
    """Return for each point the pivot's sample it is matched with at the least number of edits, or -1.

    Points are (minutes, x, y). A match is free within `meters` and `minutes` and costs 1 otherwise, as do points that
    are left out on either side. Of equal ways the one that matches more is taken, from the end.
    """
    rows, columns = len(points), len(pivot)
    cost = np.empty((rows + 1, columns + 1), np.int32)
    cost[:, 0] = np.arange(rows + 1)
    cost[0, :] = np.arange(columns + 1)
    for i in range(1, rows + 1):
        for j in range(1, columns + 1):
            change = cost[i - 1, j - 1] + _differ(points, i - 1, pivot, j - 1, meters, minutes)
            cost[i, j] = min(change, cost[i - 1, j] + 1, cost[i, j - 1] + 1)
    match = np.full(rows, -1, np.int64)
    i, j = rows, columns
    while i > 0 and j > 0:
        if cost[i, j] == cost[i - 1, j - 1] + _differ(points, i - 1, pivot, j - 1, meters, minutes):
            i, j = i - 1, j - 1
            match[i] = j
        elif cost[i, j] == cost[i - 1, j] + 1:
            i -= 1
        else:
            j -= 1
    return match


@compiled
def _differ(points: FloatArray, i: int, pivot: FloatArray, j: int, meters: float, minutes: float) -> int:
    apart = np.hypot(points[i, 1] - pivot[j, 1], points[i, 2] - pivot[j, 2])
    return 0 if apart <= meters and abs(points[i, 0] - pivot[j, 0]) <= minutes else 1
