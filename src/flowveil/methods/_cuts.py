"""Cuts of a cube: which cells to publish and which to split, at the least cost for a price of withheld trips."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from flowveil.places import ROOT
from flowveil.problem import Solution

if TYPE_CHECKING:
    import numpy.typing as npt

    from flowveil._arrays import BoolArray, FloatArray, IntArray
    from flowveil.problem import Cube, Problem


@dataclass(frozen=True, eq=False)
class Cut:
    """The cells that one set of choices publishes."""

    cube: Cube
    lam: float  # what a withheld trip costs
    loss: float  # of the published cells, and of the withheld trips apart from `lam`
    suppressed: int  # trips
    choice: npt.NDArray[np.int8]  # by cell: publish (0), split along an axis (from 1), withhold (-1)
    published: IntArray  # cells, ascending

    def value(self, lam: float) -> float:
        """Return what the cut costs when a withheld trip costs `lam`."""
        return self.loss + lam * self.suppressed


@dataclass(frozen=True, eq=False)
class Splits:
    """A family of cuts: all that split cells only where `allowed` (one row an axis) and publish at finite loss."""

    cube: Cube
    allowed: BoolArray
    loss: FloatArray

    def best(self, lam: float) -> Cut:
        """Return the cut of least loss plus `lam` times suppressed trips; the finer one of equals."""
        return self.measure(self.decide(lam)[0], lam)

    def decide(self, lam: float) -> tuple[npt.NDArray[np.int8], FloatArray, FloatArray]:
        """Return the best choice in every cell, and cost and withheld trips of the best split along each axis."""
        from flowveil.methods import _kernels  # noqa: PLC0415 numba is slow to import

        cube = self.cube
        decided: tuple[npt.NDArray[np.int8], FloatArray, FloatArray] = _kernels.choose(
            lam + cube.price, cube.trips, self.loss, cube.parent, self.allowed, cube.withheld
        )
        return decided

    def measure(self, choice: npt.NDArray[np.int8], lam: float) -> Cut:
        """Return the cut that choices make."""
        from flowveil.methods import _kernels  # noqa: PLC0415 numba is slow to import

        cube = self.cube
        published = np.flatnonzero(_kernels.published(choice, cube.parent))
        suppressed = cube.total - int(cube.trips[published].sum())
        loss = float(self.loss[published].sum()) + cube.price * suppressed
        return Cut(cube, lam, loss, suppressed, choice, published)

    @cached_property
    def least_suppressed(self) -> int:
        """The fewest trips that any cut of the family suppresses."""
        return Splits(self.cube, self.allowed, np.where(np.isfinite(self.loss), 0.0, np.inf)).best(1.0).suppressed


def mosaic_splits(cube: Cube) -> Splits:
    """Allow every split."""
    return Splits(cube, cube.splittable, cube.loss)


def nested_splits(cube: Cube, order: tuple[int, ...]) -> Splits:
    """Allow a split along an axis only while the axes after it in `order` are whole."""
    allowed = cube.splittable.copy()
    for position, axis in enumerate(order):
        for later in order[position + 1 :]:
            allowed[axis] &= cube.node[later] == ROOT
    return Splits(cube, allowed, cube.loss)


def solution_of(
    problem: Problem, cut: Cut, notes: tuple[str, ...] = (), first: int = 0, areas: IntArray | None = None
) -> Solution:
    """Return the flows of a cut, and the flow of each tile pair; `areas` are the map of the first axis, if any."""
    from flowveil.methods import _kernels  # noqa: PLC0415 numba is slow to import

    cube, axes = cut.cube, problem.axes
    links = [cube.children(axis) for axis in range(len(axes))]
    low = np.stack([axis.low[row] for axis, row in zip(axes, cube.node, strict=True)])
    high = low + np.stack([axis.hierarchy.tiles[row] for axis, row in zip(axes, cube.node, strict=True)])
    cell = _kernels.cell_of_records(
        cut.choice,
        np.stack([start for start, _ in links]),
        np.stack([child for _, child in links]),
        low,
        high,
        np.stack([axis.rank for axis in axes]),
    )
    flow = np.full(len(cube) + 1, -1, np.int64)
    flow[cut.published] = np.arange(len(cut.published))
    origin, destination = cube.node[:, cut.published]
    return Solution(origin, destination, flow[cell], notes=notes, first=first, areas=areas)


def map_of(problem: Problem, cut: Cut, axis: int) -> IntArray:
    """Return the areas of an axis that is split before the others: where its splits end, published or not."""
    tree = problem.axes[axis].hierarchy
    whole = np.all(np.delete(cut.cube.node, axis, axis=0) == ROOT, axis=0)
    split = np.zeros(len(tree), bool)
    split[cut.cube.node[axis][whole]] = cut.choice[whole] == axis + 1
    found: list[IntArray] = []
    nodes = np.array([ROOT], np.int64)
    while nodes.size:
        found.append(nodes[~split[nodes]])
        above = nodes[split[nodes]]
        spans = zip(tree.first_child[above].tolist(), tree.end_child[above].tolist(), strict=True)
        nodes = np.concatenate([np.arange(start, end) for start, end in spans] or [np.zeros(0, np.int64)])
    return np.sort(np.concatenate(found))
