"""mosaic as one writes it first: NumPy, level pair by level pair, on trees whose leaves all lie at one depth."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass
class Level:
    """All pairs at one pair of depths that are publishable or children of publishable pairs."""

    trips: np.ndarray
    loss: np.ndarray
    good: np.ndarray
    up: list  # by axis: position of the parent in the level above, -1 where that level lacks it


class Mosaic:
    """The cube, and the least cost at a price of suppressed trips."""

    def __init__(self, flows, k):
        self.total = flows.total
        ancestors = [_ancestors(flows.origins, flows.origin), _ancestors(flows.destinations, flows.destination)]
        self.levels = {}
        width = len(flows.destinations)
        place = {}
        for i, first in enumerate(ancestors[0]):
            for j, second in enumerate(ancestors[1]):
                alive = np.zeros(len(flows), bool) if i or j else np.ones(len(flows), bool)
                for above in ((i - 1, j), (i, j - 1)):
                    if above in self.levels:
                        at = place[above]
                        alive |= (at >= 0) & self.levels[above].good[at]
                rows = np.flatnonzero(alive)
                key, example, group = np.unique(
                    first[rows] * width + second[rows], return_index=True, return_inverse=True
                )
                trips = np.bincount(group, weights=flows.trips[rows], minlength=len(key))
                tiles = flows.origins.tiles[key // width] + flows.destinations.tiles[key % width]
                up = [place[a][rows[example]] if a in place else None for a in ((i - 1, j), (i, j - 1))]
                self.levels[i, j] = Level(trips, tiles * trips, trips >= k, up)
                place[i, j] = np.full(len(flows), -1)
                place[i, j][rows] = group
            for j in range(len(ancestors[1])):
                place.pop((i - 1, j), None)

    def best(self, lam):
        """Return loss and suppressed trips of the best mosaic."""
        cost, lost = {}, {}
        for here in sorted(self.levels, reverse=True):
            level = self.levels[here]
            value = np.where(level.good, level.loss, lam * level.trips)
            gone = np.where(level.good, 0, level.trips)
            for axis in (1, 0):
                below = (here[0] + 1, here[1]) if axis == 0 else (here[0], here[1] + 1)
                if below not in self.levels:
                    continue
                parent = self.levels[below].up[axis]
                inside = parent >= 0
                size = len(level.trips)
                split = np.bincount(parent[inside], weights=cost[below][inside], minlength=size)
                split_gone = np.bincount(parent[inside], weights=lost[below][inside], minlength=size)
                better = level.good & (split <= value)
                value = np.where(better, split, value)
                gone = np.where(better, split_gone, gone)
            cost[here], lost[here] = value, gone
        suppressed = lost[0, 0][0]
        return cost[0, 0][0] - lam * suppressed, suppressed

    def solve(self, budget):
        """Return loss and suppressed trips of the cut on the feasible side of the best breakpoint."""
        fine, lam = self.best(0.0), 1.0
        coarse = self.best(lam)
        while coarse[1] > budget:
            lam *= 8
            fine, coarse = coarse, self.best(lam)
        while True:
            lam = (coarse[0] - fine[0]) / (fine[1] - coarse[1])
            middle = self.best(lam)
            if middle[0] + lam * middle[1] >= (coarse[0] + lam * coarse[1]) * (1 - 1e-12):
                return coarse
            fine, coarse = (fine, middle) if middle[1] <= budget else (middle, coarse)


def _ancestors(tree, leaf):
    """Return the ancestors of leaves at every depth, from the root on."""
    assert (tree.depth[tree.is_leaf] == tree.depth[-1]).all()
    steps = int(tree.depth[-1])
    return [tree.up(leaf, steps - depth) for depth in range(steps + 1)]
