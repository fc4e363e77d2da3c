"""Areas of one side as a forest, and the two questions about flows between forests: do any overlap, which holds a pair.

Areas of one side are nested or disjoint, so each can be numbered such that the areas inside it are adjacent: area `b`
lies in area `a` exactly if `first[a] <= first[b] < end[a]`. A flow is then a row of intervals, and both questions are
binary searches, once for each step up in the origins' forest.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from flowveil._verify.broken import broken

if TYPE_CHECKING:
    from flowveil._arrays import IntArray
    from flowveil._verify.tables import FlowTable

NONE = -1


class Forest:
    """Areas numbered from 0, each with the smallest area that holds it (-1 for none)."""

    def __init__(self, parent: IntArray) -> None:
        self.parent = parent
        children: list[list[int]] = [[] for _ in range(len(parent) + 1)]  # the last entry: areas that no other holds
        for area, above in enumerate(parent.tolist()):
            children[above].append(area)
        self.first = np.zeros(len(parent), np.int64)
        self.end = np.zeros(len(parent), np.int64)
        waiting = children[-1][::-1]
        order: list[int] = []
        while waiting:
            area = waiting.pop()
            order.append(area)
            waiting += children[area][::-1]
        self.first[order] = np.arange(len(order))
        size = np.ones(len(parent), np.int64)
        for area in reversed(order):
            if parent[area] != NONE:
                size[parent[area]] += size[area]
        self.end = self.first + size

    def __len__(self) -> int:
        return len(self.parent)

    def add_up(self, values: IntArray) -> IntArray:
        """Return for each area the sum of its own value and those of all areas inside it."""
        by_place = np.zeros(len(self) + 1, np.int64)
        by_place[self.first + 1] = values
        running = np.cumsum(by_place)
        total: IntArray = running[self.end] - running[self.first]
        return total


class FlowIndex:
    """Flows between the areas of two forests, checked to be disjoint, searchable by slot and pair of areas.

    The origins of each slot are numbered apart from those of others.
    """

    def __init__(
        self,
        flows: FlowTable,
        origins: Forest,
        destinations: Forest,
        ends: tuple[IntArray, IntArray],
        slot: IntArray,
    ) -> None:
        self._flows = flows
        self._origins = origins
        self._destinations = destinations
        self._width = max(len(destinations), 1)
        origin, destination = ends  # by flow: the numbers of its areas
        key = (slot * len(origins) + origin) * self._width + destinations.first[destination]
        self._flow = np.argsort(key, kind="stable")
        self._key = key[self._flow]
        self._origin = (slot * len(origins) + origin)[self._flow]
        self._end = destinations.end[destination][self._flow]
        self._check_disjoint(origin, destination, slot)

    def find(self, origin: IntArray, destination: IntArray, slot: IntArray) -> IntArray:
        """Return the flow that holds each pair of smallest areas, -1 for none; -1 stands for no area, or no slot."""
        flow = np.full(len(origin), NONE, np.int64)
        if not len(self._flow):
            return flow
        place = self._destinations.first[destination]
        area = np.where((destination == NONE) | (slot == NONE), NONE, origin)
        before = slot * len(self._origins)
        while (alive := np.flatnonzero(area != NONE)).size:
            hit = self._holder(before[alive] + area[alive], place[alive], place[alive] + 1)
            hits = hit != NONE
            where = alive[hits]
            if len(both := np.flatnonzero(flow[where] != NONE)):
                self._raise_overlap(int(flow[where][both[0]]), int(hit[hits][both[0]]))
            flow[where] = hit[hits]
            area[alive] = self._origins.parent[area[alive]]
        return flow

    def _holder(self, area: IntArray, start: IntArray, stop: IntArray) -> IntArray:
        """Return a flow from exactly `area` whose destination meets the places from start to stop, -1 for none."""
        slot = np.searchsorted(self._key, area * self._width + stop - 1, side="right") - 1
        good = (slot >= 0) & (self._origin[slot] == area) & (self._end[slot] > start)
        return np.where(good, self._flow[slot], NONE)

    def _check_disjoint(self, origin: IntArray, destination: IntArray, slot: IntArray) -> None:
        same = self._origin[1:] == self._origin[:-1]
        start = self._key[1:] - self._origin[1:] * self._width
        if len(bad := np.flatnonzero(same & (start < self._end[:-1]))):
            self._raise_overlap(int(self._flow[bad[0]]), int(self._flow[bad[0] + 1]))
        first, end = self._destinations.first[destination], self._destinations.end[destination]
        area = self._origins.parent[origin]
        while (alive := np.flatnonzero(area != NONE)).size:
            here = slot[alive] * len(self._origins) + area[alive]
            other = self._holder(here, first[alive], end[alive])
            if len(bad := np.flatnonzero(other != NONE)):
                self._raise_overlap(int(alive[bad[0]]), int(other[bad[0]]))
            area[alive] = self._origins.parent[area[alive]]

    def _raise_overlap(self, flow: int, other: int) -> None:
        one, two = sorted((flow, other))
        raise broken(f"the flows {self._flows.name(one)} and {self._flows.name(two)} overlap")
