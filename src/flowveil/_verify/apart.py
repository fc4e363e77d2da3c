"""Do any boxes overlap? Found by cutting the space, so that boxes far apart are never compared.

A set of boxes is parted where a cut crosses none or few of them; those it crosses go to both sides. Regions that were
themselves made by cuts part cleanly all the way down, which takes about n log n steps. Sets that do not part well are
compared pair by pair, so the answer is always right, and slow only for boxes that no cutting made.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from flowveil._arrays import IntArray

_FEW = 64  # boxes that are compared pair by pair
_MOST_COMPARED = 8_000_000  # pairs looked at together, to bound memory
_WORTH = 0.9  # a cut must leave each side at most this share of the boxes


def find_overlap(low: IntArray, high: IntArray) -> tuple[int, int] | None:
    """Return two boxes (rows of bounds, one column an axis) that share more than an edge, None if there are none."""
    waiting = [np.arange(len(low))]
    while waiting:
        boxes = waiting.pop()
        halves = None if len(boxes) <= _FEW else _part(low[boxes], high[boxes])
        if halves is not None:
            waiting += [boxes[half] for half in halves]
        elif (pair := _compare(low[boxes], high[boxes])) is not None:
            return int(boxes[pair[0]]), int(boxes[pair[1]])
    return None


def _part(low: IntArray, high: IntArray) -> tuple[IntArray, IntArray] | None:
    """Return the boxes on both sides of the cut that leaves the fewest on the larger side, None if none is worth it."""
    best, cut_at = int(_WORTH * len(low)), None
    for axis in range(low.shape[1]):
        starts, ends = np.sort(low[:, axis]), np.sort(high[:, axis])
        cuts = np.unique(ends[:-1])
        below = np.searchsorted(starts, cuts, side="left")  # boxes that start before the cut
        above = len(low) - np.searchsorted(ends, cuts, side="right")  # boxes that end after it
        larger = np.maximum(below, above)
        if len(cuts) and int(larger.min()) < best:
            best, cut_at = int(larger.min()), (axis, int(cuts[larger.argmin()]))
    if cut_at is None:
        return None
    axis, cut = cut_at
    return np.flatnonzero(low[:, axis] < cut), np.flatnonzero(high[:, axis] > cut)


def _compare(low: IntArray, high: IntArray) -> tuple[int, int] | None:
    """Return two boxes that overlap, found by comparing all pairs, some rows at a time; None if there are none."""
    step = max(1, _MOST_COMPARED // max(1, len(low)))
    for start in range(0, len(low), step):
        some = slice(start, start + step)
        meets = np.ones((len(low[some]), len(low)), bool)
        for axis in range(low.shape[1]):
            meets &= (low[some, axis, None] < high[:, axis]) & (low[:, axis] < high[some, axis, None])
        meets[np.arange(len(meets)), np.arange(start, start + len(meets))] = False
        if meets.any():
            one, other = np.argwhere(meets)[0].tolist()
            return start + one, other
    return None
