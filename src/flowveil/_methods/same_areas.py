"""One map for all steps of time and groups: areas chosen for all matrices at once, by the sum of their losses.

f(a, b), what the best flows inside a pair of areas cost, is the lesser of publishing the pair in every matrix in which
it passes (its loss there, and the price of its trips elsewhere), and of the best split. That is the recursion of mosaic
on sums over matrices, so the areas are as good as any that all matrices can share.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from flowveil._errors import InputError
from flowveil._methods.cuts import mosaic_splits, nested_splits, solution_of
from flowveil._methods.steer import better, notes_of, steer
from flowveil._problem import common_cube, join_matrices, pass_on_areas

if TYPE_CHECKING:
    from flowveil._methods.cuts import Cut
    from flowveil._problem import Cube, Problem, Solution


def solve(problem: Problem) -> Solution:
    """Return the flows on areas in common of least mean loss within the budget (or least suppression for a precision).

    A flow that fails in a matrix is withheld there, and counts as suppressed.
    """
    if not problem.flows.divided:
        raise InputError(
            "there is one matrix, whose areas need not be those of others", "divide trips with --time month or --by"
        )
    whole, entry = join_matrices(problem)
    cube = common_cube(problem, whole)
    cut = _best_cut(whole, cube)
    areas = solution_of(whole, cut, notes_of(cut))
    solution, failing = pass_on_areas(problem, replace(areas, group=areas.group[entry]))
    notes = f"{failing:,} flows on the areas in common are too small in their step or group, and are withheld"
    return replace(solution, notes=(*solution.notes, notes))


def _best_cut(problem: Problem, cube: Cube) -> Cut:
    """Return the best mosaic, or a nested cut where that is better: see `mosaic`."""
    cut = steer(problem, mosaic_splits(cube))
    if problem.max_gbar is not None or cut.gap == 0:
        return cut
    for order in ((0, 1), (1, 0)):
        cut = better(problem, cut, replace(steer(problem, nested_splits(cube, order)), gap=cut.gap))
    return cut
