"""A tree of places as a ladder of cuts: level 0 is the whole, the last level the tiles, each level finer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from flowveil._arrays import IntArray
    from flowveil.places import Hierarchy


@dataclass(frozen=True, eq=False)
class Ladder:
    """Cuts of a tree through all its tiles. Tiles are ordered so that every area is a run of neighbors.

    Areas of a level are numbered in that order, so the areas of a finer level inside an area are a run, too.
    """

    leaf: IntArray  # node of the tree, by tile
    area: IntArray  # one row a level: the area of each tile
    start: list[IntArray]  # by level: the first tile of each area, and the number of tiles at the end
    node: list[IntArray]  # by level: the node of the tree that each area is

    @property
    def levels(self) -> int:
        """How many levels there are."""
        return len(self.start)

    def inside(self, level: IntArray, area: IntArray, finer: IntArray) -> tuple[IntArray, IntArray]:
        """Return the first area of level `finer` inside each area of `level`, and how many there are."""
        first, end = self.tiles(level, area)
        low = self.area[finer, first]
        return low, self.area[finer, end - 1] + 1 - low

    def tiles(self, level: IntArray, area: IntArray) -> tuple[IntArray, IntArray]:
        """Return the first tile of each area and the one after its last."""
        flat = np.concatenate(self.start)
        offset = np.cumsum([0] + [len(each) for each in self.start])[level]
        return flat[offset + area], flat[offset + area + 1]


def make_ladder(tree: Hierarchy) -> Ladder:
    """Return the ladder of a tree: level by level of its depth, without levels that cut nothing."""
    leaves = np.flatnonzero(tree.is_leaf)
    path = [leaves]
    for _ in range(int(tree.depth.max())):
        path.append(np.where(tree.depth[path[-1]] > 0, tree.parent[path[-1]], path[-1]))
    # path[k] is the ancestor k steps up; at level L of the ladder stands the ancestor at depth L, or the leaf above it.
    depth = tree.depth[leaves]
    steps = [np.maximum(depth - level, 0) for level in range(int(depth.max()) + 1)]
    ancestors = np.stack(path)
    nodes = [ancestors[step, np.arange(len(leaves))] for step in steps]
    order = np.lexsort(nodes[::-1])
    kept: list[tuple[IntArray, IntArray, IntArray]] = []
    for level in nodes:
        row = level[order]
        changes = np.flatnonzero(np.append(True, row[1:] != row[:-1]))
        if not kept or len(changes) > len(kept[-1][2]):
            kept.append((row, np.cumsum(np.append(True, row[1:] != row[:-1])) - 1, changes))
    return Ladder(
        leaf=leaves[order],
        area=np.stack([area for _, area, _ in kept]),
        start=[np.append(changes, len(order)) for _, _, changes in kept],
        node=[row[changes] for row, _, changes in kept],
    )
