"""Grids of all matrices of a problem at one price: each matrix has its own, one after the other."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from flowveil._methods.frontier import FrontierPoint
from flowveil._methods.grids import AreaGrid, Grids
from flowveil._methods.uniform_grids import UniformGrids

if TYPE_CHECKING:
    from flowveil._arrays import FloatArray, IntArray
    from flowveil._problem import Problem


@dataclass(frozen=True, eq=False)
class ManyGrid:
    """A grid for each matrix."""

    parts: tuple[AreaGrid, ...]

    @cached_property
    def loss(self) -> float:
        """Loss of all matrices."""
        return sum(grid.loss for grid in self.parts)

    @cached_property
    def suppressed(self) -> int:
        """Trips withheld in all matrices."""
        return sum(grid.suppressed for grid in self.parts)

    def value(self, lam: float) -> float:
        """Return what the grids cost when a withheld trip costs `lam`."""
        return self.loss + lam * self.suppressed


class ManyGrids:
    """All grids of all matrices of a problem."""

    def __init__(self, problem: Problem) -> None:
        self.total, self.budget = problem.flows.total, problem.budget
        self.parts = [problem.part(matrix) for matrix in range(problem.flows.matrix_count)]
        self.grids = [Grids(part.cube, part.axes[:2]) for part in self.parts]
        self._price = max((part.cube.price for part in self.parts), default=0.0)

    def coarsest(self) -> ManyGrid:
        """Return the grids of whole axes."""
        return ManyGrid(tuple(grids.coarsest() for grids in self.grids))

    def improve(self, many: ManyGrid, lam: float) -> ManyGrid:
        """Improve every grid at a price."""
        pairs = zip(self.grids, many.parts, strict=True)
        return ManyGrid(tuple(grids.improve(grid, lam) for grids, grid in pairs))

    def better(self, one: ManyGrid, other: ManyGrid, lam: float) -> ManyGrid:
        """Return the cheaper grid of each matrix, the first of equals."""
        pairs = zip(one.parts, other.parts, strict=True)
        return ManyGrid(tuple(min(pair, key=lambda grid: grid.value(lam)) for pair in pairs))

    def mean(self, many: ManyGrid) -> float:
        """Return what a published trip loses on average; where withheld trips lose too, what any trip does."""
        trips = self.total - (0 if self._price else many.suppressed)
        return many.loss / trips if trips else float("inf")

    def spend(self, many: ManyGrid, left: int) -> ManyGrid:
        """Split single areas, matrix by matrix, while that lowers the mean and no more than `left` trips are lost."""
        spent, worth = [], 0.0 if self._price else self.mean(many)
        for grids, grid in zip(self.grids, many.parts, strict=True):
            better = grids.spend(grid, left, worth)
            left -= better.suppressed - grid.suppressed
            spent.append(better)
        return ManyGrid(tuple(spent))

    def uniform(self) -> ManyGrid:
        """Return the uniform grids of least mean, each within the share of the budget of its matrix.

        A matrix that has none takes what the others leave of the budget; if that is not enough, it is withheld.
        """
        uniform = [UniformGrids(part.cube, part.axes[:2]) for part in self.parts]
        found = [self._finest(place, lattice, self.parts[place].budget) for place, lattice in enumerate(uniform)]
        left = self.budget - sum(grid.suppressed for grid in found)
        for place, (lattice, grid) in enumerate(zip(uniform, found, strict=True)):
            if not len(grid.published):
                found[place] = self._finest(place, lattice, left + grid.suppressed)
                left += grid.suppressed - found[place].suppressed
        return ManyGrid(tuple(found))

    def _finest(self, place: int, lattice: UniformGrids, budget: int) -> AreaGrid:
        """Return the uniform grid of least mean of a matrix within a budget, or one with nothing published."""
        grids, cube = self.grids[place], self.parts[place].cube
        allowed = np.flatnonzero((lattice.suppressed <= budget) & (lattice.kept > 0))
        if not len(allowed):
            nothing = np.zeros(0, np.int64)
            return AreaGrid(lattice.areas(0), nothing, cube.price * cube.total, cube.total)
        loss = lattice.add_up(cube.loss) + cube.price * lattice.suppressed
        mean = loss[allowed] / (cube.total if cube.price else lattice.kept[allowed])
        return grids.measure(lattice.areas(int(allowed[np.lexsort((lattice.suppressed[allowed], mean))[0]])))

    def rates(self) -> FloatArray:
        """Return the positive losses by trip of all cells."""
        rate = np.concatenate([(grids.cube.loss / grids.cube.trips)[grids.available] for grids in self.grids])
        positive: FloatArray = rate[rate > 0]
        return positive

    def excess(self, many: ManyGrid, max_gbar: float) -> float:
        """Return by how much the tiles of published trips pass a mean, added up; infinite if nothing is published."""
        excess = [
            float((grids.cube.trips * (grids.cube.tiles - max_gbar))[grid.published].sum())
            for grids, grid in zip(self.grids, many.parts, strict=True)
            if len(grid.published)
        ]
        return sum(excess) if excess else float("inf")

    def point(self, many: ManyGrid, lam: float) -> FrontierPoint:
        """Return what grids reach at a price, as a point of the frontier."""
        trips, sizes = 0, 0
        ends: tuple[list[IntArray], list[IntArray]] = ([], [])
        for grids, grid in zip(self.grids, many.parts, strict=True):
            cube = grids.cube
            trips += int(cube.trips[grid.published].sum())
            sizes += int((cube.trips * cube.tiles)[grid.published].sum())
            for end, row in zip(ends, cube.node, strict=False):
                end.append(row[grid.published])
        return FrontierPoint(
            lam,
            sizes / trips if trips else float("nan"),
            1 - trips / self.total,
            sum(len(grid.published) for grid in many.parts),
            *(_distinct(end) for end in ends),
        )


def _distinct(nodes: list[IntArray]) -> int:
    return len(np.unique(np.concatenate(nodes)))
