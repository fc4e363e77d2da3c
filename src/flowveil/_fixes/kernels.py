"""Compiled loops over the fixes of users, each with the plain function beside it.

Fixes come by user, then time. `start` holds the first fix of each user, and the end.
"""

from __future__ import annotations

from math import atan2, cos, pi, sin, sqrt
from typing import TYPE_CHECKING

import numpy as np

from flowveil._compiled import compiled

if TYPE_CHECKING:
    from flowveil._arrays import FloatArray, IntArray

KEPT, REPEATED, TOO_FAST = 0, 1, 2
GOES_ON, NEW_VISIT, NEW_RUN = 0, 1, 2  # with regard to the fix before
_EARTH = 6_371_000.0  # mean radius in meters
_SECOND = 1e6  # in microseconds


def _meters(lon: float, lat: float, other_lon: float, other_lat: float) -> float:
    """Return the distance of two points on a globe (haversine)."""
    north, other_north = lat * pi / 180, other_lat * pi / 180
    half = sin((other_north - north) / 2) ** 2
    half += cos(north) * cos(other_north) * sin((other_lon - lon) * pi / 360) ** 2
    return 2 * _EARTH * atan2(sqrt(half), sqrt(max(1 - half, 0.0)))


meters = compiled(_meters)


def _distances(lon: FloatArray, lat: FloatArray, other_lon: FloatArray, other_lat: FloatArray) -> FloatArray:
    """Return distances point by point."""
    apart = np.zeros(len(lon), np.float64)
    for number in range(len(lon)):
        apart[number] = meters(lon[number], lat[number], other_lon[number], other_lat[number])
    return apart


distances = compiled(_distances)


def _judge(
    start: IntArray, time: IntArray, lon: FloatArray, lat: FloatArray, max_speed: float, max_gap: int
) -> IntArray:
    """Return which fixes are kept, say nothing new, or could only be reached too fast from the last one kept.

    After a gap the next fix is always kept: it may well be that the one before was wrong.
    """
    verdict = np.zeros(len(time), np.int64)
    for user in range(len(start) - 1):
        last = start[user]
        for fix in range(start[user] + 1, start[user + 1]):
            passed = time[fix] - time[last]
            if passed <= max_gap:
                distance = meters(lon[last], lat[last], lon[fix], lat[fix])
                if passed == 0 and distance == 0.0:
                    verdict[fix] = REPEATED
                elif distance > max_speed * passed / _SECOND:
                    verdict[fix] = TOO_FAST
            if verdict[fix] == KEPT:
                last = fix
    return verdict


judge = compiled(_judge)


def _visits(start: IntArray, time: IntArray, lon: FloatArray, lat: FloatArray, radius: float, max_gap: int) -> IntArray:
    """Return for each fix whether it goes on with the visit before, begins a new one, or a new run after a gap.

    A visit is all fixes in a row within the radius of the first of them. Silence longer than the gap ends a run, unless
    the user is still there afterwards: phones that do not move are silent.
    """
    begins = np.zeros(len(time), np.int64)
    for user in range(len(start) - 1):
        first = start[user]
        begins[first] = NEW_RUN
        for fix in range(start[user] + 1, start[user + 1]):
            if meters(lon[first], lat[first], lon[fix], lat[fix]) > radius:
                begins[fix] = NEW_RUN if time[fix] - time[fix - 1] > max_gap else NEW_VISIT
                first = fix
    return begins


visits = compiled(_visits)


def _middles(first: IntArray, end: IntArray, values: FloatArray) -> FloatArray:
    """Return the median of values[first:end] for each pair."""
    medians = np.zeros(len(first), np.float64)
    for number in range(len(first)):
        medians[number] = np.median(values[first[number] : end[number]])
    return medians


middles = compiled(_middles)
