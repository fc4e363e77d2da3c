"""nested: one map of areas for the first end, and for each of its areas a map of its own for the other end."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from flowveil._errors import UnknownNameError
from flowveil._methods.cuts import maps_of, nested_splits, solution_of
from flowveil._methods.frontier import POINTS, FrontierPoint, frontier_of
from flowveil._methods.in_runs import steer_in_runs
from flowveil._methods.steer import better

if TYPE_CHECKING:
    from flowveil._methods.in_runs import SplitsOf
    from flowveil._problem import Problem, Solution

ORDERS = {"origin": (0, 1), "destination": (1, 0)}
EITHER = "either"


def solve(problem: Problem, side: str = EITHER) -> Solution:
    """Return the nested cut of least loss within the budget (of least suppression with the precision asked for).

    side: the end with one map for all, `origin` or `destination`; `either` takes the better one.
    """
    cuts = {name: steer_in_runs(problem, splits_of) for name, splits_of in _families(side).items()}
    first, *others = cuts
    for other in others:
        if better(problem, cuts[first], cuts[other]) is cuts[other]:
            first = other
    axis = ORDERS[first][0]
    notes = (f"side {first}", f"lambda {cuts[first].lam:g}")
    return solution_of(problem, cuts[first], notes, axis, maps_of(problem, cuts[first], axis))


def frontier(problem: Problem, points: int = POINTS, side: str = EITHER) -> list[FrontierPoint]:
    """Return what nested reaches at different prices of a suppressed trip; with `either`, the better side at each."""
    return frontier_of([splits_of(problem.cube) for splits_of in _families(side).values()], points)


def _families(side: str) -> dict[str, SplitsOf]:
    if side != EITHER and side not in ORDERS:
        raise UnknownNameError("side", side, [*ORDERS, EITHER])
    names = ORDERS if side == EITHER else [side]
    return {name: partial(nested_splits, order=ORDERS[name]) for name in names}
