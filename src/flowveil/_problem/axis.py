"""One dimension of the records: a tree, and the leaf of each record."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from flowveil._places import ROOT

if TYPE_CHECKING:
    from flowveil._arrays import IntArray
    from flowveil._places import Hierarchy


@dataclass(frozen=True, eq=False)
class Axis:
    """A hierarchy with the leaf node of every record."""

    hierarchy: Hierarchy
    leaf: IntArray
    is_place: bool = True  # an end of trips; otherwise their time
    weight: float = 1.0  # of one tile (or step of time) in the loss

    @cached_property
    def low(self) -> IntArray:
        """By node: the rank of its first leaf, leaves being ranked so that every node's are adjacent."""
        tree = self.hierarchy
        low = np.zeros(len(tree), np.int64)
        for level in tree.levels():
            if level.start == ROOT:
                continue
            before = np.cumsum(tree.tiles[level]) - tree.tiles[level]
            above = tree.parent[level]
            low[level] = low[above] + before - before[tree.first_child[above] - level.start]
        return low

    @property
    def rank(self) -> IntArray:
        """By record: the rank of its leaf."""
        return self.low[self.leaf]
