"""Compiled loops that find where cuts near the best one at a price may differ from it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numba import njit

if TYPE_CHECKING:
    import numpy.typing as npt

    from flowveil._arrays import BoolArray, FloatArray
    from flowveil._methods.kernels import Cells

    ChoiceArray = npt.NDArray[np.int8]
    Decision = tuple[ChoiceArray, FloatArray, FloatArray]


def _to_reach(cell: int, begin: int, beyond: FloatArray, cells: Cells) -> float:
    """Return the least that a cut which reaches a cell costs more than the best one."""
    least = np.inf
    top = True
    for entry in range(cells.first_above[cell], cells.first_above[cell + 1]):
        if cells.above[entry] >= 0:
            top = False
            least = min(least, beyond[cells.above[entry] - begin])
    return 0.0 if top else least


to_reach = njit(cache=True, nogil=True)(_to_reach)


def _look_down(
    limits: tuple[float, float], bounds: tuple[int, int], decision: Decision, cells: Cells
) -> tuple[BoolArray, FloatArray, FloatArray]:
    """Return the cells of a run that have ways within a gap other than the best choice, and what going there costs.

    limits: the gap, and a difference of costs that is none. decision: what `choose` returns. The costs are by cell and
    by split the least that a cut through it costs more than the best one, infinite for splits beyond the gap.
    """
    (gap, rounding), (first, stop), (choice, cost, lost) = limits, bounds, decision
    begin = cells.first_split[first]
    through, beyond = np.full(stop - first, np.inf), np.full(len(cost), np.inf)
    differs = np.zeros(stop - first, np.bool_)
    for cell in range(first, stop):
        here = cell - first
        through[here] = to_reach(cell, begin, beyond, cells)
        if through[here] >= gap or choice[here] < 0:
            continue
        least, least_lost = cells.loss[cell], 0.0
        if choice[here] > 0:
            chosen = cells.first_split[cell] + choice[here] - 1 - begin
            least, least_lost = cost[chosen], lost[chosen]
        # What costs the same and withholds the same is the same.
        more = cells.loss[cell] - least
        differs[here] = through[here] + more < gap and (more > rounding or least_lost > 0)
        for split in range(cells.first_split[cell] - begin, cells.first_split[cell + 1] - begin):
            more = cost[split] - least
            if through[here] + more < gap:
                beyond[split] = through[here] + more
                differs[here] |= more > rounding or lost[split] != least_lost
    return differs, through, beyond


look_down = njit(cache=True, nogil=True)(_look_down)


def _open_above(bounds: tuple[int, int], differs: BoolArray, beyond: FloatArray, cells: Cells) -> BoolArray:
    """Return which cells of a run have such ways themselves, or in parts of splits that are not beyond the gap."""
    first, stop = bounds
    begin = cells.first_split[first]
    is_open, loose = differs.copy(), np.zeros(len(beyond), np.bool_)  # loose: a split with an open part
    for cell in range(stop - 1, first - 1, -1):
        for split in range(cells.first_split[cell] - begin, cells.first_split[cell + 1] - begin):
            is_open[cell - first] |= loose[split]
        if is_open[cell - first]:
            for entry in range(cells.first_above[cell], cells.first_above[cell + 1]):
                above = cells.above[entry] - begin
                if cells.above[entry] >= 0 and beyond[above] < np.inf:
                    loose[above] = True
    return is_open


open_above = njit(cache=True, nogil=True)(_open_above)
