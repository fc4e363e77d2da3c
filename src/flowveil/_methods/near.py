"""Cuts near the best one at a price: all that cost less than a gap more."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from flowveil._processes import at_once

if TYPE_CHECKING:
    from collections.abc import Sequence

    from flowveil._arrays import FloatArray, IntArray
    from flowveil._methods.cuts import ChoiceArray, Cut, Splits
    from flowveil._methods.exact_kernels import Front, Open
    from flowveil._problem import Run

WORK = 20_000_000  # points that a search may look at
POINTS = 2_000_000  # that it may keep, 32 bytes each
ROUNDING = 1e-12  # relative difference of costs that is none


@dataclass(frozen=True, eq=False)
class Near:
    """The cuts within a gap of the best one at a price: of those that withhold the same trips, one of least loss."""

    splits: Splits
    lam: float
    choice: ChoiceArray  # of the best one
    points: Front
    start: int  # of the points that cuts have
    withheld: IntArray  # by cut: trips, ascending
    loss: FloatArray  # by cut, descending

    def cut(self, number: int) -> Cut:
        """Return one of the cuts."""
        from flowveil._methods import exact_kernels  # noqa: PLC0415 numba is slow to import

        choice = self.choice.copy()
        exact_kernels.follow(self.points, self.start + number, choice)
        return self.splits.measure(choice, self.lam)


def find_near(splits: Splits, lam: float, value: float, gap: float, most: int) -> Near | None:
    """Return the cuts within a gap of `value`, the cost of the best one, that withhold at most so many trips.

    None if there are too many to be looked at.
    """
    from flowveil._methods import exact_kernels  # noqa: PLC0415 numba is slow to import

    rounding = ROUNDING * value
    parts = at_once(lambda run: _open_run(splits, run, lam, (gap, rounding)), splits.cube.runs)
    opened = _join([part.opened for part in parts])
    terms = exact_kernels.Terms(lam, rounding, WORK, POINTS)
    points, start, stop, finished = exact_kernels.find_front(opened, gap, most, terms)
    if not finished:
        return None
    withheld = points.withheld[start:stop] + splits.cube.total - sum(part.kept for part in parts)
    loss = points.cost[start:stop] + value - lam * withheld
    inside = withheld <= most
    choice = np.concatenate([part.choice for part in parts])
    return Near(splits, lam, choice, points, start, withheld[inside], loss[inside])


class _OpenRun(NamedTuple):
    """The open cells of a run, and the best choices in all of its cells."""

    opened: Open
    choice: ChoiceArray
    kept: int  # trips that these publish


def _open_run(splits: Splits, run: Run, lam: float, limits: tuple[float, float]) -> _OpenRun:
    from flowveil._methods import exact_kernels  # noqa: PLC0415 numba is slow to import

    cells, first, begin = splits.cells, run.cells.start, int(splits.cells.first_split[run.cells.start])
    choice, cost, lost = decision = splits.choose(run, lam)
    is_open, through, beyond = exact_kernels.reach(limits, (first, run.cells.stop), decision, cells)

    def best(cell: IntArray) -> tuple[FloatArray, IntArray]:
        """Return cost and withheld trips of the best choice in cells that are not withheld."""
        chosen = choice[cell - first]
        split = np.where(chosen > 0, cells.first_split[cell] + chosen - 1 - begin, 0)
        least = np.where(chosen > 0, cost[split], cells.loss[cell])
        return least, np.where(chosen > 0, np.rint(lost[split]), 0).astype(np.int64)

    cell = np.flatnonzero(is_open) + first
    least, withheld = best(cell)
    starts, split = _entries(cells.first_split, cell)
    owner = np.repeat(np.arange(len(cell)), np.diff(starts))
    way = np.arange(len(split)) - starts[owner] + 1
    inside = beyond[split - begin] < np.inf
    owner, way, split = owner[inside], way[inside], split[inside] - begin
    number = np.full(len(cost) + 1, -1, np.int64)  # the last entry is for no split
    number[split] = np.arange(len(split))
    starts, entry = _entries(cells.first_above, cell)
    above = cells.above[entry]
    above = number[np.where(above < 0, -1, above - begin)]
    opened = exact_kernels.Open(
        cell,
        limits[0] - through[cell - first],
        cells.loss[cell] - least,
        withheld,
        np.searchsorted(owner, np.arange(len(cell) + 1)),
        way,
        owner,
        cost[split] - least[owner],
        np.rint(lost[split]).astype(np.int64) - withheld[owner],
        np.append(0, np.cumsum(above >= 0))[starts],
        above[above >= 0],
    )
    top = splits.cube.edges[run.matrices][np.diff(splits.cube.edges)[run.matrices] > 0]
    top = top[choice[top - first] >= 0]
    return _OpenRun(opened, choice, int(splits.cube.trips[top].sum() - best(top)[1].sum()))


def _entries(first: IntArray, rows: IntArray) -> tuple[IntArray, IntArray]:
    """Return where the entries of each row begin in a list of the entries of all these rows, and the list."""
    sizes = (first[rows + 1] - first[rows]).astype(np.int64)
    starts = np.append(0, np.cumsum(sizes))
    return starts, np.arange(starts[-1]) + np.repeat(first[rows] - starts[:-1], sizes)


def _join(parts: Sequence[Open]) -> Open:
    """Put the open cells of runs one after the other."""
    from flowveil._methods import exact_kernels  # noqa: PLC0415 numba is slow to import

    before = {
        "owner": _before([len(part.cell) for part in parts]),
        "above": _before([len(part.more) for part in parts]),
        "first_split": _before([len(part.more) for part in parts]),
        "first_above": _before([len(part.above) for part in parts]),
    }
    columns = {}
    for name in exact_kernels.Open._fields:
        arrays = [getattr(part, name) for part in parts]
        if name in before:
            arrays = [array + start for array, start in zip(arrays, before[name], strict=False)]
        if name.startswith("first_"):
            arrays = [array[:-1] for array in arrays[:-1]] + arrays[-1:]
        columns[name] = np.concatenate(arrays)
    return exact_kernels.Open(**columns)


def _before(counts: Sequence[int]) -> IntArray:
    return np.cumsum([0, *counts])
