"""Several matrices solved one by one, each within its share of the budget."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from flowveil._errors import InputError, PromiseError
from flowveil._problem import Solution

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from flowveil._arrays import IntArray
    from flowveil._problem import Problem
    from flowveil._processes import Spread

    Solve = Callable[[Problem], Solution]


def solve_each(solve: Solve, problem: Problem, spread: Spread) -> Solution:
    """Return the solutions of all matrices as one; `spread` says where they are solved, and changes nothing else.

    A matrix that cannot be published within its share of the budget tries again with what the others left of it; if
    that fails too, it is withheld as a whole.
    """
    if problem.max_gbar is not None:
        raise InputError("matrices that are solved one by one have no common precision", "give a budget, or use mosaic")
    bare = problem.bare()
    parts = [bare.part(matrix) for matrix in range(problem.flows.matrix_count)]
    solutions = spread(partial(_attempt, solve), parts, bare.shared())
    spent = sum(map(_withheld, parts, solutions))
    more = problem.budget < problem.flows.total  # otherwise all had what they could get
    for matrix, part in enumerate(parts):
        if solutions[matrix] is None and more and part.flows.total >= problem.requirement.k:
            left = problem.budget - spent + part.flows.total
            solutions[matrix] = _attempt(solve, replace(part, budget=min(max(left, 0), part.flows.total)))
            spent += _withheld(part, solutions[matrix]) - part.flows.total
    return join(problem, solutions)


def _attempt(solve: Solve, part: Problem) -> Solution | None:
    try:
        solution = solve(replace(part))  # a copy, so that its cube goes with it
    except PromiseError:
        return None
    return solution if len(solution.origin) else None


def _withheld(part: Problem, solution: Solution | None) -> int:
    return part.flows.total if solution is None else int(part.flows.trips[solution.group < 0].sum())


def join(problem: Problem, solutions: Sequence[Solution | None]) -> Solution:
    """Return one solution with the flows of all matrices, numbered through."""
    known = [solution for solution in solutions if solution is not None]
    if any(solution.rectangles is not None for solution in known):
        raise InputError("rectangles cannot be published by time or group", "use a method with areas of a tree: mosaic")
    nothing = np.zeros(0, np.int64)
    group = np.full(len(problem.flows), -1, np.int64)
    origins, destinations, matrices = [nothing], [nothing], [nothing]
    areas: list[IntArray] = []
    above: list[IntArray] = [nothing]
    first = next((solution.first for solution in known), 0)
    flows = 0
    for matrix, solution in enumerate(solutions):
        if solution is None:
            areas.append(nothing)
            continue
        rows = slice(*problem.flows.edges[[matrix, matrix + 1]].tolist())
        group[rows] = np.where(solution.group < 0, -1, solution.group + flows)
        if solution.above is not None:
            above.append(np.where(solution.above < 0, -1, solution.above + flows))
        flows += len(solution.origin)
        origins.append(solution.origin)
        destinations.append(solution.destination)
        matrices.append(np.full(len(solution.origin), matrix))
        ends = (solution.origin, solution.destination)[first]
        areas.append(np.unique(ends) if solution.areas is None or solution.first != first else solution.areas[0])
    withheld = sum(solution is None for solution in solutions)
    notes = [f"{withheld} of {len(solutions)} matrices are withheld as a whole"] if withheld else []
    return Solution(
        np.concatenate(origins),
        np.concatenate(destinations),
        group,
        np.concatenate(matrices),
        exact=all(solution.exact for solution in known),
        notes=tuple(notes),
        first=first,
        areas=tuple(areas),
        above=np.concatenate(above) if problem.remainders else None,
        numbered=next((solution.numbered for solution in known), None),
    )
