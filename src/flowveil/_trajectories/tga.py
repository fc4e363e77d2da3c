"""TGA, the trajectory generalization of Nergiz, Atzori, Saygin and Guec, to compare with.

A random user and the nearest others, one after the other, become a group. Distance is the least log cost of an
alignment in order, one sample to one: a match costs the logarithm of the volume of the union of both boxes, a
suppressed sample half of the logarithm of the largest useful volume, 20 km by 20 km by 8 h. A match may not be larger
than that on any side.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from flowveil._compiled import compiled

if TYPE_CHECKING:
    from flowveil._arrays import BoolArray, FloatArray, IntArray

Groups = list[tuple["IntArray", "IntArray"]]


def group_users(users: list[IntArray], k: int, limits: tuple[int, int], seed: int = 0) -> Groups:
    """Return groups as (members, boxes); boxes are t0, t1, x0, x1, y0, y1, and fewer than k users are left out.

    users: each one's samples as such boxes, in the order of time; limits: 20 km in cells, 8 h in steps.
    """
    logs = np.log(np.maximum(np.arange(max(limits) + 2, dtype=np.float64), 1))
    flat = np.concatenate(users, axis=1)
    start = np.cumsum([0, *(samples.shape[1] for samples in users)])
    free = np.ones(len(users), np.bool_)
    groups: Groups = []
    for first in np.random.default_rng(seed).permutation(len(users)).tolist():
        if not free[first] or free.sum() < k:
            continue
        members, boxes = [first], users[first]
        free[first] = False
        while len(members) < k:
            other = nearest_user(boxes, flat, start, free, logs, np.array(limits))
            match = align_boxes(boxes, users[other], logs, np.array(limits))
            boxes = _joined(boxes, users[other], match)
            members.append(int(other))
            free[other] = False
        groups.append((np.array(members), boxes))
    return groups


def _joined(boxes: IntArray, samples: IntArray, match: IntArray) -> IntArray:
    kept, to = np.compress(match >= 0, boxes, axis=1), samples.take(match[match >= 0], axis=1)
    joined = np.minimum(kept, to)
    joined[1::2] = np.maximum(kept, to)[1::2]
    return joined


@compiled
def _costs(a: IntArray, b: IntArray, logs: FloatArray, limits: IntArray) -> FloatArray:
    """Return the least cost of aligning the first samples of a with the first of b, for all numbers of both."""
    alone = (2 * logs[limits[0]] + logs[limits[1]]) / 2
    cost = np.empty((a.shape[1] + 1, b.shape[1] + 1))
    cost[0] = alone * np.arange(b.shape[1] + 1)
    cost[:, 0] = alone * np.arange(a.shape[1] + 1)
    for i in range(a.shape[1]):
        for j in range(b.shape[1]):
            least = min(cost[i, j + 1], cost[i + 1, j]) + alone
            span = max(a[1, i], b[1, j]) - min(a[0, i], b[0, j])
            if span <= limits[1]:
                wide = max(a[3, i], b[3, j]) - min(a[2, i], b[2, j])
                tall = max(a[5, i], b[5, j]) - min(a[4, i], b[4, j])
                if wide <= limits[0] and tall <= limits[0]:
                    least = min(least, cost[i, j] + logs[span] + logs[wide] + logs[tall])
            cost[i + 1, j + 1] = least
    return cost


@compiled
def nearest_user(
    boxes: IntArray, flat: IntArray, start: IntArray, free: BoolArray, logs: FloatArray, limits: IntArray
) -> int:
    """Return the first free user at least cost from a group."""
    least, nearest = np.inf, -1
    for user in range(len(free)):
        if free[user]:
            value = _costs(boxes, flat[:, start[user] : start[user + 1]], logs, limits)[-1, -1]
            if value < least:
                least, nearest = value, user
    return nearest


@compiled
def align_boxes(a: IntArray, b: IntArray, logs: FloatArray, limits: IntArray) -> IntArray:
    """Return for each sample of a the one of b it is matched with, or -1 if it is suppressed."""
    cost = _costs(a, b, logs, limits)
    alone = (2 * logs[limits[0]] + logs[limits[1]]) / 2
    match = np.full(a.shape[1], -1, np.int64)
    i, j = a.shape[1], b.shape[1]
    while i > 0 and j > 0:
        if cost[i, j] == cost[i - 1, j] + alone:
            i -= 1
        elif cost[i, j] == cost[i, j - 1] + alone:
            j -= 1
        else:
            i, j = i - 1, j - 1
            match[i] = j
    return match
