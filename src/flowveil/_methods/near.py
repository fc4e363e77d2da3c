"""Cuts near the best one at a price: all that cost less than a gap more."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from flowveil._methods.open_cells import decide, join_open, open_run
from flowveil._processes import at_once

if TYPE_CHECKING:
    from flowveil._arrays import FloatArray, IntArray
    from flowveil._methods.cuts import ChoiceArray, Cut, Splits
    from flowveil._methods.front_kernels import Front
    from flowveil._methods.open_cells import Decided

WORK = 20_000_000  # points that a search may look at
POINTS = 2_000_000  # that it may keep, 32 bytes each
ROUNDING = 1e-12  # relative difference of costs that is none


@dataclass(frozen=True, eq=False)
class Near:
    """The cuts within a gap of the best one at a price: of those that withhold the same trips, one of least loss."""

    splits: Splits
    lam: float
    choice: ChoiceArray  # of the best one
    points: Front
    start: int  # of the points that cuts have
    withheld: IntArray  # by cut: trips, ascending
    loss: FloatArray  # by cut, descending

    def cut(self, number: int) -> Cut:
        """Return one of the cuts."""
        from flowveil._methods import front_kernels  # noqa: PLC0415 numba is slow to import

        choice = self.choice.copy()
        front_kernels.follow(self.points, self.start + number, choice)
        return self.splits.measure(choice, self.lam)


@dataclass(frozen=True, eq=False)
class Search:
    """A search for cuts that cost little more at a price than the best one."""

    splits: Splits
    lam: float
    value: float  # what the best one costs

    @cached_property
    def decided(self) -> list[Decided]:
        """The best choices, by run: the same however wide the gap is."""
        return at_once(lambda run: decide(self.splits, run, self.lam), self.splits.cube.runs)

    def find(self, gap: float, most: int) -> Near | None:
        """Return the cuts within a gap of the best one that withhold at most so many trips.

        None if there are too many to be looked at.
        """
        from flowveil._methods import front_kernels  # noqa: PLC0415 numba is slow to import

        splits, lam, rounding = self.splits, self.lam, ROUNDING * self.value
        runs = list(zip(splits.cube.runs, self.decided, strict=True))
        parts = at_once(lambda run: open_run(splits, *run, (gap, rounding)), runs)
        opened = join_open([part.opened for part in parts])
        terms = front_kernels.Terms(lam, rounding, WORK, POINTS)
        points, start, stop, finished = front_kernels.find_front(opened, gap, most, terms)
        if not finished:
            return None
        withheld = points.withheld[start:stop] + splits.cube.total - sum(part.kept for part in parts)
        loss = points.cost[start:stop] + self.value - lam * withheld
        inside = withheld <= most
        choice = np.concatenate([part.choice for part in parts])
        return Near(splits, lam, choice, points, start, withheld[inside], loss[inside])
