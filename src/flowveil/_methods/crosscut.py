"""crosscut: one map of origin areas and one map of destination areas, each the best for the other."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from flowveil._methods.each import join
from flowveil._methods.frontier import POINTS, FrontierPoint, parse_points, thinned, undominated
from flowveil._methods.grids import grid_solution
from flowveil._methods.many_grids import ManyGrid, ManyGrids
from flowveil._methods.steer import check_budget, check_precision, too_precise

if TYPE_CHECKING:
    from collections.abc import Callable

    from flowveil._arrays import FloatArray
    from flowveil._problem import Problem, Solution

STEPS = 64  # prices of the continuation
CLOSER = 12  # bisections of the price towards the goal


def solve(problem: Problem) -> Solution:
    """Return the grid of least mean loss within the budget (of least suppression with the precision asked for).

    Of those that are found; no grid of uniform cuts of both trees is better.
    """
    grids = ManyGrids(problem)
    if problem.max_gbar is not None:
        grid, lam = _to_precision(grids, problem.max_gbar)
    else:
        grid, lam = _to_budget(grids, problem)
    solutions = [grid_solution(part, own) for part, own in zip(grids.parts, grid.parts, strict=True)]
    return replace(join(problem, solutions), notes=(f"lambda {lam:g}",))


def frontier(problem: Problem, points: int = POINTS) -> list[FrontierPoint]:
    """Return what crosscut reaches at different prices of a suppressed trip."""
    points = parse_points(points)
    grids = ManyGrids(problem)
    prices, best = _sweep(grids, max(points, STEPS))
    rows = [grids.point(grid, lam) for lam, grid in zip(prices.tolist(), best, strict=True)]
    return thinned(undominated(rows), points)


def _sweep(grids: ManyGrids, steps: int) -> tuple[FloatArray, list[ManyGrid]]:
    """Return rising prices of a withheld trip and the best grid found at each.

    A falling sequence starts from the coarsest grid, a rising one from where that ends; each step starts from the one
    before, so that areas split and merge a few at a time.
    """
    rate = grids.rates()
    low, high = (float(rate.min()), float(rate.max()) * grids.total) if len(rate) else (1.0, 1.0)
    prices = np.append(0.0, np.geomspace(low, high, steps - 1))
    falling: list[ManyGrid] = []
    grid = grids.coarsest()
    for lam in prices[::-1].tolist():
        grid = grids.improve(grid, lam)
        falling.append(grid)
    best = []
    for lam, other in zip(prices.tolist(), reversed(falling), strict=True):
        grid = grids.improve(grid, lam)
        best.append(grids.better(grid, other, lam))
    return prices, best


def _to_budget(grids: ManyGrids, problem: Problem) -> tuple[ManyGrid, float]:
    prices, swept = _sweep(grids, STEPS)
    prices, swept = np.append(prices, prices[-1]), [*swept, grids.coarsest()]
    uniform = grids.uniform()
    check_budget(min(grid.suppressed for grid in [*swept, uniform]), problem)
    found = [(uniform, 0.0)] if uniform.suppressed <= problem.budget else []
    if any(grid.suppressed <= problem.budget for grid in swept):
        found.append(_close_in(grids, prices, swept, lambda grid: grid.suppressed <= problem.budget, grids.mean, -1))
    spent = [(grids.spend(grid, problem.budget - grid.suppressed), lam) for grid, lam in found]
    return min(spent, key=lambda entry: grids.mean(entry[0]))


def _to_precision(grids: ManyGrids, max_gbar: float) -> tuple[ManyGrid, float]:
    check_precision(max_gbar)
    prices, swept = _sweep(grids, STEPS)

    def fine(grid: ManyGrid) -> bool:
        return grids.excess(grid, max_gbar) <= 0

    if not any(fine(grid) for grid in swept):
        raise too_precise(max_gbar)
    return _close_in(grids, prices, swept, fine, lambda grid: grid.suppressed, 1)


def _close_in(
    grids: ManyGrids,
    prices: FloatArray,
    swept: list[ManyGrid],
    good: Callable[[ManyGrid], bool],
    rank: Callable[[ManyGrid], float],
    side: int,
) -> tuple[ManyGrid, float]:
    """Return the best good grid, looking further between the best one found and its neighbor on one side."""
    here = min((place for place, grid in enumerate(swept) if good(grid)), key=lambda place: rank(swept[place]))
    beyond = here + side
    best, best_lam = swept[here], float(prices[here])
    if not 0 <= beyond < len(swept):
        return best, best_lam
    inner, outer = (best, best_lam), (swept[beyond], float(prices[beyond]))
    for _ in range(CLOSER):
        lam = (inner[1] + outer[1]) / 2
        tried = [grids.improve(grid, lam) for grid, _ in (inner, outer)]
        for grid in tried:
            if good(grid) and rank(grid) < rank(best):
                best, best_lam = grid, lam
        grid = grids.better(tried[0], tried[1], lam)
        if good(grid):
            inner = (grid, lam)
        else:
            outer = (grid, lam)
    return best, best_lam
