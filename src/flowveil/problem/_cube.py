"""The node pairs (or tuples) that may be published, found from the top down, with what it takes to choose among them.

A pair that fails a test has no descendant that passes, so nothing below it matters; and all that matters of it is its
trips, which a split of the pair above withholds. So only publishable pairs are kept, each with the trips that a split
along each axis would withhold.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from flowveil.places import ROOT

if TYPE_CHECKING:
    import numpy.typing as npt

    from flowveil._arrays import BoolArray, FloatArray, IntArray

Kind = TypeVar("Kind", bound=np.generic)


@dataclass(frozen=True, eq=False)
class Cube:
    """Publishable cells, one node an axis, sorted by node numbers: a cell comes after all that hold it.

    Arrays of two dimensions have one row an axis. Cell 0, if there is one, is the root of every axis. With separate
    matrices it may only be split into them, and the cells of a matrix are adjacent.
    """

    node: IntArray
    trips: IntArray
    tiles: IntArray  # of all places together
    loss: FloatArray  # infinite where the cell may only be split
    parent: IntArray  # the cell one step up the axis, -1 at the root
    splittable: BoolArray  # the node is not a leaf
    withheld: FloatArray  # trips that a split along the axis puts into cells that may not be published
    total: int  # trips of all records
    price: float  # what a withheld trip costs, apart from lambda
    matrices: int | None = None  # the row of `node` with the matrix, if there are several

    def __len__(self) -> int:
        return len(self.trips)

    def part(self, kept: BoolArray) -> Cube:
        """Return the cells kept, among them cell 0; a parent that is not kept is -1."""
        number = np.full(len(self) + 1, -1, np.int64)  # the last entry is the parent of a root
        number[:-1][kept] = np.arange(int(kept.sum()))
        return Cube(
            self.node[:, kept],
            self.trips[kept],
            self.tiles[kept],
            self.loss[kept],
            number[self.parent[:, kept]],
            self.splittable[:, kept],
            self.withheld[:, kept],
            self.total,
            self.price,
            self.matrices,
        )

    def pieces(self, most: int) -> list[Piece]:
        """Return up to `most` runs of whole matrices with about as many cells each; every run also has cell 0."""
        if most not in self._known:
            self._known[most] = self._parted(most)
        return self._known[most]

    @cached_property
    def _known(self) -> dict[int, list[Piece]]:
        return {}

    def _parted(self, most: int) -> list[Piece]:
        if self.matrices is None or most < 2 or not len(self):
            return [Piece(np.arange(len(self)), self.parent)]
        matrix = self.node[self.matrices]
        edges = np.searchsorted(matrix, matrix[np.linspace(1, len(self) - 1, most + 1).astype(np.int64)[1:-1]])
        edges = np.unique(np.concatenate([[1], edges, [len(self)]])).tolist()
        return [self._piece(start, stop) for start, stop in pairwise(edges)]

    def _piece(self, start: int, stop: int) -> Piece:
        above = self.parent[:, start:stop]
        parent = np.full((len(above), stop - start + 1), -1, np.int64)
        parent[:, 1:] = np.where(above > ROOT, above - start + 1, above)
        return Piece(np.concatenate([[ROOT], np.arange(start, stop)]), parent)

    def matrix_of(self, cell: int) -> slice:
        """Return the run of cells that are in the same matrix as a cell; all of them if there is only one."""
        if self.matrices is None:
            return slice(0, len(self))
        matrix = self.node[self.matrices]
        return slice(*np.searchsorted(matrix, [matrix[cell], matrix[cell] + 1]).tolist())


@dataclass(frozen=True, eq=False)
class Piece:
    """Some cells of a cube that nothing outside depends on, but for cell 0, which all pieces have."""

    cell: IntArray  # ascending: all, or the first and then a run without gaps
    parent: IntArray  # as positions in this piece

    def take(self, values: npt.NDArray[Kind]) -> npt.NDArray[Kind]:
        """Return the values of these cells, which stand along the last axis."""
        if len(self.cell) == values.shape[-1]:
            return values
        return np.concatenate([values[..., :1], values[..., self.cell[1] : self.cell[-1] + 1]], axis=-1)


def children(parent: IntArray) -> tuple[IntArray, IntArray]:
    """Return for each cell where its children along one axis start, and the children of all, sorted by parent."""
    order = np.argsort(parent, kind="stable")
    return np.searchsorted(parent[order], np.arange(len(parent) + 1)), order
