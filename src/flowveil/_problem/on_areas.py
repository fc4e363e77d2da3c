"""Flows on areas that are given: in every matrix those that pass."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from flowveil._problem.problem import Problem
    from flowveil._problem.solution import Solution


def pass_on_areas(problem: Problem, areas: Solution) -> tuple[Solution, int]:
    """Return the flows between areas that pass, in every matrix, and how many do not.

    areas: a solution for all matrices at once; its `group` says for each tile pair of the problem in which pair of
    areas it lies.
    """
    flows = problem.flows
    width = max(len(areas.origin), 1)
    inside = areas.group >= 0
    keys, place = np.unique(flows.matrix[inside] * width + areas.group[inside], return_inverse=True)
    matrix, flow = np.divmod(keys, width)
    origin, destination = areas.origin[flow], areas.destination[flow]
    group = np.full(len(flows), -1, np.int64)
    group[inside] = place
    first, second = areas.numbered or (flows.origins, flows.destinations)
    good = problem.requirement.passes(problem.measure(group, len(keys)), first.tiles[origin], second.tiles[destination])
    if problem.sensitive is not None:
        for side, ends in ((first, origin), (second, destination)):
            good &= ~problem.sensitive.barred(flows.places, side, ends)
    number = np.append(np.where(good, np.cumsum(good) - 1, -1), -1)  # the last entry is for no flow
    solution = replace(
        areas,
        origin=origin[good],
        destination=destination[good],
        group=number[group],
        matrix=matrix[good],
        time=None if areas.time is None else areas.time[flow][good],
    )
    return solution, int((~good).sum())
