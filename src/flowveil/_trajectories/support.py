"""Support: how many members of a group were really seen in each of its samples."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from flowveil._errors import PromiseError
from flowveil._trajectories.glove import Group, Grouping

if TYPE_CHECKING:
    from flowveil._arrays import IntArray
    from flowveil._trajectories.read import Trajectories


def find_held(trajectories: Trajectories, user: int, boxes: IntArray) -> tuple[IntArray, IntArray]:
    """Return every pair of a sample of a user (counted from the first) and a published one that holds it, in order.

    boxes: in the order of their starts; where they do not overlap, a sample is in one at most.
    """
    from flowveil._trajectories.inside import held_pairs  # noqa: PLC0415  numba is slow to import

    own = slice(trajectories.start[user], trajectories.start[user + 1])
    points = np.stack([trajectories.t[own], trajectories.x[own], trajectories.y[own]])
    held: tuple[IntArray, IntArray] = held_pairs(points, np.ascontiguousarray(boxes))
    return held


def keep_supported(trajectories: Trajectories, grouping: Grouping, k: int, least: int) -> Grouping:
    """Return groups with the samples in which at least `least` members were seen; raise PromiseError if none is left.

    Members without such a sample leave their group, and what they leave is still supported: none of the samples that
    are kept counted them. A group that falls below k leaves as a whole.
    """
    kept = Grouping(suppressed_users=list(grouping.suppressed_users), merges=grouping.merges)
    for group in grouping.groups:
        if (left := _supported(trajectories, group, k, least)) is not None:
            kept.groups.append(left)
        stays = group.members[:0] if left is None else left.members
        kept.suppressed_users += np.setdiff1d(group.members, stays).tolist()
    kept.suppressed_users.sort()
    if not kept.groups:
        raise PromiseError(
            f"no group of {k} users has a sample in which {least} of them were seen",
            "lower min_support or k, or raise the suppression thresholds",
        )
    return kept


def _supported(trajectories: Trajectories, group: Group, k: int, least: int) -> Group | None:
    """Return what is left of a group, None if that is not enough."""
    boxes = group.samples
    seen = [np.unique(find_held(trajectories, user, boxes)[1]) for user in group.members.tolist()]
    good = np.bincount(np.concatenate(seen), minlength=boxes.shape[1]) >= least
    members = group.members[[bool(good[spots].any()) for spots in seen]]
    return Group(members, boxes[:, good]) if len(members) >= k else None
