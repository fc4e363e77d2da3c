"""Compiled loops over the cells of a cube. Imported only when a method runs: numba is slow to import.

Each is compiled from a plain Python function of the same name with an underscore, which tests run as it stands.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numba import njit

if TYPE_CHECKING:
    import numpy.typing as npt

    from flowveil._arrays import BoolArray, FloatArray, IntArray

    ChoiceArray = npt.NDArray[np.int8]


def _choose(
    price: float,
    trips: IntArray,
    loss: FloatArray,
    parent: IntArray,
    allowed: BoolArray,
    withheld: FloatArray,
) -> tuple[ChoiceArray, FloatArray, FloatArray]:
    """Decide for every cell, from the smallest up, whether to publish it (0) or to split it along an axis (from 1).

    A withheld trip costs `price`. On equal cost a split wins, and the first axis. A cell that may be neither published
    nor split is withheld (-1). Returns the choices, and the cost and the trips withheld of splits along each axis.
    """
    axes, cells = parent.shape
    choice = np.zeros(cells, np.int8)
    cost = np.zeros((axes, cells))
    lost = np.zeros((axes, cells))
    for cell in range(cells - 1, -1, -1):
        best = np.inf
        best_lost = 0.0
        best_choice = 0
        for axis in range(axes):
            if allowed[axis, cell]:
                cost[axis, cell] += price * withheld[axis, cell]
                lost[axis, cell] += withheld[axis, cell]
                if cost[axis, cell] < best:
                    best, best_lost, best_choice = cost[axis, cell], lost[axis, cell], axis + 1
            else:
                cost[axis, cell] = np.inf
        if loss[cell] < best:
            best, best_lost, best_choice = loss[cell], 0.0, 0
        elif best == np.inf:
            best, best_lost, best_choice = price * trips[cell], float(trips[cell]), -1
        choice[cell] = best_choice
        for axis in range(axes):
            above = parent[axis, cell]
            if above >= 0:
                cost[axis, above] += best
                lost[axis, above] += best_lost
    return choice, cost, lost


choose = njit(cache=True, nogil=True)(_choose)


def _published(choice: ChoiceArray, parent: IntArray) -> BoolArray:
    """Return which cells the choices publish, from the whole down."""
    axes, cells = parent.shape
    reached = np.zeros(cells, np.bool_)
    kept = np.zeros(cells, np.bool_)
    for cell in range(cells):
        reached[cell] = cell == 0
        for axis in range(axes):
            above = parent[axis, cell]
            if above >= 0 and reached[above] and choice[above] == axis + 1:
                reached[cell] = True
        kept[cell] = reached[cell] and choice[cell] == 0
    return kept


published = njit(cache=True, nogil=True)(_published)


def _cell_of_records(
    choice: ChoiceArray, start: IntArray, child: IntArray, low: IntArray, high: IntArray, rank: IntArray
) -> IntArray:
    """Return for every record the published cell that holds it, -1 where none does.

    The children of a cell along an axis are `child[axis, start[axis, cell]]` and so on; `low` and `high` bound the
    ranks of a cell's leaves on each axis, `rank` is that of the record.
    """
    records = rank.shape[1]
    cell_of = np.full(records, -1, np.int64)
    if len(choice) == 0:
        return cell_of
    for record in range(records):
        cell = 0
        while cell >= 0 and choice[cell] > 0:
            axis = choice[cell] - 1
            first, end = start[axis, cell], start[axis, cell + 1]
            here = rank[axis, record]
            while end - first > 1:
                middle = (first + end) // 2
                if low[axis, child[axis, middle]] <= here:
                    first = middle
                else:
                    end = middle
            cell = child[axis, first] if first < end else -1
            if cell >= 0 and not low[axis, cell] <= here < high[axis, cell]:
                cell = -1
        if cell >= 0 and choice[cell] == 0:
            cell_of[record] = cell
    return cell_of


cell_of_records = njit(cache=True, nogil=True)(_cell_of_records)
