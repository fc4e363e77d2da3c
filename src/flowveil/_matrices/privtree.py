"""PrivTree (Zhang, Xiao, Xie, SIGMOD 2016): boxes are halved along all axes while they hold many trips.

Which boxes are halved costs one charge for the whole tree, however deep it is: docs/differential-privacy.md#privtree.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from flowveil._matrices.boxes import Boxes, join
from flowveil._matrices.grids import DEFAULT_MAX_CELLS, parts_of, too_many
from flowveil._matrices.points import add

if TYPE_CHECKING:
    from flowveil._arrays import BoolArray, IntArray
    from flowveil._matrices.points import Points
    from flowveil._noise import Growth, Ledger

TREE = "tree"  # the name of the charge


@dataclass(eq=False)
class _Open:
    """Boxes that may still be halved, and which of them holds each point."""

    low: IntArray
    high: IntArray
    matrix: IntArray
    of_point: IntArray  # -1: in a leaf
    owner: IntArray  # position of the box among those that were halved

    def halve(self, cells: IntArray, axis: int) -> None:
        """Replace each box by its two halves along one axis; one that is a cell wide stays."""
        middle = (self.low[:, axis] + self.high[:, axis]) // 2
        parts = 1 + (middle > self.low[:, axis])
        first = np.cumsum(parts) - parts
        inside = np.flatnonzero(self.of_point >= 0)
        box = self.of_point[inside]
        self.of_point[inside] = first[box] + (cells[inside, axis] >= middle[box]) * (parts[box] - 1)
        source = np.repeat(np.arange(len(parts)), parts)
        upper = np.arange(len(source)) > first[source]
        lower = ~upper & (parts[source] > 1)
        self.low, self.high, self.matrix, self.owner = (
            each[source] for each in (self.low, self.high, self.matrix, self.owner)
        )
        self.low[upper, axis] = middle[source[upper]]
        self.high[lower, axis] = middle[source[lower]]

    def keep(self, kept: BoolArray) -> None:
        """Leave out boxes that are not halved; their points are in leaves."""
        rank = np.full(len(kept) + 1, -1, np.int64)  # the last entry stands for points in leaves
        rank[:-1][kept] = np.arange(int(kept.sum()))
        self.of_point = rank[self.of_point]
        self.low, self.high, self.matrix = self.low[kept], self.high[kept], self.matrix[kept]
        self.owner = np.arange(len(self.low))


def privtree(points: Points, ledger: Ledger, max_cells: int = DEFAULT_MAX_CELLS, tree_share: float = 0.5) -> Boxes:
    """Grow a tree for `tree_share` of the budget, and count its leaves with the rest."""
    growth = ledger.grow(TREE, parts_of(tree_share, "tree_share"), 1 << len(points.lengths))
    return grow_boxes(points, ledger, growth, max_cells)


def grow_boxes(points: Points, ledger: Ledger, growth: Growth, max_cells: int, halvings: int | None = None) -> Boxes:
    """Halve boxes along all axes as the growth of the tree says, at most `halvings` times; publish the leaves."""
    d, matrices = len(points.lengths), points.matrices
    low = np.zeros((matrices, d), np.int64)
    high = np.tile(np.array(points.lengths, np.int64), (matrices, 1))
    boxes = _Open(low, high, np.arange(matrices), points.number.copy(), np.arange(matrices))
    nodes = ledger.roots
    done: list[Boxes] = []
    total = depth = 0
    while len(nodes):
        inside = boxes.of_point >= 0
        counts = add(boxes.of_point[inside], points.counts[inside], len(nodes))
        split = np.asarray((boxes.high - boxes.low > 1).any(axis=1) & (depth != halvings), bool)
        split[split] = growth.splits(nodes[split], counts[split])
        leaf = ~split
        noisy, charged = ledger.publish("cells", nodes[leaf], counts[leaf])
        done.append(Boxes(boxes.low[leaf], boxes.high[leaf], noisy, charged, boxes.matrix[leaf], nodes[leaf]))
        total += int(leaf.sum())
        parents = nodes[split]
        boxes.keep(split)
        for axis in range(d):
            boxes.halve(points.cells, axis)
            if total + len(boxes.low) > max_cells * matrices:
                raise too_many(float(total + len(boxes.low)), max_cells)
        nodes = ledger.children(parents[boxes.owner])
        depth += 1
    return join(done)
