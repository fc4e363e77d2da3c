"""mosaic that keeps what is safe: pairs of tiles that pass by themselves are flows, and the rest is generalized.

Without remainders no flow may hold another, so larger pairs are split until nothing that passes is inside. With
remainders the larger flow counts all other trips: the pairs that pass are taken out, and the rest is solved as if they
were not there.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from flowveil._flows import without_pairs
from flowveil._methods.steer import check_budget
from flowveil._problem import Solution, find_safe

if TYPE_CHECKING:
    from collections.abc import Callable

    from flowveil._arrays import BoolArray, IntArray
    from flowveil._problem import Problem

KEPT = "that pass by themselves are flows of their own"
_NONE = -1


def solve_around(problem: Problem, solve: Callable[[Problem], Solution]) -> Solution:
    """Return the pairs of tiles that pass, and the flows that `solve` finds for all other trips.

    Records of pairs that are taken out stay, without trips: so a solution says which flow is around each.
    """
    safe = find_safe(problem)
    rest = replace(problem, flows=without_pairs(problem.flows, safe))
    found = solve(rest) if _has_crowd(rest) else _nothing(rest)
    return _with_safe(problem, found, safe)


def tell_safe(problem: Problem) -> str:
    """Say how many pairs of tiles pass by themselves, and are kept."""
    safe = find_safe(problem)
    share = int(problem.flows.trips[safe].sum()) / max(problem.flows.total, 1)
    return f"all {safe.sum():,} pairs of tiles {KEPT}, with {share:.1%} of the trips"


def _has_crowd(problem: Problem) -> bool:
    """Whether the trips of some matrix may be published as a whole."""
    flows = problem.flows
    return bool(problem.requirement.is_crowd(flows.measure(flows.matrix, flows.matrix_count)).any())


def _nothing(problem: Problem) -> Solution:
    """Return the solution that publishes none of the rest, or raise if so much may not be left out."""
    check_budget(problem.flows.total, problem)
    empty = np.zeros(0, np.int64)
    return Solution(
        empty,
        empty,
        np.full(len(problem.flows), _NONE, np.int64),
        empty,
        time=empty if len(problem.axes) > 2 else None,  # with time as an axis
        numbered=problem.families if problem.several else None,
        above=empty,
    )


def _with_safe(problem: Problem, found: Solution, safe: BoolArray) -> Solution:
    """Return a solution with pairs of tiles added as flows; its groups say which flow is around each of them."""
    flows, pairs = problem.flows, np.flatnonzero(safe)
    ends = [dimension.family.number[0][dimension.first.leaf[pairs]] for dimension in problem.dimensions]
    count = len(found.origin)
    matrix = np.concatenate([found.matrix, flows.matrix[pairs]])
    above = np.full(count, _NONE, np.int64) if found.above is None else found.above
    order = np.argsort(matrix, kind="stable")
    place = np.full(len(order) + 1, _NONE, np.int64)  # the last entry is for no flow
    place[order] = np.arange(len(order))

    def moved(numbers: IntArray) -> IntArray:
        return place[numbers]

    group = found.group.copy()
    holders = group[pairs]
    group[pairs] = count + np.arange(len(pairs))
    return replace(
        found,
        origin=np.concatenate([found.origin, ends[0]])[order],
        destination=np.concatenate([found.destination, ends[1]])[order],
        group=moved(group),
        matrix=matrix[order],
        time=None if found.time is None else np.concatenate([found.time, ends[2]])[order],
        above=moved(np.concatenate([above, holders]))[order],
    )
