"""The exact tree knapsack: which areas to split when what splits withhold must fit a budget.

A list of points (withheld trips, cost), none worse in both than another, says for a cell what splitting below it can
reach. The list of a cell is that of the best combinations of its children's lists, and the cell itself published.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from flowveil._compiled import Whole, compiled

if TYPE_CHECKING:
    from flowveil._arrays import BoolArray, FloatArray, IntArray

_WITHHELD, _ONE, _OTHER = 0, 1, 2  # rows of points: trips withheld, and the two points it is made of
_PUBLISHED = -1  # in place of the first point: the second is a cell that is published
_START = -2  # nothing chosen yet


class Cells(NamedTuple):
    """Cells of a tree: each comes before its children, and cell 0 is the whole."""

    loss: FloatArray
    parent: IntArray
    withheld: IntArray  # trips that a split puts into children that may not be published
    splittable: BoolArray


class Points(NamedTuple):
    """Points of all lists, one after the other."""

    parts: IntArray  # rows: trips withheld, and the two points it is made of
    cost: FloatArray


class Room(NamedTuple):
    """Room to combine two lists: an entry for each trip of the capacity."""

    best: FloatArray
    chosen: IntArray


def _combine(lists: Points, used: int, one: tuple[int, int], other: tuple[int, int], capacity: int, room: Room) -> int:
    """Append the best sums of two lists that fit the capacity, ascending in trips; return the new end."""
    points, costs = lists
    best, chosen = room
    most = min(capacity, points[_WITHHELD, one[1] - 1] + points[_WITHHELD, other[1] - 1])
    best[: most + 1] = np.inf
    for first in range(one[0], one[1]):
        for second in range(other[0], other[1]):
            withheld = points[_WITHHELD, first] + points[_WITHHELD, second]
            if withheld > capacity:
                break
            cost = costs[first] + costs[second]
            if cost < best[withheld]:
                best[withheld] = cost
                chosen[0, withheld], chosen[1, withheld] = first, second
    least = np.inf
    for withheld in range(most + 1):
        if best[withheld] < least:
            least = best[withheld]
            points[_WITHHELD, used], costs[used] = withheld, least
            points[_ONE, used], points[_OTHER, used] = chosen[0, withheld], chosen[1, withheld]
            used += 1
    return used


combine = compiled(_combine)


def _finish(lists: Points, used: int, split: tuple[int, int], loss: float, cell: int) -> int:
    """Append what a cell can reach, published (nothing withheld) or split; on equal cost split. Return the new end."""
    points, costs = lists
    first = split[0]
    whole = first == split[1] or points[_WITHHELD, first] > 0 or loss < costs[first]
    if whole:
        points[_WITHHELD, used], points[_ONE, used], points[_OTHER, used] = 0, _PUBLISHED, cell
        costs[used] = loss
        used += 1
    for point in range(split[0], split[1]):
        if not whole or costs[point] < loss:
            for row in range(3):
                points[row, used] = points[row, point]
            costs[used] = costs[point]
            used += 1
    return used


finish = compiled(_finish)


def _grown(lists: Points, used: int, size: int) -> Points:
    """Return a copy with room for more points."""
    more = Points(np.empty((3, size), np.int64), np.empty(size))
    for point in range(used):
        for row in range(3):
            more.parts[row, point] = lists.parts[row, point]
        more.cost[point] = lists.cost[point]
    return more


grown = compiled(_grown)


def _fill(capacity: int, price: float, cells: Cells) -> tuple[Points, int, int]:
    """Return the points of all lists, and where the list of cell 0 starts and ends; see `_solve_tree`."""
    loss, parent, withheld, splittable = cells
    count = len(loss)
    size = 4 * count + 4 * capacity + 16
    lists = Points(np.empty((3, size), np.int64), np.empty(size))
    room = Room(np.empty(capacity + 1), np.empty((2, capacity + 1), np.int64))
    start, end = np.zeros(count, np.int64), np.zeros(count, np.int64)
    used: Whole = np.int64(0)
    for cell in range(count):
        if splittable[cell] and withheld[cell] <= capacity:
            lists.parts[_WITHHELD, used], lists.parts[_ONE, used] = withheld[cell], _START
            lists.cost[used] = price * withheld[cell]
            start[cell], end[cell] = used, used + 1
            used += 1
    for cell in range(count - 1, -1, -1):
        if used + 2 * (capacity + 2) > size:
            size = 2 * size + 2 * (capacity + 2)
            lists = grown(lists, used, size)
        new = used
        used = finish(lists, used, (start[cell], end[cell]), loss[cell], cell)
        start[cell], end[cell] = new, used
        above = parent[cell]
        if above >= 0 and start[above] < end[above]:
            new = used
            used = combine(lists, used, (start[above], end[above]), (start[cell], end[cell]), capacity, room)
            start[above], end[above] = new, used
    return lists, start[0], end[0]


fill = compiled(_fill)


def _solve_tree(capacity: int, price: float, cells: Cells) -> BoolArray:
    """Return which cells to publish at the least loss plus `price` for each withheld trip, within the capacity.

    On equal cost fewer trips are withheld, and a cell is split.
    """
    lists, start, end = fill(capacity, price, cells)
    points, costs = lists
    publish = np.zeros(len(cells.loss), np.bool_)
    waiting = [start + np.argmin(costs[start:end])]
    while len(waiting) > 0:
        point = waiting.pop()
        if points[_ONE, point] == _PUBLISHED:
            publish[points[_OTHER, point]] = True
        elif points[_ONE, point] != _START:
            waiting.append(points[_ONE, point])
            waiting.append(points[_OTHER, point])
    return publish


solve_tree = compiled(_solve_tree)
