"""Where cuts near the best one at a price may differ from it: all else stays as the best one has it."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt

    from flowveil._arrays import FloatArray, IntArray
    from flowveil._methods.cuts import ChoiceArray, Splits
    from flowveil._methods.kernels import Cells, Decision
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


class Decided(NamedTuple):
    """The best choices in a run of cells, and the trips that each withholds."""

    decision: Decision
    lost: IntArray  # by cell of the run


def decide(splits: Splits, run: Run, lam: float) -> Decided:
    """Return the best choices of a run at a price."""
    from flowveil._methods import kernels  # noqa: PLC0415 numba is slow to import

    decision = splits.choose(run, lam)
    return Decided(decision, kernels.lose(decision, splits.cells))


def open_run(splits: Splits, run: Run, decided: Decided, limits: tuple[float, float]) -> OpenRun:
    """Return where cuts of a run may differ from the best; limits: a gap, and a difference of costs that is none."""
    from flowveil._methods import open_kernels  # noqa: PLC0415 numba is slow to import

    cells, edges = splits.cells, splits.cube.edges[run.matrices.start : run.matrices.stop + 1]
    first, (decision, lost_by_cell) = run.cells.start, decided
    inside = open_kernels.look_down(limits, edges, decision, lost_by_cell, cells)
    is_open = open_kernels.open_above(first, len(decision.choice), inside, cells)
    here = inside.cell[is_open]
    counts = np.diff(inside.first_split)
    of_open = np.repeat(is_open, counts)
    split, owner = inside.split[of_open], np.repeat(np.arange(len(here)), counts[is_open])
    first_above, above = _splits_above(cells, split, here + first)
    opened = Open(
        here + first,
        limits[0] - inside.through[is_open],
        cells.loss[here + first] - decision.cost[here],
        lost_by_cell[here],
        np.searchsorted(owner, np.arange(len(here) + 1)),
        split - cells.first_split[here + first][owner] + 1,
        owner,
        inside.cost[of_open] - decision.cost[here][owner],
        inside.lost[of_open] - lost_by_cell[here][owner],
        first_above,
        above,
    )
    top = edges[:-1][np.diff(edges) > 0]
    return OpenRun(opened, decision.choice, int((splits.cube.trips[top] - lost_by_cell[top - first]).sum()))


def _splits_above(cells: Cells, split: IntArray, opened: IntArray) -> tuple[IntArray, IntArray]:
    """Return where the entries of each open cell of a run begin, and the splits, by place, that it is a part of."""
    starts, entry = _entries(cells.first_part, split)
    number, part = np.repeat(np.arange(len(split)), np.diff(starts)), cells.part[entry]
    place = np.searchsorted(opened, part)
    known = np.append(opened, -1)[place] == part
    number, place = number[known], place[known]
    order = np.argsort(place, kind="stable")
    return np.searchsorted(place[order], np.arange(len(opened) + 1)), number[order]


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
