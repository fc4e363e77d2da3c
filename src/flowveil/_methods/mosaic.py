"""mosaic: cut the origin-destination space itself, every pair of areas along either axis. The finest tree method."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from flowveil._errors import InputError
from flowveil._methods import remainders, same_areas
from flowveil._methods.cuts import Cut, mosaic_splits, nested_splits, solution_of
from flowveil._methods.frontier import POINTS, FrontierPoint, frontier_of
from flowveil._methods.in_runs import may_be_better, steer_in_runs
from flowveil._methods.keep_safe import solve_around, tell_safe
from flowveil._methods.steer import better, notes_of

if TYPE_CHECKING:
    from flowveil._problem import Problem, Solution


def solve(problem: Problem, time_weight: float = 1.0, *, keep_safe: bool = False) -> Solution:
    """Return the mosaic of least mean loss within the budget (of least suppression with the precision asked for).

    time_weight: what a step of time costs, where time is an axis; a tile costs 1.
    keep_safe: every pair of tiles that passes by itself is a flow.
    """
    problem = _weigh(problem, time_weight)
    if not keep_safe:
        return _solve(problem)
    solution = solve_around(problem, _solve) if problem.remainders else _solve(replace(problem, keep_safe=True))
    return replace(solution, notes=(*solution.notes, tell_safe(problem)))


def _solve(problem: Problem) -> Solution:
    if problem.same_areas:
        return same_areas.solve(problem)
    if problem.remainders:
        return remainders.solve(problem, _best_cut)
    cut = _best_cut(problem)
    return solution_of(problem, cut, notes_of(cut))


def _best_cut(problem: Problem) -> Cut:
    cut = steer_in_runs(problem, mosaic_splits)
    return cut if problem.flows.times is not None else _not_above_nested(problem, cut)


def frontier(
    problem: Problem, points: int = POINTS, time_weight: float = 1.0, *, keep_safe: bool = False
) -> list[FrontierPoint]:
    """Return what mosaic reaches at different prices of a suppressed trip."""
    weighed = replace(_weigh(problem, time_weight), keep_safe=keep_safe)
    return frontier_of([mosaic_splits(weighed.cube)], points)


def _weigh(problem: Problem, time_weight: float) -> Problem:
    if not 0 <= time_weight < float("inf"):
        raise InputError(f"time_weight is {time_weight!r}", "time_weight is a number of tiles that a step counts as")
    if time_weight == problem.time_weight:
        return problem
    if problem.flows.times is None:
        raise InputError("time_weight needs an axis of time", "name one with --time-hierarchy")
    return replace(problem, time_weight=time_weight)


def _not_above_nested(problem: Problem, cut: Cut) -> Cut:
    """Return a nested cut where that is better, which can be if not all mosaics could be looked at.

    A nested cut is a mosaic. Only where the dual bound leaves room for a better one is it looked for.
    """
    if problem.max_gbar is not None or cut.gap == 0:
        return cut
    for order in ((0, 1), (1, 0)):
        nested = partial(nested_splits, order=order)
        if may_be_better(problem, cut, mosaic_splits, nested):
            cut = better(problem, cut, replace(steer_in_runs(problem, nested), gap=cut.gap))
    return cut
