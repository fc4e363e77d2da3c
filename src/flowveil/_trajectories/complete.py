"""Trajectories in which every member was seen in every sample: of groups of gather, or of glove."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from flowveil._trajectories.choice import Chooser
from flowveil._trajectories.frontiers import follow
from flowveil._trajectories.gather import Former
from flowveil._trajectories.options import GATHER
from flowveil._trajectories.steering import steer

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from flowveil._trajectories.choice import Outcome
    from flowveil._trajectories.frontiers import TrajectoryFrontier
    from flowveil._trajectories.glove import Grouping
    from flowveil._trajectories.options import GroupingOptions
    from flowveil._trajectories.read import Trajectories
    from flowveil._trajectories.steering import Steering


def group_completely(
    trajectories: Trajectories,
    asked: GroupingOptions,
    steering: Steering,
    merge: Callable[[], Grouping],
    tell: Callable[[str], None],
) -> Grouping:
    """Return groups and the samples of them that the price buys; merge: makes the groups of glove."""
    with _forming(trajectories, asked, merge, tell) as (chooser, form, users):
        outcome = steer(steering, chooser, form, users)
    outcome.grouping.price = outcome.price / chooser.unit
    return outcome.grouping


def follow_frontier(
    trajectories: Trajectories,
    asked: GroupingOptions,
    points: int,
    merge: Callable[[], Grouping],
    tell: Callable[[str], None],
) -> TrajectoryFrontier:
    """Return what groups publish at different prices."""
    with _forming(trajectories, asked, merge, tell) as (chooser, form, users):
        return follow(asked.method, chooser, form, users, points)


@contextmanager
def _forming(
    trajectories: Trajectories,
    asked: GroupingOptions,
    merge: Callable[[], Grouping],
    tell: Callable[[str], None],
) -> Iterator[tuple[Chooser, Callable[[int], Outcome], int]]:
    """Give what chooses samples, what returns an outcome at a price, and how many users a group has at most.

    Every member is seen in every sample: where more than k have to be, groups are that large.
    """
    chooser, least = Chooser(trajectories, *asked.most_in(trajectories.grid)), max(asked.k, asked.min_support)
    if asked.method != GATHER:
        groups = [group.members for group in merge().groups if len(group.members) >= least]
        yield chooser, lambda price: chooser.choose(groups, price), max(map(len, groups), default=1)
        return
    former = Former(chooser, least, absorb=asked.variant == "absorb", tell=tell)
    try:
        yield chooser, former.form, former.most_users
    finally:
        former.close()
