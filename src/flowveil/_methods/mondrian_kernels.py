"""Compiled loops of mondrian. Imported only when it runs: numba is slow to import.

Each is compiled from a plain Python function of the same name with an underscore, which tests run as it stands.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from flowveil._compiled import Whole, compiled

if TYPE_CHECKING:
    from flowveil._arrays import CountArray, IntArray
    from flowveil._problem import Least

_WHOLE = 1_000_000  # shares are in millionths
AXES = 4  # longitude and latitude of origin and destination


class Records(NamedTuple):
    """What is tested of records."""

    trips: IntArray
    tile: IntArray  # one row an end
    visit_start: IntArray  # the first visit of a record; and the number of visits
    person: IntArray  # by visit; empty without a unit
    weight: IntArray  # by person; by record without a unit
    visit_trips: CountArray  # by visit; empty without a test of the share that one person makes
    parts: int  # the largest such share, in millionths


def _crowd_passes(chosen: IntArray, records: Records, least: Least, seen: IntArray, tick: int) -> bool:
    """Return whether some records pass the tests: crowd, weight, tiles at both ends (as many as the records have).

    Where the share of one person is tested, all records are looked at. `seen` marks persons, then tiles of either end,
    with the number of the test, `tick`; its last row has the trips of persons.
    """
    trips, tile, visit_start, person, weight, visit_trips, parts = records
    passes = False
    largest, all_trips = 0, 0
    crowd = 0
    total = 0
    tiles = np.zeros(2, np.int64)
    for record in chosen:
        all_trips += trips[record]
        if len(person) == 0:
            crowd += trips[record]
            total += weight[record]
        for visit in range(visit_start[record], visit_start[record + 1]):
            who = person[visit]
            if seen[0, who] != tick:
                seen[0, who] = tick
                seen[3, who] = 0
                crowd += 1
                total += weight[who]
            if len(visit_trips):
                seen[3, who] += visit_trips[visit]
                largest = max(largest, seen[3, who])
        for end in range(2):
            if seen[1 + end, tile[end, record]] != tick:
                seen[1 + end, tile[end, record]] = tick
                tiles[end] += 1
        wide = tiles[0] >= least.tiles and tiles[1] >= least.tiles
        passes = wide and crowd >= least.crowd and total >= least.weight
        if passes and len(visit_trips) == 0:
            return True
    return passes and largest * _WHOLE <= parts * all_trips


crowd_passes = compiled(_crowd_passes)


def _cut_values(values: IntArray, trips: IntArray) -> IntArray:
    """Return where sorted values may be cut: at the median over trips and at the value before it, most even first.

    A cut at c parts the values up to c from those above.
    """
    half = trips.sum()
    running = 0
    place = 0
    while 2 * (running + trips[place]) < half:
        running += trips[place]
        place += 1
    median = values[place]
    cuts = np.empty(2, np.int64)
    count = 0
    if median < values[-1]:
        cuts[count] = median
        count += 1
    first = np.searchsorted(values, median)
    if first > 0:
        cuts[count] = values[first - 1]
        count += 1
    return cuts[:count]


cut_values = compiled(_cut_values)


def _best_cut(
    chosen: IntArray, place_of: IntArray, records: Records, least: Least, seen: IntArray, tick: int
) -> tuple[int, int]:
    """Sort records along an axis, in place; return where to cut them and at which value, (0, 0) if no cut passes.

    `place_of` is by record its place on the axis.
    """
    chosen[:] = chosen[np.argsort(place_of[chosen])]
    values = place_of[chosen]
    for value in cut_values(values, records.trips[chosen]):
        place = np.searchsorted(values, value, side="right")
        if crowd_passes(chosen[:place], records, least, seen, tick) and crowd_passes(
            chosen[place:], records, least, seen, tick + 1
        ):
            return place, value
        tick += 2
    return 0, 0


best_cut = compiled(_best_cut)


def _partition(
    points: IntArray, frame: IntArray, records: Records, least: Least, marks: int
) -> tuple[IntArray, IntArray]:
    """Cut the space of points (one row an axis, one column a record) until no cut leaves two halves that pass.

    Of all axes the one with the widest range, as a share of the range of all points, is cut first. `frame` has the
    lowest and the highest value of each axis; `marks` is how many persons or tiles there may be. Returns the region of
    each point and the bounds of each region.
    """
    count = points.shape[1]
    region, bounds = np.zeros(count, np.int64), np.empty((count, 2, AXES), np.int64)
    order = np.arange(count)
    start, end, box = np.zeros(count, np.int64), np.zeros(count, np.int64), np.empty((count, 2, AXES), np.int64)
    end[0], box[0] = count, frame
    waiting, regions = 1, 0
    tick: Whole = np.int64(1)
    whole = np.empty(AXES)
    for axis in range(AXES):
        whole[axis] = max(points[axis].max() - points[axis].min(), 1)
    seen = np.zeros((4, marks), np.int64)
    width = np.empty(AXES)
    while waiting:
        waiting -= 1
        chosen = order[start[waiting] : end[waiting]]
        for axis in range(AXES):
            values = points[axis][chosen]
            width[axis] = (values.max() - values.min()) / whole[axis]
        place = value = 0
        while place == 0 and width.max() > 0:
            axis = int(np.argmax(width))
            width[axis] = 0
            place, value = best_cut(chosen, points[axis], records, least, seen, tick)
            tick += 4
        if place == 0:
            region[chosen] = regions
            bounds[regions] = box[waiting]
            regions += 1
            continue
        start[waiting + 1], end[waiting + 1], box[waiting + 1] = start[waiting] + place, end[waiting], box[waiting]
        end[waiting] = start[waiting] + place
        box[waiting, 1, axis] = value
        box[waiting + 1, 0, axis] = value
        waiting += 2
    return region, bounds[:regions].copy()


partition = compiled(_partition)
