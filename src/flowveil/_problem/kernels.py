"""Compiled loops that build a cube. Imported only when a cube is built: numba is slow to import.

Each is compiled from a plain Python function of the same name with an underscore, which tests run as it stands.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numba import njit

if TYPE_CHECKING:
    from flowveil._arrays import BoolArray, FloatArray, IntArray
    from flowveil._problem.cube import LinkArray
    from flowveil._problem.requirement import Least


class Tree(NamedTuple):
    """The nodes of an axis."""

    tiles: IntArray
    low: IntArray  # rank of the first leaf; the leaves of a node have adjacent ranks
    first_child: IntArray
    end_child: IntArray


class Records(NamedTuple):
    """Records in groups: those of group g are at the positions `start[g]` to `start[g + 1]` - 1."""

    order: IntArray  # by position: the record
    start: IntArray
    rank: IntArray  # by position: of the leaf on the last axis; ascends inside a group
    trips: IntArray  # running total by position
    weight: IntArray  # running total by position; not read with persons, or without a test of weight


class Visits(NamedTuple):
    """Who travels on each record; all empty without a unit."""

    start: IntArray  # by record: its first visit; and the number of visits
    person: IntArray  # by visit
    weight: IntArray  # by person; not read without a test of weight
    seen: IntArray  # by person: the last crowd that they were met in; and the number of crowds tested


class Spans(NamedTuple):
    """Cells and their records: `order[begin]` to `order[end - 1]`."""

    begin: IntArray
    end: IntArray
    order: IntArray
    trips: IntArray  # by record


def _child_holding(rank: int, first: int, end: int, low: IntArray) -> int:
    """Return which of the sibling nodes `first` to `end` - 1 holds the leaf of a rank."""
    while end - first > 1:
        middle = (first + end) // 2
        if low[middle] <= rank:
            first = middle
        else:
            end = middle
    return first


child_holding = njit(cache=True, nogil=True)(_child_holding)


def _end_of_run(rank: IntArray, start: int, stop: int, bound: int) -> int:
    """Return the first position after `start` whose rank reaches `bound`; steps double, as most runs are short."""
    step = 1
    while start + step < stop and rank[start + step] < bound:
        start += step
        step *= 2
    stop = min(stop, start + step)
    while stop - start > 1:
        middle = (start + stop) // 2
        if rank[middle] < bound:
            start = middle
        else:
            stop = middle
    return stop


end_of_run = njit(cache=True, nogil=True)(_end_of_run)


def _split_groups(
    order: IntArray, start: IntArray, node: IntArray, alive: BoolArray, rank: IntArray, tree: Tree
) -> tuple[IntArray, IntArray, IntArray, IntArray]:
    """Part each living group of records by the child of its node; the order inside stays.

    `order` and `start` are as in `Records`, `rank` is by record. Returns the new order, starts, and for each new group
    its node and the group it came from.
    """
    first_child, end_child = tree.first_child, tree.end_child
    fan_out = 1
    for group in range(len(node)):
        fan_out = max(fan_out, end_child[node[group]] - first_child[node[group]])
    place = np.zeros(fan_out + 1, np.int64)
    new_order = np.empty(len(order), np.int64)
    new_start = np.empty(len(order) + 1, np.int64)
    new_node = np.empty(len(order), np.int64)
    source = np.empty(len(order), np.int64)
    child_of = np.empty(len(order), np.int64)
    count = 0
    filled = 0
    for group in range(len(node)):
        first, end = first_child[node[group]], end_child[node[group]]
        if not alive[group] or first == end:
            continue
        place[: end - first] = 0
        for position in range(start[group], start[group + 1]):
            child = child_holding(rank[order[position]], first, end, tree.low) - first
            child_of[position] = child
            place[child] += 1
        for child in range(end - first):
            size = place[child]
            place[child] = filled
            if size:
                new_start[count] = filled
                new_node[count] = first + child
                source[count] = group
                count += 1
                filled += size
        for position in range(start[group], start[group + 1]):
            child = child_of[position]
            new_order[place[child]] = order[position]
            place[child] += 1
    new_start[count] = filled
    return new_order[:filled].copy(), new_start[: count + 1].copy(), new_node[:count].copy(), source[:count].copy()


split_groups = njit(cache=True, nogil=True)(_split_groups)


def _crowd_passes(order: IntArray, begin: int, end: int, visits: Visits, least: Least) -> bool:
    """Return whether the records at some positions hold enough distinct persons, and these enough weight.

    Counting stops once they do.
    """
    seen = visits.seen
    tick = seen[-1]
    persons = 0
    weight = 0
    for position in range(begin, end):
        record = order[position]
        for visit in range(visits.start[record], visits.start[record + 1]):
            who = visits.person[visit]
            if seen[who] != tick:
                seen[who] = tick
                persons += 1
                if least.weight > 0:
                    weight += visits.weight[who]
        if persons >= least.crowd and weight >= least.weight:
            return True
    return False


crowd_passes = njit(cache=True, nogil=True)(_crowd_passes)


def _grown(values: IntArray) -> IntArray:
    longer = np.empty(2 * len(values), np.int64)
    longer[: len(values)] = values
    return longer


grown = njit(cache=True, nogil=True)(_grown)


def _descend(  # noqa: C901  one loop: what is found is what is searched next
    records: Records, fine: BoolArray, whole: BoolArray, visits: Visits, least: Least, tree: Tree
) -> tuple[IntArray, IntArray, IntArray, IntArray]:
    """Find the publishable nodes of the last axis for each group of records that is `fine` on the other axes.

    Of groups that are `whole`, only the root is looked at. Returns group, node, begin and end (positions) of each,
    sorted by group and node.
    """
    start, rank, trips, weight = records.start, records.rank, records.trips, records.weight
    tiles, low = tree.tiles, tree.low
    group = np.empty(1024, np.int64)
    node = np.empty(1024, np.int64)
    begin = np.empty(1024, np.int64)
    end = np.empty(1024, np.int64)
    count = 0
    for which in range(len(start) - 1):
        if not fine[which]:
            continue
        head = count - 1  # the cells found are the queue of those to expand; before the first, the group as a whole
        while head < count:
            if whole[which] and count > 0 and group[count - 1] == which:
                break
            if head < 0 or group[head] != which:
                first, last, position, stop = 0, 1, start[which], start[which + 1]
            else:
                first, last = tree.first_child[node[head]], tree.end_child[node[head]]
                position, stop = begin[head], end[head]
            head += 1
            while position < stop and first < last:
                child = child_holding(rank[position], first, last, low)
                run = end_of_run(rank, position, stop, low[child] + tiles[child])
                good = tiles[child] >= least.tiles and trips[run] - trips[position] >= least.crowd
                if good and len(visits.seen) > 0:
                    visits.seen[-1] += 1
                    good = crowd_passes(records.order, position, run, visits, least)
                elif good and least.weight > 0:
                    good = weight[run] - weight[position] >= least.weight
                if good:
                    if count == len(node):
                        group, node, begin, end = grown(group), grown(node), grown(begin), grown(end)
                    group[count], node[count], begin[count], end[count] = which, child, position, run
                    count += 1
                position = run
    return group[:count].copy(), node[:count].copy(), begin[:count].copy(), end[:count].copy()


descend = njit(cache=True, nogil=True)(_descend)


class Runs(NamedTuple):
    """Cells by their area on one axis: those of run r are the cells `start[r]` to `start[r + 1]` - 1.

    Cells of a run differ only on later axes. Before a run come those of all areas that hold its own, the other axes
    being the same; of several such runs the last is meant.
    """

    start: IntArray
    area: IntArray  # by run
    rest: IntArray  # by cell: its areas on later axes as one number; ascends in a run


class Above(NamedTuple):
    """By area, the splits that it is a part of: entries `first[a]` to `first[a + 1]` - 1, -1 for none."""

    first: IntArray
    area: IntArray  # that is split
    way: IntArray  # which of its ways


class Places(NamedTuple):
    """By cell: where its splits along one axis begin, and its entries above."""

    split: LinkArray
    above: LinkArray


def _link(
    runs: Runs, above_area: Above, places: Places, trips: IntArray, above: LinkArray, withheld: FloatArray
) -> None:
    """Enter the splits along one axis that each cell is a part of into `above`, and take its trips from `withheld`.

    Whatever holds a cell is a cell, and comes before it.
    """
    areas = len(above_area.first) - 1
    run_of = np.zeros(areas, np.int64)
    for run in range(len(runs.area)):
        area = runs.area[run]
        run_of[area] = run
        begin, end = runs.start[run], runs.start[run + 1]
        for entry in range(above_area.first[area], above_area.first[area + 1]):
            slot = entry - above_area.first[area]
            if above_area.area[entry] < 0:
                for cell in range(begin, end):
                    above[places.above[cell] + slot] = -1
                continue
            whole = runs.start[run_of[above_area.area[entry]]]
            for cell in range(begin, end):
                while runs.rest[whole] < runs.rest[cell]:
                    whole += 1
                split = places.split[whole] + above_area.way[entry]
                above[places.above[cell] + slot] = split
                withheld[split] -= trips[cell]


link = njit(cache=True, nogil=True)(_link)


def _sum_of_meters(spans: Spans, depth: IntArray, rank: IntArray, meters: FloatArray) -> FloatArray:
    """Return for each cell the trips' distances from their leaf to its ancestor at a depth, added up.

    `rank` is by record; `meters` has a row a depth and a column a rank.
    """
    total = np.zeros(len(spans.begin))
    for cell in range(len(total)):
        at = depth[cell]
        for position in range(spans.begin[cell], spans.end[cell]):
            record = spans.order[position]
            total[cell] += spans.trips[record] * meters[at, rank[record]]
    return total


sum_of_meters = njit(cache=True, nogil=True)(_sum_of_meters)


def _spread_error(spans: Spans, mean: FloatArray) -> FloatArray:
    """Return for each cell the sum over its records of the distance of trips from the cell's mean."""
    total = np.zeros(len(spans.begin))
    for cell in range(len(total)):
        for position in range(spans.begin[cell], spans.end[cell]):
            total[cell] += abs(mean[cell] - spans.trips[spans.order[position]])
    return total


spread_error = njit(cache=True, nogil=True)(_spread_error)
