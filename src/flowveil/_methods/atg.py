"""atg-dual and atg-soft: origins by a target volume, then all destination trees at once (ATG paper)."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from flowveil._errors import InputError
from flowveil._methods.cuts import Splits, solution_of
from flowveil._methods.frontier import POINTS, FrontierPoint, frontier_of
from flowveil._methods.steer import steer
from flowveil._methods.targets import (
    AUTO,
    BALANCED,
    Outcome,
    find_target,
    first_targets,
    measure_cut,
    parse_target,
    positive,
)
from flowveil._methods.volumes import origin_cut
from flowveil._places import ROOT
from flowveil._problem import by_split

if TYPE_CHECKING:
    from flowveil._methods.cuts import Cut
    from flowveil._problem import Problem, Solution

SOFT_SHARE = 0.10  # the paper's lambda, as share of the tiles


def solve_dual(problem: Problem, v_target: str | float = AUTO) -> Solution:
    """Return origin areas near a target volume, each with the best map of destinations within the common budget.

    v_target: trips that an origin area should send; `auto` takes the one with the least loss for each published trip
    (of least suppression, if a precision is asked for), `balanced` the one whose origin and destination areas are most
    alike in size.
    """
    target = find_target(problem, v_target, dual_outcome)
    cut = _dual(problem, target)
    areas = (np.flatnonzero(origin_cut(problem, target)[0]),)
    return solution_of(problem, cut, (f"v_target {target:g}", f"lambda {cut.lam:g}"), areas=areas)


def dual_outcome(problem: Problem, target: float) -> Outcome:
    """Return what atg-dual reaches with a target, or raise PromiseError."""
    cut = _dual(problem, target)
    return measure_cut(problem, cut, None if problem.max_gbar is None else cut.suppressed)


def solve_soft(problem: Problem, v_target: str | float = AUTO, lam: str | float = AUTO) -> Solution:
    """Return the same at a fixed price of a suppressed trip: no published flow that can be split is larger than `lam`.

    lam: tiles of both areas together; `auto` is 10 % of the tiles of both axes.
    v_target: trips that an origin area should send; `auto` takes the one with the least total cost, `balanced` the one
    whose origin and destination areas are most alike in size.
    """
    price = _price(problem, lam)
    target = find_target(problem, v_target, partial(soft_outcome, lam=lam))
    cut = _splits(problem, target).best(price)
    areas = (np.flatnonzero(origin_cut(problem, target)[0]),)
    return solution_of(problem, cut, (f"v_target {target:g}", f"lambda {price:g}"), areas=areas)


def soft_outcome(problem: Problem, target: float, lam: str | float = AUTO) -> Outcome:
    """Return what atg-soft reaches with a target."""
    price = _price(problem, lam)
    cut = _splits(problem, target).best(price)
    return measure_cut(problem, cut, cut.value(price), problem.flows.total)


def frontier(problem: Problem, points: int = POINTS, v_target: str | float = AUTO) -> list[FrontierPoint]:
    """Return what atg-dual reaches at different prices of a suppressed trip; with `auto`, the best of some at each."""
    rule = parse_target(v_target)
    if rule == BALANCED:
        raise InputError(f"a frontier is not {BALANCED}: it has many answers", f"v_target is a number here, or {AUTO}")
    targets = first_targets(problem) if isinstance(rule, str) else [rule]
    return frontier_of([_splits(problem, target) for target in targets], points)


def _dual(problem: Problem, target: float) -> Cut:
    return steer(problem, _splits(problem, target), leftover=False)


def _price(problem: Problem, lam: str | float) -> float:
    """Return what a suppressed trip costs in atg-soft."""
    if lam != AUTO:
        return positive("lam", lam)
    return SOFT_SHARE * int(problem.flows.origins.tiles[ROOT] + problem.flows.destinations.tiles[ROOT])


def _splits(problem: Problem, target: float) -> Splits:
    """Cuts whose origin areas are those that come closest to sending `target` trips each."""
    inside, above = origin_cut(problem, target)
    origin, destination = problem.cube.node
    cube = problem.cube.part(inside[origin] | (above[origin] & (destination == ROOT)))
    origin, destination = cube.node
    allowed = cube.splittable.copy()
    allowed[0] &= above[origin]
    allowed[1] &= inside[origin]
    return Splits(cube, by_split(allowed), np.where(inside[origin], cube.loss, np.inf))
