"""Steer a family of cuts to what a problem asks for: a budget of suppressed trips, or a precision."""

from __future__ import annotations

from typing import TYPE_CHECKING

from flowveil._errors import InputError, PromiseError
from flowveil._methods.exact import finest, most_complete
from flowveil._methods.lagrange import bracket, price_between
from flowveil._methods.spend import spend

if TYPE_CHECKING:
    from flowveil._methods.cuts import Cut, Splits
    from flowveil._problem import Problem


def steer(problem: Problem, splits: Splits, *, leftover: bool = True) -> Cut:
    """Return the cut of least mean loss within the budget, or of least suppression with the precision asked for.

    leftover: look between the best cuts at single prices too, and say in its `gap` whether a better cut may exist.
    """
    if problem.max_gbar is not None:
        return _to_precision(problem, splits, problem.max_gbar, leftover=leftover)
    check_budget(splits.least_suppressed, problem)
    fine, coarse = bracket(splits, lambda cut: cut.suppressed <= problem.budget)
    return finest(splits, fine, coarse, problem.budget) if leftover else coarse


def better(problem: Problem, first: Cut, second: Cut) -> Cut:
    """Return the cut that serves a problem better, the first one if they are equal."""
    if problem.max_gbar is None:
        return second if (second.mean, second.suppressed) < (first.mean, first.suppressed) else first
    return second if (second.suppressed, second.mean) < (first.suppressed, first.mean) else first


def notes_of(cut: Cut) -> tuple[str, ...]:
    """Return what the audit file says of a cut: its price, and whether there is a better one."""
    price = f"lambda {cut.lam:g}"
    if cut.gap == 0:
        return price, "no other cut of its kind is better"
    return (price, f"no other cut of its kind is better by more than {cut.gap:.2g}") if cut.gap < 1 else (price,)


def check_budget(least: int, problem: Problem) -> None:
    """Raise if even the coarsest cuts suppress more than the budget."""
    if least > problem.budget:
        check_size(problem)
        reason = "; with the loss metres the top of a tree needs a bbox" if problem.loss == "metres" else ""
        shares = "" if problem.requirement.max_share is None else ", or raise max_share"
        shares += ", or leave out keep_safe, or add --remainders to it" if problem.keep_safe else ""
        raise PromiseError(
            f"at least {least / problem.flows.total:.3%} of the trips would be left out, "
            f"but only {problem.budget / problem.flows.total:.3%} may be",
            f"raise max_suppression or lower k{shares}{reason}",
        )


def check_size(problem: Problem) -> None:
    """Raise if all the trips together are no crowd."""
    k, (crowd, what) = problem.requirement.k, problem.everybody
    if crowd < k:
        said = f"k is {k:,}, but the data has {crowd:,} {what}{'' if crowd == 1 else 's'}"
        raise PromiseError(said, "lower k, or publish a longer period")


def check_precision(max_gbar: float) -> None:
    """Raise if a precision is not a number that can be reached."""
    if not max_gbar > 0:
        raise InputError(f"max_gbar is {max_gbar!r}", "max_gbar is a number of tiles; 2 is a single tile at each end")


def too_precise(max_gbar: float) -> PromiseError:
    """Return the error for a precision that only an empty release has."""
    return PromiseError(f"no flow can be published with max_gbar {max_gbar:g}", "raise max_gbar or lower k")


def _to_precision(problem: Problem, splits: Splits, max_gbar: float, *, leftover: bool) -> Cut:
    check_precision(max_gbar)
    excess = splits.excess(max_gbar)

    def precise(cut: Cut) -> bool:
        return len(cut.published) > 0 and float(excess[cut.published].sum()) <= 0

    fine, coarse = bracket(splits, lambda cut: float(excess[cut.published].sum()) > 0)
    cut = fine
    if leftover and fine.suppressed > coarse.suppressed:
        left = fine.suppressed - coarse.suppressed - 1
        closer = spend(splits, coarse, left, price_between(fine, coarse), excess)
        cut = closer if precise(closer) else fine
    if leftover and problem.loss == "tiles" and problem.flows.times is None:  # the mean loss is the precision
        cut = most_complete(splits, fine, coarse, cut, max_gbar, precise)
    if not precise(cut):
        raise too_precise(max_gbar)
    return cut
