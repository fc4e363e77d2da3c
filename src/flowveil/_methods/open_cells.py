"""Where cuts near the best one at a price may differ from it: all else stays as the best one has it."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt

    from flowveil._arrays import FloatArray, IntArray
    from flowveil._methods.cuts import ChoiceArray, Splits
    from flowveil._problem import Run

    LinkArray = npt.NDArray[np.int32]


class Open(NamedTuple):
    """Cells in which cuts within the gap may differ from the best, ascending, and their splits within the gap."""

    cell: IntArray
    room: FloatArray  # by cell: what its choices may cost more than the best ones
    whole: FloatArray  # by cell: what it costs more than the best choice to publish it
    withheld: IntArray  # by cell: trips that the best choice withholds
    first_split: IntArray  # by cell; and the number of splits
    choice: IntArray  # by split: which split of its cell, from 1
    owner: IntArray  # by split: the place of its cell in this list
    more: FloatArray  # by split: what it costs more than the best choice
    lost: IntArray  # by split: trips that it withholds more than the best choice
    first_above: IntArray  # by cell; and the number of entries
    above: IntArray  # the splits that a cell is a part of; a cell without is the top of a matrix


class OpenRun(NamedTuple):
    """The open cells of a run, and the best choices in all of its cells."""

    opened: Open
    choice: ChoiceArray
    kept: int  # trips that these publish


def open_run(splits: Splits, run: Run, lam: float, limits: tuple[float, float]) -> OpenRun:
    """Return where cuts of a run may differ from the best; limits: a gap, and a difference of costs that is none."""
    from flowveil._methods import open_kernels  # noqa: PLC0415 numba is slow to import

    cells, first, begin = splits.cells, run.cells.start, int(splits.cells.first_split[run.cells.start])
    choice, cost, lost = decision = splits.choose(run, lam)
    bounds = (first, run.cells.stop)
    differs, through, beyond = open_kernels.look_down(limits, bounds, decision, cells)
    is_open = open_kernels.open_above(bounds, differs, beyond, cells)

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
    above = number[np.where(cells.above[entry] < 0, -1, cells.above[entry] - begin)]
    opened = Open(
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
    return OpenRun(opened, choice, int(splits.cube.trips[top].sum() - best(top)[1].sum()))


def _entries(first: LinkArray, rows: IntArray) -> tuple[IntArray, IntArray]:
    """Return where the entries of each row begin in a list of the entries of all these rows, and the list."""
    sizes = (first[rows + 1] - first[rows]).astype(np.int64)
    starts = np.append(0, np.cumsum(sizes))
    return starts, np.arange(starts[-1]) + np.repeat(first[rows] - starts[:-1], sizes)


def join_open(parts: Sequence[Open]) -> Open:
    """Put the open cells of runs one after the other."""
    before = {
        "owner": _before([len(part.cell) for part in parts]),
        "above": _before([len(part.more) for part in parts]),
        "first_split": _before([len(part.more) for part in parts]),
        "first_above": _before([len(part.above) for part in parts]),
    }
    columns = {}
    for name in Open._fields:
        arrays = [getattr(part, name) for part in parts]
        if name in before:
            arrays = [array + start for array, start in zip(arrays, before[name], strict=False)]
        if name.startswith("first_"):
            arrays = [array[:-1] for array in arrays[:-1]] + arrays[-1:]
        columns[name] = np.concatenate(arrays)
    return Open(**columns)


def _before(counts: Sequence[int]) -> IntArray:
    return np.cumsum([0, *counts])
