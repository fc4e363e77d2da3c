"""Compiled stretch of pairs of trajectories. Imported only when a method runs: numba is slow to import.

Numbers are whole, held as floats wide enough to be exact (see `_pool`): processors compare eight of them at once.
A trajectory is a range of columns of `samples`, whose rows are t0, t1, x0, x1, y0, y1, ordered by time; both its
starts and its ends never decrease. Costs are 2 * space_limit * time_limit * (n_a + n_b) times Eq. 1, divided by the
common divisor of the limits.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numba import njit

if TYPE_CHECKING:
    import numpy.typing as npt

    from flowveil._arrays import FloatArray, IntArray

    Wide = npt.NDArray[np.float32] | npt.NDArray[np.float64]

# No NaN occurs and the sign of zero does not matter; sums may not be reordered, so nothing else is relaxed.
_FAST = {"nnan", "nsz"}


@njit(cache=True, nogil=True, fastmath=_FAST, inline="always")
def low(a: float, b: float) -> float:
    """Return the smaller; numba's own min asks for NaN first, which keeps loops from being vectorized."""
    return a if a < b else b


@njit(cache=True, nogil=True, fastmath=_FAST, inline="always")
def high(a: float, b: float) -> float:
    """Return the larger."""
    return a if a > b else b


@njit(cache=True, nogil=True, fastmath=_FAST)
def scan_total(
    samples: Wide, a0: int, a1: int, b0: int, b1: int, na: int, nb: int, limits: Wide, most: float, _box: Wide
) -> float:
    """Return the sum over samples of a (the longer) of the least cost of b's: every pair is looked at.

    `most`: a sum that is larger may be returned as soon as it is known to be.
    """
    kind = samples.dtype.type
    wa, wb = kind(na), kind(nb)
    n = wa + wb
    space, time, by_space, by_time = limits[0] * n, limits[1] * n, limits[2], limits[3]
    bt0, bt1 = samples[0, b0:b1], samples[1, b0:b1]
    bx0, bx1, by0, by1 = samples[2, b0:b1], samples[3, b0:b1], samples[4, b0:b1], samples[5, b0:b1]
    total = 0.0
    for i in range(a0, a1):
        t0, t1 = samples[0, i], samples[1, i]
        x0, x1, y0, y1 = samples[2, i], samples[3, i], samples[4, i], samples[5, i]
        own_space, own_time = wa * (x1 - x0 + y1 - y0), wa * (t1 - t0)
        best = by_space * space + by_time * time
        for j in range(b1 - b0):
            spread = high(x1, bx1[j]) - low(x0, bx0[j]) + high(y1, by1[j]) - low(y0, by0[j])
            in_space = n * spread - own_space - wb * (bx1[j] - bx0[j] + by1[j] - by0[j])
            in_time = n * (high(t1, bt1[j]) - low(t0, bt0[j])) - own_time - wb * (bt1[j] - bt0[j])
            best = low(best, by_space * low(in_space, space) + by_time * low(in_time, time))
        total += best
        if total > most:
            return total
    return total


