"""Origin areas by a target volume, as the ATG and the quadtree knapsack papers choose them."""

from __future__ import annotations

from heapq import heapify, heappop, heappush
from typing import TYPE_CHECKING

import numpy as np

from flowveil._methods.treecut import best_cut
from flowveil._options import LARGEST_NUMBER
from flowveil._places import ROOT

if TYPE_CHECKING:
    from flowveil._arrays import BoolArray, FloatArray, IntArray
    from flowveil._places import Hierarchy
    from flowveil._problem import Problem

# The least target that can be given. Areas without trips cost less than rounding then: where trips are, are tiles.
FINEST = 1 / LARGEST_NUMBER


def origin_cut(problem: Problem, target: float) -> tuple[BoolArray, BoolArray]:
    """Return by node whether it is an origin area, and whether it lies above one.

    The areas are those that come closest to sending `target` trips each.
    """
    tree = problem.flows.origins
    return best_cut(tree, np.asarray((target - _outflow(problem)) ** 2, np.float64))


def distinct_targets(problem: Problem) -> FloatArray:
    """Return a target for each origin cut that some target gives, ascending: from `FINEST` to one area.

    A cut of n areas costs n * target**2 - 2 * target * trips + the sum of squared outflows. So a larger target only
    joins areas, each of them at some target: cuts change there, and nowhere between.
    """
    joins = np.unique(np.sqrt(_joining_costs(problem.flows.origins, _outflow(problem))))
    some = joins[joins > 0]
    without_trips = some[:1] / 2 if len(joins) > len(some) else some[:0]  # areas take in what has no trips at once
    between = np.sqrt(some[:-1] * some[1:])
    whole = [problem.flows.total] if len(joins) else []
    return np.concatenate([[FINEST], without_trips, between, whole])


def _outflow(problem: Problem) -> IntArray:
    tree = problem.flows.origins
    outflow = np.zeros(len(tree), np.int64)
    np.add.at(outflow, problem.flows.origin, problem.flows.trips)
    return tree.add_up(outflow)


def _joining_costs(tree: Hierarchy, outflow: IntArray) -> list[float]:
    """Return the squares of the targets at which nodes become areas of the best cut, ascending.

    A node of v trips over n areas joins them where v**2 + target**2 falls below the sum of their squares plus
    n * target**2. The next to join is always the one with the smallest such target (weakest-link pruning).
    """
    volume, parent, areas = outflow.tolist(), tree.parent.tolist(), tree.tiles.tolist()
    first, end = tree.first_child.tolist(), tree.end_child.tolist()
    squares = [trips**2 if start == stop else 0 for trips, start, stop in zip(volume, first, end, strict=True)]
    for node in range(len(tree) - 1, ROOT, -1):
        squares[parent[node]] += squares[node]
    # A single child has the trips of its parent, and of equals the finer one is the area.
    cost = {
        node: (volume[node] ** 2 - squares[node]) / (areas[node] - 1)
        for node in range(len(tree))
        if end[node] - first[node] > 1
    }
    waiting = [(value, node) for node, value in cost.items()]
    heapify(waiting)
    found: list[float] = []
    while waiting:
        value, node = heappop(waiting)
        if cost.get(node) != value:  # another join changed it, or holds it
            continue
        if volume[node]:  # areas without any trips are joined at every target
            found.append(value)
        below = [node]
        while below:
            inner = below.pop()
            cost.pop(inner, None)
            below += [child for child in range(first[inner], end[inner]) if areas[child] > 1]
        fewer, more = areas[node] - 1, volume[node] ** 2 - squares[node]
        while node >= ROOT:
            areas[node] -= fewer
            squares[node] += more
            if node in cost:
                cost[node] = (volume[node] ** 2 - squares[node]) / (areas[node] - 1)
                heappush(waiting, (cost[node], node))
            node = parent[node]
    return found
