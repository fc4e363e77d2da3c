"""knapsack: origins by a target volume, then an exact tree knapsack of destinations for each (quadtree paper)."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from flowveil._errors import InputError, PromiseError
from flowveil._methods.cuts import mosaic_splits, solution_of
from flowveil._methods.steer import check_budget
from flowveil._methods.targets import AUTO, Outcome, find_target, measure_cut
from flowveil._methods.volumes import origin_cut
from flowveil._places import ROOT

if TYPE_CHECKING:
    from flowveil._arrays import BoolArray
    from flowveil._methods.cuts import Cut
    from flowveil._problem import Cube, Problem, Solution

DELTA = 0.01  # the paper's


def solve(problem: Problem, v_target: str | float = AUTO, delta: float = DELTA) -> Solution:
    """Return origin areas near a target volume, each with the best map of destinations within its share of the budget.

    v_target: trips that an origin area should send; `auto` takes the one with the least gbar, `balanced` the one whose
    origin and destination areas are most alike in size.
    delta: what a suppressed trip costs, as a share of the tiles of both axes.
    """
    target = find_target(problem, v_target, partial(outcome, delta=delta))
    cut = _cut(problem, target, delta)
    if not len(cut.published):
        raise PromiseError("no flow reaches the requirement", "lower k or raise delta")
    areas = np.flatnonzero(origin_cut(problem, target)[0])
    return solution_of(problem, cut, (f"v_target {target:g}",), areas=(areas,))


def outcome(problem: Problem, target: float, delta: float = DELTA) -> Outcome:
    """Return what knapsack reaches with a target, or raise PromiseError."""
    return measure_cut(problem, _cut(problem, target, delta))


def _cut(problem: Problem, target: float, delta: float) -> Cut:
    if not 0 <= delta < float("inf"):
        raise InputError(f"delta is {delta}", f"delta is 0 or more; {DELTA} is the authors' choice")
    inside, above = origin_cut(problem, target)
    origin, destination = problem.cube.node
    cube = problem.cube.part(inside[origin] | (above[origin] & (destination == ROOT)))
    origin, destination = cube.node
    areas = np.flatnonzero(inside[origin] & (destination == ROOT))
    outflow = cube.trips[areas]
    lost = cube.total - int(outflow.sum())  # origin areas that may not be published at all
    check_budget(lost, problem)
    left = problem.budget - lost
    price = delta * int(problem.flows.origins.tiles[ROOT] + problem.flows.destinations.tiles[ROOT])
    publish = np.zeros(len(cube), bool)
    for area, trips in zip(areas.tolist(), outflow.tolist(), strict=True):
        share = left * trips // max(cube.total - lost, 1)
        _choose_destinations(cube, area, share, price, publish)
    return _as_cut(cube, inside, above, publish)


def _choose_destinations(cube: Cube, area: int, budget: int, price: float, publish: BoolArray) -> None:
    """Mark the cells to publish of one origin area; `area` is its cell with the whole of the destinations."""
    from flowveil._methods import tree_knapsack  # noqa: PLC0415 numba is slow to import

    end = int(np.searchsorted(cube.node[0], cube.node[0][area], side="right"))
    rows = slice(area, end)
    parent = np.maximum(cube.parent[1, rows].astype(np.int64) - area, -1)
    withheld = np.rint(cube.withheld[1, rows]).astype(np.int64)
    cells = tree_knapsack.Cells(cube.loss[rows], parent, withheld, np.ascontiguousarray(cube.splittable[1, rows]))
    publish[rows] = tree_knapsack.solve_tree(budget, price, cells)


def _as_cut(cube: Cube, inside: BoolArray, above: BoolArray, publish: BoolArray) -> Cut:
    """Return the cut that publishes these cells: everything above them is split, everything else withheld."""
    origin, _ = cube.node
    choice = np.full(len(cube), -1, np.int8)
    choice[above[origin]] = 1
    choice[publish] = 0
    cell = cube.parent[1, np.flatnonzero(publish & inside[origin])]
    while (cell := np.unique(cell[cell >= 0])).size:
        choice[cell] = 2
        cell = cube.parent[1, cell]
    return mosaic_splits(cube).measure(choice, 0.0)
