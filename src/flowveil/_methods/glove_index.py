"""Compiled search for the nearest group of flows: a tree of boxes over groups that move, grow and vanish.

A group is a box in four dimensions (rows of `low` and `high`) with its trips. Merging groups a and b stretches both to
the box around them; the cost is what a trip is stretched by on average:

    (trips_a * stretch_a + trips_b * stretch_b) / (trips_a + trips_b)

Stretches are sums over the axes, in whole decimeters, so a cost is two whole numbers and one division: any program
that follows these words finds the same cost, to the last bit.

Each function is compiled from a plain Python function of the same name with an underscore, which tests run as it is.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from flowveil._compiled import compiled

if TYPE_CHECKING:
    from flowveil._arrays import BoolArray, IntArray

AXES = 4  # x and y of origin and destination
LEAF = 8  # groups of a leaf of the tree
# Of the groups under a node: least and largest low, least and largest high, by axis; fewest and most trips; how many.
_LOWS, _LOWS_MOST, _HIGHS, _HIGHS_MOST, _FEWEST, _MOST, _COUNT, _COLUMNS = 0, 4, 8, 12, 16, 17, 18, 19
_FAR = 2**62
_SHY = 1 - 1e-12  # bounds are rounded: a node is skipped only if it is farther by more than that


class Groups(NamedTuple):
    """Groups of flows by name: the box around each, one column an axis, its trips, and whether it takes part."""

    low: IntArray
    high: IntArray
    trips: IntArray
    alive: BoolArray


class Tree(NamedTuple):
    """Groups in leaves: the children of node n are 2 n and 2 n + 1, the root is 1, and leaf i is node `leaves + i`."""

    order: IntArray  # groups
    start: IntArray  # by leaf: the place of its first group; and the number of groups
    leaf: IntArray  # by group


def _merge_cost(groups: Groups, one: int, other: int) -> float:
    """Return what a trip of two groups is stretched by when they merge."""
    low, high, trips = groups.low, groups.high, groups.trips
    mine = 0
    theirs = 0
    for axis in range(AXES):
        start = low[one, axis] - low[other, axis]
        end = high[other, axis] - high[one, axis]
        mine += max(start, 0) + max(end, 0)
        theirs += max(-start, 0) + max(-end, 0)
    total = trips[one] * mine + trips[other] * theirs
    return float(total) / float(trips[one] + trips[other])


merge_cost = compiled(_merge_cost)


def _least_cost(node: IntArray, low: IntArray, high: IntArray, trips: int) -> float:
    """Return a cost that no group under a node is below, for a group with these bounds and trips."""
    mine = 0
    theirs = 0
    for axis in range(AXES):
        mine += max(low[axis] - node[_LOWS_MOST + axis], 0) + max(node[_HIGHS + axis] - high[axis], 0)
        theirs += max(node[_LOWS + axis] - low[axis], 0) + max(high[axis] - node[_HIGHS_MOST + axis], 0)
    others = node[_FEWEST] if mine <= theirs else node[_MOST]
    return float(trips * mine + others * theirs) / float(trips + others)


least_cost = compiled(_least_cost)


def _plant(groups: Groups) -> Tree:
    """Return a tree over the groups that are alive, which cuts the widest axis at the median."""
    low, high = groups.low, groups.high
    order = np.flatnonzero(groups.alive)
    leaves = 1
    while leaves * LEAF < len(order):
        leaves *= 2
    start = np.arange(leaves + 1) * len(order) // leaves
    span = leaves
    while span > 1:
        for first in range(0, leaves, span):
            part = order[start[first] : start[first + span]]
            widest = -1
            best = part
            for axis in range(AXES):
                middle = low[part, axis] + high[part, axis]
                width = middle.max() - middle.min() if len(part) else 0
                if width > widest:
                    widest = width
                    best = middle
            order[start[first] : start[first + span]] = part[np.argsort(best)]
        span //= 2
    leaf = np.zeros(len(low), np.int64)
    for number in range(leaves):
        leaf[order[start[number] : start[number + 1]]] = number
    return Tree(order, start, leaf)


plant = compiled(_plant)


def _fit_leaf(node: IntArray, members: IntArray, groups: Groups) -> None:
    """Write into a node what is known of its groups."""
    low, high, trips, alive = groups
    node[_LOWS:_LOWS_MOST] = _FAR
    node[_LOWS_MOST:_HIGHS] = -_FAR
    node[_HIGHS:_HIGHS_MOST] = _FAR
    node[_HIGHS_MOST:_FEWEST] = -_FAR
    node[_FEWEST], node[_MOST], node[_COUNT] = _FAR, 0, 0
    for group in members:
        if not alive[group]:
            continue
        for axis in range(AXES):
            node[_LOWS + axis] = min(node[_LOWS + axis], low[group, axis])
            node[_LOWS_MOST + axis] = max(node[_LOWS_MOST + axis], low[group, axis])
            node[_HIGHS + axis] = min(node[_HIGHS + axis], high[group, axis])
            node[_HIGHS_MOST + axis] = max(node[_HIGHS_MOST + axis], high[group, axis])
        node[_FEWEST] = min(node[_FEWEST], trips[group])
        node[_MOST] = max(node[_MOST], trips[group])
        node[_COUNT] += 1


fit_leaf = compiled(_fit_leaf)


def _fit_above(nodes: IntArray, number: int) -> None:
    """Write into a node what is known of its two children."""
    node, one, other = nodes[number], nodes[2 * number], nodes[2 * number + 1]
    for axis in range(AXES):
        node[_LOWS + axis] = min(one[_LOWS + axis], other[_LOWS + axis])
        node[_LOWS_MOST + axis] = max(one[_LOWS_MOST + axis], other[_LOWS_MOST + axis])
        node[_HIGHS + axis] = min(one[_HIGHS + axis], other[_HIGHS + axis])
        node[_HIGHS_MOST + axis] = max(one[_HIGHS_MOST + axis], other[_HIGHS_MOST + axis])
    node[_FEWEST] = min(one[_FEWEST], other[_FEWEST])
    node[_MOST] = max(one[_MOST], other[_MOST])
    node[_COUNT] = one[_COUNT] + other[_COUNT]


fit_above = compiled(_fit_above)


def _fit(tree: Tree, groups: Groups) -> IntArray:
    """Return what is known of every node of a tree."""
    order, start = tree.order, tree.start
    leaves = len(start) - 1
    nodes = np.zeros((2 * leaves, _COLUMNS), np.int64)
    for leaf in range(leaves):
        fit_leaf(nodes[leaves + leaf], order[start[leaf] : start[leaf + 1]], groups)
    for number in range(leaves - 1, 0, -1):
        fit_above(nodes, number)
    return nodes


fit = compiled(_fit)


def _refit(group: int, nodes: IntArray, tree: Tree, groups: Groups) -> None:
    """Bring the nodes above a group up to date."""
    order, start, leaf = tree
    number = len(start) - 1 + leaf[group]
    fit_leaf(nodes[number], order[start[leaf[group]] : start[leaf[group] + 1]], groups)
    number //= 2
    while number:
        fit_above(nodes, number)
        number //= 2


refit = compiled(_refit)


def _nearest(group: int, nodes: IntArray, tree: Tree, groups: Groups) -> tuple[float, int]:
    """Return the least cost of merging a group, and with which other (the smallest of equals, -1 for none)."""
    low, high, trips, alive = groups
    order, start = tree.order, tree.start
    leaves = len(start) - 1
    best, partner = np.inf, -1
    waiting, bounds = np.empty(64, np.int64), np.empty(64)
    waiting[0], bounds[0] = 1, 0.0
    count = 1
    while count:
        count -= 1
        number = waiting[count]
        if bounds[count] * _SHY > best:
            continue
        if number >= leaves:
            for other in order[start[number - leaves] : start[number - leaves + 1]]:
                if other != group and alive[other]:
                    cost = merge_cost(groups, group, other)
                    if cost < best or (cost == best and other < partner):
                        best, partner = cost, other
            continue
        near, far = 2 * number, 2 * number + 1
        to_near = least_cost(nodes[near], low[group], high[group], trips[group]) if nodes[near, _COUNT] else np.inf
        to_far = least_cost(nodes[far], low[group], high[group], trips[group]) if nodes[far, _COUNT] else np.inf
        if to_far < to_near:
            near, far, to_near, to_far = far, near, to_far, to_near
        if to_far < np.inf and to_far * _SHY <= best:
            waiting[count], bounds[count] = far, to_far
            count += 1
        if to_near < np.inf and to_near * _SHY <= best:
            waiting[count], bounds[count] = near, to_near
            count += 1
    return best, partner


nearest = compiled(_nearest)
