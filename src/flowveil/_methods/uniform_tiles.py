"""uniform-tiles: the same step up everywhere, pairs that fail are dropped; the quadtree paper's naive baseline."""

from __future__ import annotations

from typing import TYPE_CHECKING

from flowveil._errors import InputError
from flowveil._methods.grids import Grids, grid_solution
from flowveil._methods.uniform import uniform_cuts

if TYPE_CHECKING:
    from flowveil._problem import Problem, Solution


def solve(problem: Problem, steps: int = 2) -> Solution:
    """Return the pairs of areas `steps` steps above the tiles that pass.

    steps: on a quadtree 2, 3 and 4 are squares of 4x4, 8x8 and 16x16 tiles; beyond the root it is the root.
    """
    if steps < 0:
        raise InputError(f"steps is {steps}", "steps is 0 or more; 2 is squares of 4x4 tiles on a quadtree")
    cuts = [uniform_cuts(axis.hierarchy) for axis in problem.axes]
    areas = tuple(cut.cut(min(steps, cut.count - 1)) for cut in cuts)
    return grid_solution(problem, Grids(problem.cube, problem.axes).measure(areas))
