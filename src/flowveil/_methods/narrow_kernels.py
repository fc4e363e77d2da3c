"""Compiled loops that leave out cells which no best cut reaches. Imported only when a method runs: numba is slow.

Each is compiled from a plain Python function of the same name with an underscore, which tests run as it stands.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from flowveil._compiled import compiled
from flowveil._methods.kernels import Cells

if TYPE_CHECKING:
    from flowveil._arrays import BoolArray, IntArray
    from flowveil._methods.kernels import Decision

_CLEARLY = 1 + 1e-9  # so much more is more, whatever rounding does


class Marked(NamedTuple):
    """What best cuts may use of a run."""

    reached: BoolArray  # by cell of the run
    whole: BoolArray  # by cell of the run: whether all its splits are useful
    useful: BoolArray  # by split of the run


class Narrow(NamedTuple):
    """Some cells of a run, with some of their splits; numbered anew."""

    cells: Cells
    edges: IntArray  # by matrix of the run: its first cell; and the number of cells
    number: IntArray  # by cell: its old number
    split: IntArray  # by split: its old number


class Ends(NamedTuple):
    """The best choices at two prices, and by cell of the run the trips that each withholds."""

    low: Decision
    high: Decision
    lost_at_low: IntArray
    lost_at_high: IntArray


def _share_of(here: int, ends: Ends) -> float:
    """Return where between two prices the choices of both cost the same in a cell: 0 at the lower one."""
    more = ends.lost_at_low[here] - ends.lost_at_high[here]
    if more <= 0:
        return 0.0
    apart = ends.high.price - ends.low.price
    rise = ends.high.cost[here] - ends.low.cost[here] - ends.lost_at_high[here] * apart
    return float(min(max(rise / apart / more, 0.0), 1.0))


share_of = compiled(_share_of)


def _mark(edges: IntArray, ends: Ends, below: bool, cells: Cells) -> Marked:
    """Find the splits that may be best at a price between two, and the cells that these lead to.

    below: find also all that is below a cell that may be published, whether it is ever best or not.

    By price, the least cost of a cell is concave, and so is that of a split. So a split costs at least what lies on the
    line between its costs at both ends; and a cell at most what the choices of either end cost, lines too. Where one is
    above the lower of the others at both ends and where these cross, it is everywhere.
    """
    low, high = ends.low, ends.high
    first, begin = edges[0], cells.first_split[edges[0]]
    reached = np.zeros(edges[-1] - first, np.bool_)
    whole = np.zeros(edges[-1] - first, np.bool_)
    useful = np.zeros(cells.first_split[edges[-1]] - begin, np.bool_)
    for matrix in range(len(edges) - 1):
        if edges[matrix] < edges[matrix + 1]:
            reached[edges[matrix] - first] = True
    for here in range(len(reached)):
        if not reached[here]:
            continue
        # What is best to publish at some price is so at every higher one.
        whole[here] |= below and cells.loss[here + first] <= high.cost[here] * _CLEARLY
        share = share_of(here, ends)
        most = low.cost[here] + ends.lost_at_low[here] * share * (high.price - low.price)
        for split in range(cells.first_split[here + first], cells.first_split[here + first + 1]):
            if not cells.allowed[split]:
                continue
            at_low, at_high = low.price * cells.withheld[split], high.price * cells.withheld[split]
            for entry in range(cells.first_part[split], cells.first_part[split + 1]):
                at_low += low.cost[cells.part[entry] - first]
                at_high += high.cost[cells.part[entry] - first]
            if (
                whole[here]
                or at_low <= low.cost[here] * _CLEARLY
                or at_high <= high.cost[here] * _CLEARLY
                or at_low * (1 - share) + at_high * share <= most * _CLEARLY
            ):
                useful[split - begin] = True
                for entry in range(cells.first_part[split], cells.first_part[split + 1]):
                    reached[cells.part[entry] - first] = True
                    whole[cells.part[entry] - first] |= whole[here]
    return Marked(reached, whole, useful)


mark = compiled(_mark)


def _keep(edges: IntArray, marked: Marked, cells: Cells) -> Narrow:
    """Return the cells that are marked, with the splits that are."""
    first, begin = edges[0], cells.first_split[edges[0]]
    number = np.flatnonzero(marked.reached) + first
    splits = np.flatnonzero(marked.useful) + begin
    new = np.zeros(len(marked.reached) + 1, np.int32)
    for here in range(len(marked.reached)):
        new[here + 1] = new[here] + marked.reached[here]
    first_split = np.zeros(len(number) + 1, np.int32)
    row = 0
    for cell in range(len(number)):
        while row < len(splits) and splits[row] < cells.first_split[number[cell] + 1]:
            row += 1
        first_split[cell + 1] = row
    first_part = np.zeros(len(splits) + 1, np.int32)
    for row in range(len(splits)):
        first_part[row + 1] = first_part[row] + cells.first_part[splits[row] + 1] - cells.first_part[splits[row]]
    part = np.empty(first_part[-1], np.int32)
    for row in range(len(splits)):
        start = cells.first_part[splits[row]]
        for entry in range(first_part[row], first_part[row + 1]):
            part[entry] = new[cells.part[start + entry - first_part[row]] - first]
    allowed, withheld = np.ones(len(splits), np.bool_), cells.withheld[splits]
    kept = Cells(cells.trips[number], cells.loss[number], first_split, allowed, withheld, first_part, part)
    return Narrow(kept, new[edges - first].astype(np.int64), number, splits)


keep = compiled(_keep)
