"""Compiled search for published samples that hold points; samples are in the order of their starts, and may overlap."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from flowveil._compiled import compiled

if TYPE_CHECKING:
    from flowveil._arrays import IntArray


@compiled
def latest_ends(boxes: IntArray, start: IntArray) -> IntArray:
    """Return for each sample the latest end of its group's samples up to it; start: where each group begins."""
    latest: IntArray = boxes[1].copy()
    for group in range(len(start) - 1):
        for spot in range(start[group] + 1, start[group + 1]):
            latest[spot] = max(latest[spot], latest[spot - 1])
    return latest


@compiled
def _holds(boxes: IntArray, spot: int, t: int, x: int, y: int) -> bool:
    inside = boxes[2, spot] <= x < boxes[3, spot] and boxes[4, spot] <= y < boxes[5, spot]
    return bool(inside and boxes[0, spot] <= t < boxes[1, spot])


@compiled
def held_pairs(points: IntArray, boxes: IntArray) -> tuple[IntArray, IntArray]:
    """Return every pair of a point (t, x, y) and a sample of one group that holds it, by point, then by sample."""
    latest = latest_ends(boxes, np.array([0, boxes.shape[1]]))
    point, sample = [0 for _ in range(0)], [0 for _ in range(0)]
    for number in range(points.shape[1]):
        t, x, y = points[0, number], points[1, number], points[2, number]
        last = np.searchsorted(boxes[0], t, side="right")
        first = last
        while first > 0 and latest[first - 1] > t:
            first -= 1
        for spot in range(first, last):
            if _holds(boxes, spot, t, x, y):
                point.append(number)
                sample.append(spot)
    return np.array(point, np.int64), np.array(sample, np.int64)


@compiled
def fitting_users(points: IntArray, first: IntArray, boxes: IntArray, start: IntArray, sizes: IntArray) -> IntArray:
    """Return for each set of points (t, x, y) the users of groups whose samples hold all of them.

    first: where each set begins, and the end; start: the same for the samples of each group.
    """
    users = np.zeros(len(first) - 1, np.int64)
    latest = latest_ends(boxes, start)
    for number in range(len(first) - 1):
        for group in range(len(start) - 1):
            times = boxes[0, start[group] : start[group + 1]]
            fits = True
            for point in range(first[number], first[number + 1]):
                t, x, y = points[0, point], points[1, point], points[2, point]
                spot = start[group] + np.searchsorted(times, t, side="right") - 1
                while spot >= start[group] and latest[spot] > t and not _holds(boxes, spot, t, x, y):
                    spot -= 1
                if spot < start[group] or latest[spot] <= t:
                    fits = False
                    break
            if fits:
                users[number] += sizes[group]
    return users
