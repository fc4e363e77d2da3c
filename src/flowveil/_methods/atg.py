"""atg-dual and atg-soft: origins by a target volume, then all destination trees at once (ATG paper)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from flowveil._errors import PromiseError
from flowveil._methods.cuts import Cut, Splits, solution_of
from flowveil._methods.frontier import POINTS, FrontierPoint, frontier_of
from flowveil._methods.steer import steer
from flowveil._methods.volumes import AUTO, origin_cut, positive, targets
from flowveil._places import ROOT
from flowveil._problem import by_split

if TYPE_CHECKING:
    from flowveil._problem import Problem, Solution

SOFT_SHARE = 0.10  # the paper's lambda, as share of the tiles


def solve_dual(problem: Problem, v_target: str | float = AUTO) -> Solution:
    """Return origin areas near a target volume, each with the best map of destinations within the common budget.

    v_target: trips that an origin area should send; `auto` takes that of 15 with the least loss for each
    published trip (the least suppression with the precision asked for).
    """
    candidates: list[tuple[float, float, Cut]] = []
    refused: list[PromiseError] = []
    for target in targets(problem, v_target):
        try:
            cut = steer(problem, _splits(problem, target), leftover=False)
        except PromiseError as error:
            refused.append(error)
            continue
        kept = cut.cube.total - cut.suppressed
        mean = cut.loss / kept if kept else float("inf")
        candidates.append((cut.suppressed if problem.max_gbar else mean, target, cut))
    if not candidates:
        raise refused[-1]
    _, target, cut = min(candidates, key=lambda entry: entry[:2])
    areas = (np.flatnonzero(origin_cut(problem, target)[0]),)
    return solution_of(problem, cut, (f"v_target {target:g}", f"lambda {cut.lam:g}"), areas=areas)


def solve_soft(problem: Problem, v_target: str | float = AUTO, lam: str | float = AUTO) -> Solution:
    """Return the same at a fixed price of a suppressed trip: no published flow that can be split is larger than `lam`.

    lam: tiles of both areas together; `auto` is 10 % of the tiles of both axes.
    v_target: trips that an origin area should send; `auto` takes the one with the least total cost of 15.
    """
    flows = problem.flows
    tiles = int(flows.origins.tiles[ROOT] + flows.destinations.tiles[ROOT])
    price = SOFT_SHARE * tiles if lam == AUTO else positive("lam", lam)
    tried = targets(problem, v_target)
    cuts = [_splits(problem, target).best(price) for target in tried]
    _, target, cut = min(
        ((cut.value(price), target, cut) for target, cut in zip(tried, cuts, strict=True)),
        key=lambda entry: entry[:2],
    )
    areas = (np.flatnonzero(origin_cut(problem, target)[0]),)
    return solution_of(problem, cut, (f"v_target {target:g}", f"lambda {price:g}"), areas=areas)


def frontier(problem: Problem, points: int = POINTS, v_target: str | float = AUTO) -> list[FrontierPoint]:
    """Return what atg-dual reaches at different prices of a suppressed trip; with `auto`, the best target at each."""
    return frontier_of([_splits(problem, target) for target in targets(problem, v_target)], points)


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
