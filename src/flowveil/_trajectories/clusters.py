"""Greedy clusters around pivots, as W4M and NWA make them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from flowveil._arrays import BoolArray, FloatArray, IntArray

FRACTIONS = 50
_GROWTH = 1.5


def resample(points: FloatArray, first: float, last: float) -> FloatArray:
    """Return (minutes, x, y) at equal fractions from first to last, moving straight between samples."""
    moments = np.linspace(first, last, FRACTIONS)
    return np.column_stack([moments, *(np.interp(moments, points[:, 0], points[:, axis]) for axis in (1, 2))])


def distances(one: FloatArray, others: FloatArray, speed: float) -> FloatArray:
    """Return mean distances of resampled trajectories, a minute apart counting as `speed` meters."""
    apart = np.hypot(others[:, :, 1] - one[:, 1], others[:, :, 2] - one[:, 2])
    mean: FloatArray = (apart + speed * np.abs(others[:, :, 0] - one[:, 0])).mean(axis=1)
    return mean


def cluster(
    shapes: FloatArray, k: int, speed: float, radius: float, most_trash: float
) -> tuple[list[IntArray], IntArray]:
    """Return clusters (the pivot first) of at least k, and the trash: at most a share, the radius growing until then.

    shapes: resampled trajectories. With fewer than k of them everything is trash. radius: the first one, in meters.
    """
    if len(shapes) < k:
        return [], np.arange(len(shapes))
    apart = np.stack([distances(shape, shapes, speed) for shape in shapes])
    middle = distances(shapes.mean(axis=0), shapes, speed)
    while True:
        clusters, trash = _attempt(apart, middle, k, radius)
        if len(trash) <= most_trash * len(shapes):
            return clusters, trash
        radius *= _GROWTH


def _attempt(apart: FloatArray, middle: FloatArray, k: int, radius: float) -> tuple[list[IntArray], IntArray]:
    """Make clusters with this radius; the first pivot is the farthest from the middle, the next from all pivots."""
    free: BoolArray = np.ones(len(apart), np.bool_)
    may_lead: BoolArray = np.ones(len(apart), np.bool_)
    far = middle
    clusters: list[list[int]] = []
    while (candidates := free & may_lead).any():
        pivot = int(np.where(candidates, far, -1.0).argmax())
        away = apart[pivot]
        others = np.flatnonzero(free & (np.arange(len(apart)) != pivot))
        nearest = others[np.argsort(away[others], kind="stable")[: k - 1]]
        may_lead[pivot] = False
        if len(nearest) < k - 1 or away[nearest].max(initial=0.0) > radius:
            continue
        far = np.minimum(far, away) if clusters else away
        clusters.append([pivot, *nearest.tolist()])
        free[clusters[-1]] = False
    trash = []
    pivots = [members[0] for members in clusters]
    for rest in np.flatnonzero(free).tolist():
        away = apart[pivots, rest]
        if len(away) and away.min() <= radius:
            clusters[int(away.argmin())].append(rest)
        else:
            trash.append(rest)
    return [np.array(members) for members in clusters], np.array(trash, np.int64)
