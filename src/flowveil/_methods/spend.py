"""Split a cut further, best gain for each suppressed trip first."""

from __future__ import annotations

import heapq
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from flowveil._processes import at_once

if TYPE_CHECKING:
    from flowveil._arrays import FloatArray, IntArray
    from flowveil._methods.cuts import Cut, Splits
    from flowveil._problem import Run

ROUNDING = 1e-9  # relative gain that is none
_CHUNK = 1_000  # splits that are looked at together


class _Useful(NamedTuple):
    """Splits that lower the loss, at most at the price of the trips that are left."""

    rate: FloatArray  # gain for each trip lost, negative: what sorts first is best
    cell: IntArray
    way: IntArray  # which split of the cell, from 0
    lost: IntArray  # trips

    def take(self, rows: IntArray) -> _Useful:
        """Return some of them."""
        return _Useful(self.rate[rows], self.cell[rows], self.way[rows], self.lost[rows])


def spend(splits: Splits, cut: Cut, left: int, lam: float, excess: FloatArray | None = None, worth: float = 0.0) -> Cut:
    """Split published cells of a cut as long as no more than `left` further trips are suppressed.

    What is split is split into the best choices below it at `lam`, if that gains `worth` or more for each trip. With
    `excess` (by cell) it ends as soon as the excess of the published cells adds up to no more than 0.
    """
    if not left:
        return cut
    choice = cut.choice.copy()
    matrices: dict[int, _Decided] = {}
    if len(splits.cube.edges) == 2:  # one matrix: what is decided on serves to the end
        matrices[0] = _Decided(splits, splits.cube.run_of(0), lam)
        waiting = _Waiting(matrices[0].useful(cut.published, left, worth))
    else:
        waiting = _Waiting(_all_useful(splits, cut, left, (lam, worth)))
    over = np.inf if excess is None else float(excess[cut.published].sum())
    while over > 0 and (step := waiting.pop(left)) is not None:
        cell, way, lost = step
        if choice[cell]:  # another way
            continue
        left -= lost
        (number,) = splits.cube.matrix_of(np.array([cell])).tolist()
        if number not in matrices:
            matrices[number] = _Decided(splits, splits.cube.run_of(number), lam)
        choice[cell] = way + 1
        cells = matrices[number].take_over(choice, cell)
        waiting.add(matrices[number].useful(cells, left, worth))
        if excess is not None:
            over += float(excess[cells].sum() - excess[cell])
    return splits.measure(choice, lam)


class _Waiting:
    """Splits that wait for their turn, best first. Most never get it, so only some of them are put in order."""

    def __init__(self, useful: _Useful) -> None:
        self.rest = useful.take(np.lexsort((useful.way, useful.cell, useful.rate)))
        self.done = 0  # of the rest
        self.heap: list[tuple[float, int, int, int]] = []

    def pop(self, left: int) -> tuple[int, int, int] | None:
        """Return cell, way and lost trips of the best split that fits."""
        while True:
            while self.done < len(self.rest.rate) and (not self.heap or self._next() < self.heap[0][:3]):
                chunk = np.arange(self.done, min(self.done + _CHUNK, len(self.rest.rate)))
                self.add(self.rest.take(chunk[self.rest.lost[chunk] <= left]))
                self.done += _CHUNK
            if not self.heap:
                return None
            _, cell, way, lost = heapq.heappop(self.heap)
            if lost <= left:
                return cell, way, lost

    def add(self, useful: _Useful) -> None:
        """Let more splits wait."""
        for entry in zip(*(column.tolist() for column in useful), strict=True):
            heapq.heappush(self.heap, entry)

    def _next(self) -> tuple[float, int, int]:
        rest, at = self.rest, self.done
        return float(rest.rate[at]), int(rest.cell[at]), int(rest.way[at])


class _Decided:
    """The best choices in a run of cells at a price."""

    def __init__(self, splits: Splits, run: Run, lam: float) -> None:
        from flowveil._methods import kernels  # noqa: PLC0415 numba is slow to import

        self.splits = splits
        self.lam = lam
        self.decision = splits.choose(run, lam)
        self.lost = kernels.lose(self.decision, splits.cells)

    def useful(self, cells: IntArray, left: int, worth: float) -> _Useful:
        """Return the useful splits of some cells; worth: what each trip that they withhold must gain at least."""
        from flowveil._methods import kernels  # noqa: PLC0415 numba is slow to import

        begin = self.splits.cube.links.first_split
        sizes = (begin[cells + 1] - begin[cells]).astype(np.int64)
        cell = np.repeat(cells, sizes)
        way = np.arange(len(cell)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
        cost, lost = kernels.price_splits(begin[cell] + way, self.decision, self.lost, self.splits.cells)
        loss = self.splits.loss[cell]
        gain = loss - (cost - self.lam * lost)
        good = np.flatnonzero((gain > ROUNDING * loss) & (gain >= worth * lost) & (lost <= left))
        rate = gain[good] / np.maximum(lost[good], ROUNDING)
        return _Useful(-rate, cell[good], way[good], lost[good])

    def take_over(self, choice: np.ndarray[tuple[int], np.dtype[np.int8]], cell: int) -> IntArray:
        """Make the best choices below a cell that was split, and return the cells that become published."""
        best, first, published, stack = self.decision.choice, self.decision.first, [], [cell]
        while stack:
            above = stack.pop()
            for below in self._parts_of(above, int(choice[above]) - 1):
                choice[below] = best[below - first]
                if choice[below] > 0:
                    stack.append(below)
                elif choice[below] == 0:
                    published.append(below)
        return np.array(published, np.int64)

    def _parts_of(self, cell: int, way: int) -> list[int]:
        links = self.splits.cube.links
        split = int(links.first_split[cell]) + way
        parts: list[int] = links.part[links.first_part[split] : links.first_part[split + 1]].tolist()
        return parts


def _all_useful(splits: Splits, cut: Cut, left: int, prices: tuple[float, float]) -> _Useful:
    """Return the useful splits of all published cells of a cut."""
    runs = splits.cube.runs
    bounds = np.searchsorted(cut.published, [*(run.cells.start for run in runs), len(splits.cube)]).tolist()

    def useful(part: tuple[Run, tuple[int, int]]) -> _Useful:
        run, bound = part
        return _Decided(splits, run, prices[0]).useful(cut.published[slice(*bound)], left, prices[1])

    parts = at_once(useful, zip(runs, pairwise(bounds), strict=True))
    return _Useful(*(np.concatenate(columns) for columns in zip(*parts, strict=True)))
