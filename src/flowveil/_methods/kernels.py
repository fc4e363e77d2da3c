"""Compiled loops over the cells of a cube. Imported only when a method runs: numba is slow to import.

Each is compiled from a plain Python function of the same name with an underscore, which tests run as it stands. Most
work on a run of cells, `first` to `stop` - 1, which are parts of each other only.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numba import njit

if TYPE_CHECKING:
    import numpy.typing as npt

    from flowveil._arrays import BoolArray, FloatArray, IntArray
    from flowveil._places import Ways

    ChoiceArray = npt.NDArray[np.int8]
    AxisArray = npt.NDArray[np.int8]
    LinkArray = npt.NDArray[np.int32]


class Cells(NamedTuple):
    """All cells of a cube, and their splits (see `Links` of the problem)."""

    trips: IntArray
    loss: FloatArray  # infinite where a cell may not be published
    first_split: LinkArray
    allowed: BoolArray  # by split
    withheld: FloatArray  # by split: trips that it withholds
    first_above: LinkArray
    above: LinkArray  # the splits that a cell is a part of, -1 for none


class Parts(NamedTuple):
    """The parts of the splits of a run: those of its split s are `part[start[s]]` to `part[start[s + 1] - 1]`."""

    start: IntArray
    part: LinkArray  # cells; ascending


def _choose(price: float, first: int, stop: int, cells: Cells) -> tuple[ChoiceArray, FloatArray, FloatArray]:
    """Decide for every cell of a run, from the smallest up, whether to publish it (0) or how to split it (from 1).

    A withheld trip costs `price`. On equal cost a split wins, and the first one. A cell that may be neither published
    nor split is withheld (-1). Returns the choices, and by split of the run its cost and the trips withheld.
    """
    begin = cells.first_split[first]
    choice = np.zeros(stop - first, np.int8)
    cost = np.zeros(cells.first_split[stop] - begin)
    lost = np.zeros(cells.first_split[stop] - begin)
    for cell in range(stop - 1, first - 1, -1):
        best = np.inf
        best_lost = 0.0
        best_choice = 0
        for split in range(cells.first_split[cell], cells.first_split[cell + 1]):
            here = split - begin
            if cells.allowed[split]:
                cost[here] += price * cells.withheld[split]
                lost[here] += cells.withheld[split]
                if cost[here] < best:
                    best, best_lost, best_choice = cost[here], lost[here], split - cells.first_split[cell] + 1
            else:
                cost[here] = np.inf
        if cells.loss[cell] < best:
            best, best_lost, best_choice = cells.loss[cell], 0.0, 0
        elif best == np.inf:
            best, best_lost, best_choice = price * cells.trips[cell], float(cells.trips[cell]), -1
        choice[cell - first] = best_choice
        for entry in range(cells.first_above[cell], cells.first_above[cell + 1]):
            above = cells.above[entry]
            if above >= 0:
                cost[above - begin] += best
                lost[above - begin] += best_lost
    return choice, cost, lost


choose = njit(cache=True, nogil=True)(_choose)


def _publish(first: int, stop: int, choice: ChoiceArray, cells: Cells) -> IntArray:
    """Follow the choices (by cell of the run) down from cells that are no part; return the cells that are published."""
    begin = cells.first_split[first]
    chosen = np.zeros(cells.first_split[stop] - begin, np.bool_)
    published = np.empty(stop - first, np.int64)
    count = 0
    for cell in range(first, stop):
        top = True
        reached = False
        for entry in range(cells.first_above[cell], cells.first_above[cell + 1]):
            above = cells.above[entry]
            if above >= 0:
                top = False
                reached |= chosen[above - begin]
        if not (top or reached):
            continue
        if choice[cell - first] > 0:
            chosen[cells.first_split[cell] - begin + choice[cell - first] - 1] = True
        elif choice[cell - first] == 0:
            published[count] = cell
            count += 1
    return published[:count].copy()


publish = njit(cache=True, nogil=True)(_publish)


def _find_parts(first: int, stop: int, first_split: LinkArray, first_above: LinkArray, above: LinkArray) -> Parts:
    """Return the parts of each split of a run."""
    begin = first_split[first]
    splits = first_split[stop] - begin
    start = np.zeros(splits + 1, np.int64)
    for entry in range(first_above[first], first_above[stop]):
        if above[entry] >= 0:
            start[above[entry] - begin + 1] += 1
    for split in range(splits):
        start[split + 1] += start[split]
    part = np.empty(start[splits], np.int32)
    place = start.copy()
    for cell in range(first, stop):
        for entry in range(first_above[cell], first_above[cell + 1]):
            if above[entry] >= 0:
                split = above[entry] - begin
                part[place[split]] = cell
                place[split] += 1
    return Parts(start, part)


find_parts = njit(cache=True, nogil=True)(_find_parts)


def _child_holding(rank: int, node: int, ways: Ways) -> int:
    """Return which child of a node holds the tile of a rank."""
    first, end = int(ways.first_child[node]), int(ways.end_child[node])
    while end - first > 1:
        middle = (first + end) // 2
        if ways.low[middle] <= rank:
            first = middle
        else:
            end = middle
    return first


child_holding = njit(cache=True, nogil=True)(_child_holding)


class Records(NamedTuple):
    """Records, each with the cell that choices begin with, -1 for none, and by axis its ranks, one row a tree."""

    top: IntArray
    rank: tuple[IntArray, ...]


class Chosen(NamedTuple):
    """The choices in a run of cells."""

    first: int  # cell of the run
    begin: int  # its first split
    choice: ChoiceArray  # by cell of the run
    parts: Parts


def _cell_of_records(
    records: Records, chosen: Chosen, first_split: LinkArray, axis_of: AxisArray, node: IntArray, ways: tuple[Ways, ...]
) -> IntArray:
    """Return for every record the published cell that holds it, -1 where none does.

    first_split: by cell. axis_of: by split. node: by axis (the rows) and cell. ways: by axis.
    """
    top, rank = records
    first, begin, choice, parts = chosen
    cell_of = np.full(len(top), -1, np.int64)
    for record in range(len(top)):
        cell = top[record]
        while cell >= 0 and choice[cell - first] > 0:
            split = first_split[cell] + choice[cell - first] - 1
            axis = axis_of[split]
            way = split
            while way > first_split[cell] and axis_of[way - 1] == axis:
                way -= 1
            of_axis = ways[axis]
            splitter = of_axis.way[of_axis.first_way[node[axis, cell]] + split - way]
            child = child_holding(rank[axis][of_axis.tree[splitter], record], splitter, of_axis)
            area = of_axis.area[child]
            low, high = parts.start[split - begin], parts.start[split - begin + 1]
            while high - low > 1:
                middle = (low + high) // 2
                if node[axis, parts.part[middle]] <= area:
                    low = middle
                else:
                    high = middle
            cell = parts.part[low] if low < high and node[axis, parts.part[low]] == area else -1
        if cell >= 0 and choice[cell - first] == 0:
            cell_of[record] = cell
    return cell_of


cell_of_records = njit(cache=True, nogil=True)(_cell_of_records)
