"""Cuts of a cube: which cells to publish and which to split, at the least cost for a price of withheld trips."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from flowveil._places import ROOT
from flowveil._problem import Solution
from flowveil._processes import at_once

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    import numpy.typing as npt

    from flowveil._arrays import BoolArray, FloatArray, IntArray
    from flowveil._methods.kernels import Cells
    from flowveil._places import Hierarchy
    from flowveil._problem import Cube, Problem, Run

    ChoiceArray = npt.NDArray[np.int8]
    Decision = tuple[ChoiceArray, FloatArray, FloatArray]


@dataclass(frozen=True, eq=False)
class Cut:
    """The cells that one set of choices publishes."""

    cube: Cube
    lam: float  # what a withheld trip costs
    loss: float  # of the published cells, and of the withheld trips apart from `lam`
    suppressed: int  # trips
    choice: ChoiceArray  # by cell: publish (0), split along an axis (from 1), withhold (-1)
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
        return self._cut(lam, lambda run: self.choose(run, lam)[0])

    def choose(self, run: Run, lam: float) -> Decision:
        """Return the best choice in every cell of a run, and cost and withheld trips of the best split of each axis."""
        from flowveil._methods import kernels  # noqa: PLC0415 numba is slow to import

        decision: Decision = kernels.choose(lam + self.cube.price, run.cells.start, run.cells.stop, self._cells)
        return decision

    def measure(self, choice: ChoiceArray, lam: float) -> Cut:
        """Return the cut that choices make."""
        return self._cut(lam, lambda run: choice[run.cells])

    def _cut(self, lam: float, choose: Callable[[Run], ChoiceArray]) -> Cut:
        """Return the cut of choices that are made in every run by itself."""
        from flowveil._methods import kernels  # noqa: PLC0415 numba is slow to import

        cube = self.cube

        def follow(run: Run) -> tuple[ChoiceArray, IntArray]:
            choice = choose(run)
            return choice, kernels.publish(run.cells.start, run.cells.stop, choice, self._cells)

        followed = at_once(follow, cube.runs)
        choice = np.concatenate([np.zeros(0, np.int8), *(choice for choice, _ in followed)])
        published = np.concatenate([np.zeros(0, np.int64), *(published for _, published in followed)])
        suppressed = cube.total - int(cube.trips[published].sum())
        # Over all runs at once: the last bit of a sum of floats depends on what is added to what.
        loss = float(self.loss[published].sum()) + cube.price * suppressed
        return Cut(cube, lam, loss, suppressed, choice, published)

    @cached_property
    def _cells(self) -> Cells:
        """The cells, as compiled loops take them."""
        from flowveil._methods import kernels  # noqa: PLC0415 numba is slow to import

        return kernels.Cells(self.cube.trips, self.loss, self.cube.parent, self.allowed, self.cube.withheld)

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
    problem: Problem,
    cut: Cut,
    notes: tuple[str, ...] = (),
    first: int = 0,
    areas: tuple[IntArray, ...] | None = None,
) -> Solution:
    """Return the flows of a cut, and the flow of each tile pair; `areas` are the maps of the first axis, if any."""
    cube, flows = cut.cube, problem.flows
    number = np.full(len(cube) + 1, -1, np.int64)  # the last entry is for no cell
    number[cut.published] = np.arange(len(cut.published))
    group = np.full(len(flows), -1, np.int64)

    def number_records(run: Run) -> None:
        records = slice(*flows.edges[[run.matrices.start, run.matrices.stop]].tolist())
        group[records] = number[_cell_of_records(problem, cut, run, records)]

    at_once(number_records, cube.runs)
    origin, destination, *times = cube.node[:, cut.published]
    return Solution(
        origin,
        destination,
        group,
        cube.matrix_of(cut.published),
        notes=notes,
        first=first,
        areas=areas,
        time=times[0] if times else None,
    )


def _cell_of_records(problem: Problem, cut: Cut, run: Run, records: slice) -> IntArray:
    """Return for the tile pairs of a run of matrices the published cell that holds each, -1 where none does."""
    from flowveil._methods import kernels  # noqa: PLC0415 numba is slow to import

    cube, axes, (first, stop) = cut.cube, problem.axes, (run.cells.start, run.cells.stop)
    nodes = cube.node[:, first:stop]
    top = np.where(np.diff(cube.edges) > 0, cube.edges[:-1], -1)[run.matrices]
    cell: IntArray = kernels.cell_of_records(
        first,
        np.repeat(top, np.diff(problem.flows.edges)[run.matrices]),
        cut.choice[first:stop],
        kernels.children(first, stop, cube.parent),
        kernels.Bounds(
            _stack(nodes.shape, (axis.low[row] for axis, row in zip(axes, nodes, strict=True))),
            _stack(
                nodes.shape, ((axis.low + axis.hierarchy.tiles)[row] for axis, row in zip(axes, nodes, strict=True))
            ),
        ),
        _stack((len(axes), records.stop - records.start), (axis.low[axis.leaf[records]] for axis in axes)),
    )
    return cell


def _stack(shape: tuple[int, ...], rows: Iterable[IntArray]) -> IntArray:
    """Return rows as one array; each is made when its turn comes, so that memory never holds all of them twice."""
    table = np.empty(shape, np.int64)
    for place, row in enumerate(rows):
        table[place] = row
    return table


def maps_of(problem: Problem, cut: Cut, axis: int) -> tuple[IntArray, ...]:
    """Return by matrix the areas of an axis that is split before the other: where its splits end, published or not."""
    cube, tree = cut.cube, problem.axes[axis].hierarchy
    split = np.flatnonzero((cube.node[1 - axis] == ROOT) & (cut.choice == axis + 1))
    bounds = pairwise(np.searchsorted(split, cube.edges).tolist())
    return tuple(_ends(tree, cube.node[axis][split[start:stop]]) for start, stop in bounds)


def _ends(tree: Hierarchy, split: IntArray) -> IntArray:
    """Return the nodes at which a tree ends when the nodes given are split, if they are reached."""
    is_split = np.zeros(len(tree), bool)
    is_split[split] = True
    ends: list[IntArray] = []
    nodes = np.array([ROOT], np.int64)
    while nodes.size:
        ends.append(nodes[~is_split[nodes]])
        above = nodes[is_split[nodes]]
        spans = zip(tree.first_child[above].tolist(), tree.end_child[above].tolist(), strict=True)
        nodes = np.concatenate([np.arange(start, end) for start, end in spans] or [np.zeros(0, np.int64)])
    return np.sort(np.concatenate(ends))
