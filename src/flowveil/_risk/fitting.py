"""Compiled count of trajectories that hold known points."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from flowveil._compiled import compiled

if TYPE_CHECKING:
    from flowveil._arrays import FloatArray, IntArray


@compiled
def count_fitting(
    points: FloatArray, boxes: FloatArray, start: IntArray, sizes: IntArray, own: IntArray
) -> tuple[IntArray, IntArray]:
    """Return for each set of points how many users fit 0, 1, ... all of them, and how many points fit its own group.

    points: by set, then point, time, longitude and latitude. boxes: t0, t1, west, east, south, north of samples by
    group, each group's by t0; start: where groups begin, and the end. own: by set the group of whose
    points they are, or -1.
    """
    sets, known = points.shape[0], points.shape[1]
    fitting = np.zeros((sets, known + 1), np.int64)
    at_home = np.zeros(sets, np.int64)
    for group in range(len(start) - 1):
        first, last = start[group], start[group + 1]
        for number in range(sets):
            held = 0
            for point in range(known):
                time, lon, lat = points[number, point, 0], points[number, point, 1], points[number, point, 2]
                for box in range(first, last):
                    if boxes[0, box] > time:
                        break
                    inside = boxes[2, box] <= lon < boxes[3, box] and boxes[4, box] <= lat < boxes[5, box]
                    if inside and time < boxes[1, box]:
                        held += 1
                        break
            fitting[number, held] += sizes[group]
            if own[number] == group:
                at_home[number] = held
    return fitting, at_home
