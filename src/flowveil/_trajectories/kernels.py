"""Compiled stretch of pairs of trajectories. Imported only when a method runs: numba is slow to import.

A trajectory is a range of columns of `samples`, whose rows are t0, t1, x0, x1, y0, y1, ordered by time: starts never
decrease, and nor do ends where `ordered` says so. Numbers are int32 where nothing can overflow (see `pool`), else
int64; every step is cast back to that type, since numba widens what it adds, and processors compare eight int32 at
once.

`limits` holds the caps of Eq. 2 and 3 in cells and steps, and the factors of space and time: the weight of each times
the cap of the other, divided by what they have in common. A cost is Eq. 1 times `whole * (n_a + n_b)`, `whole` being
the largest cost for one user, both caps times their factors.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from flowveil._compiled import Whole, compiled

if TYPE_CHECKING:
    from flowveil._arrays import IntArray


class Groups(NamedTuple):
    """Groups by id, and what they are compared by."""

    samples: Whole
    place: IntArray  # by group: where its samples begin and end, its users, and whether nothing was merged into it
    boxes: Whole  # by group: t0, t1, x0, x1, y0, y1 around its samples
    limits: Whole
    ordered: bool  # whether ends of a group's samples never decrease


@compiled
def scan_total(groups: Groups, a: int, b: int, most: float) -> Whole:
    """Return the sum over samples of group a (the longer) of the least cost of b's: every pair is looked at.

    `most`: a sum that is larger may be returned as soon as it is known to be.
    """
    samples, place, _, limits, _ = groups
    a0, a1, b0, b1 = place[0, a], place[1, a], place[0, b], place[1, b]
    kind = samples.dtype.type
    wa, wb = kind(place[2, a]), kind(place[2, b])
    n = kind(wa + wb)
    space, time = kind(limits[0] * n), kind(limits[1] * n)
    by_space, by_time = limits[2], limits[3]
    bt0, bt1 = samples[0, b0:b1], samples[1, b0:b1]
    bx0, bx1, by0, by1 = samples[2, b0:b1], samples[3, b0:b1], samples[4, b0:b1], samples[5, b0:b1]
    total = np.int64(0)
    for i in range(a0, a1):
        t0, t1 = samples[0, i], samples[1, i]
        x0, x1, y0, y1 = samples[2, i], samples[3, i], samples[4, i], samples[5, i]
        own_space, own_time = kind(wa * (x1 - x0 + y1 - y0)), kind(wa * (t1 - t0))
        best = kind(kind(by_space * space) + kind(by_time * time))
        for j in range(b1 - b0):
            v0, v1, w0, w1, u0, u1 = bx0[j], bx1[j], by0[j], by1[j], bt0[j], bt1[j]
            spread = kind(kind(max(x1, v1) - min(x0, v0)) + kind(max(y1, w1) - min(y0, w0)))
            width = kind(wb * kind(kind(v1 - v0) + kind(w1 - w0)))
            in_space = kind(kind(n * spread) - kind(own_space + width))
            in_time = kind(kind(n * kind(max(t1, u1) - min(t0, u0))) - kind(own_time + kind(wb * kind(u1 - u0))))
            best = min(best, kind(kind(by_space * min(in_space, space)) + kind(by_time * min(in_time, time))))
        total += best
        if total > most:
            return total
    return total


@compiled
def sweep_total(groups: Groups, a: int, b: int, most: float) -> Whole:  # noqa: C901  one loop in each direction
    """Return the same sum as `scan_total`, looking outwards in time from each sample of a.

    Away from a sample the temporal part never falls, so a side ends where that part alone reaches the best. It is
    capped: past the cap a sample may still win by space, so the rest is then looked at for space alone, unless even
    the box around b is too far away.
    """
    samples, place, boxes, limits, _ = groups
    a0, a1, b0, b1 = place[0, a], place[1, a], place[0, b], place[1, b]
    box = boxes[2:, b]
    kind = samples.dtype.type
    wa, wb = kind(place[2, a]), kind(place[2, b])
    n = kind(wa + wb)
    space, time = kind(limits[0] * n), kind(limits[1] * n)
    by_space, by_time = limits[2], limits[3]
    far = kind(by_time * time)
    total = np.int64(0)
    middle = b0
    for i in range(a0, a1):
        t0, t1 = samples[0, i], samples[1, i]
        x0, x1, y0, y1 = samples[2, i], samples[3, i], samples[4, i], samples[5, i]
        own_space, own_time = kind(wa * (x1 - x0 + y1 - y0)), kind(wa * (t1 - t0))
        best = kind(kind(by_space * space) + far)
        while middle < b1 and samples[0, middle] < t0:
            middle += 1
        left, right = middle - 1, middle
        while right < b1:
            u0, u1 = samples[0, right], samples[1, right]
            in_time = kind(kind(n * kind(max(t1, u1) - t0)) - kind(own_time + kind(wb * kind(u1 - u0))))
            if u1 >= t1 and (in_time >= time or kind(by_time * in_time) >= best):
                break
            v0, v1, w0, w1 = samples[2, right], samples[3, right], samples[4, right], samples[5, right]
            spread = kind(kind(max(x1, v1) - min(x0, v0)) + kind(max(y1, w1) - min(y0, w0)))
            width = kind(wb * kind(kind(v1 - v0) + kind(w1 - w0)))
            in_space = kind(kind(n * spread) - kind(own_space + width))
            best = min(best, kind(kind(by_space * min(in_space, space)) + kind(by_time * min(in_time, time))))
            right += 1
        while left >= b0:
            u0, u1 = samples[0, left], samples[1, left]
            in_time = kind(kind(n * kind(max(t1, u1) - u0)) - kind(own_time + kind(wb * kind(u1 - u0))))
            if u1 <= t1 and (in_time >= time or kind(by_time * in_time) >= best):
                break
            v0, v1, w0, w1 = samples[2, left], samples[3, left], samples[4, left], samples[5, left]
            spread = kind(kind(max(x1, v1) - min(x0, v0)) + kind(max(y1, w1) - min(y0, w0)))
            width = kind(wb * kind(kind(v1 - v0) + kind(w1 - w0)))
            in_space = kind(kind(n * spread) - kind(own_space + width))
            best = min(best, kind(kind(by_space * min(in_space, space)) + kind(by_time * min(in_time, time))))
            left -= 1
        if best > far:
            gap = max(box[0] - x1, x0 - box[1], 0) + max(box[2] - y1, y0 - box[3], 0)
            if far + by_space * min(n * gap, space) < best:
                near = _least_space(samples, i, b0, left + 1, n, wb)
                near = min(near, _least_space(samples, i, right, b1, n, wb))
                if near - own_space < space:
                    best = min(best, kind(far + by_space * (near - own_space)))
        total += best
        if total > most:
            return total
    return total


@compiled
def _least_space(samples: Whole, i: int, b0: int, b1: int, n: int, wb: int) -> Whole:
    """Return the least spatial stretch of sample i to samples b0 to b1, without the part that is the same for all."""
    kind = samples.dtype.type
    x0, x1, y0, y1 = samples[2, i], samples[3, i], samples[4, i], samples[5, i]
    bx0, bx1, by0, by1 = samples[2, b0:b1], samples[3, b0:b1], samples[4, b0:b1], samples[5, b0:b1]
    least = kind(np.iinfo(kind).max)
    for j in range(b1 - b0):
        v0, v1, w0, w1 = bx0[j], bx1[j], by0[j], by1[j]
        spread = kind(kind(max(x1, v1) - min(x0, v0)) + kind(max(y1, w1) - min(y0, w0)))
        least = min(least, kind(kind(n * spread) - kind(wb * kind(kind(v1 - v0) + kind(w1 - w0)))))
    return least


@compiled
def point_total(groups: Groups, a: int, b: int, most: float) -> Whole:
    """Return half of what `sweep_total` does for two users who were not merged: samples are one cell and one step."""
    samples, place, boxes, limits, _ = groups
    a0, a1, b0, b1 = place[0, a], place[1, a], place[0, b], place[1, b]
    box = boxes[2:, b]
    kind = samples.dtype.type
    space, time, by_space, by_time = limits[0], limits[1], limits[2], limits[3]
    far = kind(by_time * time)
    t, x, y = samples[0, b0:b1], samples[2, b0:b1], samples[4, b0:b1]
    count = b1 - b0
    total = np.int64(0)
    middle = 0
    for i in range(a0, a1):
        t0, x0, y0 = samples[0, i], samples[2, i], samples[4, i]
        best = kind(kind(by_space * space) + far)
        while middle < count and t[middle] < t0:
            middle += 1
        left, right = middle - 1, middle
        while right < count:
            late = kind(by_time * kind(t[right] - t0))
            if late >= best or late >= far:
                break
            away = min(kind(abs(kind(x[right] - x0)) + abs(kind(y[right] - y0))), space)
            best = min(best, kind(kind(by_space * away) + late))
            right += 1
        while left >= 0:
            early = kind(by_time * kind(t0 - t[left]))
            if early >= best or early >= far:
                break
            away = min(kind(abs(kind(x[left] - x0)) + abs(kind(y[left] - y0))), space)
            best = min(best, kind(kind(by_space * away) + early))
            left -= 1
        if best > far:
            gap = max(box[0] - x0 - 1, x0 - box[1] + 1, 0) + max(box[2] - y0 - 1, y0 - box[3] + 1, 0)
            if gap < space and far + by_space * gap < best:
                near = min(space, _least_distance(x[: left + 1], y[: left + 1], x0, y0))
                near = min(near, _least_distance(x[right:], y[right:], x0, y0))
                best = min(best, kind(far + kind(by_space * near)))
        total += best
        if total > most:
            return total
    return total


@compiled
def _least_distance(x: Whole, y: Whole, x0: int, y0: int) -> Whole:
    """Return the least distance along both axes to points; the largest number if there are none."""
    kind = x.dtype.type
    least = kind(np.iinfo(kind).max)
    for j in range(len(x)):
        least = min(least, kind(abs(kind(x[j] - x0)) + abs(kind(y[j] - y0))))
    return least


@compiled
def stretch(groups: Groups, a: int, b: int, most: float, sweep: bool) -> float:
    """Return Eq. 10 for groups a and b, or infinity if it is above `most`; `sweep` says which loop is used."""
    place, boxes, limits = groups.place, groups.boxes, groups.limits
    if a > b:
        a, b = b, a
    if place[1, b] - place[0, b] > place[1, a] - place[0, a]:
        a, b = b, a  # a is the longer; of equally long ones the smaller id
    whole = np.float64(limits[0]) * limits[2] + np.float64(limits[1]) * limits[3]
    if _least_cost(boxes[:, a], boxes[:, b], limits) / whole > most:
        return np.inf
    na, nb = place[2, a], place[2, b]
    scale = whole * (na + nb) * (place[1, a] - place[0, a])
    enough = most * scale * (1 + 1e-12) + 1
    if sweep and place[3, a] and place[3, b]:
        total = 2 * point_total(groups, a, b, enough / 2)
    elif sweep and groups.ordered:
        total = sweep_total(groups, a, b, enough)
    else:
        total = scan_total(groups, a, b, enough)
    value = total / scale
    return np.inf if value > most else value


@compiled
def _least_cost(a: Whole, b: Whole, limits: Whole) -> Whole:
    """Return a cost, for one user, that no two samples inside two boxes can be below."""
    in_time = max(a[0] - b[1], b[0] - a[1], 0)
    in_space = max(a[2] - b[3], b[2] - a[3], 0) + max(a[4] - b[5], b[4] - a[5], 0)
    return limits[2] * min(in_space, np.int64(limits[0])) + limits[3] * min(in_time, np.int64(limits[1]))
