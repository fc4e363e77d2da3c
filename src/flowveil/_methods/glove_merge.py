"""Compiled merging of flows: always the two groups that are cheapest to merge, until few enough trips are left over.

Imported only when a method runs: numba is slow to import. Each function is compiled from a plain Python function of the
same name with an underscore, which tests run as it stands. Numba keeps what it compiled until this file changes: touch
it when you change `glove_index`.
"""

from __future__ import annotations

from heapq import heappop, heappush
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from flowveil._compiled import compiled
from flowveil._methods.glove_index import Groups, Tree, fit, nearest, plant, refit

if TYPE_CHECKING:
    from flowveil._arrays import BoolArray, IntArray
    from flowveil._problem import Least

END = -1  # of a list
_SPARSE = 2  # the tree is laid anew when only one of so many of its groups is left


class Lists(NamedTuple):
    """Ascending lists of distinct values."""

    value: IntArray  # by entry
    after: IntArray  # by entry: the next one, END for none
    first: IntArray  # by group: the first entry of its list


class Crowd(NamedTuple):
    """Who and which tiles are in each group."""

    people: Lists  # empty without a unit
    origins: Lists
    destinations: Lists
    weight: IntArray  # by person; by group without a unit


class Index(NamedTuple):
    """What the nearest group is searched with."""

    tree: Tree
    nodes: IntArray


def _unite(lists: Lists, one: int, other: int) -> None:
    """Merge the list of group `other` into that of `one`, in place; equal values stay once."""
    value, after, first = lists
    here, there = first[one], first[other]
    if value[there] < value[here]:
        here, there = there, here
    first[one] = last = here
    here = after[here]
    while here != END or there != END:
        if here == END or (there != END and value[there] < value[here]):
            here, there = there, here
        if value[here] != value[last]:
            after[last] = here
            last = here
        here = after[here]
    after[last] = END


unite = compiled(_unite)


def _enough(group: int, trips: IntArray, crowd: Crowd, least: Least) -> bool:
    """Return whether a group passes the tests: crowd, weight, and tiles at both ends (as many as its flows have)."""
    people, weight = crowd.people, crowd.weight
    persons, total = trips[group], weight[group]
    if len(people.value):
        persons = total = 0
        visit = people.first[group]
        while visit != END:
            persons += 1
            total += weight[people.value[visit]]
            visit = people.after[visit]
    if persons < least.crowd or total < least.weight:
        return False
    for tiles in (crowd.origins, crowd.destinations):
        count, entry = 0, tiles.first[group]
        while entry != END and count < least.tiles:
            count += 1
            entry = tiles.after[entry]
        if count < least.tiles:
            return False
    return True


enough = compiled(_enough)


def _join(one: int, other: int, groups: Groups, crowd: Crowd, least: Least) -> None:
    """Add group `other` to group `one`."""
    groups.low[one] = np.minimum(groups.low[one], groups.low[other])
    groups.high[one] = np.maximum(groups.high[one], groups.high[other])
    groups.trips[one] += groups.trips[other]
    if len(crowd.people.value):
        unite(crowd.people, one, other)
    else:
        crowd.weight[one] += crowd.weight[other]
    if least.tiles > 1:
        unite(crowd.origins, one, other)
        unite(crowd.destinations, one, other)


join = compiled(_join)


def _remember(
    heap: list[tuple[float, int, int, int, int, int]], group: int, version: IntArray, index: Index, groups: Groups
) -> None:
    """Find the cheapest partner of a group and put the pair on the heap, with the versions of both."""
    cost, other = nearest(group, index.nodes, index.tree, groups)
    if other >= 0:
        heappush(heap, (cost, min(group, other), max(group, other), group, version[group], version[other]))


remember = compiled(_remember)


def _merge_flows(
    points: IntArray, trips: IntArray, crowd: Crowd, least: Least, budget: int
) -> tuple[IntArray, BoolArray, int]:
    """Merge the cheapest two unfinished groups until the unfinished have at most `budget` trips, or only one is left.

    A group is called by its smallest flow; of equal costs the smallest names go first. `trips` and `crowd` are used up.
    Returns the merges in order (name that stays, name that goes), by flow whether a group of that name is finished, and
    the trips left over.

    Every group remembers its cheapest partner among those there were when it looked. Partners that came later remember
    this group if it is cheap for them, so the cheapest remembered pair of all is the cheapest there is; if its partner
    has changed since, the group looks again.
    """
    finished = np.array([enough(group, trips, crowd, least) for group in range(len(points))])
    alive = ~finished
    left, there = trips[alive].sum(), alive.sum()
    merges = np.empty((max(there - 1, 0), 2), np.int64)
    made, planted = 0, there
    groups = Groups(points.copy(), points.copy(), trips, alive)
    tree = plant(groups)
    index = Index(tree, fit(tree, groups))
    version = np.zeros(len(points), np.int64)
    heap = [(np.inf, 0, 0, 0, 0, 0)]
    for group in np.flatnonzero(alive) if left > budget else merges[0:0, 0]:
        remember(heap, int(group), version, index, groups)
    while left > budget and there > 1:
        _, one, other, owner, owner_version, other_version = heappop(heap)
        if version[owner] != owner_version:
            continue
        if version[one + other - owner] == other_version:
            join(one, other, groups, crowd, least)
            merges[made] = one, other
            made += 1
            version[one] += 1
            version[other] += 1
            finished[one] = enough(one, trips, crowd, least)
            alive[one], alive[other] = not finished[one], False
            left -= trips[one] * finished[one]
            there -= 1 + finished[one]
            if there * _SPARSE < planted:
                planted = there
                tree = plant(groups)
                index = Index(tree, fit(tree, groups))
            refit(other, index.nodes, index.tree, groups)
            refit(one, index.nodes, index.tree, groups)
            owner = one
        if alive[owner]:
            remember(heap, owner, version, index, groups)
    return merges[:made], finished, left


merge_flows = compiled(_merge_flows)
