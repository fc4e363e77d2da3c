"""The node pairs (or tuples) that may be published, found from the top down, with what it takes to choose among them.

A pair that fails a test has no descendant that passes, so nothing below it matters; and all that matters of it is its
trips, which a split of the pair above withholds. So only publishable pairs are kept, each with the trips that a split
along each axis would withhold.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    import numpy.typing as npt

    from flowveil._arrays import BoolArray, FloatArray, IntArray

_RUN = 2**15  # cells: what is computed of them stays in the cache of a core


class Run(NamedTuple):
    """Matrices that are worked on together."""

    matrices: slice
    cells: slice  # all of these matrices


@dataclass(frozen=True, eq=False)
class Cube:
    """Publishable cells, one node an axis, sorted by matrix and node numbers: a cell comes after all that hold it.

    Arrays of two dimensions have one row an axis. Nothing is joined across matrices: the first cell of each is the root
    of every axis, and a matrix that has none may not be published at all.
    """

    node: IntArray
    trips: IntArray
    tiles: IntArray  # of all places together
    loss: FloatArray  # infinite where the cell may only be split
    parent: npt.NDArray[np.int32]  # the cell one step up the axis, -1 at the root
    splittable: BoolArray  # the node is not a leaf
    withheld: FloatArray  # trips that a split along the axis puts into cells that may not be published
    edges: IntArray  # by matrix: its first cell; and the number of cells
    total: int  # trips of all records
    price: float  # what a withheld trip costs, apart from lambda

    def __len__(self) -> int:
        return len(self.trips)

    def part(self, kept: BoolArray) -> Cube:
        """Return the cells kept, among them the first of each matrix; a parent that is not kept is -1."""
        before = np.concatenate([np.zeros(1, np.int64), np.cumsum(kept)])
        number = np.append(np.where(kept, before[:-1], -1), -1).astype(np.int32)  # the last is the parent of a root
        return Cube(
            self.node[:, kept],
            self.trips[kept],
            self.tiles[kept],
            self.loss[kept],
            number[self.parent[:, kept]],
            self.splittable[:, kept],
            self.withheld[:, kept],
            before[self.edges],
            self.total,
            self.price,
        )

    @cached_property
    def runs(self) -> list[Run]:
        """All matrices with cells, in runs of about as many cells each; these do not depend on each other."""
        marks = np.arange(0, len(self), _RUN)
        first = np.unique(self.matrix_of(marks)).tolist()
        bounds = pairwise([*first, len(self.edges) - 1])
        return [Run(slice(*bound), slice(*self.edges[list(bound)].tolist())) for bound in bounds]

    def matrix_of(self, cells: IntArray) -> IntArray:
        """Return the matrix of each cell."""
        return np.searchsorted(self.edges, cells, side="right") - 1
