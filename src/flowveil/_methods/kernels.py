"""Compiled loops over the cells of a cube. Imported only when a method runs: numba is slow to import.

Each is compiled from a plain Python function of the same name with an underscore, which tests run as it stands. Most
work on a run of cells, `first` to `stop` - 1, which are parts of each other only.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from flowveil._compiled import compiled

if TYPE_CHECKING:
    import numpy.typing as npt

    from flowveil._arrays import BoolArray, FloatArray, IntArray

    ChoiceArray = npt.NDArray[np.int8]
    LinkArray = npt.NDArray[np.int32]
    TripArray = npt.NDArray[np.int32 | np.int64]


class Cells(NamedTuple):
    """All cells of a cube, and their splits (see `Links` of the problem)."""

    trips: IntArray
    loss: FloatArray  # infinite where a cell may not be published
    first_split: LinkArray
    allowed: BoolArray  # by split
    withheld: TripArray  # by split: trips that it withholds
    first_part: LinkArray  # by split
    part: LinkArray


class Decision(NamedTuple):
    """The best choices in a run of cells at a price of withheld trips."""

    price: float
    first: int  # cell of the run
    choice: ChoiceArray  # by cell of the run: publish (0), one of its splits (from 1), withhold (-1)
    cost: FloatArray  # by cell of the run


def _choose(price: float, first: int, stop: int, cells: Cells) -> Decision:
    """Decide for every cell of a run, from the smallest up, whether to publish it or how to split it.

    A withheld trip costs `price`. On equal cost a split wins, and the first one. A cell that may be neither published
    nor split is withheld.
    """
    first_part, part, withheld, loss = cells.first_part, cells.part, cells.withheld, cells.loss
    choice = np.empty(stop - first, np.int8)
    best = np.empty(stop - first)
    end_split = cells.first_split[stop]  # splits and parts are gone through from the last to the first, as cells are
    end_part = first_part[end_split]
    for cell in range(stop - 1, first - 1, -1):
        least, way = np.inf, 0
        first_split = cells.first_split[cell]
        for split in range(end_split - 1, first_split - 1, -1):
            cost = 0.0
            for entry in range(end_part - 1, first_part[split] - 1, -1):
                cost += best[part[entry] - first]
            end_part = first_part[split]
            cost += price * withheld[split]
            if cost <= least and cells.allowed[split]:
                least, way = cost, split - first_split + 1
        end_split = first_split
        if loss[cell] < least:
            least, way = loss[cell], 0
        elif least == np.inf:
            least, way = price * cells.trips[cell], -1
        best[cell - first], choice[cell - first] = least, way
    return Decision(price, first, choice, best)


choose = compiled(_choose)


def _lose(decision: Decision, cells: Cells) -> IntArray:
    """Return by cell of a run how many of its trips are withheld."""
    first, choice = decision.first, decision.choice
    lost = np.zeros(len(choice), np.int64)
    for here in range(len(choice) - 1, -1, -1):
        if choice[here] < 0:
            lost[here] = cells.trips[here + first]
        elif choice[here] > 0:
            split = cells.first_split[here + first] + choice[here] - 1
            lost[here] = cells.withheld[split]
            for entry in range(cells.first_part[split], cells.first_part[split + 1]):
                lost[here] += lost[cells.part[entry] - first]
    return lost


lose = compiled(_lose)


def _price_split(split: int, decision: Decision, lost_by_cell: IntArray, cells: Cells) -> tuple[float, int]:
    """Return what a split costs with the best choices in its parts, and the trips that it withholds."""
    cost, lost = 0.0, 0
    for entry in range(cells.first_part[split + 1] - 1, cells.first_part[split] - 1, -1):
        part = cells.part[entry] - decision.first
        cost += decision.cost[part]
        lost += lost_by_cell[part]
    cost += decision.price * cells.withheld[split]
    lost += cells.withheld[split]
    return cost if cells.allowed[split] else np.inf, lost


price_split = compiled(_price_split)


def _price_splits(
    splits: IntArray, decision: Decision, lost_by_cell: IntArray, cells: Cells
) -> tuple[FloatArray, IntArray]:
    """Return what some splits cost with the best choices in their parts, and the trips that they withhold."""
    cost = np.zeros(len(splits))
    lost = np.zeros(len(splits), np.int64)
    for row in range(len(splits)):
        cost[row], lost[row] = price_split(splits[row], decision, lost_by_cell, cells)
    return cost, lost


price_splits = compiled(_price_splits)


def _publish(edges: IntArray, choice: ChoiceArray, cells: Cells) -> IntArray:
    """Follow the choices (by cell of the run) down from the first cells of matrices; return the cells published.

    edges: by matrix of the run, its first cell; and the end of the run.
    """
    first, stop = edges[0], edges[-1]
    reached = np.zeros(stop - first, np.bool_)
    for matrix in range(len(edges) - 1):
        if edges[matrix] < edges[matrix + 1]:
            reached[edges[matrix] - first] = True
    published = np.empty(stop - first, np.int64)
    count = 0
    for cell in range(first, stop):
        way = choice[cell - first]
        if not reached[cell - first] or way < 0:
            continue
        if way == 0:
            published[count] = cell
            count += 1
            continue
        split = cells.first_split[cell] + way - 1
        for entry in range(cells.first_part[split], cells.first_part[split + 1]):
            reached[cells.part[entry] - first] = True
    return published[:count].copy()


publish = compiled(_publish)
