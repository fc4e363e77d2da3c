"""Compiled loops that find where cuts near the best one at a price may differ from it."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from flowveil._compiled import compiled

if TYPE_CHECKING:
    import numpy.typing as npt

    from flowveil._arrays import BoolArray, FloatArray, IntArray
    from flowveil._methods.kernels import Cells

    ChoiceArray = npt.NDArray[np.int8]


class Best(NamedTuple):
    """The best choices in a run of cells, and what each of its splits does."""

    choice: ChoiceArray  # by cell of the run
    cost: FloatArray  # by split of the run, with the best choices in its parts
    lost: IntArray  # by split of the run: trips


def _look_down(
    limits: tuple[float, float], edges: IntArray, best: Best, cells: Cells
) -> tuple[BoolArray, FloatArray, FloatArray]:
    """Return the cells of a run that have ways within a gap other than the best choice, and what going there costs.

    limits: the gap, and a difference of costs that is none. edges: by matrix of the run, its first cell; and the end of
    the run. The costs are by cell and by split the least that a cut through it costs more than the best one, infinite
    for splits beyond the gap.
    """
    (gap, rounding), (choice, cost, lost) = limits, best
    first, stop = edges[0], edges[-1]
    begin = cells.first_split[first]
    through, beyond = np.full(stop - first, np.inf), np.full(len(cost), np.inf)
    differs = np.zeros(stop - first, np.bool_)
    for matrix in range(len(edges) - 1):
        if edges[matrix] < edges[matrix + 1]:
            through[edges[matrix] - first] = 0.0
    for cell in range(first, stop):
        here = cell - first
        if through[here] >= gap or choice[here] < 0:
            continue
        least, least_lost = cells.loss[cell], 0
        if choice[here] > 0:
            chosen = cells.first_split[cell] + choice[here] - 1 - begin
            least, least_lost = cost[chosen], lost[chosen]
        # What costs the same and withholds the same is the same.
        more = cells.loss[cell] - least
        differs[here] = through[here] + more < gap and (more > rounding or least_lost > 0)
        for split in range(cells.first_split[cell], cells.first_split[cell + 1]):
            more = cost[split - begin] - least
            if through[here] + more < gap:
                beyond[split - begin] = through[here] + more
                differs[here] |= more > rounding or lost[split - begin] != least_lost
                for entry in range(cells.first_part[split], cells.first_part[split + 1]):
                    part = cells.part[entry] - first
                    through[part] = min(through[part], through[here] + more)
    return differs, through, beyond


look_down = compiled(_look_down)


def _open_above(first: int, differs: BoolArray, beyond: FloatArray, cells: Cells) -> BoolArray:
    """Return which cells of a run have such ways themselves, or in parts of splits that are not beyond the gap."""
    begin = cells.first_split[first]
    is_open = differs.copy()
    for here in range(len(differs) - 1, -1, -1):
        for split in range(cells.first_split[here + first], cells.first_split[here + first + 1]):
            if beyond[split - begin] < np.inf:
                for entry in range(cells.first_part[split], cells.first_part[split + 1]):
                    is_open[here] |= is_open[cells.part[entry] - first]
    return is_open


open_above = compiled(_open_above)
