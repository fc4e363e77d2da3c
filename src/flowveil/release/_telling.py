"""Totals of which a few hidden groups make up the rest: as each is below a crowd, none of them could be empty."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from flowveil.release._hidden import pins_down

if TYPE_CHECKING:
    from flowveil._arrays import BoolArray, IntArray
    from flowveil.flows import Flows
    from flowveil.problem import Problem, Solution


def find_telling(problem: Problem, groups: Solution, totals: Solution, first: IntArray, step: IntArray) -> IntArray:
    """Return the totals that tell that a hidden group is not empty, beside the flows of groups.

    first: by tile pair of a group the total that counts it, -1 for none. step: by matrix of a group its step of time.
    A total less the flows of groups inside it is the sum over the groups that have none there. A flow of a group that
    reaches beyond the total cannot be taken away: then nothing is told.
    """
    flows, requirement = problem.flows, problem.requirement
    spans = _Spans(flows, groups, totals)
    group = _group_of_matrix(flows)[_matrix(groups)]
    known = len(np.unique(group))  # to a reader: some flow names them
    beyond = (first >= 0) & ~((groups.group >= 0) & spans.inside(first, groups.group))
    rest = flows.measure(np.where(beyond, first, -1), len(totals.origin))
    few = np.ones(len(totals.origin), np.int64)
    found = []
    for total in np.flatnonzero(pins_down(requirement, rest, few, few * known)).tolist():
        near = np.flatnonzero(spans.meets(total) & (step[_matrix(groups)] == _matrix(totals)[total]))
        if not spans.inside(np.full(len(near), total), near).all():
            continue
        fewest = known - len(np.unique(group[near]))
        most = known - len(np.unique(group[near[spans.same(total, near)]]))
        sums = rest.take(slice(total, total + 1))
        if most > 1 and pins_down(requirement, sums, np.array([fewest]), np.array([most]))[0]:
            found.append(total)
    return np.array(found, np.int64)


def _matrix(solution: Solution) -> IntArray:
    return np.zeros(len(solution.origin), np.int64) if solution.matrix is None else solution.matrix


def _group_of_matrix(flows: Flows) -> IntArray:
    """Return by matrix the number of its group, whatever its step of time."""
    if flows.matrices is None:
        return np.zeros(1, np.int64)
    rows = zip(*(flows.matrices[name].to_pylist() for name in flows.provenance.by), strict=True)
    number: dict[tuple[object, ...], int] = {}
    return np.array([number.setdefault(row, len(number)) for row in rows], np.int64)


class _Spans:
    """Where totals and flows of groups lie: spans of nodes on each axis, the flows' own matrices aside."""

    def __init__(self, flows: Flows, groups: Solution, totals: Solution) -> None:
        trees = [flows.origins, flows.destinations]
        nodes = [(totals.origin, groups.origin), (totals.destination, groups.destination)]
        if flows.times is not None and totals.time is not None and groups.time is not None:
            trees.append(flows.times.hierarchy)
            nodes.append((totals.time, groups.time))
        self._axes = [
            tuple((first[node], end[node]) for node in ends)
            for (first, end), ends in zip((tree.spans() for tree in trees), nodes, strict=True)
        ]

    def inside(self, total: IntArray, flow: IntArray) -> BoolArray:
        """Whether flows of groups lie inside totals, pair by pair."""
        found = np.ones(len(total), bool)
        for (first, end), (own, _) in self._axes:
            found &= (first[total] <= own[flow]) & (own[flow] < end[total])
        return found

    def meets(self, total: int) -> BoolArray:
        """Which flows of groups have something in common with a total."""
        found = np.ones(len(self._axes[0][1][0]), bool)
        for (first, end), (own, own_end) in self._axes:
            found &= (own < end[total]) & (first[total] < own_end)
        return found

    def same(self, total: int, flow: IntArray) -> BoolArray:
        """Which flows of groups are between the areas of a total."""
        found = np.ones(len(flow), bool)
        for (first, _), (own, _) in self._axes:
            found &= own[flow] == first[total]
        return found
