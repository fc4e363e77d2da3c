"""Cuts of a cube: which cells to publish and which to split, at the least cost for a price of withheld trips."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from flowveil._cores import at_once, cores
from flowveil.places import ROOT
from flowveil.problem import Solution, children

if TYPE_CHECKING:
    import numpy.typing as npt

    from flowveil._arrays import BoolArray, FloatArray, IntArray
    from flowveil.places import Hierarchy
    from flowveil.problem import Cube, Piece, Problem

    Decision = tuple[npt.NDArray[np.int8], FloatArray, FloatArray]


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
        found = self._choose(lam)
        choice = np.concatenate([found[0][0][:1], *(part[0][1:] for part in found)])
        return self.measure(choice, lam)

    def decide(self, lam: float) -> Decision:
        """Return the best choice in every cell, and cost and withheld trips of the best split along each axis."""
        price = lam + self.cube.price
        found = self._choose(lam)
        if len(found) == 1:
            decided: Decision = found[0]
            return decided
        joined = (
            np.concatenate([first[..., :1], *(array[..., 1:] for array in (first, *others))], axis=-1)
            for first, *others in zip(*found, strict=True)
        )
        return self._decide_top(price, *joined)

    def _choose(self, lam: float) -> list[Decision]:
        """Return the decision of every piece by itself; they have the first cell in common."""
        from flowveil.methods import _kernels  # noqa: PLC0415 numba is slow to import

        return at_once(lambda arrays: _kernels.choose(lam + self.cube.price, *arrays), self._arrays)

    @property
    def _pieces(self) -> list[Piece]:
        """Runs of whole matrices, which do not depend on each other."""
        return self.cube.pieces(cores())

    @cached_property
    def _arrays(self) -> list[tuple[npt.NDArray[Any], ...]]:
        """What choosing needs of each piece."""
        cube = self.cube
        return at_once(
            lambda piece: (
                piece.take(cube.trips),
                piece.take(self.loss),
                piece.parent,
                piece.take(self.allowed),
                piece.take(cube.withheld),
            ),
            self._pieces,
        )

    def _decide_top(self, price: float, choice: npt.NDArray[np.int8], cost: FloatArray, lost: FloatArray) -> Decision:
        """Add up the matrices of all pieces: each of these knows its own only."""
        row = self.cube.matrices
        roots = np.flatnonzero(self.cube.parent[row] == ROOT)
        taken = choice[roots]
        split = np.maximum(taken - 1, 0)
        trips = self.cube.trips[roots]
        value = np.where(taken > 0, cost[split, roots], np.where(taken < 0, price * trips, self.loss[roots]))
        gone = np.where(taken > 0, lost[split, roots], np.where(taken < 0, trips, 0))
        withheld = self.cube.withheld[row, ROOT]
        cost[row, ROOT] = value.sum() + price * withheld
        lost[row, ROOT] = gone.sum() + withheld
        return choice, cost, lost

    def measure(self, choice: npt.NDArray[np.int8], lam: float) -> Cut:
        """Return the cut that choices make."""
        from flowveil.methods import _kernels  # noqa: PLC0415 numba is slow to import

        cube = self.cube
        found = at_once(lambda piece: piece.cell[_kernels.published(piece.take(choice), piece.parent)], self._pieces)
        published = np.concatenate(found)
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
    problem: Problem,
    cut: Cut,
    notes: tuple[str, ...] = (),
    first: int = 0,
    areas: tuple[IntArray, ...] | None = None,
) -> Solution:
    """Return the flows of a cut, and the flow of each tile pair; `areas` are the maps of the first axis, if any."""
    from flowveil.methods import _kernels  # noqa: PLC0415 numba is slow to import

    cube, axes = cut.cube, problem.axes

    def cell_of_records(piece: Piece) -> IntArray:
        links = [children(parent) for parent in piece.parent]
        node = piece.take(cube.node)
        low = np.stack([axis.low[row] for axis, row in zip(axes, node, strict=True)])
        high = low + np.stack([axis.hierarchy.tiles[row] for axis, row in zip(axes, node, strict=True)])
        records = _records(problem, cube, piece)
        found: IntArray = _kernels.cell_of_records(
            piece.take(cut.choice),
            np.stack([start for start, _ in links]),
            np.stack([child for _, child in links]),
            low,
            high,
            np.stack([axis.rank[records] for axis in axes]),
        )
        return np.where(found < 0, -1, piece.cell[found]) if len(piece.cell) else found

    pieces = cube.pieces(cores())
    cell = np.full(len(problem.flows), -1, np.int64)
    for piece, found in zip(pieces, at_once(cell_of_records, pieces), strict=True):
        cell[_records(problem, cube, piece)] = found
    flow = np.full(len(cube) + 1, -1, np.int64)
    flow[cut.published] = np.arange(len(cut.published))
    origin, destination, *others = cube.node[:, cut.published]
    return Solution(
        origin,
        destination,
        flow[cell],
        notes=notes,
        first=first,
        areas=areas,
        matrix=None if problem.flows.matrix is None else others[-1] - 1,
        time=None if problem.flows.time is None else others[0],
    )


def _records(problem: Problem, cube: Cube, piece: Piece) -> slice:
    """Return the tile pairs of the matrices of a piece, which lie side by side."""
    matrix = problem.flows.matrix
    if cube.matrices is None or matrix is None or len(piece.cell) < 2:
        return slice(0, len(problem.flows))
    first, last = cube.node[cube.matrices, piece.cell[[1, -1]]]
    return slice(*np.searchsorted(matrix, [first - 1, last]).tolist())


def maps_of(problem: Problem, cut: Cut, axis: int) -> tuple[IntArray, ...]:
    """Return by matrix the areas of an axis that is split before the other: where its splits end, published or not."""
    cube, tree = cut.cube, problem.axes[axis].hierarchy
    whole = np.flatnonzero((cube.node[1 - axis] == ROOT) & (cut.choice == axis + 1))
    if cube.matrices is None:
        return (_ends(tree, cube.node[axis][whole]),)
    of_matrix = cube.node[cube.matrices][whole]
    edges = np.searchsorted(of_matrix, np.arange(1, problem.flows.matrix_count + 2)).tolist()
    return tuple(_ends(tree, cube.node[axis][whole[start:stop]]) for start, stop in pairwise(edges))


def _ends(tree: Hierarchy, split: IntArray) -> IntArray:
    """Return the nodes at which a tree ends when the nodes given are split, if they are reached."""
    is_split = np.zeros(len(tree), bool)
    is_split[split] = True
    found: list[IntArray] = []
    nodes = np.array([ROOT], np.int64)
    while nodes.size:
        found.append(nodes[~is_split[nodes]])
        above = nodes[is_split[nodes]]
        spans = zip(tree.first_child[above].tolist(), tree.end_child[above].tolist(), strict=True)
        nodes = np.concatenate([np.arange(start, end) for start, end in spans] or [np.zeros(0, np.int64)])
    return np.sort(np.concatenate(found))
