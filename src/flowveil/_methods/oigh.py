"""oigh: one uniform cut of each tree, the best pair of them (Optimal Identical Generalization Hierarchy).

The published method searches the lattice of pairs of cuts and prunes it. Here every publishable pair of nodes adds its
trips and loss to the rectangle of lattice points that have both nodes, so that one pass measures all points.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from flowveil._errors import PromiseError, UnknownNameError
from flowveil._methods.crosscut import grid_solution
from flowveil._methods.grids import Grids
from flowveil._methods.steer import check_budget
from flowveil._methods.uniform import UniformCuts, uniform_cuts

if TYPE_CHECKING:
    from flowveil._arrays import FloatArray, IntArray
    from flowveil._problem import Cube, Problem, Solution

TILES, STEPS = "tiles", "steps"


def solve(problem: Problem, precision: str = TILES) -> Solution:
    """Return the pair of uniform cuts that is most precise within the budget.

    precision: `tiles`, the mean tiles of both ends of a published trip; `steps`, the steps up on both axes together, as
    the first paper counts, and tiles among equals. Then fewer suppressed trips, then finer origins.
    """
    if precision not in (TILES, STEPS):
        raise UnknownNameError("precision", precision, [TILES, STEPS])
    cube = problem.cube
    cuts = [uniform_cuts(axis.hierarchy) for axis in problem.axes]
    kept, loss = (_over_lattice(cube, cuts, values) for values in (cube.trips, cube.trips * cube.tiles))
    suppressed = cube.total - kept
    check_budget(int(suppressed.min()), problem)
    number = _best(np.flatnonzero((suppressed <= problem.budget) & (kept > 0)), kept, loss, precision, cuts)
    steps = [int(step) for step in np.unravel_index(number, (cuts[0].count, cuts[1].count))]
    grid = Grids(cube, problem.axes).measure(tuple(cut.cut(step) for cut, step in zip(cuts, steps, strict=True)))
    return grid_solution(problem, grid, (f"steps up: {steps[0]} at origins, {steps[1]} at destinations",))


def _best(allowed: IntArray, kept: IntArray, loss: IntArray, precision: str, cuts: list[UniformCuts]) -> int:
    """Return the number of the best of the lattice points allowed."""
    if not len(allowed):
        raise PromiseError("no flow reaches the requirement", "lower k or use a coarser grid")
    gbar: FloatArray = loss[allowed] / kept[allowed]
    origin, destination = np.divmod(allowed, cuts[1].count)
    height = origin + destination if precision == STEPS else np.zeros(len(allowed), np.int64)
    return int(allowed[np.lexsort((origin, -kept[allowed], gbar, height))[0]])


def _over_lattice(cube: Cube, cuts: list[UniformCuts], values: IntArray) -> IntArray:
    """Return for every pair of cuts the sum over the cells that lie on both, row by row of the origins' cuts."""
    corners = np.zeros((cuts[0].count + 1, cuts[1].count + 1), np.int64)
    (low, high), (left, right) = ((cut.first[row], cut.last[row] + 1) for cut, row in zip(cuts, cube.node, strict=True))
    for rows, columns, sign in ((low, left, 1), (high, left, -1), (low, right, -1), (high, right, 1)):
        np.add.at(corners, (rows, columns), sign * values)
    return np.cumsum(np.cumsum(corners, axis=0), axis=1)[:-1, :-1].ravel()
