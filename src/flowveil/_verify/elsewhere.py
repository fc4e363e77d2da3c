"""Flows to or from elsewhere: trips of an area that are in no other flow."""

from __future__ import annotations

from threading import Lock
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from flowveil._folder import ELSEWHERE
from flowveil._verify.broken import broken
from flowveil._verify.forest import NONE
from flowveil._verify.index import FlowIndex
from flowveil._verify.names import ELSEWHERE_NAME
from flowveil._verify.rows import distinct
from flowveil._verify.tables import AreasTable

if TYPE_CHECKING:
    from flowveil._arrays import BoolArray, IntArray
    from flowveil._verify.forest import Forest
    from flowveil._verify.ground import Ground
    from flowveil._verify.manifest import Promise
    from flowveil._verify.sides import Side
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
            if areas.name is not None and areas.name[row] != ELSEWHERE_NAME:
                raise broken("the area elsewhere has another name than the format says")

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
            name=None if areas.name is None else kept(areas.name),
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
    """Finds the flow of a pair of tiles: the deepest ordinary one, or one to elsewhere of the smallest area."""

    def __init__(
        self,
        flows: FlowTable,
        sides: tuple[Side, Side],
        ends: tuple[IntArray, IntArray],
        elsewhere: Elsewhere,
        slots: Slots,
        forest: Forest | None,
        depth: IntArray,
    ) -> None:
        """Take flows and their areas; forest: the areas of the end that is not elsewhere, where flows have one.

        depth: by flow, how many others hold it; those of one depth do not overlap.
        """
        self._sides = sides
        self._ends = ends
        self._elsewhere = elsewhere
        self._flows = flows
        self._depth = np.append(depth, NONE)  # the last entry is for no flow
        ordinary = [np.flatnonzero(~elsewhere.flows & (depth == at)) for at in range(int(depth.max(initial=0)) + 1)]
        self._layers = [
            (rows, FlowIndex(flows.take(rows), sides, (ends[0][rows], ends[1][rows]), slots.of_flow[rows]))
            for rows in ordinary
        ]
        self._first = elsewhere.first
        self._forest = forest
        self._rest_of = None if forest is None else self._rest(slots, forest)

    def _rest(self, slots: Slots, forest: Forest) -> IntArray:
        """Return by slot and area the flow from or to there that counts the rest, -1 for none."""
        rest_of = np.full((int(slots.of_flow.max(initial=0)) + 1, len(forest)), NONE, np.int64)
        rest = np.flatnonzero(self._elsewhere.flows)
        rest_of[slots.of_flow[rest], self._ends[self._first][rest]] = rest
        return rest_of

    def locate(self, origin: IntArray, destination: IntArray, slots: list[IntArray]) -> IntArray:
        """Return the flow that counts each pair of tiles, -1 for none; `slots` are those that hold it, by level."""
        spots = []
        for side, tiles in zip(self._sides, (origin, destination), strict=True):
            seen, position = distinct(tiles)
            spots.append(side.spots(seen)[position])
        flow = np.full(len(origin), NONE, np.int64)
        for slot in slots:
            hit = self._locate(slot, spots[0], spots[1])
            if (twice := np.flatnonzero((hit != NONE) & (self._depth[hit] == self._depth[flow]))).size:
                names = sorted((self._flows.name(int(flow[twice[0]])), self._flows.name(int(hit[twice[0]]))))
                raise broken(f"the flows {names[0]} and {names[1]} overlap")
            flow = np.where(self._depth[hit] > self._depth[flow], hit, flow)
        self._elsewhere.note(flow, origin, destination)
        return flow

    def _locate(self, slot: IntArray, origin: IntArray, destination: IntArray) -> IntArray:
        """Return the flow of each pair of spots in a slot, looking up every pair once."""
        height, width = (int(spots.max(initial=0)) + 1 for spots in (origin, destination))
        key = ((slot + 1) * height + origin) * width + destination
        keys, position = np.unique(key, return_inverse=True)
        pairs = keys % (height * width)
        flow: IntArray = self._find(keys // (height * width) - 1, pairs // width, pairs % width)[position]
        return flow

    def _find(self, slot: IntArray, origin: IntArray, destination: IntArray) -> IntArray:
        """Return the flow that counts each pair of spots of a slot, -1 for none; pairs are sorted."""
        flow = np.full(len(slot), NONE, np.int64)
        for rows, index in self._layers:  # the deepest last
            place = index.find(slot, origin, destination)
            flow = np.where(place == NONE, flow, np.append(rows, NONE)[place])
        if self._rest_of is None or self._forest is None:
            return flow
        side, spot = self._sides[self._first], (origin, destination)[self._first]
        spots, spot = np.unique(spot, return_inverse=True)
        pair, area = side.holders(spots).take(spot)
        inner = np.where(self._rest_of[slot[pair], area] == NONE, NONE, self._forest.first[area])
        innermost = np.full(len(slot), NONE, np.int64)  # of the areas with a rest: the last in the order of the forest
        np.maximum.at(innermost, pair, inner)
        area_at = np.argsort(self._forest.first)
        rest = np.where((innermost == NONE) | (slot == NONE), NONE, self._rest_of[slot, area_at[innermost]])
        return np.where(flow == NONE, rest, flow)

    def tiles(self) -> tuple[IntArray, IntArray]:
        """Return by flow the tiles of its areas at both ends."""
        return self._elsewhere.tiles(self._sides, self._ends)

    def nested(self) -> tuple[Forest, IntArray] | None:
        """Return the areas of the end that is not elsewhere, and the number of each flow's; None if there is none."""
        return None if self._forest is None else (self._forest, self._ends[self._first])

    def check_seen(self, ground: Ground) -> None:
        """Raise if the tiles that were seen in an area ask for another one in its place."""
        for side in self._sides:
            ground.check_seen(side)
