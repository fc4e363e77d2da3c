"""Origin areas by a target volume, as the ATG and the quadtree knapsack papers choose them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from flowveil._methods.treecut import best_cut
from flowveil._options import LARGEST_NUMBER, parse_number

if TYPE_CHECKING:
    from flowveil._arrays import BoolArray
    from flowveil._problem import Problem

AUTO = "auto"
AUTO_STEPS = 15
COARSEST_SHARE, FINEST_SHARE = 1 / 20, 1 / 1000  # of all trips, as target for the trips of one origin area


def targets(problem: Problem, v_target: str | float) -> list[float]:
    """Return the target given, or with `auto` the geometric steps to be tried."""
    if v_target != AUTO:
        return [positive("v_target", v_target)]
    total = problem.flows.total
    steps: list[float] = np.geomspace(total * FINEST_SHARE, total * COARSEST_SHARE, AUTO_STEPS).tolist()
    return steps


def origin_cut(problem: Problem, target: float) -> tuple[BoolArray, BoolArray]:
    """Return by node whether it is an origin area, and whether it lies above one.

    The areas are those that come closest to sending `target` trips each.
    """
    tree = problem.flows.origins
    outflow = np.zeros(len(tree), np.int64)
    np.add.at(outflow, problem.flows.origin, problem.flows.trips)
    return best_cut(tree, np.asarray((target - tree.add_up(outflow)) ** 2, np.float64))


def positive(name: str, value: str | float) -> float:
    """Return an option as a positive number, or raise."""
    hint = f"{name} is a positive number, or {AUTO}"
    return float(parse_number(value, name, hint, 1 / LARGEST_NUMBER, LARGEST_NUMBER))
