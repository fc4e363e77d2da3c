"""Grids: one cut of each axis, every area of one with every area of the other."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from flowveil._methods.treecut import best_cut
from flowveil._places import ROOT
from flowveil._problem import Solution

if TYPE_CHECKING:
    from flowveil._arrays import BoolArray, FloatArray, IntArray
    from flowveil._problem import Axis, Cube, Problem

SAME = 1e-12  # relative difference of costs that is rounding

Areas = tuple["BoolArray", ...]  # by axis and node: whether it is an area


@dataclass(frozen=True, eq=False)
class AreaGrid:
    """One cut of each axis, and what publishing their cross product does."""

    areas: Areas
    published: IntArray  # cells of the cube
    loss: float  # of the published cells, and of the withheld trips apart from lambda
    suppressed: int  # trips

    def value(self, lam: float) -> float:
        """Return what the grid costs when a withheld trip costs `lam`."""
        return self.loss + lam * self.suppressed


class Grids:
    """All grids of a cube. A crossing that may not be published is withheld."""

    def __init__(self, cube: Cube, axes: tuple[Axis, ...]) -> None:
        self.cube = cube
        self.trees = [axis.hierarchy for axis in axes]
        self.available = np.isfinite(cube.loss)

    def measure(self, areas: Areas) -> AreaGrid:
        """Return the grid of the areas given."""
        cube = self.cube
        published = np.flatnonzero(self._crossings(areas))
        suppressed = cube.total - int(cube.trips[published].sum())
        return AreaGrid(areas, published, float(cube.loss[published].sum()) + cube.price * suppressed, suppressed)

    def coarsest(self) -> AreaGrid:
        """Return the grid of whole axes, or of the children of the roots if the whole may not be published."""
        depth = 0 if len(self.cube) and self.available[0] else 1
        return self.measure(tuple((t.depth == depth) | (t.is_leaf & (t.depth < depth)) for t in self.trees))

    def improve(self, grid: AreaGrid, lam: float) -> AreaGrid:
        """Find the best cut of each axis in turn, the others as they are, until nothing changes.

        Of equal cuts the finer one is taken.
        """
        axis, unchanged = 0, 0
        while unchanged < len(self.trees):
            cut, _ = best_cut(self.trees[axis], self._costs(grid.areas, axis, lam))
            other = self.measure((*grid.areas[:axis], cut, *grid.areas[axis + 1 :]))
            rounding = SAME * grid.value(lam)
            depth = self.trees[axis].depth
            finer = depth[cut].sum() > depth[grid.areas[axis]].sum()
            if other.value(lam) < grid.value(lam) - rounding or (
                finer and other.value(lam) <= grid.value(lam) + rounding
            ):
                grid, unchanged = other, 0
            unchanged += 1
            axis = (axis + 1) % len(self.trees)
        return grid

    def spend(self, grid: AreaGrid, left: int, worth: float) -> AreaGrid:
        """Split single areas, best gain for each suppressed trip first, while no more than `left` trips are lost.

        A trip that is lost must gain more than `worth`.
        """
        while (step := self._best_split(grid.areas, left, worth)) is not None:
            axis, node = step
            tree = self.trees[axis]
            cut = grid.areas[axis].copy()
            cut[node] = False
            cut[tree.first_child[node] : tree.end_child[node]] = True
            before = grid.suppressed
            grid = self.measure((*grid.areas[:axis], cut, *grid.areas[axis + 1 :]))
            left -= grid.suppressed - before
        return grid

    def _best_split(self, areas: Areas, left: int, worth: float) -> tuple[int, int] | None:
        best, split_at = worth, None
        for axis, tree in enumerate(self.trees):
            crossing = np.flatnonzero(self._crossings(areas, axis))
            node = self.cube.node[axis][crossing]
            trips = _by_node(node, self.cube.trips[crossing], len(tree))
            loss = _by_node(node, self.cube.loss[crossing], len(tree))
            split = np.flatnonzero(areas[axis] & ~tree.is_leaf)
            lost = (trips - _over_children(tree.parent, trips))[split]
            gain = (loss - _over_children(tree.parent, loss))[split] - self.cube.price * lost
            rate = np.where((gain > SAME * loss[split]) & (lost <= left), gain / np.maximum(lost, SAME), 0.0)
            if len(rate) and rate.max() > best:
                best, split_at = float(rate.max()), (axis, int(split[rate.argmax()]))
        return split_at

    def _costs(self, areas: Areas, axis: int, lam: float) -> FloatArray:
        """Return by node what publishing its crossings with the areas of the other axes costs more than withholding."""
        cube = self.cube
        crossing = np.flatnonzero(self._crossings(areas, axis))
        more = cube.loss[crossing] - (lam + cube.price) * cube.trips[crossing]
        return _by_node(cube.node[axis][crossing], more, len(self.trees[axis]))

    def _crossings(self, areas: Areas, free: int = -1) -> BoolArray:
        """Which cells lie on areas of all axes but one that is free."""
        crossing = self.available.copy()
        for axis, (row, cut) in enumerate(zip(self.cube.node, areas, strict=True)):
            if axis != free:
                crossing &= cut[row]
        return crossing


def _by_node(node: IntArray, values: FloatArray | IntArray, nodes: int) -> FloatArray:
    return np.asarray(np.bincount(node, weights=values, minlength=nodes), np.float64)


def _over_children(parent: IntArray, values: FloatArray) -> FloatArray:
    return _by_node(parent[ROOT + 1 :], values[ROOT + 1 :], len(parent))


def grid_solution(problem: Problem, grid: AreaGrid, notes: tuple[str, ...] = ()) -> Solution:
    """Return the flows of a grid, and the flow of each tile pair."""
    flows = problem.flows
    origin, destination = problem.cube.node[:, grid.published]
    key = origin * len(flows.destinations) + destination  # sorted, as the cells of the cube are
    first = flows.origins.area_of(np.flatnonzero(grid.areas[0]))[flows.origin]
    second = flows.destinations.area_of(np.flatnonzero(grid.areas[1]))[flows.destination]
    wanted = first * len(flows.destinations) + second
    place = np.searchsorted(key, wanted)
    place[place == len(key)] = 0
    group = np.where(key[place] == wanted, place, -1) if len(key) else np.full(len(flows), -1, np.int64)
    areas = (np.flatnonzero(grid.areas[0]),)
    return Solution(origin, destination, group, np.zeros_like(origin), notes=notes, areas=areas)
