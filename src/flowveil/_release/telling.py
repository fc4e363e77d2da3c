"""Flows of which a few hidden groups make up the rest: as each is below a crowd, none of them could be empty."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from flowveil._release.hidden import pins_down

if TYPE_CHECKING:
    from collections.abc import Sequence

    from flowveil._arrays import BoolArray, IntArray
    from flowveil._flows import Flows
    from flowveil._problem import Problem, Solution


@dataclass(frozen=True, eq=False)
class Whole:
    """Flows of all groups together: totals, or an earlier release that is not divided by groups (or steps of time)."""

    origin: IntArray
    destination: IntArray
    time: IntArray | None  # node of the hierarchy of time, where there is one
    slot: IntArray  # what else it is divided by, numbered
    slot_of_matrix: IntArray  # by matrix of the groups: the slot that holds it
    divided_by: Sequence[str]  # the columns that tell groups apart


def whole_of(totals: Solution, slot_of_matrix: IntArray, divided_by: Sequence[str]) -> Whole:
    """Return totals as what groups are parts of."""
    return Whole(totals.origin, totals.destination, totals.time, totals.matrix, slot_of_matrix, divided_by)


def find_telling(problem: Problem, groups: Solution, whole: Whole, first: IntArray) -> dict[int, IntArray]:
    """Return the flows of the whole that tell that a hidden group is not empty, with the flows of groups inside each.

    first: by tile pair of a group the flow of the whole that counts it, -1 for none.
    A flow less the flows of groups inside it is the sum over the groups that have none there. A flow of a group that
    reaches beyond it cannot be taken away: then nothing is told. A reader knows the groups that some flow names, and
    may know of all others that there are; or think of one more, as it must not matter whether there is one.
    """
    flows, requirement = problem.flows, problem.requirement
    if not len(groups.origin) or not len(whole.origin):
        return {}
    spans = _Spans(flows, groups, whole)
    group_of_matrix = _group_of_matrix(flows, whole.divided_by)
    group = group_of_matrix[groups.matrix]
    there = len(np.unique(group_of_matrix))
    known = max(there, len(np.unique(group)) + 1)
    beyond = (first >= 0) & ~((groups.group >= 0) & spans.inside(first, groups.group))
    rest = flows.measure(np.where(beyond, first, -1), len(whole.origin))
    few = np.ones(len(whole.origin), np.int64)
    near_of = {}
    for flow in np.flatnonzero(pins_down(requirement, rest, few, few * known)).tolist():
        near = np.flatnonzero(spans.meets(flow) & (whole.slot_of_matrix[groups.matrix] == whole.slot[flow]))
        if not spans.inside(np.full(len(near), flow), near).all():
            continue
        fewest = there - len(np.unique(group[near]))
        most = known - len(np.unique(group[near[spans.same(flow, near)]]))
        sums = rest.take(slice(flow, flow + 1))
        if most > 1 and pins_down(requirement, sums, np.array([fewest]), np.array([most]))[0]:
            near_of[flow] = near
    return near_of


def _group_of_matrix(flows: Flows, columns: Sequence[str]) -> IntArray:
    """Return by matrix the number of its group, which is what some columns say."""
    rows = zip(*(flows.matrices[name].to_pylist() for name in columns), strict=True)
    number: dict[tuple[object, ...], int] = {}
    return np.array([number.setdefault(row, len(number)) for row in rows], np.int64)


class _Spans:
    """Where flows of the whole and of groups lie: spans of nodes on each axis, matrices aside."""

    def __init__(self, flows: Flows, groups: Solution, whole: Whole) -> None:
        trees = [flows.origins, flows.destinations]
        nodes = [(whole.origin, groups.origin), (whole.destination, groups.destination)]
        if flows.times is not None and whole.time is not None and groups.time is not None:
            trees.append(flows.times.hierarchy)
            nodes.append((whole.time, groups.time))
        self._axes = [
            tuple((first[node], end[node]) for node in ends)
            for (first, end), ends in zip((tree.spans() for tree in trees), nodes, strict=True)
        ]

    def inside(self, whole: IntArray, flow: IntArray) -> BoolArray:
        """Whether flows of groups lie inside flows of the whole, pair by pair."""
        inside = np.ones(len(whole), bool)
        for (first, end), (own, _) in self._axes:
            inside &= (first[whole] <= own[flow]) & (own[flow] < end[whole])
        return inside

    def meets(self, whole: int) -> BoolArray:
        """Which flows of groups have something in common with a flow of the whole."""
        touched = np.ones(len(self._axes[0][1][0]), bool)
        for (first, end), (own, own_end) in self._axes:
            touched &= (own < end[whole]) & (first[whole] < own_end)
        return touched

    def same(self, whole: int, flow: IntArray) -> BoolArray:
        """Which flows of groups have the areas and time of a flow of the whole."""
        equal = np.ones(len(flow), bool)
        for (first, _), (own, _) in self._axes:
            equal &= own[flow] == first[whole]
        return equal
