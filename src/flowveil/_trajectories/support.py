"""Support: how many members of a group were really seen in each of its samples."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from flowveil._errors import PromiseError
from flowveil._trajectories.glove import Group, Grouping

if TYPE_CHECKING:
    from flowveil._arrays import IntArray
    from flowveil._trajectories.read import Trajectories


def find_homes(trajectories: Trajectories, user: int, boxes: IntArray) -> IntArray:
    """Return for each sample of a user which published one holds it, -1 for none; boxes: disjoint, in order."""
    own = slice(trajectories.start[user], trajectories.start[user + 1])
    t, x, y = trajectories.t[own], trajectories.x[own], trajectories.y[own]
    home = np.searchsorted(boxes[0], t, side="right") - 1
    box = boxes[:, np.maximum(home, 0)]
    inside = (home >= 0) & (t < box[1]) & (box[2] <= x) & (x < box[3]) & (box[4] <= y) & (y < box[5])
    return np.where(inside, home, -1)


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
    seen = [np.unique(find_homes(trajectories, user, boxes)) for user in group.members.tolist()]
    support = np.bincount(np.concatenate(seen) + 1, minlength=boxes.shape[1] + 1)[1:]  # without those seen nowhere
    good = np.append(support >= least, False)  # the last entry is for nowhere
    members = group.members[[bool(good[homes].any()) for homes in seen]]
    return Group(members, boxes[:, good[:-1]]) if len(members) >= k else None
