"""Compiled merge and reshape of two groups (paper, section 6.2; methods of this package: docs/trajectories.md)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from flowveil._compiled import Whole, compiled

if TYPE_CHECKING:
    from flowveil._arrays import BoolArray, IntArray


@compiled
def _cost(a: IntArray, i: int, b: IntArray, j: int, users: tuple[int, int], limits: IntArray) -> Whole:
    """Return Eq. 1 as a whole number, as in `kernels`."""
    na, nb = users
    n = na + nb
    spread = max(a[3, i], b[3, j]) - min(a[2, i], b[2, j]) + max(a[5, i], b[5, j]) - min(a[4, i], b[4, j])
    in_space = n * spread - na * (a[3, i] - a[2, i] + a[5, i] - a[4, i]) - nb * (b[3, j] - b[2, j] + b[5, j] - b[4, j])
    span = max(a[1, i], b[1, j]) - min(a[0, i], b[0, j])
    in_time = n * span - na * (a[1, i] - a[0, i]) - nb * (b[1, j] - b[0, j])
    return limits[2] * min(in_space, limits[0] * n) + limits[3] * min(in_time, limits[1] * n)


@compiled
def _match(
    a: IntArray, b: IntArray, wanted: BoolArray, users: tuple[int, int], limits: IntArray, most: IntArray
) -> IntArray:
    """Return for each wanted sample of a the first one of b at least cost; -1 if their union is over `most`."""
    match = np.full(a.shape[1], -1, np.int64)
    for i in range(a.shape[1]):
        if not wanted[i]:
            continue
        least, best = np.int64(2**62), -1
        for j in range(b.shape[1]):
            cost = _cost(a, i, b, j, users, limits)
            if cost < least:
                least, best = cost, j
        if best >= 0:
            wide = max(a[3, i], b[3, best]) - min(a[2, i], b[2, best])
            tall = max(a[5, i], b[5, best]) - min(a[4, i], b[4, best])
            span = max(a[1, i], b[1, best]) - min(a[0, i], b[0, best])
            if max(wide, tall) <= most[0] and span <= most[1]:
                match[i] = best
    return match


@compiled
def _stretch_to(boxes: IntArray, to: int, samples: IntArray, sample: int) -> None:
    """Grow box `to` until it covers a sample (Eq. 12 and 13)."""
    for row in range(0, 6, 2):
        boxes[row, to] = min(boxes[row, to], samples[row, sample])
        boxes[row + 1, to] = max(boxes[row + 1, to], samples[row + 1, sample])


@compiled
def _in_order(boxes: IntArray) -> IntArray:
    """Return the order of boxes by t0, t1, x0, y0, then x1, y1; an insertion sort, as they are nearly in order."""
    order = np.arange(boxes.shape[1])
    for place in range(1, len(order)):
        moving = order[place]
        left = place - 1
        while left >= 0 and _before(boxes, moving, order[left]):
            order[left + 1] = order[left]
            left -= 1
        order[left + 1] = moving
    return order


@compiled
def _before(boxes: IntArray, one: int, other: int) -> bool:
    for row in (0, 1, 2, 4, 3, 5):
        if boxes[row, one] != boxes[row, other]:
            return bool(boxes[row, one] < boxes[row, other])
    return False


@compiled
def merge(
    a: IntArray, b: IntArray, users: tuple[int, int], limits: IntArray, most: IntArray
) -> tuple[IntArray, IntArray, IntArray]:
    """Return the merged samples (they may overlap), and for samples of a (the longer) and b which they went into.

    Stage A matches samples of a with those of b; stage B matches what is left of b with the results of stage A as
    they were when it began. `users`: how many share a and b. -1: suppressed, as the union would be larger than `most`
    (cells, steps of time).
    """
    to_a = _match(a, b, np.ones(a.shape[1], np.bool_), users, limits, most)
    used = np.zeros(b.shape[1], np.bool_)
    for i in range(a.shape[1]):
        if to_a[i] >= 0:
            used[to_a[i]] = True
    chosen = np.flatnonzero(used)
    number = np.full(b.shape[1], -1, np.int64)
    number[chosen] = np.arange(len(chosen))
    merged = b[:, chosen].copy()
    for i in range(a.shape[1]):
        if to_a[i] >= 0:
            to_a[i] = number[to_a[i]]
            _stretch_to(merged, to_a[i], a, i)
    order = _in_order(merged)
    place = np.empty(len(order), np.int64)
    place[order] = np.arange(len(order))
    merged = merged[:, order].copy()
    for i in range(a.shape[1]):
        if to_a[i] >= 0:
            to_a[i] = place[to_a[i]]
    before = merged.copy()
    to_b = _match(b, before, ~used, (users[1], users[0] + users[1]), limits, most)
    for j in range(b.shape[1]):
        if used[j]:
            to_b[j] = place[number[j]]
        elif to_b[j] >= 0:
            _stretch_to(merged, to_b[j], b, j)
    return merged, to_a, to_b


@compiled
def reshape(merged: IntArray, held: IntArray, most: IntArray) -> tuple[IntArray, IntArray]:
    """Return disjoint samples in the order of time, and for each held moment the one it is in, or -1.

    Time is cut at every start and end; a piece's box is the union of those that cover it. Pieces without a held
    moment (of an original sample that was kept) and pieces over `most` are dropped.
    """
    cuts = np.unique(np.concatenate((merged[0], merged[1])))
    pieces = np.empty((6, max(len(cuts) - 1, 0)), np.int64)
    covered = np.zeros(pieces.shape[1], np.bool_)
    first, last = np.searchsorted(cuts, merged[0]), np.searchsorted(cuts, merged[1])
    for sample in range(merged.shape[1]):
        for piece in range(first[sample], last[sample]):
            if covered[piece]:
                _stretch_to(pieces, piece, merged, sample)
            else:
                pieces[:, piece] = merged[:, sample]
                covered[piece] = True
    count = np.zeros(pieces.shape[1], np.int64)
    home = np.searchsorted(cuts, held, side="right") - 1
    for moment in home:
        count[moment] += 1
    number = np.full(pieces.shape[1], -1, np.int64)
    kept = 0
    for piece in range(pieces.shape[1]):
        pieces[0, piece], pieces[1, piece] = cuts[piece], cuts[piece + 1]
        extent = max(pieces[3, piece] - pieces[2, piece], pieces[5, piece] - pieces[4, piece])
        short = pieces[1, piece] - pieces[0, piece] <= most[1]
        if covered[piece] and count[piece] > 0 and extent <= most[0] and short:
            number[piece] = kept
            pieces[:, kept] = pieces[:, piece]
            kept += 1
    return pieces[:, :kept].copy(), number[home]


@compiled
def arrange(merged: IntArray, home: IntArray, most: IntArray) -> tuple[IntArray, IntArray]:
    """Return merged samples in order, overlapping as they are, and for each held original the one it is in, or -1.

    home: for each, the merged sample it went into. Samples that hold none, and those over `most`, are dropped.
    """
    good = np.zeros(merged.shape[1], np.bool_)
    for sample in home:
        extent = max(merged[3, sample] - merged[2, sample], merged[5, sample] - merged[4, sample])
        good[sample] = extent <= most[0] and merged[1, sample] - merged[0, sample] <= most[1]
    order = _in_order(merged)
    number = np.full(merged.shape[1], -1, np.int64)
    kept = order[good[order]]
    number[kept] = np.arange(len(kept))
    return merged[:, kept].copy(), number[home]


@compiled
def nearest_samples(a: IntArray, b: IntArray, limits: IntArray) -> IntArray:
    """Return for each point of a (t, x, y) the first of b's at least cost, for two single users."""
    nearest = np.empty(a.shape[1], np.int64)
    for i in range(a.shape[1]):
        least = np.int64(2**62)
        for j in range(b.shape[1]):
            away = min(abs(a[1, i] - b[1, j]) + abs(a[2, i] - b[2, j]), limits[0])
            cost = limits[2] * away + limits[3] * min(abs(a[0, i] - b[0, j]), limits[1])
            if cost < least:
                least, nearest[i] = cost, j
    return nearest
