"""Uniform cuts of a tree: all tiles, then one step up everywhere, and so on to the root."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from flowveil._places import ROOT

if TYPE_CHECKING:
    from flowveil._arrays import BoolArray, IntArray
    from flowveil._places import Hierarchy


@dataclass(frozen=True, eq=False)
class UniformCuts:
    """The cuts from the tiles (0) to the root (`count` - 1): a node is in the cuts `first` to `last`, both included."""

    first: IntArray
    last: IntArray
    count: int

    def cut(self, number: int) -> BoolArray:
        """Return by node whether it is in a cut."""
        inside: BoolArray = (self.first <= number) & (number <= self.last)
        return inside


def uniform_cuts(tree: Hierarchy) -> UniformCuts:
    """Return the uniform cuts of a tree.

    When all tiles lie at one depth, each cut is one depth. Otherwise a step up joins only the parents with the fewest
    tiles among those whose children are all there (ATG paper, appendix B), so that every cut covers each tile once.
    """
    leaf_depth = tree.depth[tree.is_leaf]
    deepest = int(leaf_depth.max())
    if (leaf_depth == deepest).all():
        height = deepest - tree.depth
        return UniformCuts(height, height, deepest + 1)
    first = _steps(tree)
    last = np.empty_like(first)
    last[ROOT] = first[ROOT]
    last[ROOT + 1 :] = first[tree.parent[ROOT + 1 :]] - 1
    return UniformCuts(first, last, int(first[ROOT]) + 1)


def _steps(tree: Hierarchy) -> IntArray:
    """Return by node the step at which it takes the place of its children, 0 for a tile."""
    first = np.zeros(len(tree), np.int64)
    waiting = (tree.end_child - tree.first_child).astype(np.int64)
    new = np.flatnonzero(tree.is_leaf)
    available = np.zeros(0, np.int64)
    step = 0
    while (above := tree.parent[new][tree.parent[new] >= 0]).size or available.size:
        np.subtract.at(waiting, above, 1)
        complete = np.unique(above)
        available = np.concatenate([available, complete[waiting[complete] == 0]])
        fewest = tree.tiles[available] == tree.tiles[available].min()
        step += 1
        new, available = available[fewest], available[~fewest]
        first[new] = step
    return first
