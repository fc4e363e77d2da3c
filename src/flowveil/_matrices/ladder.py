"""A tree of places as a ladder of cuts: level 0 is the whole, the last level the tiles, each level finer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from flowveil._places import ROOT

if TYPE_CHECKING:
    from flowveil._arrays import IntArray
    from flowveil._places import Hierarchy


@dataclass(frozen=True, eq=False)
class Ladder:
    """Cuts of a tree through all its tiles. Tiles are ordered so that every area is a run of neighbors.

    Areas of a level are numbered in that order, so the areas of a finer level inside an area are a run, too. The areas
    of all levels stand in one array, level by level, from `first[level]` on.
    """

    leaf: IntArray  # node of the tree, by tile
    area: IntArray  # one row a level: the area of each tile
    first: IntArray  # by level
    start: IntArray  # by area: its first tile
    end: IntArray  # by area: the tile after its last
    node: IntArray  # by area: the node of the tree

    @property
    def levels(self) -> int:
        """How many levels there are."""
        return len(self.first)

    def tiles(self, level: IntArray, area: IntArray) -> tuple[IntArray, IntArray]:
        """Return the first tile of each area and the one after its last."""
        place = self.first[level] + area
        return self.start[place], self.end[place]

    def inside(self, level: IntArray, area: IntArray, finer: IntArray) -> tuple[IntArray, IntArray]:
        """Return the first area of level `finer` inside each area of `level`, and how many there are."""
        start, end = self.tiles(level, area)
        low = self.area[finer, start]
        return low, self.area[finer, end - 1] + 1 - low

    def nodes(self, level: IntArray, area: IntArray) -> IntArray:
        """Return the nodes of the tree that areas are."""
        nodes: IntArray = self.node[self.first[level] + area]
        return nodes


@dataclass(frozen=True, eq=False)
class Ladders:
    """The ladders of several axes: origin, destination, and time where it is one. Arrays have one column an axis."""

    axes: tuple[Ladder, ...]

    @property
    def last(self) -> IntArray:
        """The last level of each axis."""
        return np.array([ladder.levels - 1 for ladder in self.axes])

    @property
    def widths(self) -> IntArray:
        """Tiles, or steps, of each axis."""
        return np.array([len(ladder.leaf) for ladder in self.axes])

    def tiles(self, level: IntArray, area: IntArray) -> tuple[IntArray, IntArray]:
        """Return the first tile of each area and the one after its last."""
        ends = [ladder.tiles(level[:, at], area[:, at]) for at, ladder in enumerate(self.axes)]
        return np.column_stack([start for start, _ in ends]), np.column_stack([end for _, end in ends])

    def inside(self, level: IntArray, area: IntArray, finer: IntArray) -> tuple[IntArray, IntArray]:
        """Return the first area of level `finer` inside each area of `level`, and how many there are."""
        runs = [ladder.inside(level[:, at], area[:, at], finer[:, at]) for at, ladder in enumerate(self.axes)]
        return np.column_stack([low for low, _ in runs]), np.column_stack([count for _, count in runs])

    def areas(self, level: IntArray, cells: IntArray) -> IntArray:
        """Return the areas of a level that cells lie in."""
        return np.column_stack([ladder.area[level[:, at], cells[:, at]] for at, ladder in enumerate(self.axes)])


def make_ladder(tree: Hierarchy) -> Ladder:
    """Return the ladder of a tree: one level for each depth that cuts anything."""
    leaves = np.flatnonzero(tree.is_leaf)
    up = [leaves]
    for _ in range(int(tree.depth[leaves].max())):
        up.append(np.maximum(tree.parent[up[-1]], ROOT))
    steps = np.stack(up)
    # The ancestor at a depth, or the leaf itself where the tree is less deep.
    rows = [
        steps[np.maximum(tree.depth[leaves] - depth, 0), np.arange(len(leaves))]
        for depth in range(int(tree.depth.max()) + 1)
    ]
    order = np.lexsort(rows[::-1])
    changes = [np.append(True, row[order][1:] != row[order][:-1]) for row in rows]
    kept = [level for level, change in enumerate(changes) if not level or change.sum() > changes[level - 1].sum()]
    starts = [np.flatnonzero(changes[level]) for level in kept]
    sizes = np.array([len(start) for start in starts])
    return Ladder(
        leaf=leaves[order],
        area=np.stack([np.cumsum(changes[level]) - 1 for level in kept]),
        first=np.cumsum(sizes) - sizes,
        start=np.concatenate(starts),
        end=np.concatenate([np.append(start[1:], len(order)) for start in starts]),
        node=_finest(
            tree, np.concatenate([rows[level][order][start] for level, start in zip(kept, starts, strict=True)])
        ),
    )


def _finest(tree: Hierarchy, nodes: IntArray) -> IntArray:
    """Return the lowest nodes with the same tiles: an only child says the same as its parent, more precisely."""
    deepest = nodes.copy()
    while True:
        lone = (deepest != ROOT) & (tree.end_child[deepest] - tree.first_child[deepest] == 1)
        if not lone.any():
            return deepest
        deepest[lone] = tree.first_child[deepest[lone]]


def runs(leaf: IntArray, parent: IntArray) -> tuple[IntArray, IntArray]:
    """Return for each node of the tree its first tile and the one after its last."""
    start, end = np.full(len(parent), len(leaf)), np.zeros(len(parent), np.int64)
    nodes, place = leaf.copy(), np.arange(len(leaf))
    while len(nodes):
        np.minimum.at(start, nodes, place)
        np.maximum.at(end, nodes, place + 1)
        nodes = parent[nodes]
        nodes, place = nodes[nodes >= 0], place[nodes >= 0]
    return start, end
