"""oigh: one uniform cut of each tree, the best pair of them (Optimal Identical Generalization Hierarchy).

The published method searches the lattice of pairs of cuts and prunes it. Here one pass measures all of them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from flowveil._errors import PromiseError, UnknownNameError
from flowveil._methods.grids import Grids, grid_solution
from flowveil._methods.steer import check_budget
from flowveil._methods.uniform_grids import UniformGrids

if TYPE_CHECKING:
    from collections.abc import Sequence

    from flowveil._arrays import FloatArray, IntArray
    from flowveil._methods.uniform import UniformCuts
    from flowveil._problem import Problem, Solution

TILES, STEPS = "tiles", "steps"


def solve(problem: Problem, precision: str = TILES) -> Solution:
    """Return the pair of uniform cuts that is most precise within the budget.

    precision: `tiles`, the mean tiles of both ends of a published trip; `steps`, the steps up on both axes together, as
    the first paper counts, and tiles among equals. Then fewer suppressed trips, then finer origins.
    """
    if precision not in (TILES, STEPS):
        raise UnknownNameError("precision", precision, [TILES, STEPS])
    lattice = UniformGrids(problem.cube, problem.axes)
    check_budget(int(lattice.suppressed.min()), problem)
    allowed = np.flatnonzero((lattice.suppressed <= problem.budget) & (lattice.kept > 0))
    loss = lattice.add_up(problem.cube.trips * problem.cube.tiles)
    number = _best(allowed, lattice.kept, loss, precision, lattice.cuts)
    steps = lattice.steps(number)
    grid = Grids(problem.cube, problem.axes).measure(lattice.areas(number))
    return grid_solution(problem, grid, (f"steps up: {steps[0]} at origins, {steps[1]} at destinations",))


def _best(allowed: IntArray, kept: IntArray, loss: IntArray, precision: str, cuts: Sequence[UniformCuts]) -> int:
    """Return the number of the best of the lattice points allowed."""
    if not len(allowed):
        raise PromiseError("no flow reaches the requirement", "lower k or use a coarser grid")
    gbar: FloatArray = loss[allowed] / kept[allowed]
    origin, destination = np.divmod(allowed, cuts[1].count)
    height = origin + destination if precision == STEPS else np.zeros(len(allowed), np.int64)
    return int(allowed[np.lexsort((origin, -kept[allowed], gbar, height))[0]])
