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
    TripArray = npt.NDArray[np.int32 | np.int64]  # the shorter ones where all trips fit

_RUN = 2**15  # cells: what is computed of them stays in the cache of a core


class Run(NamedTuple):
    """Matrices that are worked on together."""

    matrices: slice
    cells: slice  # all of these matrices


class Links(NamedTuple):
    """Which cells are parts of which.

    The ways to split cell `c` are the splits `first_split[c]` to `first_split[c + 1]` - 1: those of its first axis,
    then of the next. Split `s` has the parts `part[first_part[s]]` to `part[first_part[s + 1] - 1]`: the publishable
    ones, ascending. Where every axis is a tree, each cell has one split an axis.
    """

    first_split: LinkArray  # by cell; and the number of splits
    axis: npt.NDArray[np.int8]  # by split
    splittable: BoolArray  # by split; a tile has one that is not possible
    withheld: TripArray  # by split: trips in parts that may not be published
    first_part: LinkArray  # by split; and the number of parts
    part: LinkArray  # cells


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
    complete: bool = True  # whether all cells that may be published are there, with all their splits

    def __len__(self) -> int:
        return len(self.trips)

    # Where every axis is a tree:

    @property
    def parent(self) -> LinkArray:
        """The cell one step up each axis (the rows), -1 at the root."""
        axes, links = len(self.node), self.links
        parent = np.full((axes, len(self)), -1, np.int32)
        split = np.repeat(np.arange(len(links.axis)), np.diff(links.first_part))
        parent[split % axes, links.part] = split // axes
        return parent

    @property
    def splittable(self) -> BoolArray:
        """By axis (the rows) and cell: whether it may be split."""
        return self.links.splittable.reshape(-1, len(self.node)).T

    @property
    def withheld(self) -> TripArray:
        """By axis (the rows) and cell: trips that a split puts into cells that may not be published."""
        return self.links.withheld.reshape(-1, len(self.node)).T

    # Whatever the axes are:

    def part(self, kept: BoolArray) -> Cube:
        """Return the cells kept, among them the first of each matrix; those that are not kept are no parts."""
        before = np.concatenate([np.zeros(1, np.int64), np.cumsum(kept)])
        return Cube(
            np.compress(kept, self.node, axis=1),
            self.trips[kept],
            self.tiles[kept],
            self.loss[kept],
            _part_of_links(self.links, kept, before[:-1].astype(np.int32)),
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

    @property
    def wholes(self) -> IntArray:
        """The first cell of each matrix that has any."""
        return self.edges[:-1][np.diff(self.edges) > 0]

    def run_of(self, matrix: int) -> Run:
        """Return one matrix as a run."""
        return Run(slice(matrix, matrix + 1), slice(*self.edges[[matrix, matrix + 1]].tolist()))

    def matrix_of(self, cells: IntArray) -> IntArray:
        """Return the matrix of each cell."""
        return np.searchsorted(self.edges, cells, side="right") - 1


def _part_of_links(links: Links, kept: BoolArray, number: LinkArray) -> Links:
    """Return the links between the cells kept; number: by cell, the new one."""
    sizes = np.diff(links.first_split)
    of_kept = np.repeat(kept, sizes)
    inside = np.repeat(of_kept, np.diff(links.first_part)) & kept[links.part]
    parts = np.concatenate([np.zeros(1, np.int64), np.cumsum(inside)])[links.first_part]
    return Links(
        _first(sizes[kept]),
        links.axis[of_kept],
        links.splittable[of_kept],
        links.withheld[of_kept],
        _first(np.diff(parts)[of_kept]),
        number[links.part[inside]],
    )


def _first(sizes: npt.NDArray[np.integer]) -> LinkArray:
    return np.concatenate([np.zeros(1, np.int32), np.cumsum(sizes, dtype=np.int32)])
