"""Steering cuts of many matrices without having all their cells at once.

A guess of the price of a withheld trip comes from some of the matrices. Of the others, only those cells are kept that
matter at prices around it. If that was not where the budget is, it is tried beside; where this does not help, all cells
are kept.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from flowveil._methods.exact import finest
from flowveil._methods.lagrange import bracket, close_in, price_between
from flowveil._methods.narrow import cube_between
from flowveil._methods.steer import check_budget, steer

if TYPE_CHECKING:
    from collections.abc import Callable

    from flowveil._methods.cuts import Cut, Splits
    from flowveil._problem import Cube, Problem

    SplitsOf = Callable[[Cube], Splits]

_FEWEST_RUNS = 24  # of matrices; fewer fit into memory
_SAMPLE = 8  # runs
_AROUND = 1.1  # prices from the guess divided by this to the guess times this
_TRIES = 4


def steer_in_runs(problem: Problem, splits_of: SplitsOf) -> Cut:
    """Return what `steer` does, of the set of cuts that a function makes of a cube."""
    found = _steer_around(problem, splits_of) if _is_large(problem) else None
    return found or steer(problem, splits_of(problem.cube))


def _steer_around(problem: Problem, splits_of: SplitsOf) -> Cut | None:
    """Return the cut, None where it is not at a price close to the guess."""

    def enough(cut: Cut) -> bool:
        return cut.suppressed <= problem.budget

    guess = _guess(problem, splits_of)
    low, high = guess / _AROUND, guess * _AROUND
    for _ in range(_TRIES if guess else 0):
        splits = _around(problem, splits_of, low, high)
        if not splits.has_wholes:
            break
        check_budget(splits.least_suppressed, problem)
        fine, coarse = splits.best(low), splits.best(high)
        if enough(fine):
            low, high = low / _AROUND**2, low
        elif not enough(coarse):
            low, high = high, high * _AROUND**2
        else:
            fine, coarse = close_in(splits, fine, coarse, enough)
            # Where a withheld trip must gain more to lower the mean, cuts at other prices matter.
            known = coarse.worth <= price_between(fine, coarse)
            return finest(splits, fine, coarse, problem.budget) if known else None
    return None


def may_be_better(problem: Problem, cut: Cut, own: SplitsOf, other: SplitsOf) -> bool:
    """Return whether another set of cuts, of which all are in the own one too, may have one better than a cut.

    At its price, the best cut of the other set costs more than the best of the own. Once it is so much more in some
    matrices that the cut itself costs less, the rest of them need no look.
    """
    lam = max(cut.lam, cut.worth)
    most = cut.ceiling(lam, problem.budget)
    if cut.cube.complete:
        return other(cut.cube).best(lam).value(lam) < most
    room = most - own(cut.cube).best(lam).value(lam)
    for run in problem.runs:
        cube = problem.cube_of([run], lambda cube: cube)
        room -= other(cube).best(lam).value(lam) - own(cube).best(lam).value(lam)
        if room <= 0:
            return False
    return True


def _is_large(problem: Problem) -> bool:
    """Return whether areas may be split in several ways, in many matrices, and there is a budget to steer to."""
    several = any(len(family.trees) > 1 for family in problem.families)
    return several and problem.max_gbar is None and len(problem.runs) >= _FEWEST_RUNS


def _guess(problem: Problem, splits_of: SplitsOf) -> float:
    """Return the price at which some of the matrices keep their share of the budget."""
    step = len(problem.runs) // _SAMPLE
    runs = problem.runs[step // 2 :: step]
    total = sum(int(problem.flows.trips[run.order].sum()) for run in runs)
    share = problem.budget * total // problem.flows.total
    cube = replace(problem.cube_of(runs, lambda cube: cube), total=total)
    return price_between(*bracket(splits_of(cube), lambda cut: cut.suppressed <= share))


def _around(problem: Problem, splits_of: SplitsOf, low: float, high: float) -> Splits:
    """Return the cuts that matter at prices between two."""
    return splits_of(problem.cube_of(problem.runs, lambda cube: cube_between(splits_of(cube), low, high)))
