"""Compiled loops that find where cuts near the best one at a price may differ from it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from flowveil._compiled import compiled
from flowveil._methods.kernels import price_split

if TYPE_CHECKING:
    import numpy.typing as npt

    from flowveil._arrays import BoolArray, FloatArray, IntArray
    from flowveil._methods.kernels import Cells, Decision

    AnyArray = npt.NDArray[Any]  # of numbers or flags


class Inside(NamedTuple):
    """What cuts within a gap of the best one may use of a run."""

    cell: IntArray  # of the run, ascending
    through: FloatArray  # by cell: the least that a cut through it costs more than the best one
    differs: BoolArray  # by cell: whether it has ways other than the best choice
    first_split: IntArray  # by cell; and the number of splits
    split: IntArray  # ascending
    cost: FloatArray  # by split, with the best choices in its parts
    lost: IntArray  # by split: trips


def _longer(array: AnyArray) -> AnyArray:
    """Return an array of twice the length that begins with another."""
    longer = np.empty(2 * len(array) + 1, array.dtype)
    longer[: len(array)] = array
    return longer


longer = compiled(_longer)


def _look_down(
    limits: tuple[float, float], edges: IntArray, decision: Decision, lost_by_cell: IntArray, cells: Cells
) -> Inside:
    """Return the cells and splits of a run that cuts within a gap of the best one may use.

    limits: the gap, and a difference of costs that is none. edges: by matrix of the run, its first cell; and the end of
    the run. decision, lost_by_cell: the best choices in the run, and the trips that they withhold.
    """
    (gap, rounding), first = limits, edges[0]
    through = np.full(edges[-1] - first, np.inf)
    for matrix in range(len(edges) - 1):
        if edges[matrix] < edges[matrix + 1]:
            through[edges[matrix] - first] = 0.0
    # Few cells are inside: lists of them grow as they are found.
    inside, differs, first_split = np.empty(64, np.int64), np.empty(64, np.bool_), np.empty(64, np.int64)
    splits, costs, losts = np.empty(64, np.int64), np.empty(64), np.empty(64, np.int64)
    count, split_count = 0, 0
    for here in range(len(through)):
        if through[here] >= gap or decision.choice[here] < 0:
            continue
        if count + 1 >= len(inside):
            inside, differs, first_split = longer(inside), longer(differs), longer(first_split)
        least, least_lost = decision.cost[here], lost_by_cell[here]
        # What costs the same and withholds the same is the same.
        more = cells.loss[here + first] - least
        other = through[here] + more < gap and (more > rounding or least_lost > 0)
        inside[count], first_split[count] = here, split_count
        for split in range(cells.first_split[here + first], cells.first_split[here + first + 1]):
            cost, lost = price_split(split, decision, lost_by_cell, cells)
            beyond = through[here] + (cost - least)
            if beyond < gap:
                other |= cost - least > rounding or lost != least_lost
                for entry in range(cells.first_part[split], cells.first_part[split + 1]):
                    part = cells.part[entry] - first
                    through[part] = min(through[part], beyond)
                if split_count == len(splits):
                    splits, costs, losts = longer(splits), longer(costs), longer(losts)
                splits[split_count], costs[split_count], losts[split_count] = split, cost, lost
                split_count += 1
        differs[count] = other
        count += 1
    first_split[count] = split_count
    return Inside(
        inside[:count],
        through[inside[:count]],
        differs[:count],
        first_split[: count + 1],
        splits[:split_count],
        costs[:split_count],
        losts[:split_count],
    )


look_down = compiled(_look_down)


def _open_above(first: int, size: int, inside: Inside, cells: Cells) -> BoolArray:
    """Return which cells inside have ways other than the best themselves, or in parts of their splits.

    first, size: the first cell of the run, and how many it has.
    """
    is_open = np.zeros(size, np.bool_)
    for row in range(len(inside.cell) - 1, -1, -1):
        opened = inside.differs[row]
        for split in inside.split[inside.first_split[row] : inside.first_split[row + 1]]:
            for entry in range(cells.first_part[split], cells.first_part[split + 1]):
                opened |= is_open[cells.part[entry] - first]
        is_open[inside.cell[row]] = opened
    return is_open[inside.cell]


open_above = compiled(_open_above)
