"""A tree of places as arrays, whatever it was built from."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, TypeVar

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator

    import numpy.typing as npt

    from flowveil._arrays import BoolArray, IntArray, KeyArray

ROOT = 0
Number = TypeVar("Number", np.int64, np.float64)


@dataclass(frozen=True, eq=False)
class Hierarchy:
    """A tree whose leaves are tiles; every other node is the union of its children.

    Nodes are numbered in level order: the root is 0, then depth by depth, siblings adjacent and sorted by key.
    Hence `parent[n] < n`, and the children of `n` are the nodes `first_child[n]` to `end_child[n] - 1`.
    Leaves may lie at different depths.
    """

    parent: IntArray  # the root's is -1
    depth: IntArray  # the root's is 0
    first_child: IntArray
    end_child: IntArray  # equal to first_child for a leaf
    tiles: IntArray  # leaves below the node, the node itself for a leaf
    key: KeyArray  # what the places that built the tree know the node by

    @classmethod
    def from_parents(cls, parent: IntArray, key: KeyArray) -> tuple[Hierarchy, IntArray]:
        """Build from nodes in any order (exactly one has parent -1).

        Returns the hierarchy and, for every node given, its number in it.
        """
        count = len(parent)
        depth = depths(parent)
        number = np.full(count, -1, np.int64)
        start = 0
        for level in range(int(depth.max()) + 1):
            nodes = np.flatnonzero(depth == level)
            above = number[parent[nodes]] if level else np.zeros(len(nodes), np.int64)
            nodes = nodes[np.lexsort((key[nodes], above))]
            number[nodes] = np.arange(start, start + len(nodes))
            start += len(nodes)
        order = np.argsort(number)
        old_parent = parent[order]
        new_parent = np.where(old_parent < 0, -1, number[old_parent])
        first_child = np.searchsorted(new_parent, np.arange(count), side="left")
        end_child = np.searchsorted(new_parent, np.arange(count), side="right")
        tiles = (first_child == end_child).astype(np.int64)
        hierarchy = cls(new_parent, depth[order], first_child, end_child, tiles, key[order])
        hierarchy.add_up(tiles)
        return hierarchy, number

    def __len__(self) -> int:
        return len(self.parent)

    @property
    def is_leaf(self) -> BoolArray:
        """Which nodes are tiles."""
        leaf: BoolArray = self.first_child == self.end_child
        return leaf

    @cached_property
    def low(self) -> IntArray:
        """By node: the rank of its first leaf, leaves being ranked so that every node's are adjacent."""
        low = np.zeros(len(self), np.int64)
        for level in self.levels():
            if level.start > ROOT:
                before = np.cumsum(self.tiles[level]) - self.tiles[level]
                above = self.parent[level]
                low[level] = low[above] + before - before[self.first_child[above] - level.start]
        return low

    def levels(self) -> Iterator[slice]:
        """Yield the nodes of each depth, from the root down."""
        edges = np.searchsorted(self.depth, np.arange(int(self.depth[-1]) + 2))
        for start, end in zip(edges[:-1].tolist(), edges[1:].tolist(), strict=True):
            yield slice(start, end)

    def add_up(self, values: npt.NDArray[Number]) -> npt.NDArray[Number]:
        """Add every node's value to its parent's, from the leaves up, in place; return `values`."""
        for level in reversed(list(self.levels())):
            if level.start > ROOT:
                np.add.at(values, self.parent[level], values[level])
        return values

    def spans(self) -> tuple[IntArray, IntArray]:
        """Return `first` and `end` by node: `b` is or lies in `a` exactly if `first[a] <= first[b] < end[a]`."""
        size = self.add_up(np.ones(len(self), np.int64))
        first = np.zeros(len(self), np.int64)
        for level in self.levels():
            if level.start > ROOT:
                before = np.cumsum(size[level]) - size[level]  # of all of the level that come earlier
                parent = self.parent[level]
                eldest = np.searchsorted(parent, parent)  # siblings are adjacent
                first[level] = first[parent] + 1 + before - before[eldest]
        return first, first + size

    def up(self, nodes: IntArray, steps: int) -> IntArray:
        """Return the ancestors `steps` steps above, the root at most."""
        for _ in range(steps):
            nodes = np.maximum(self.parent[nodes], ROOT)
        return nodes

    def area_of(self, cut: IntArray) -> IntArray:
        """For every node the node of `cut` that is or holds it, -1 where there is none.

        Of several nodes of `cut` on one path the lowest counts.
        """
        area = np.full(len(self), -1, np.int64)
        chosen = np.zeros(len(self), bool)
        chosen[cut] = True
        for level in self.levels():
            nodes = np.arange(level.start, level.stop)
            above = area[self.parent[level]] if level.start > ROOT else area[level]
            area[level] = np.where(chosen[level], nodes, above)
        return area


def depths(parent: IntArray) -> IntArray:
    """Return the depth of every node of a forest, 0 where the parent is -1."""
    depth = np.zeros(len(parent), np.int64)
    ancestor = parent.copy()
    while (alive := ancestor >= 0).any():
        depth[alive] += 1
        ancestor[alive] = parent[ancestor[alive]]
    return depth
