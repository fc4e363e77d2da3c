"""What a block tells of fewer than a crowd: sets of cells that hold somebody for certain, and narrow intervals."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from flowveil._equations.sharp import sharpen
from flowveil._equations.unions import find_union

if TYPE_CHECKING:
    from collections.abc import Sequence

    from flowveil._arrays import IntArray
    from flowveil._equations.bounds import Bounds

_MOST_SETS = 100  # found in one block
_LARGE = 2000  # cells of a block in which no more is sought than one set that no equation gives by itself


class Told(NamedTuple):
    """What is known of one block."""

    certain: tuple[tuple[tuple[int, ...], int, int], ...]  # disjoint sets of cells of 1 to k - 1: cells, least and most
    narrow: tuple[tuple[int, int, int], ...]  # cells with a narrow interval: cell, least and most
    undecided: int  # how often it was not found out, of a cell or of all sets: that would take too long


def find_told(bounds: Bounds, k: int, narrow: int, given: Sequence[tuple[int, ...]] = ()) -> Told:
    """Return what equations tell of fewer than k trips.

    narrow: an interval of fewer numbers apart is told of, if it is below k in part. given: sets of cells whose trips
    were known before, so that they are no news.
    """
    low, high, exact, undecided = sharpen(bounds, k, narrow)
    is_narrow = exact & (low < k) & (high > 0) & (high - low < narrow)
    certain, stopped = _search(bounds, np.flatnonzero(exact & (high < k) & (high > 0)), k, given)
    told = {cell for cells, _, _ in certain for cell in cells} | {cells[0] for cells in given if len(cells) == 1}
    return Told(
        tuple(certain),
        tuple(
            (cell, int(low[cell]), int(high[cell])) for cell in np.flatnonzero(is_narrow).tolist() if cell not in told
        ),
        undecided + stopped,
    )


def _search(
    bounds: Bounds, small: IntArray, k: int, given: Sequence[tuple[int, ...]]
) -> tuple[list[tuple[tuple[int, ...], int, int]], bool]:
    """Return disjoint sets of small cells with 1 to k - 1 trips, and whether the search for more was stopped."""
    found: list[tuple[tuple[int, ...], int, int]] = []
    known = set(given)
    left = set(small.tolist())
    for row, trips in zip(bounds.block.rows, bounds.block.trips, strict=True):
        if 0 < trips < k and left.issuperset(row) and row not in known:
            found.append((row, trips, trips))
            left -= set(row)
    while left and len(found) < _MOST_SETS and not (found and bounds.count > _LARGE):
        if not known and bounds.interval(sorted(left))[0] == 0:
            break
        union = find_union(bounds, sorted(left), k, [cells for cells in known if left.issuperset(cells)])
        if not union:
            return found, union is not None
        cells = _shrink(bounds, union, known)
        least, most = bounds.interval(cells)
        if cells in known or not 1 <= least <= most < k:  # given, or an error of rounding
            known.add(cells)
            continue
        found.append((cells, least, most))
        left -= set(cells)
    return found, False


def _shrink(bounds: Bounds, cells: list[int], known: set[tuple[int, ...]]) -> tuple[int, ...]:
    """Return a part of a set that holds somebody for certain, of which no part does."""
    kept = list(cells)
    for cell in cells:
        fewer = [other for other in kept if other != cell]
        if fewer and tuple(fewer) not in known and bounds.interval(fewer)[0] >= 1:
            kept = fewer
    return tuple(kept)