@njit(cache=True, nogil=True, fastmath=_FAST)
def sweep_total(
    samples: Wide, a0: int, a1: int, b0: int, b1: int, na: int, nb: int, limits: Wide, most: float, box: Wide
) -> float:
    """Return the same sum as `scan_total`, looking outwards in time from each sample of a.

    Away from a sample the temporal part never falls, so a side ends where that part alone reaches the best. It is
    capped: past the cap a sample may still win by space, so the rest is then looked at for space alone, unless even
    the box around b is too far away. `box`: x0, x1, y0, y1 around b.
    """
    kind = samples.dtype.type
    wa, wb = kind(na), kind(nb)
    n = wa + wb
    space, time, by_space, by_time = limits[0] * n, limits[1] * n, limits[2], limits[3]
    far = by_time * time
    total = 0.0
    middle = b0
    for i in range(a0, a1):
        t0, t1 = samples[0, i], samples[1, i]
        x0, x1, y0, y1 = samples[2, i], samples[3, i], samples[4, i], samples[5, i]
        own_space, own_time = wa * (x1 - x0 + y1 - y0), wa * (t1 - t0)
        best = by_space * space + far
        while middle < b1 and samples[0, middle] < t0:
            middle += 1
        right = middle
        while right < b1:
            end = samples[1, right]
            in_time = n * (high(t1, end) - t0) - own_time - wb * (end - samples[0, right])
            if end >= t1 and (in_time >= time or by_time * in_time >= best):
                break
            spread = high(x1, samples[3, right]) - low(x0, samples[2, right])
            spread += high(y1, samples[5, right]) - low(y0, samples[4, right])
            width = samples[3, right] - samples[2, right] + samples[5, right] - samples[4, right]
            in_space = n * spread - own_space - wb * width
            best = low(best, by_space * low(in_space, space) + by_time * low(in_time, time))
            right += 1
        left = middle - 1
        while left >= b0:
            start, end = samples[0, left], samples[1, left]
            in_time = n * (high(t1, end) - start) - own_time - wb * (end - start)
            if end <= t1 and (in_time >= time or by_time * in_time >= best):
                break
            spread = high(x1, samples[3, left]) - low(x0, samples[2, left])
            spread += high(y1, samples[5, left]) - low(y0, samples[4, left])
            width = samples[3, left] - samples[2, left] + samples[5, left] - samples[4, left]
            in_space = n * spread - own_space - wb * width
            best = low(best, by_space * low(in_space, space) + by_time * low(in_time, time))
            left -= 1
        if best > far:
            gap = high(high(box[0] - x1, x0 - box[1]), kind(0)) + high(high(box[2] - y1, y0 - box[3]), kind(0))
            if far + by_space * low(n * gap, space) < best:
                nearest = low(
                    _least_space(samples, b0, left + 1, x0, x1, y0, y1, n, wb),
                    _least_space(samples, right, b1, x0, x1, y0, y1, n, wb),
                )
                best = low(best, far + by_space * low(nearest - own_space, space))
        total += best
        if total > most:
            return total
    return total


@njit(cache=True, nogil=True, fastmath=_FAST)
def _least_space(
    samples: Wide, b0: int, b1: int, x0: float, x1: float, y0: float, y1: float, n: float, wb: float
) -> float:
    """Return the least spatial stretch to samples b0 to b1, without the part that is the same for all."""
    bx0, bx1, by0, by1 = samples[2, b0:b1], samples[3, b0:b1], samples[4, b0:b1], samples[5, b0:b1]
    least = samples.dtype.type(np.inf)
    for j in range(b1 - b0):
        spread = high(x1, bx1[j]) - low(x0, bx0[j]) + high(y1, by1[j]) - low(y0, by0[j])
        least = low(least, n * spread - wb * (bx1[j] - bx0[j] + by1[j] - by0[j]))
    return least


@njit(cache=True, nogil=True)
def stretch(
    samples: Wide,
    place: IntArray,
    boxes: Wide,
    limits: Wide,
    a: int,
    b: int,
    most: float,
    sweep: bool,
) -> float:
    """Return Eq. 10 for groups a and b, or infinity if it is above `most`.

    place: for each group the range of its samples and its users; boxes: t0, t1, x0, x1, y0, y1 around each group.
    """
    if a > b:
        a, b = b, a
    if place[1, b] - place[0, b] > place[1, a] - place[0, a]:
        a, b = b, a  # a is the longer; of equally long ones the smaller id
    if np.isfinite(most) and _least_stretch(boxes[:, a], boxes[:, b], limits) / np.float64(limits[4]) > most:
        return np.inf
    na, nb = place[2, a], place[2, b]
    scale = np.float64(limits[4]) * (na + nb) * (place[1, a] - place[0, a])
    enough = most * scale * (1 + 1e-12) + 1
    args = (samples, place[0, a], place[1, a], place[0, b], place[1, b], na, nb, limits, enough, boxes[2:, b])
    total = sweep_total(*args) if sweep else scan_total(*args)
    value = total / scale
    return np.inf if value > most else value


@njit(cache=True, nogil=True)
def _least_stretch(a: Wide, b: Wide, limits: Wide) -> float:
    """Return a cost that no pair of samples within two boxes can be below, for one user."""
    in_time = high(high(a[0] - b[1], b[0] - a[1]), a.dtype.type(0))
    in_space = high(high(a[2] - b[3], b[2] - a[3]), a.dtype.type(0))
    in_space += high(high(a[4] - b[5], b[4] - a[5]), a.dtype.type(0))
    return np.float64(limits[2] * low(in_space, limits[0]) + limits[3] * low(in_time, limits[1]))
