"""Compiled loops over the cells of a cube. Imported only when a method runs: numba is slow to import.

Each is compiled from a plain Python function of the same name with an underscore, which tests run as it stands. Most
work on a run of cells, `first` to `stop` - 1, whose parents are all in it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numba import njit

if TYPE_CHECKING:
    import numpy.typing as npt

    from flowveil._arrays import BoolArray, FloatArray, IntArray

    ChoiceArray = npt.NDArray[np.int8]
    CellArray = npt.NDArray[np.int32]


class Cells(NamedTuple):
    """All cells of a cube; arrays of two dimensions have one row an axis."""

    trips: IntArray
    loss: FloatArray  # infinite where a cell may not be published
    parent: CellArray  # -1 for none
    allowed: BoolArray  # whether the cell may be split along the axis
    withheld: FloatArray  # trips that such a split withholds


class Children(NamedTuple):
    """The children of the cells of a run, one row an axis: `child[start[cell]]` to `child[start[cell + 1] - 1]`."""

    start: IntArray
    child: IntArray


class Bounds(NamedTuple):
    """The ranks of the leaves of the cells of a run, one row an axis: from `low` to `high` - 1."""

    low: IntArray
    high: IntArray


def _choose(price: float, first: int, stop: int, cells: Cells) -> tuple[ChoiceArray, FloatArray, FloatArray]:
    """Decide for every cell of a run, from the smallest up, whether to publish it (0) or to split an axis (from 1).

    A withheld trip costs `price`. On equal cost a split wins, and the first axis. A cell that may be neither published
    nor split is withheld (-1). Returns the choices, and the cost and the trips withheld of splits along each axis.
    """
    trips, loss, parent, allowed, withheld = cells
    axes = len(parent)
    choice = np.zeros(stop - first, np.int8)
    cost = np.zeros((axes, stop - first))
    lost = np.zeros((axes, stop - first))
    for cell in range(stop - 1, first - 1, -1):
        here = cell - first
        best = np.inf
        best_lost = 0.0
        best_choice = 0
        for axis in range(axes):
            if allowed[axis, cell]:
                cost[axis, here] += price * withheld[axis, cell]
                lost[axis, here] += withheld[axis, cell]
                if cost[axis, here] < best:
                    best, best_lost, best_choice = cost[axis, here], lost[axis, here], axis + 1
            else:
                cost[axis, here] = np.inf
        if loss[cell] < best:
            best, best_lost, best_choice = loss[cell], 0.0, 0
        elif best == np.inf:
            best, best_lost, best_choice = price * trips[cell], float(trips[cell]), -1
        choice[here] = best_choice
        for axis in range(axes):
            above = parent[axis, cell] - first
            if above >= 0:
                cost[axis, above] += best
                lost[axis, above] += best_lost
    return choice, cost, lost


choose = njit(cache=True, nogil=True)(_choose)


def _publish(first: int, stop: int, choice: ChoiceArray, cells: Cells) -> IntArray:
    """Follow the choices (by cell of the run) down from cells without parents; return the cells that are published."""
    parent = cells.parent
    axes = len(parent)
    reached = np.zeros(stop - first, np.bool_)
    published = np.empty(stop - first, np.int64)
    count = 0
    for cell in range(first, stop):
        here = cell - first
        top = True
        for axis in range(axes):
            above = parent[axis, cell] - first
            if above >= 0:
                top = False
                if reached[above] and choice[above] == axis + 1:
                    reached[here] = True
        reached[here] |= top
        if reached[here] and choice[here] == 0:
            published[count] = cell
            count += 1
    return published[:count].copy()


publish = njit(cache=True, nogil=True)(_publish)


def _children(first: int, stop: int, parent: CellArray) -> Children:
    """Return the children of each cell of a run, ascending."""
    axes, cells = len(parent), stop - first
    start = np.zeros((axes, cells + 1), np.int64)
    child = np.empty((axes, cells), np.int64)
    for axis in range(axes):
        for cell in range(first, stop):
            if parent[axis, cell] >= first:
                start[axis, parent[axis, cell] - first + 1] += 1
        for here in range(cells):
            start[axis, here + 1] += start[axis, here]
        place = start[axis].copy()
        for cell in range(first, stop):
            above = parent[axis, cell] - first
            if above >= 0:
                child[axis, place[above]] = cell
                place[above] += 1
    return Children(start, child)


children = njit(cache=True, nogil=True)(_children)


def _cell_of_records(
    first: int, top: IntArray, choice: ChoiceArray, children: Children, bounds: Bounds, rank: IntArray
) -> IntArray:
    """Return for every record the published cell that holds it, -1 where none does.

    `top` is by record the cell that choices begin with, -1 for none; `rank` is one row an axis. All else is by cell of
    the run.
    """
    start, child = children
    low, high = bounds
    cell_of = np.full(len(top), -1, np.int64)
    for record in range(len(top)):
        cell = top[record] - first
        while cell >= 0 and choice[cell] > 0:
            axis = choice[cell] - 1
            begin, end = start[axis, cell], start[axis, cell + 1]
            here = rank[axis, record]
            while end - begin > 1:
                middle = (begin + end) // 2
                if low[axis, child[axis, middle] - first] <= here:
                    begin = middle
                else:
                    end = middle
            cell = child[axis, begin] - first if begin < end else -1
            if cell >= 0 and not low[axis, cell] <= here < high[axis, cell]:
                cell = -1
        if cell >= 0 and choice[cell] == 0:
            cell_of[record] = first + cell
    return cell_of


cell_of_records = njit(cache=True, nogil=True)(_cell_of_records)
