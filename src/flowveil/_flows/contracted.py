"""Trees without nodes that have a single child: such a node holds the same trips as its child."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from flowveil._places import ROOT, depths

if TYPE_CHECKING:
    from flowveil._arrays import IntArray
    from flowveil._places import Hierarchy


@dataclass(frozen=True, eq=False)
class Contracted:
    """A tree in which every node is a leaf or branches; parents come before their children."""

    parent: IntArray  # the root's is -1
    number: IntArray  # by node of the whole tree: the node here that holds the same tiles

    @cached_property
    def depth(self) -> IntArray:
        """The depth of every node."""
        return depths(self.parent)

    def unfold(self, nodes: IntArray) -> tuple[IntArray, IntArray]:
        """Return all nodes of the whole tree that have the tiles of one of `nodes`: its place in `nodes`, and the node.

        Both are arrays with one entry a node of the whole tree, sorted by that place, then by node.
        """
        order = np.argsort(self.number, kind="stable")
        start = np.searchsorted(self.number[order], np.arange(len(self.parent) + 1))
        count = (start[1:] - start[:-1])[nodes]
        place = np.repeat(np.arange(len(nodes)), count)
        step = np.arange(len(place)) - np.repeat(np.cumsum(count) - count, count)
        return place, order[start[nodes][place] + step]


def contract(tree: Hierarchy) -> Contracted:
    """Return a tree without nodes that have a single child."""
    single = tree.end_child - tree.first_child == 1
    lowest = np.where(single, tree.first_child, np.arange(len(tree)))
    while not np.array_equal(lower := lowest[lowest], lowest):
        lowest = lower
    kept, number = np.unique(lowest, return_inverse=True)
    above = tree.parent[kept]
    while (passing := (above >= ROOT) & single[above]).any():
        above = np.where(passing, tree.parent[above], above)
    return Contracted(np.where(above >= ROOT, number[above], -1), number)
