"""Compiled search for published samples that hold points."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from flowveil._compiled import compiled

if TYPE_CHECKING:
    from flowveil._arrays import IntArray


@compiled
def fitting_users(points: IntArray, first: IntArray, boxes: IntArray, start: IntArray, sizes: IntArray) -> IntArray:
    """Return for each set of points (t, x, y) the users of groups whose samples hold all of them.

    first: where each set begins, and the end; start: the same for the samples of each group.
    """
    users = np.zeros(len(first) - 1, np.int64)
    for number in range(len(first) - 1):
        for group in range(len(start) - 1):
            times = boxes[0, start[group] : start[group + 1]]
            fits = True
            for point in range(first[number], first[number + 1]):
                t, x, y = points[0, point], points[1, point], points[2, point]
                spot = start[group] + np.searchsorted(times, t, side="right") - 1
                if (
                    spot < start[group]
                    or t >= boxes[1, spot]
                    or not (boxes[2, spot] <= x < boxes[3, spot])
                    or not (boxes[4, spot] <= y < boxes[5, spot])
                ):
                    fits = False
                    break
            if fits:
                users[number] += sizes[group]
    return users
