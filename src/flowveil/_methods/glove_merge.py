"""Compiled merging of flows: always the two groups that are cheapest to merge, until few enough trips are left over.

Imported only when a method runs: numba is slow to import. Each function is compiled from a plain Python function of the
same name with an underscore, which tests run as it stands. Numba keeps what it compiled until this file changes: touch
it when you change `_glove_index`.
"""

from __future__ import annotations

from heapq import heappop, heappush
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
from numba import njit

from flowveil._methods.glove_index import fit, nearest, plant, refit

if TYPE_CHECKING:
    from flowveil._arrays import BoolArray, IntArray

    # Ascending lists of distinct values: value and next entry of each entry, and the first entry of each group.
    Lists: TypeAlias = tuple[IntArray, IntArray, IntArray]
    # Persons of each group, tiles at both ends; weight by person, or by group where there are no persons.
    Crowd: TypeAlias = tuple[Lists, Lists, Lists, IntArray]

END = -1  # of a list
_SPARSE = 2  # the tree is laid anew when only one of so many of its groups is left


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


unite = njit(cache=True)(_unite)


def _enough(group: int, trips: IntArray, crowd: Crowd, least: tuple[int, int, int]) -> bool:
    """Return whether a group passes the tests: crowd, weight, and tiles at both ends (as many as its flows have)."""
    people, origins, destinations, weight = crowd
    persons, total = trips[group], weight[group]
    if len(people[0]):
        persons = total = 0
        visit = people[2][group]
        while visit != END:
            persons += 1
            total += weight[people[0][visit]]
            visit = people[1][visit]
    if persons < least[0] or total < least[1]:
        return False
    for tiles in (origins, destinations):
        count, entry = 0, tiles[2][group]
        while entry != END and count < least[2]:
            count += 1
            entry = tiles[1][entry]
        if count < least[2]:
            return False
    return True


enough = njit(cache=True)(_enough)


def _join(
    one: int, other: int, low: IntArray, high: IntArray, trips: IntArray, crowd: Crowd, least: tuple[int, int, int]
) -> None:
    """Add group `other` to group `one`."""
    people, origins, destinations, weight = crowd
    low[one] = np.minimum(low[one], low[other])
    high[one] = np.maximum(high[one], high[other])
    trips[one] += trips[other]
    if len(people[0]):
        unite(people, one, other)
    else:
        weight[one] += weight[other]
    if least[2] > 1:
        unite(origins, one, other)
        unite(destinations, one, other)


join = njit(cache=True)(_join)


def _remember(
    heap: list[tuple[float, int, int, int, int, int]],
    group: int,
    version: IntArray,
    nodes: IntArray,
    tree: tuple[IntArray, IntArray, IntArray],
    groups: tuple[IntArray, IntArray, IntArray, BoolArray],
) -> None:
    """Find the cheapest partner of a group and put the pair on the heap, with the versions of both."""
    low, high, trips, alive = groups
    cost, other = nearest(group, nodes, tree, low, high, trips, alive)
    if other >= 0:
        heappush(heap, (cost, min(group, other), max(group, other), group, version[group], version[other]))


remember = njit(cache=True)(_remember)


def _merge_flows(
    points: IntArray, trips: IntArray, crowd: Crowd, least: tuple[int, int, int], budget: int
) -> tuple[IntArray, BoolArray, int]:
    """Merge the cheapest two unfinished groups until the unfinished have at most `budget` trips, or only one is left.

    A group is called by its smallest flow; of equal costs the smallest names go first. `trips` and `crowd` are used up.
    Returns the merges in order (name that stays, name that goes), by flow whether a group of that name is finished, and
    the trips left over.

    Every group remembers its cheapest partner among those there were when it looked. Partners that came later remember
    this group if it is cheap for them, so the cheapest remembered pair of all is the cheapest there is; if its partner
    has changed since, the group looks again.
    """
    low, high = points.copy(), points.copy()
    finished = np.array([enough(group, trips, crowd, least) for group in range(len(points))])
    alive = ~finished
    left, there = trips[alive].sum(), alive.sum()
    merges = np.empty((max(there - 1, 0), 2), np.int64)
    made, planted = 0, there
    tree = plant(low, high, alive)
    nodes = fit(tree, low, high, trips, alive)
    version = np.zeros(len(points), np.int64)
    groups = low, high, trips, alive
    heap = [(np.inf, 0, 0, 0, 0, 0)]
    for group in np.flatnonzero(alive) if left > budget else merges[0:0, 0]:
        remember(heap, group, version, nodes, tree, groups)
    while left > budget and there > 1:
        _, one, other, owner, owner_version, other_version = heappop(heap)
        if version[owner] != owner_version:
            continue
        if version[one + other - owner] == other_version:
            join(one, other, low, high, trips, crowd, least)
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
                tree = plant(low, high, alive)
                nodes = fit(tree, low, high, trips, alive)
            refit(other, nodes, tree, low, high, trips, alive)
            refit(one, nodes, tree, low, high, trips, alive)
            owner = one
        if alive[owner]:
            remember(heap, owner, version, nodes, tree, groups)
    return merges[:made], finished, left


merge_flows = njit(cache=True)(_merge_flows)
