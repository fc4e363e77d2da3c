"""Compiled count of trajectories that hold known points."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from flowveil._compiled import compiled

if TYPE_CHECKING:
    from flowveil._arrays import FloatArray, IntArray


class Fitting(NamedTuple):
    """What is found for each set of points."""

    users: IntArray  # by set, then number of points: who fit so many of them
    held: IntArray  # how many points fit the own group
    drawn: (
        FloatArray  # belief in one of the own group, if users who fit the most have drawn the points from their samples
    )


@compiled
def _count_held(points: FloatArray, boxes: FloatArray, first: int, last: int) -> int:
    """Return how many points lie in a box from the first to the last."""
    held = 0
    for point in range(len(points)):
        time, lon, lat = points[point, 0], points[point, 1], points[point, 2]
        for box in range(first, last):
            if boxes[0, box] > time:
                break
            inside = boxes[2, box] <= lon < boxes[3, box] and boxes[4, box] <= lat < boxes[5, box]
            if inside and time < boxes[1, box]:
                held += 1
                break
    return held


@compiled
def count_fitting(points: FloatArray, boxes: FloatArray, start: IntArray, sizes: IntArray, own: IntArray) -> Fitting:
    """Return for each set of points how many users fit 0, 1, ... all of them, and what that tells of its own group.

    points: by set, then point, time, longitude and latitude. boxes: t0, t1, west, east, south, north of samples by
    group, each group's by t0; start: where groups begin, and the end. own: by set the group of whose
    points they are, or -1.
    """
    sets, known = points.shape[0], points.shape[1]
    fitting = np.zeros((sets, known + 1), np.int64)
    at_home = np.zeros(sets, np.int64)
    most = np.zeros(sets, np.int64)
    chance, own_chance = np.zeros(sets), np.zeros(sets)
    for group in range(len(start) - 1):
        first, last = start[group], start[group + 1]
        for number in range(sets):
            held = _count_held(points[number], boxes, first, last)
            fitting[number, held] += sizes[group]
            if own[number] == group:
                at_home[number] = held
            if held > most[number]:
                most[number], chance[number], own_chance[number] = held, 0.0, 0.0
            if held == most[number]:
                of_one = float(last - first) ** -held
                chance[number] += sizes[group] * of_one
                if own[number] == group:
                    own_chance[number] = of_one
    return Fitting(fitting, at_home, np.where(most > 0, own_chance / np.maximum(chance, 1e-300), 0.0))
