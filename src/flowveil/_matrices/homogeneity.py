"""Where to cut a node: candidates drawn without data, scored by how even the slabs are."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from flowveil._matrices.points import add

if TYPE_CHECKING:
    from flowveil._arrays import FloatArray, IntArray

# Scores are whole numbers in units of 2**-16, so that what one trip changes is known without rounding errors.
_BITS = 16
# One trip changes the unevenness of one slab by at most 2, and rounding down adds at most one unit.
SENSITIVITY = (2 << _BITS) + 1
_SAFE = 1 << 44  # products below stay within 64 bits after the shift
_LARGEST_VOLUME = 2.0**62


def equal_cuts(start: int, end: int, slabs: int) -> IntArray:
    """Return the lower edges of equal slabs."""
    return start + np.arange(slabs, dtype=np.int64) * (end - start) // slabs


def candidates(start: int, end: int, slabs: int, count: int, random: np.random.Generator) -> IntArray:
    """Return `count` lists of lower edges: the equal cuts, then lists around them, drawn without data.

    Each cut moves at most half-way to its neighbors, so that every list is strictly increasing.
    """
    equal = equal_cuts(start, end, slabs)
    middle = (equal + np.append(equal[1:], end)) // 2
    lists = np.tile(equal, (count, 1))
    lists[1:, 1:] = random.integers(middle[:-1] + 1, middle[1:] + 1, (count - 1, slabs - 1))
    return lists


def unevenness(slab: IntArray, counts: IntArray, volume: FloatArray, slabs: int) -> IntArray:
    """Return for each slab the sum over its cells of |count - mean|, in units of 2**-16, rounded down.

    What cells have above the mean is what others lack, so the sum is twice the former: empty cells need no visit.
    """
    total = add(slab, counts, slabs)
    mean = total / volume
    above = counts > mean[slab]
    number = add(slab[above], np.ones(int(above.sum()), np.int64), slabs)
    high = add(slab[above], counts[above], slabs)
    cells = np.minimum(volume, _LARGEST_VOLUME).astype(np.int64)
    product = number * total if (number * total.astype(np.float64) < _SAFE).all() else number.astype(object) * total
    taken = -((-2 * product << _BITS) // cells)
    return np.asarray((2 * high << _BITS) - taken, np.int64)
