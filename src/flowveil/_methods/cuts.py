"""Cuts of a cube: which cells to publish and which to split, at the least cost for a price of withheld trips."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from flowveil._places import ROOT
from flowveil._problem import Solution
from flowveil._processes import at_once

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import numpy.typing as npt

    from flowveil._arrays import BoolArray, FloatArray, IntArray
    from flowveil._methods.kernels import Cells, Decision
    from flowveil._methods.record_kernels import Records
    from flowveil._places import Ways
    from flowveil._problem import Cube, Problem, Run

    ChoiceArray = npt.NDArray[np.int8]


@dataclass(frozen=True, eq=False)
class Cut:
    """The cells that one set of choices publishes."""

    cube: Cube
    lam: float  # what a withheld trip costs
    loss: float  # of the published cells, and of the withheld trips apart from `lam`
    suppressed: int  # trips
    choice: ChoiceArray  # by cell: publish (0), one of its splits (from 1), withhold (-1)
    published: IntArray  # cells, ascending
    gap: float = np.inf  # the share by which the mean of a better cut may be lower; 0 where there is none

    @property
    def mean(self) -> float:
        """What a published trip loses on average; where withheld trips lose too, what any trip does."""
        trips = self.trips_of_mean(self.suppressed)
        return self.loss / trips if trips else np.inf

    @property
    def worth(self) -> float:
        """What a withheld trip must gain at least to lower the mean."""
        return 0.0 if self.cube.price else self.mean

    def trips_of_mean(self, suppressed: Any) -> Any:  # Any: a number, or an array of them
        """Return the trips over which the mean is taken if so many are suppressed."""
        return self.cube.total - (0 * suppressed if self.cube.price else suppressed)

    def ceiling(self, lam: float, budget: int) -> float:
        """Return what a cut within a budget costs at most if its mean is lower, when a withheld trip costs `lam`."""
        return self.mean * self.cube.total + (lam - self.worth) * budget

    def value(self, lam: float) -> float:
        """Return what the cut costs when a withheld trip costs `lam`."""
        return self.loss + lam * self.suppressed


@dataclass(frozen=True, eq=False)
class Splits:
    """A set of cuts: all that use only splits that are `allowed` and publish at finite loss."""

    cube: Cube
    allowed: BoolArray  # by split
    loss: FloatArray

    def best(self, lam: float) -> Cut:
        """Return the cut of least loss plus `lam` times suppressed trips; the finer one of equals."""
        return self._cut(lam, lambda run: self.choose(run, lam).choice)

    def choose(self, run: Run, lam: float) -> Decision:
        """Return the best choice in every cell of a run."""
        from flowveil._methods import kernels  # noqa: PLC0415 numba is slow to import

        decision: Decision = kernels.choose(lam + self.cube.price, run.cells.start, run.cells.stop, self.cells)
        return decision

    def measure(self, choice: ChoiceArray, lam: float) -> Cut:
        """Return the cut that choices make."""
        return self._cut(lam, lambda run: choice[run.cells])

    def excess(self, max_gbar: float) -> FloatArray:
        """Return by cell, if it is published, by how much the tiles of its trips are too many for a precision."""
        return self.cube.trips * (self.cube.tiles - max_gbar)

    def _cut(self, lam: float, choose: Callable[[Run], ChoiceArray]) -> Cut:
        """Return the cut of choices that are made in every run by itself."""
        from flowveil._methods import kernels  # noqa: PLC0415 numba is slow to import

        cube = self.cube

        def follow(run: Run) -> tuple[ChoiceArray, IntArray]:
            choice = choose(run)
            edges = cube.edges[run.matrices.start : run.matrices.stop + 1]
            return choice, kernels.publish(edges, choice, self.cells)

        followed = at_once(follow, cube.runs)
        choice = np.concatenate([np.zeros(0, np.int8), *(choice for choice, _ in followed)])
        return self.cut(lam, choice, [published for _, published in followed])

    def cut(self, lam: float, choice: ChoiceArray, published_by_run: Sequence[IntArray]) -> Cut:
        """Return the cut of choices, given the cells that they publish."""
        cube, published = self.cube, np.concatenate([np.zeros(0, np.int64), *published_by_run])
        suppressed = cube.total - int(cube.trips[published].sum())
        # Over all runs at once: the last bit of a sum of floats depends on what is added to what.
        loss = float(self.loss[published].sum()) + cube.price * suppressed
        return Cut(cube, lam, loss, suppressed, choice, published)

    @cached_property
    def cells(self) -> Cells:
        """The cells, as compiled loops take them."""
        from flowveil._methods import kernels  # noqa: PLC0415 numba is slow to import

        links = self.cube.links
        return kernels.Cells(
            self.cube.trips, self.loss, links.first_split, self.allowed, links.withheld, links.first_part, links.part
        )

    @property
    def has_wholes(self) -> bool:
        """Whether each matrix that has cells may be published as a whole."""
        return bool(np.isfinite(self.loss[self.cube.wholes]).all())

    @cached_property
    def least_suppressed(self) -> int:
        """The fewest trips that any of the cuts suppresses."""
        if self.has_wholes:
            return self.cube.total - int(self.cube.trips[self.cube.wholes].sum())
        return Splits(self.cube, self.allowed, np.where(np.isfinite(self.loss), 0.0, np.inf)).best(1.0).suppressed


def mosaic_splits(cube: Cube) -> Splits:
    """Allow every split."""
    return Splits(cube, cube.links.splittable, cube.loss)


def nested_splits(cube: Cube, order: tuple[int, ...]) -> Splits:
    """Allow a split along an axis only while the axes after it in `order` are whole."""
    links = cube.links
    allowed = links.splittable.copy()
    cell = np.repeat(np.arange(len(cube)), np.diff(links.first_split))
    for position, axis in enumerate(order):
        for later in order[position + 1 :]:
            allowed &= (links.axis != axis) | (cube.node[later] == ROOT)[cell]
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
        group[rows_of(problem, run)] = number[_cell_of_records(problem, cut, run)]

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
        numbered=problem.families if problem.several else None,
    )


def rows_of(problem: Problem, run: Run) -> slice:
    """Return which tile pairs the matrices of a run have."""
    return slice(*problem.flows.edges[[run.matrices.start, run.matrices.stop]].tolist())


def records_of(problem: Problem, cube: Cube, run: Run) -> Records:
    """Return the tile pairs of a run of matrices, as compiled loops take them."""
    from flowveil._methods import record_kernels  # noqa: PLC0415 numba is slow to import

    rows = rows_of(problem, run)
    top = np.where(np.diff(cube.edges) > 0, cube.edges[:-1], -1)[run.matrices]
    rank = tuple(np.stack([axis.low[axis.leaf[rows]] for axis in dimension.axes]) for dimension in problem.dimensions)
    return record_kernels.Records(np.repeat(top, np.diff(problem.flows.edges)[run.matrices]), rank)


def _cell_of_records(problem: Problem, cut: Cut, run: Run) -> IntArray:
    """Return for the tile pairs of a run of matrices the published cell that holds each, -1 where none does."""
    from flowveil._methods import record_kernels  # noqa: PLC0415 numba is slow to import

    cube = cut.cube
    cell: IntArray = record_kernels.cell_of_records(
        records_of(problem, cube, run),
        record_kernels.Chosen(run.cells.start, cut.choice[run.cells]),
        cube.links,
        cube.node,
        tuple(dimension.family.ways for dimension in problem.dimensions),
    )
    return cell


def maps_of(problem: Problem, cut: Cut, axis: int) -> tuple[IntArray, ...]:
    """Return by matrix the areas of an axis that is split before the other: where its splits end, published or not."""
    cube, links, ways = cut.cube, cut.cube.links, problem.dimensions[axis].family.ways
    cells = np.flatnonzero((cube.node[1 - axis] == ROOT) & (cut.choice > 0))
    split = links.first_split[cells] + cut.choice[cells] - 1
    chosen = links.axis[split] == axis
    cells, split = cells[chosen], split[chosen]
    area = cube.node[axis][cells]
    # Splits along origins come first: before those along destinations stand all of the root of the origins.
    others = np.diff(problem.dimensions[0].family.ways.first_way)[ROOT] if axis else 0
    node = ways.way[ways.first_way[area] + split - links.first_split[cells] - others]
    bounds = pairwise(np.searchsorted(cells, cube.edges).tolist())
    return tuple(_ends(ways, area[start:stop], node[start:stop]) for start, stop in bounds)


def _ends(ways: Ways, area: IntArray, node: IntArray) -> IntArray:
    """Return the areas that remain when the areas given are split into the children of a node each, where reached."""
    splitter = np.full(len(ways.first_way) - 1, -1, np.int64)
    splitter[area] = node
    ends: list[IntArray] = []
    areas = np.array([ROOT], np.int64)
    while areas.size:
        ends.append(areas[splitter[areas] < 0])
        nodes = splitter[areas[splitter[areas] >= 0]]
        spans = zip(ways.first_child[nodes].tolist(), ways.end_child[nodes].tolist(), strict=True)
        children = [ways.area[start:end] for start, end in spans]
        areas = np.concatenate(children or [np.zeros(0, np.int64)])
    return np.sort(np.concatenate(ends))
