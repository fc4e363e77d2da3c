"""Unicity: how many users fit a few known points, before and after."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from flowveil._arrays import IntArray
    from flowveil._trajectories.figures import Unicity
    from flowveil._trajectories.read import Trajectories

POINTS = (1, 2, 3, 4, 5, 6)


def unicity(trajectories: Trajectories, groups: list[IntArray], group_of: IntArray, k: int, seed: int = 0) -> Unicity:
    """Return by number of known points the shares of released users with 1, 0 and fewer than k matches.

    groups: published samples (t0, t1, x0, x1, y0, y1), disjoint and in order; group_of: each user's, -1 if none.
    Before: users who have all points. After: users of groups all of whose published samples hold them. The points
    are the same both times: the first of one random order of each user's samples.
    """
    from flowveil._trajectories.inside import fitting_users  # noqa: PLC0415  numba is slow to import

    random = np.random.default_rng(seed)
    released = np.flatnonzero(group_of >= 0)
    orders = [random.permutation(np.arange(*trajectories.start[user : user + 2])) for user in released.tolist()]
    owners = _owners(trajectories)
    start = np.cumsum([0, *(group.shape[1] for group in groups)])
    boxes = np.concatenate(groups, axis=1)
    sizes = np.bincount(group_of[released], minlength=len(groups))
    points = np.stack([trajectories.t, trajectories.x, trajectories.y])
    unicity = {}
    for count in POINTS:
        drawn = [order[:count] for order in orders]
        before = np.array([len(set.intersection(*(owners[sample] for sample in sample_ids))) for sample_ids in drawn])
        first = np.cumsum([0, *map(len, drawn)])
        after = fitting_users(points[:, np.concatenate(drawn)], first, boxes, start, sizes)
        unicity[str(count)] = {"before": _shares(before, k), "after": _shares(after, k)}
    return unicity


def _owners(trajectories: Trajectories) -> list[set[int]]:
    """Return for each sample the users who have the same one."""
    by_point: dict[tuple[int, int, int], set[int]] = defaultdict(set)
    places = list(zip(trajectories.t.tolist(), trajectories.x.tolist(), trajectories.y.tolist(), strict=True))
    for user, place in zip(trajectories.owner.tolist(), places, strict=True):
        by_point[place].add(user)
    return [by_point[place] for place in places]


def _shares(matches: IntArray, k: int) -> dict[str, float]:
    return {
        "one": float((matches == 1).mean()),
        "none": float((matches == 0).mean()),
        "fewer_than_k": float((matches < k).mean()),
    }
