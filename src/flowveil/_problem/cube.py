"""The pairs (or tuples) of areas that may be published, found from the top down, and what splits of them withhold.

A pair that fails a test has no part that passes, so nothing below it matters; and all that matters of it is its
trips, which a split of the pair above withholds. So only publishable pairs are kept, each with the trips that every
way to split it would withhold.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

if TYPE_CHECKING:
    import numpy.typing as npt

    from flowveil._arrays import BoolArray, FloatArray, IntArray

    LinkArray = npt.NDArray[np.int32]

_RUN = 2**15  # cells: what is computed of them stays in the cache of a core


class Run(NamedTuple):
    """Matrices that are worked on together."""

    matrices: slice
    cells: slice  # all of these matrices


@dataclass(frozen=True, eq=False)
class Links:
    """Which cells are parts of which.

    The ways to split cell `c` are the splits `first_split[c]` to `first_split[c + 1]` - 1: those of its first axis,
    then of the next. It is itself a part of the splits `above[first_above[c]]` to `above[first_above[c + 1] - 1]`, -1
    for none. Where every axis is a tree, each cell has one split and one entry above an axis.
    """

    first_split: LinkArray  # by cell; and the number of splits
    axis: npt.NDArray[np.int8]  # by split
    splittable: BoolArray  # by split; a tile has one that is not possible
    withheld: FloatArray  # by split: trips in parts that may not be published
    first_above: LinkArray  # by cell; and the number of entries
    above: LinkArray


def tree_links(parent: LinkArray, splittable: BoolArray, withheld: FloatArray) -> Links:
    """Return the links of cells where every axis is a tree; each array has one row an axis and one column a cell.

    parent: the cell one step up, -1 for none.
    """
    axes, cells = parent.shape
    first = np.arange(0, axes * cells + 1, axes, dtype=np.int32)
    above = np.where(parent < 0, -1, parent * axes + np.arange(axes)[:, None]).astype(np.int32)
    axis = np.tile(np.arange(axes, dtype=np.int8), cells)
    return Links(first, axis, by_split(splittable), by_split(withheld), first, by_split(above))


def by_split(values: npt.NDArray[Any]) -> npt.NDArray[Any]:  # Any: of whatever type they are
    """Return values by split, given by axis (the rows) and cell of trees."""
    return np.ascontiguousarray(values.T).ravel()


@dataclass(frozen=True, eq=False)
class Cube:
    """Publishable cells, one area an axis, sorted by matrix and numbers of areas: a cell comes after all that hold it.

    Arrays of two dimensions have one row an axis. Nothing is joined across matrices: the first cell of each is the root
    of every axis, and a matrix that has none may not be published at all.
    """

    node: IntArray
    trips: IntArray
    tiles: IntArray  # of all places together
    loss: FloatArray  # infinite where the cell may only be split
    links: Links
    edges: IntArray  # by matrix: its first cell; and the number of cells
    total: int  # trips of all records
    price: float  # what a withheld trip costs, apart from lambda

    def __len__(self) -> int:
        return len(self.trips)

    # Where every axis is a tree:

    @property
    def parent(self) -> LinkArray:
        """The cell one step up each axis (the rows), -1 at the root."""
        axes = len(self.node)
        above = self.links.above.reshape(-1, axes).T
        return np.where(above < 0, -1, above // axes).astype(np.int32)

    @property
    def splittable(self) -> BoolArray:
        """By axis (the rows) and cell: whether it may be split."""
        return self.links.splittable.reshape(-1, len(self.node)).T

    @property
    def withheld(self) -> FloatArray:
        """By axis (the rows) and cell: trips that a split puts into cells that may not be published."""
        return self.links.withheld.reshape(-1, len(self.node)).T

    def part(self, kept: BoolArray) -> Cube:
        """Return the cells kept, among them the first of each matrix; a parent that is not kept is -1."""
        before = np.concatenate([np.zeros(1, np.int64), np.cumsum(kept)])
        number = np.append(np.where(kept, before[:-1], -1), -1).astype(np.int32)  # the last is the parent of a root
        return Cube(
            self.node[:, kept],
            self.trips[kept],
            self.tiles[kept],
            self.loss[kept],
            tree_links(number[self.parent[:, kept]], self.splittable[:, kept], self.withheld[:, kept]),
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
