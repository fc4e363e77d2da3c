"""Split a cut further, best gain for each suppressed trip first."""

from __future__ import annotations

import heapq
from typing import TYPE_CHECKING

import numpy as np

from flowveil.problem import children

if TYPE_CHECKING:
    import numpy.typing as npt

    from flowveil._arrays import FloatArray, IntArray
    from flowveil.methods._cuts import Cut, Splits

ROUNDING = 1e-9  # relative gain that is none
_MOST_USELESS = 1_000  # splits in a row that do not fit


def spend(splits: Splits, cut: Cut, left: int, lam: float, excess: FloatArray | None = None) -> Cut:
    """Split published cells of a cut as long as no more than `left` further trips are suppressed.

    What is split is split into the best choices below it at `lam`. With `excess` (by cell) it ends as soon as the
    excess of the published cells adds up to no more than 0.
    """
    further = _Further(splits, cut, lam)
    further.add(cut.published, left)
    over = np.inf if excess is None else float(excess[cut.published].sum())
    useless = 0
    while further.heap and over > 0:
        _, cell, axis = heapq.heappop(further.heap)
        price = int(further.lost[axis, cell])
        if price > left or further.choice[cell]:
            useless += 1
            if useless > _MOST_USELESS:  # most of the rest costs too much as well
                further.prune(left)
                useless = 0
            continue
        left, useless = left - price, 0
        found = further.split(cell, axis)
        further.add(found, left)
        if excess is not None:
            over += float(excess[found].sum() - excess[cell])
    return splits.measure(further.choice, lam)


class _Further:
    """The splits that would lower the loss of a cut, by gain for each trip."""

    def __init__(self, splits: Splits, cut: Cut, lam: float) -> None:
        self.best, cost, self.lost = splits.decide(lam)
        loss = np.where(np.isfinite(splits.loss), splits.loss, 0.0)  # those at infinite loss are never published
        self.gain = loss - (cost - lam * self.lost)
        self.least = ROUNDING * loss
        self.choice: npt.NDArray[np.int8] = cut.choice.copy()
        self.cube = splits.cube
        self.links: dict[tuple[int, int], tuple[IntArray, IntArray]] = {}  # by first cell of a matrix, and axis
        self.heap: list[tuple[float, int, int]] = []

    def add(self, cells: IntArray, left: int) -> None:
        """Consider the splits of published cells that fit."""
        gain, lost = self.gain[:, cells], self.lost[:, cells]
        good = (gain > self.least[cells]) & (lost <= left)
        for axis, position in zip(*(index.tolist() for index in np.nonzero(good)), strict=True):
            rate = gain[axis, position] / max(lost[axis, position], ROUNDING)
            heapq.heappush(self.heap, (-float(rate), int(cells[position]), axis))

    def prune(self, left: int) -> None:
        """Forget the splits that no longer fit."""
        self.heap = [entry for entry in self.heap if self.lost[entry[2], entry[1]] <= left]
        heapq.heapify(self.heap)

    def split(self, cell: int, axis: int) -> IntArray:
        """Split a cell, take over the best choices below, and return the cells that become published."""
        self.choice[cell] = axis + 1
        found = []
        stack = [cell]
        while stack:
            above = stack.pop()
            for below in self.children(above, int(self.choice[above]) - 1):
                self.choice[below] = self.best[below]
                if self.best[below] > 0:
                    stack.append(below)
                elif self.best[below] == 0:
                    found.append(below)
        return np.array(found, np.int64)

    def children(self, cell: int, axis: int) -> list[int]:
        """Return the children of a cell along an axis, all of which are in its matrix."""
        run = self.cube.matrix_of(cell)
        if (run.start, axis) not in self.links:
            parent = self.cube.parent[axis, run]
            self.links[run.start, axis] = children(np.where(parent < run.start, -1, parent - run.start))
        start, child = self.links[run.start, axis]
        here = cell - run.start
        return [int(below) + run.start for below in child[start[here] : start[here + 1]]]
