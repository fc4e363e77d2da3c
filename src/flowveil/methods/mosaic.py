"""mosaic: cut the origin-destination space itself, every pair of areas along either axis. The finest of the methods."""

from __future__ import annotations

from typing import TYPE_CHECKING

from flowveil.methods._cuts import Cut, mosaic_splits, nested_splits, solution_of
from flowveil.methods._frontier import POINTS, FrontierPoint, frontier_of
from flowveil.methods._steer import better, steer

if TYPE_CHECKING:
    from flowveil.problem import Problem, Solution


def solve(problem: Problem) -> Solution:
    """Return the mosaic of least loss within the budget (of least suppression with the precision asked for)."""
    cut = _not_above_nested(problem, steer(problem, mosaic_splits(problem.cube)))
    return solution_of(problem, cut, (f"lambda {cut.lam:g}",))


def frontier(problem: Problem, points: int = POINTS) -> list[FrontierPoint]:
    """Return what mosaic reaches at different prices of a suppressed trip."""
    return frontier_of([mosaic_splits(problem.cube)], points)


def _not_above_nested(problem: Problem, cut: Cut) -> Cut:
    """Return a nested cut where that is better, which the last bit of the budget can bring about.

    A nested cut is a mosaic. Only where the dual bound leaves room for a better one is it looked for.
    """
    if problem.max_gbar is not None:
        return cut
    for order in ((0, 1), (1, 0)):
        splits = nested_splits(problem.cube, order)
        if splits.best(cut.lam).value(cut.lam) - cut.lam * problem.budget < cut.loss:
            cut = better(problem, cut, steer(problem, splits))
    return cut
