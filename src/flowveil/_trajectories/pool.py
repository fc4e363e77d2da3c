"""All groups of a run in one array that compiled loops can walk through."""

from __future__ import annotations

from math import gcd
from typing import TYPE_CHECKING, Any

import numpy as np

from flowveil._errors import InputError

if TYPE_CHECKING:
    from flowveil._arrays import BoolArray, IntArray
    from flowveil._trajectories.kernels import Groups
    from flowveil._trajectories.nearest import State
    from flowveil._trajectories.read import Trajectories

Whole = Any  # an array of int32 or int64

_LARGEST, _TOO_LARGE = 2**31, 2**62
_SPARE = 1.5  # room for merged trajectories before the array is packed again


class Pool:
    """Groups by id, which is the least rank of all who were merged into it, those among them who were left out too."""

    def __init__(self, trajectories: Trajectories, most_users: int) -> None:
        """Start with one group for each user; no two groups that are compared have more than `most_users` together."""
        grid = trajectories.grid
        self.origin = np.array([trajectories.t.min(), trajectories.x.min(), trajectories.y.min()], np.int64)
        corners = np.stack([trajectories.t, trajectories.x, trajectories.y]) - self.origin[:, None]
        boxes = np.repeat(corners, 2, axis=0)
        boxes[1::2] += 1
        self.limits_whole = limits(grid.space_limit, grid.time_limit, grid.weights)
        self.dtype = whole_type(boxes, self.limits_whole, most_users)
        self.limits: Whole = self.limits_whole.astype(self.dtype)
        count = len(trajectories)
        self.samples: Whole = np.empty((6, int(_SPARE * boxes.shape[1]) + 1024), self.dtype)
        self.samples[:, : boxes.shape[1]] = boxes
        self.end = boxes.shape[1]
        alone = np.ones((2, count), np.int64)
        self.place = np.concatenate([trajectories.start[None, :-1], trajectories.start[None, 1:], alone])
        self.boxes = _envelopes(boxes, trajectories.start).astype(self.dtype)
        self.alive: BoolArray = np.ones(count, np.bool_)  # takes part
        self.kept: BoolArray = np.ones(count, np.bool_)  # has samples
        self.done: BoolArray = np.zeros(count, np.bool_)
        self.sweep = True
        self.ordered = True  # samples of a group do not overlap, so that ends are in order as well

    def __len__(self) -> int:
        return int(self.place.shape[1])

    def groups(self) -> Groups:
        """Return the groups as compiled loops take them; valid until samples are packed again."""
        from flowveil._trajectories.kernels import Groups  # noqa: PLC0415  numba is slow to import

        return Groups(self.samples, self.place, self.boxes, self.limits, self.ordered)

    def state(self) -> State:
        """Return the groups, which of them take part or are finished, and the loop to compare them with."""
        from flowveil._trajectories.nearest import State  # noqa: PLC0415  numba is slow to import

        return State(self.groups(), self.sweep, self.alive, self.done)

    def get(self, group: int) -> IntArray:
        """Return the samples of a group: t0, t1, x0, x1, y0, y1, counted from the pool's origin."""
        samples: IntArray = self.samples[:, self.place[0, group] : self.place[1, group]].astype(np.int64)
        return samples

    def put(self, group: int, samples: IntArray, users: int, *, done: bool) -> None:
        """Give a group new samples, which are merged ones."""
        length = samples.shape[1]
        if self.end + length > self.samples.shape[1]:
            self._pack(length)
        self.samples[:, self.end : self.end + length] = samples
        self.place[:, group] = self.end, self.end + length, users, False
        self.end += length
        self.boxes[::2, group] = samples[::2].min(axis=1)
        self.boxes[1::2, group] = samples[1::2].max(axis=1)
        self.done[group] = done

    def rest(self, group: int) -> None:
        """Let a group take no more part; its samples stay."""
        self.alive[group] = False

    def remove(self, group: int) -> None:
        """Drop a group and its samples."""
        self.alive[group] = False
        self.kept[group] = False

    def _pack(self, more: int) -> None:
        kept = np.flatnonzero(self.kept)
        used = int((self.place[1, kept] - self.place[0, kept]).sum())
        new: Whole = np.empty((6, int(_SPARE * (used + more)) + 1024), self.dtype)
        self.end = 0
        for group in kept.tolist():
            first, last = self.place[:2, group].tolist()
            new[:, self.end : self.end + last - first] = self.samples[:, first:last]
            self.place[:2, group] = self.end, self.end + last - first
            self.end += last - first
        self.samples = new


def limits(space_limit: int, time_limit: int, weights: tuple[int, int] = (1, 1)) -> IntArray:
    """Return both caps and the factors with which they weigh as they should, as small as they can be."""
    space, time = weights[0] * time_limit, weights[1] * space_limit
    common = gcd(space, time)
    return np.array([space_limit, time_limit, space // common, time // common], np.int64)


def whole_type(boxes: IntArray, caps: IntArray, users: int) -> type[np.int32 | np.int64]:
    """Return the narrowest type in which no cost can overflow."""
    time = int(boxes[1].max())
    space = int(boxes[3].max() + boxes[5].max())
    largest = 2 * users * max(time * int(caps[3]), space, int(caps[0] * caps[2]), int(caps[1] * caps[3]))
    if largest >= _TOO_LARGE:
        raise InputError(
            "the caps and weights are too large for so fine a step", "give smaller ones, or a coarser step"
        )
    return np.int32 if largest < _LARGEST else np.int64


def _envelopes(boxes: IntArray, start: IntArray) -> IntArray:
    first = start[:-1]
    low = np.minimum.reduceat(boxes[::2], first, axis=1)
    high = np.maximum.reduceat(boxes[1::2], first, axis=1)
    around: IntArray = np.empty((6, len(first)), np.int64)
    around[::2], around[1::2] = low, high
    return around
