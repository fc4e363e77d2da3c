"""nested: one map of areas for the first end, and for each of its areas a map of its own for the other end."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from flowveil._errors import UnknownNameError
from flowveil._methods.cuts import maps_of, nested_splits, solution_of
from flowveil._methods.frontier import POINTS, FrontierPoint, frontier_of
from flowveil._methods.in_runs import steer_in_runs
from flowveil._methods.steer import better, notes_of

if TYPE_CHECKING:
    from flowveil._methods.in_runs import SplitsOf
    from flowveil._problem import Problem, Solution

ORDERS = {"origin": (0, 1), "destination": (1, 0)}
EITHER = "either"


def solve(problem: Problem, side: str = EITHER) -> Solution:
    """Return the nested cut of least mean loss within the budget (of least suppression with the precision asked for).

    side: the end with one map for all, `origin` or `destination`; `either` takes the better one.
    """
    cuts = {name: steer_in_runs(problem, splits_of) for name, splits_of in _families(side).items()}
    first, *others = cuts
    for other in others:
        if better(problem, cuts[first], cuts[other]) is cuts[other]:
            first = other
    cut = replace(cuts[first], gap=max(cut.gap for cut in cuts.values()))  # on the other side there may be a better one
    axis = ORDERS[first][0]
    return solution_of(problem, cut, (f"side {first}", *notes_of(cut)), axis, maps_of(problem, cut, axis))


def frontier(problem: Problem, points: int = POINTS, side: str = EITHER) -> list[FrontierPoint]:
    """Return what nested reaches at different prices of a suppressed trip; with `either`, the better side at each."""
    return frontier_of([splits_of(problem.cube) for splits_of in _families(side).values()], points)


def _families(side: str) -> dict[str, SplitsOf]:
    if side != EITHER and side not in ORDERS:
        raise UnknownNameError("side", side, [*ORDERS, EITHER])
    names = ORDERS if side == EITHER else [side]
    return {name: partial(nested_splits, order=ORDERS[name]) for name in names}
