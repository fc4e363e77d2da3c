"""Compiled trimming of boxes: samples at the edges leave a box where it earns more without them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from flowveil._compiled import Whole, compiled
from flowveil._trajectories.inner import SCALE, Paths, Terms

if TYPE_CHECKING:
    from flowveil._arrays import IntArray


@compiled
def collect(paths: Paths, members: IntArray, hands: IntArray, box: IntArray) -> IntArray:
    """Return the samples of members in the time span of a box: t, x, y, rows and member; move the hands behind it.

    hands: by member, the first sample that is not before the span.
    """
    t, x, y, rows, start = paths
    found = 0
    for hand in range(len(members)):
        end = start[members[hand] + 1]
        while hands[hand] < end and t[hands[hand]] < box[0]:
            hands[hand] += 1
        sample = hands[hand]
        while sample < end and t[sample] < box[1]:
            sample += 1
            found += 1
    inside = np.empty((5, found), np.int64)
    found = 0
    for hand in range(len(members)):
        end = start[members[hand] + 1]
        while hands[hand] < end and t[hands[hand]] < box[1]:
            sample = hands[hand]
            inside[0, found], inside[1, found], inside[2, found] = t[sample], x[sample], y[sample]
            inside[3, found], inside[4, found] = rows[sample], hand
            hands[hand] += 1
            found += 1
    return inside


@compiled
def _cut(terms: Terms, inside: IntArray, order: IntArray, users: int, axis: int) -> tuple[Whole, Whole]:
    """Return the most that the box around the last samples of an order earns, and where they begin.

    order: by one axis, so that what is equal on it stays or leaves together. Every member has one of them, else it
    earns -1.
    """
    seen = np.zeros(users, np.bool_)
    low, high = np.full(3, 2**62), np.full(3, -(2**62))
    rows, members, best, first = np.int64(0), 0, np.int64(-1), np.int64(0)
    for place in range(len(order) - 1, -1, -1):
        sample = order[place]
        for side in range(3):
            low[side] = min(low[side], inside[side, sample])
            high[side] = max(high[side], inside[side, sample])
        rows += inside[3, sample]
        if not seen[inside[4, sample]]:
            seen[inside[4, sample]] = True
            members += 1
        if members < users or (place > 0 and inside[axis, order[place - 1]] == inside[axis, sample]):
            continue
        span, wide, tall = high[0] - low[0] + 1, high[1] - low[1] + 1, high[2] - low[2] + 1
        value = rows * (terms.price - SCALE * (terms.by_space * (wide + tall) + terms.by_time * span))
        if value >= best:  # of equally good ones, the one that keeps more
            best, first = value, np.int64(place)
    return best, first


@compiled
def _shrink(terms: Terms, inside: IntArray, users: int) -> IntArray:
    """Return the samples that stay in a box: from one side at a time as many leave as earn the most."""
    best = np.int64(-1)
    while True:
        chosen = np.arange(0)
        for axis in range(3):
            upward = np.argsort(inside[axis], kind="mergesort")
            for order in (upward, upward[::-1].copy()):
                value, first = _cut(terms, inside, order, users, axis)
                if value > best:
                    best, chosen = value, order[first:]
        if len(chosen) in (0, inside.shape[1]):
            return inside
        inside = inside[:, np.sort(chosen)]


@compiled
def trim(paths: Paths, members: IntArray, terms: Terms, boxes: IntArray) -> Whole:
    """Shrink the boxes of a group as long as any of them earns more; return how many rows are in them."""
    hands = np.empty(len(members), np.int64)
    for hand in range(len(members)):
        hands[hand] = paths.start[members[hand]]
    kept = np.int64(0)
    for number in range(boxes.shape[1]):
        inside = _shrink(terms, collect(paths, members, hands, boxes[:, number]), len(members))
        for axis in range(3):
            boxes[2 * axis, number], boxes[2 * axis + 1, number] = inside[axis].min(), inside[axis].max() + 1
        kept += inside[3].sum()
    return kept
