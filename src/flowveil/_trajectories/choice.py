"""Which samples of given groups to publish: boxes in which every member was seen, the best ones at a price."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from flowveil._trajectories.glove import NO_LIMIT, Group, Grouping
from flowveil._trajectories.pool import limits

if TYPE_CHECKING:
    from collections.abc import Sequence

    from flowveil._arrays import IntArray
    from flowveil._trajectories.inner import Paths, Terms
    from flowveil._trajectories.read import Trajectories


@dataclass(frozen=True, eq=False)
class Outcome:
    """What groups publish at a price."""

    price: int
    members: list[IntArray]  # of all groups, those that publish nothing too
    grouping: Grouping
    kept: int  # input rows
    extent: float  # meters, mean over samples, each as often as it has users; 0 without samples
    duration: float  # minutes, likewise


class Chooser:
    """Chooses the samples of groups of some trajectories."""

    def __init__(
        self, trajectories: Trajectories, max_extent: int | None = None, max_duration: int | None = None
    ) -> None:
        from flowveil._trajectories.inner import SCALE, Paths  # noqa: PLC0415  numba is slow to import

        self.trajectories = trajectories
        self.paths: Paths = Paths(
            trajectories.t, trajectories.x, trajectories.y, trajectories.rows, np.asarray(trajectories.start, np.int64)
        )
        grid = trajectories.grid
        space, time, self.by_space, self.by_time = limits(grid.space_limit, grid.time_limit, grid.weights).tolist()
        self.unit = SCALE * (
            space * self.by_space + time * self.by_time
        )  # a price of 1: half of the space cap each way
        self.max_extent = NO_LIMIT if max_extent is None else max_extent
        self.max_duration = NO_LIMIT if max_duration is None else max_duration
        self.rows = int(trajectories.rows.sum())

    @property
    def least(self) -> int:
        """The largest price at which no box pays, not even one of a single cell and step."""
        from flowveil._trajectories.inner import SCALE  # noqa: PLC0415  numba is slow to import

        return int(SCALE * (2 * self.by_space + self.by_time))

    def most(self, users: int) -> int:
        """Return a price at which groups of so many users keep all they can: one row earns more than any box costs."""
        from flowveil._trajectories.inner import SCALE  # noqa: PLC0415  numba is slow to import

        paths = self.paths
        wide, tall = (min(int(np.ptp(values)) + 1, self.max_extent) for values in (paths.x, paths.y))
        cost = self.by_space * (wide + tall) + self.by_time * min(int(np.ptp(paths.t)) + 1, self.max_duration)
        by_user = np.sort(np.add.reduceat(paths.rows, paths.start[:-1]))[::-1]
        rows = int(by_user[:users].sum())
        return int(min(SCALE * cost * (rows + 1), NO_LIMIT // (rows + 1)))

    def terms(self, price: int) -> Terms:
        """Return what boxes earn and cost."""
        from flowveil._trajectories.inner import Terms  # noqa: PLC0415  numba is slow to import

        return Terms(price, self.by_space, self.by_time, self.max_extent, self.max_duration)

    def choose(self, members: Sequence[IntArray], price: int) -> Outcome:
        """Return the samples of groups; whoever is in no group with a sample is suppressed."""
        from flowveil._trajectories.inner import boxes_of, make_room  # noqa: PLC0415  numba is slow to import
        from flowveil._trajectories.trimming import trim  # noqa: PLC0415  numba is slow to import

        terms = self.terms(price)
        room = make_room(self.paths, max(map(len, members), default=1))
        grouping, kept = Grouping(), 0
        for group in map(np.sort, members):
            samples, _ = boxes_of(self.paths, group, terms, room)
            if samples.shape[1]:
                kept += int(trim(self.paths, group, terms, samples))
                grouping.groups.append(Group(group, samples))
        shared = [group.members for group in grouping.groups]
        everyone = np.arange(len(self.trajectories))
        grouping.suppressed_users = np.setdiff1d(everyone, np.concatenate([everyone[:0], *shared])).tolist()
        return Outcome(price, list(members), grouping, kept, *self._means(grouping))

    def _means(self, grouping: Grouping) -> tuple[float, float]:
        """Return the mean extent in meters and duration in minutes."""
        if not grouping.groups:
            return 0.0, 0.0
        boxes = np.concatenate([group.samples for group in grouping.groups], axis=1)
        users = np.concatenate([np.full(group.samples.shape[1], len(group.members)) for group in grouping.groups])
        extent = int((np.maximum(boxes[3] - boxes[2], boxes[5] - boxes[4]) * users).sum())
        duration = int(((boxes[1] - boxes[0]) * users).sum())
        grid, total = self.trajectories.grid, int(users.sum())
        return extent * grid.meters / total, duration * grid.minutes / total
