"""Regions: spots that lie together, all with about as many trips, and the coarser ones that they are parts of."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from flowveil._reading.parts import summed

if TYPE_CHECKING:
    from flowveil._arrays import FloatArray, IntArray

_STEP = 1.25  # from one bin of distance to the next


@dataclass(frozen=True, eq=False)
class Regions:
    """A partition of spots, and how far its parts are from each other."""

    of: IntArray  # by spot
    coarse: IntArray  # by region: the number of the coarser one around it
    bin: IntArray  # by pair of regions: of their distance
    own: bool  # whether regions are places of the release: no area ends inside one

    def __len__(self) -> int:
        return len(self.coarse)


def divide(
    x: FloatArray, y: FloatArray, mass: FloatArray, depth: int, above: int, places: IntArray | None = None
) -> Regions:
    """Halve spots by mass, across their longer side, `depth` times; coarser regions are those after `above` halvings.

    x, y: in kilometers or any unit that is the same for both. places: by spot a number from 0 up; if there are no more
    places than regions, they are the regions.
    """
    if places is not None and int(places.max(initial=0)) < 2**depth:
        count = int(places.max(initial=0)) + 1
        total = summed(places, mass, count)
        middle = [summed(places, mass * value, count) / total for value in (x, y)]
        coarse = divide(middle[0], middle[1], total, above, above).of
        return Regions(places, coarse, _bins(x, y, mass, places, count), own=True)
    of = np.zeros(len(x), np.int64)
    coarse_of = of
    for level in range(depth):
        if level == above:
            coarse_of = of
        of = _halve(x, y, mass, of)
    if depth <= above:
        coarse_of = of
    used, first, of = np.unique(of, return_index=True, return_inverse=True)
    _, coarse = np.unique(coarse_of[first], return_inverse=True)
    return Regions(of, coarse, _bins(x, y, mass, of, len(used)), own=False)


def _halve(x: FloatArray, y: FloatArray, mass: FloatArray, of: IntArray) -> IntArray:
    """Return numbers of parts, each with one more binary digit."""
    count = int(of.max(initial=0)) + 1
    spans = [
        _by_part(np.maximum, value, of, count, -np.inf) - _by_part(np.minimum, value, of, count, np.inf)
        for value in (x, y)
    ]
    along = np.where((spans[0] >= spans[1])[of], x, y)
    order = np.lexsort((along, of))
    heavy = np.cumsum(mass[order])
    start = np.searchsorted(of[order], np.arange(count))
    before = np.where(start > 0, heavy[np.maximum(start - 1, 0)], 0.0)
    total = np.bincount(of, weights=mass, minlength=count)
    upper = np.empty(len(of), bool)
    upper[order] = heavy - mass[order] / 2 - before[of[order]] > total[of[order]] / 2
    return 2 * of + upper


def _by_part(function: np.ufunc, values: FloatArray, of: IntArray, count: int, start: float) -> FloatArray:
    result = np.full(count, start)
    function.at(result, of, values)
    return result


def _bins(x: FloatArray, y: FloatArray, mass: FloatArray, of: IntArray, count: int) -> IntArray:
    """Return the bin of the distance of each pair: the middles', and inside a region the mean distance from its own."""
    total = np.bincount(of, weights=mass, minlength=count)
    middle = [np.bincount(of, weights=mass * value, minlength=count) / total for value in (x, y)]
    away = np.hypot(x - middle[0][of], y - middle[1][of])
    inside = np.bincount(of, weights=mass * away, minlength=count) / total
    apart = np.hypot(middle[0][:, None] - middle[0], middle[1][:, None] - middle[1])
    spread = np.sqrt(apart**2 + inside[:, None] ** 2 + inside**2)
    least = float(np.quantile(spread, 0.001)) or 1.0
    bins = np.floor(np.log(np.maximum(spread / least, 1)) / np.log(_STEP)).astype(np.int64)
    return np.asarray(np.unique(bins, return_inverse=True)[1].reshape(bins.shape), np.int64)
