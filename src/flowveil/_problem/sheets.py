"""Records in sheets: those of one matrix, and of one area on every axis but origins and destinations."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from flowveil._arrays import IntArray
    from flowveil._problem.axis import Axis
    from flowveil._problem.problem import Problem

# Records of matrices that are worked on together, times trees: what is computed stays in the cache of a core.
_RUN = 2**15


@dataclass(frozen=True, eq=False)
class Groups:
    """Groups of records: those of group g are `order[start[g]]` to `order[start[g + 1] - 1]`, ascending."""

    node: IntArray  # by group (the columns): its matrix, then one row an axis that it has an area of
    start: IntArray
    order: IntArray  # records

    def sorted_by(self, rank: IntArray) -> tuple[IntArray, IntArray]:
        """Return the records of groups, sorted by rank (given by record) in each, and the ranks."""
        group = np.repeat(np.arange(len(self.start) - 1), np.diff(self.start))
        of_order = rank[self.order]
        key = group * (int(of_order.max(initial=0)) + 1) + of_order
        order = np.argsort(key, kind="stable")
        return self.order[order], of_order[order]


def runs_of(problem: Problem) -> list[Groups]:
    """Return the records of adjacent matrices, in runs of about as many each; a matrix is a group."""
    flows, edges = problem.flows, problem.flows.edges
    trees = max(len(dimension.family.trees) for dimension in problem.dimensions)
    marks = np.arange(0, len(flows), max(_RUN // trees, 1))
    first = np.unique(np.searchsorted(edges, marks, side="right") - 1).tolist()
    runs = []
    for low, high in pairwise([*first, flows.matrix_count]):
        start, stop = edges[low], edges[high]
        runs.append(Groups(np.arange(low, high)[None, :], edges[low : high + 1] - start, np.arange(start, stop)))
    return runs


def part_by(groups: Groups, axis: Axis) -> Groups:
    """Return a group for each group and node of a tree that has records there."""
    group = np.repeat(np.arange(len(groups.start) - 1), np.diff(groups.start))
    record, node = groups.order, axis.leaf[groups.order]
    levels = []
    while len(node):
        levels.append((group, node, record))
        above = axis.hierarchy.parent[node]
        group, node, record = group[above >= 0], above[above >= 0], record[above >= 0]
    group, node, record = (np.concatenate(column) for column in zip(*levels, strict=True))
    order = np.lexsort((record, node, group))
    group, node, record = group[order], node[order], record[order]
    is_first = np.append(True, (group[1:] != group[:-1]) | (node[1:] != node[:-1]))
    start = np.flatnonzero(is_first)
    return Groups(np.vstack([groups.node[:, group[start]], node[start]]), np.append(start, len(record)), record)
