"""Complementary suppression: what departures and arrivals that others know tell beside the flows of a release.

Whoever knows how many trips start in each place takes away the published flows from an area (and from inside it). What
is left are the trips from there in none of these flows: they must be nobody, or a crowd (decision 49). Where they are
fewer, one more flow from inside the area is withheld, and what is left has a crowd then. The same with arrivals.

Which flows to withhold is a covering problem: each area that tells too much needs one of its flows. Areas of one side
hold each other or are apart, so the matrix of areas and flows, side over side, is totally unimodular: the linear
program has whole answers, and these leave out the fewest trips.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from flowveil._errors import InputError, PromiseError
from flowveil._release.totals import keep_flows

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from flowveil._arrays import BoolArray, IntArray
    from flowveil._places import Hierarchy
    from flowveil._problem import Problem, Solution

_ROUNDS = 5  # of solving with a smaller budget, so that what is withheld fits into the one asked for


def solve_within_margins(problem: Problem, solve: Callable[[Problem], Solution]) -> Solution:
    """Return an answer less the flows that margins would give away, within the budget of the problem if it can be."""
    budget = problem.budget
    solution = protect(problem, solve(problem))
    for _ in range(_ROUNDS):
        over = int(problem.flows.trips[solution.group < 0].sum()) - problem.budget
        if over <= 0 or budget == 0:
            break
        budget = max(budget - over, 0)
        try:
            solution = protect(problem, solve(replace(problem, budget=budget)))
        except PromiseError:  # nothing can be published within so little
            break
    return solution


def protect(problem: Problem, solution: Solution) -> Solution:
    """Return a solution less the flows without which departures and arrivals tell of no smaller crowd."""
    if not solution.exact or solution.rectangles is not None or solution.time is not None:
        raise InputError(
            "margins are protected for true volumes on areas of a tree, and steps of time",
            "use mosaic and --time, or leave out --protect-margins",
        )
    if not len(solution.origin):
        return solution
    areas = [_Areas(problem, solution, axis) for axis in range(2)]
    withheld = _cheapest(problem, solution, areas)
    if not len(withheld):
        return solution
    kept = keep_flows(solution, np.where(np.isin(solution.group, withheld), -1, solution.group))
    if len(kept.origin) and any(_Areas(problem, kept, axis).telling.any() for axis in range(2)):
        raise PromiseError("flows that margins give away were not all found", "please report this bug")
    note = f"{len(withheld)} flows are withheld because departures or arrivals would give people away"
    return replace(kept, notes=(*solution.notes, note))


class _Areas:
    """The areas of one side, each once a matrix, and which of them tell of less than a crowd."""

    def __init__(self, problem: Problem, solution: Solution, axis: int) -> None:
        flows = problem.flows
        self._tree: Hierarchy = (flows.origins, flows.destinations)[axis]
        leaf = (flows.origin, flows.destination)[axis]
        node = (solution.origin, solution.destination)[axis]
        self._keys = np.unique(self._key(solution.matrix, node))
        self._flow_node, self._flow_matrix = node, solution.matrix
        # Of a trip in a flow from an area, that area and all above it know which flow it is in.
        depth = np.append(self._tree.depth[node], -1)[solution.group]
        self.telling: BoolArray = np.zeros(len(self._keys), bool)
        for level, place in self._above(flows.matrix, leaf):
            number = np.where(depth < level, place, -1)
            rest = flows.measure(number, len(self._keys))
            self.telling |= (rest.trips > 0) & ~problem.requirement.is_crowd(rest)

    def flows_inside(self) -> tuple[IntArray, IntArray]:
        """Return the areas that tell too much, numbered, and flows inside them, pair by pair."""
        number = np.append(np.where(self.telling, np.cumsum(self.telling) - 1, -1), -1)
        areas, inside = [np.zeros(0, np.int64)], [np.zeros(0, np.int64)]
        for _, place in self._above(self._flow_matrix, self._flow_node):
            area = number[place]
            areas.append(area[area >= 0])
            inside.append(np.flatnonzero(area >= 0))
        return np.concatenate(areas), np.concatenate(inside)

    def _key(self, matrix: IntArray, node: IntArray) -> IntArray:
        key: IntArray = matrix * len(self._tree) + node
        return key

    def _above(self, matrix: IntArray, node: IntArray) -> Iterator[tuple[int, IntArray]]:
        """Yield every depth, from the leaves up, and the area of that depth that is or holds each node, -1 for none."""
        node = node.copy()
        for level in range(int(self._tree.depth.max()), -1, -1):
            node = np.where(self._tree.depth[node] > level, self._tree.parent[node], node)
            key = self._key(matrix, node)
            place = np.minimum(np.searchsorted(self._keys, key), len(self._keys) - 1)
            found = (self._tree.depth[node] == level) & (self._keys[place] == key)
            if found.any():
                yield level, np.where(found, place, -1)


def _cheapest(problem: Problem, solution: Solution, areas: list[_Areas]) -> IntArray:
    """Return flows with the fewest trips such that every area that tells too much has one of them inside."""
    from scipy import optimize, sparse  # noqa: PLC0415  slow to import

    rows, columns, first = [], [], 0
    for side in areas:
        area, flow = side.flows_inside()
        rows.append(area + first)
        columns.append(flow)
        first += int(side.telling.sum())
    if not first:
        return np.zeros(0, np.int64)
    row, column = np.concatenate(rows), np.concatenate(columns)
    flows, place = np.unique(column, return_inverse=True)
    inside = sparse.csr_array((np.ones(len(row)), (row, place)), shape=(first, len(flows)))
    trips = problem.flows.measure(solution.group, len(solution.origin)).trips[flows]
    answer = optimize.milp(
        trips.astype(np.float64),
        integrality=np.ones(len(flows), np.int64),
        bounds=optimize.Bounds(0, 1),
        constraints=optimize.LinearConstraint(inside, lb=1),
        options={"mip_rel_gap": 0.0},
    )
    if answer.x is None:
        raise PromiseError("it was not found which flows to withhold", "please report this bug")
    chosen: IntArray = flows[answer.x > 0.5]
    return chosen
