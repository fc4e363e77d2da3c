"""Flows to or from elsewhere: trips of an area that are in no other flow."""

from __future__ import annotations

from threading import Lock
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from flowveil._folder import ELSEWHERE
from flowveil._verify.broken import broken
from flowveil._verify.forest import NONE, FlowIndex
from flowveil._verify.rows import distinct
from flowveil._verify.tables import AreasTable

if TYPE_CHECKING:
    from flowveil._arrays import BoolArray, IntArray
    from flowveil._verify.forest import Forest
    from flowveil._verify.ground import Side
    from flowveil._verify.manifest import Promise
    from flowveil._verify.slots import Slots
    from flowveil._verify.tables import FlowTable

Value = TypeVar("Value")


class Elsewhere:
    """Which flows of a release have an end elsewhere, and at which end."""

    def __init__(self, flows: FlowTable, promise: Promise) -> None:
        at = [np.array([name == ELSEWHERE for name in names], bool) for names in (flows.origin, flows.destination)]
        self.flows: BoolArray = at[0] | at[1]
        if not promise.elsewhere and self.flows.any():
            raise broken("a flow has an end elsewhere, which the manifest does not promise")
        if at[0].any() and at[1].any():
            raise broken("some flows start elsewhere and some end there")
        self.first = 1 if at[0].any() else 0  # the axis of the areas
        self._counts_tiles = promise.min_tiles > 1 and bool(self.flows.any())
        self._reached = np.zeros((0, 2), np.int64)
        self._lock = Lock()

    def trim(self, areas: AreasTable) -> AreasTable:
        """Return the areas without elsewhere, of which nothing may be said."""
        rows = [row for row, area in enumerate(areas.area) if area == ELSEWHERE]
        for row in rows:
            members = None if areas.members is None else areas.members[row]
            said = (areas.lon[row], areas.lat[row], areas.tiles[row], areas.geometry[row], members)
            if any(value is not None for value in said):
                raise broken("the area elsewhere has a center, tiles, members or a geometry")

        def kept(values: list[Value]) -> list[Value]:
            return [value for row, value in enumerate(values) if row not in rows]

        return AreasTable(
            area=kept(areas.area),
            side=kept(areas.side),
            lon=kept(areas.lon),
            lat=kept(areas.lat),
            tiles=kept(areas.tiles),
            members=None if areas.members is None else kept(areas.members),
            geometry=kept(areas.geometry),
        )

    def note(self, flow: IntArray, origin: IntArray, destination: IntArray) -> None:
        """Remember the tiles that trips of these flows reach at the other end, where the promise is about tiles."""
        if not self._counts_tiles:
            return
        other = destination if self.first == 0 else origin
        inside = (flow != NONE) & self.flows[flow]
        pairs = np.column_stack([flow[inside], other[inside]])
        with self._lock:
            self._reached = np.unique(np.concatenate([self._reached, pairs]), axis=0)

    def tiles(self, sides: tuple[Side, Side], ends: tuple[IntArray, IntArray]) -> tuple[IntArray, IntArray]:
        """Return by flow the tiles of its areas at both ends; elsewhere has those that were reached."""
        reached = np.ones(len(self.flows), np.int64)
        if self._counts_tiles:
            reached = np.bincount(self._reached[:, 0], minlength=len(self.flows)).astype(np.int64)
        counts = [
            np.where(number == NONE, reached, side.tiles_seen()[number])
            for side, number in zip(sides, ends, strict=True)
        ]
        return counts[0], counts[1]


class ElsewhereIndex:
    """Finds the flow of a pair of areas: an ordinary one, or that of the smallest area with a flow to elsewhere."""

    def __init__(
        self,
        flows: FlowTable,
        sides: tuple[Side, Side],
        ends: tuple[IntArray, IntArray],
        elsewhere: Elsewhere,
        slots: Slots,
    ) -> None:
        self._rows = np.flatnonzero(~elsewhere.flows)
        ordinary = tuple(number[self._rows] for number in ends)
        self._sides = sides
        self._ends = ends
        self._elsewhere = elsewhere
        self._flows = flows
        self._index = FlowIndex(
            flows.take(self._rows),
            sides[0].forest,
            sides[1].forest,
            (ordinary[0], ordinary[1]),
            slots.of_flow[self._rows],
        )
        self._first = elsewhere.first
        self._flow_of_area = self._rest(slots) if elsewhere.flows.any() else None

    def _rest(self, slots: Slots) -> IntArray:
        """Return by slot and area the flow to elsewhere that counts what is left of it; the last area is for none."""
        forest = self._sides[self._first].forest
        rest_of = np.full((int(slots.of_flow.max(initial=0)) + 1, len(forest) + 1), NONE, np.int64)
        rest = np.flatnonzero(self._elsewhere.flows)
        rest_of[slots.of_flow[rest], self._ends[self._first][rest]] = rest
        for area in np.argsort(forest.first).tolist():  # from the outside in
            rest_of[:, area] = np.where(rest_of[:, area] == NONE, rest_of[:, forest.parent[area]], rest_of[:, area])
        return rest_of

    def locate(self, origin: IntArray, destination: IntArray, slots: list[IntArray]) -> IntArray:
        """Return the flow that counts each pair of tiles, -1 for none; `slots` are those that hold it, by level."""
        flow = np.full(len(origin), NONE, np.int64)
        for slot in slots:
            hit = self._locate(origin, destination, slot)
            if (twice := np.flatnonzero((hit != NONE) & (flow != NONE))).size:
                names = sorted((self._flows.name(int(flow[twice[0]])), self._flows.name(int(hit[twice[0]]))))
                raise broken(f"the flows {names[0]} and {names[1]} overlap")
            flow = np.where(hit == NONE, flow, hit)
        return flow

    def _locate(self, origin: IntArray, destination: IntArray, slot: IntArray) -> IntArray:
        """Return the flow of each pair of tiles in a slot, looking up every pair of areas once."""
        areas = []
        for side, tiles in zip(self._sides, (origin, destination), strict=True):
            seen, position = distinct(tiles)
            areas.append(side.smallest(seen)[position])
        width = len(self._sides[1].forest) + 1
        height = len(self._sides[0].forest) + 1
        key = ((slot + 1) * height + areas[0] + 1) * width + areas[1] + 1
        keys, position = np.unique(key, return_inverse=True)  # sorted: they are then looked up faster
        pairs = keys % (height * width)
        flow: IntArray = self.find(pairs // width - 1, pairs % width - 1, keys // (height * width) - 1)[position]
        self._elsewhere.note(flow, origin, destination)
        return flow

    def tiles(self) -> tuple[IntArray, IntArray]:
        """Return by flow the tiles of its areas at both ends."""
        return self._elsewhere.tiles(self._sides, self._ends)

    def areas(self, end: int) -> tuple[Forest, IntArray]:
        """Return the areas of one end (0 origins), and the number of each flow's."""
        return self._sides[end].forest, self._ends[end]

    def find(self, origin: IntArray, destination: IntArray, slot: IntArray) -> IntArray:
        """Return the flow that counts each pair of smallest areas of a slot, -1 for none; -1 stands for no area."""
        place = self._index.find(origin, destination, slot)
        if self._flow_of_area is None:
            return np.where(place == NONE, NONE, self._rows[place]) if len(self._rows) else place
        rest = np.where(slot == NONE, NONE, self._flow_of_area[slot, (origin, destination)[self._first]])
        if not len(self._rows):
            return rest
        return np.where(place == NONE, rest, self._rows[place])
