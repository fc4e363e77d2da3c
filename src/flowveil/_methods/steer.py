"""Steer a family of cuts to what a problem asks for: a budget of suppressed trips, or a precision."""

from __future__ import annotations

from typing import TYPE_CHECKING

from flowveil._errors import InputError, PromiseError
from flowveil._methods.lagrange import bracket, price_between
from flowveil._methods.spend import spend

if TYPE_CHECKING:
    from flowveil._methods.cuts import Cut, Splits
    from flowveil._problem import Problem


def steer(problem: Problem, splits: Splits, *, leftover: bool = True) -> Cut:
    """Return the cut of least loss within the budget, or of least suppression with the precision asked for.

    leftover: close in on the goal by single splits where the family of best cuts jumps over it.
    """
    if problem.max_gbar is not None:
        return _to_precision(splits, problem.max_gbar, leftover=leftover)
    check_budget(splits.least_suppressed, problem)
    fine, coarse = bracket(splits, lambda cut: cut.suppressed <= problem.budget)
    return use_up(problem, splits, fine, coarse) if leftover else coarse


def use_up(problem: Problem, splits: Splits, fine: Cut, coarse: Cut) -> Cut:
    """Return the coarser of two neighbors, split further as far as the budget goes."""
    left = problem.budget - coarse.suppressed
    return spend(splits, coarse, left, price_between(fine, coarse)) if left else coarse


def better(problem: Problem, first: Cut, second: Cut) -> Cut:
    """Return the cut that serves a problem better, the first one if they are equal."""
    if problem.max_gbar is None:
        return second if (second.loss, second.suppressed) < (first.loss, first.suppressed) else first
    return second if (second.suppressed, second.loss) < (first.suppressed, first.loss) else first


def check_budget(least: int, problem: Problem) -> None:
    """Raise if even the coarsest cuts suppress more than the budget."""
    if least > problem.budget:
        reason = "; with the loss metres the top of a tree needs a bbox" if problem.loss == "metres" else ""
        raise PromiseError(
            f"at least {least / problem.flows.total:.3%} of the trips would be left out, "
            f"but only {problem.budget / problem.flows.total:.3%} may be",
            f"raise max_suppression or lower k{reason}",
        )


def check_precision(max_gbar: float) -> None:
    """Raise if a precision is not a number that can be reached."""
    if not max_gbar > 0:
        raise InputError(f"max_gbar is {max_gbar!r}", "max_gbar is a number of tiles; 2 is a single tile at each end")


def too_precise(max_gbar: float) -> PromiseError:
    """Return the error for a precision that only an empty release has."""
    return PromiseError(f"no flow can be published with max_gbar {max_gbar:g}", "raise max_gbar or lower k")


def _to_precision(splits: Splits, max_gbar: float, *, leftover: bool) -> Cut:
    check_precision(max_gbar)
    excess = splits.cube.trips * (splits.cube.tiles - max_gbar)
    fine, coarse = bracket(splits, lambda cut: float(excess[cut.published].sum()) > 0)
    if leftover and fine.suppressed > coarse.suppressed:
        left = fine.suppressed - coarse.suppressed - 1
        closer = spend(splits, coarse, left, price_between(fine, coarse), excess)
        fine = closer if float(excess[closer.published].sum()) <= 0 else fine
    if not len(fine.published) or float(excess[fine.published].sum()) > 0:
        raise too_precise(max_gbar)
    return fine
