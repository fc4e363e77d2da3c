"""Departures and arrivals that others know, less the flows of an area: nobody may be left, or a crowd."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from flowveil._engine import scan
from flowveil._folder import SIDES
from flowveil._verify.broken import broken, shown
from flowveil._verify.crowds import Crowds
from flowveil._verify.forest import NONE, Forest
from flowveil._verify.rows import distinct, usable_rows

if TYPE_CHECKING:
    import pyarrow as pa

    from flowveil._arrays import IntArray
    from flowveil._engine import Request
    from flowveil._verify.together import Layer


def check_margins(request: Request, layer: Layer, k: int, least_weight: int) -> None:
    """Raise if, of the trips from (or to) an area, some that are fewer than a crowd are in no flow of it or inside."""
    sides = [_Side(layer, axis, k, least_weight) for axis in range(2)]
    for batch in scan(request):
        origin, destination, known = layer.ground.locate(batch, usable_rows(batch, request, layer.bbox))
        slots = layer.slots.locate(batch, known)
        if len(slots) > 1:
            raise broken("the promise has protected margins, which need steps of time of one length")
        flow = layer.index.locate(origin[known], destination[known], slots)
        for side, tiles in zip(sides, (origin, destination), strict=True):
            side.add(batch, request, np.flatnonzero(known), tiles[known], slots[0], flow)
    for side in sides:
        side.check()


class _Side:
    """The areas of one end of flows, by slot, and who of their trips is in none of their flows."""

    def __init__(self, layer: Layer, axis: int, k: int, least_weight: int) -> None:
        ids = (layer.flows.origin, layer.flows.destination)[axis]
        self._name = SIDES[axis]
        self._ids = sorted(set(ids))
        number = {area: place for place, area in enumerate(self._ids)}
        self._area = np.array([number[area] for area in ids], np.int64)
        self._forest = Forest.of(layer.ground, self._ids)
        self._side = layer.ground.side(self._ids)
        self._used = np.unique(layer.slots.of_flow * len(self._ids) + self._area)  # areas that a slot has flows of
        self._crowds = Crowds(k, least_weight)

    def add(
        self, batch: pa.RecordBatch, request: Request, rows: IntArray, tile: IntArray, slot: IntArray, flow: IntArray
    ) -> None:
        """Note who is left of the areas that hold the tile of each row, given the flow that counts it, -1 for none."""
        tiles, position = distinct(tile)
        row, area = self._side.holders(self._side.spots(tiles)).take(position)
        key = slot[row] * len(self._ids) + area
        own = np.append(self._area, NONE)[flow[row]]
        first, end = self._forest.first, self._forest.end
        inside = (own != NONE) & (first[area] <= first[own]) & (first[own] < end[area])
        left = np.flatnonzero((slot[row] != NONE) & np.isin(key, self._used) & ~inside)
        self._crowds.add(batch, request, rows[row[left]], key[left])

    def check(self) -> None:
        """Raise if fewer than a crowd are left of an area."""
        keys, _ = self._crowds.gather()
        for place, key in enumerate(keys.tolist()):
            if not self._crowds.is_crowd([place]):
                area = shown(self._ids[key % len(self._ids)])
                raise broken(
                    f"of the trips of the {self._name} area {area} fewer than a crowd are in none of its flows",
                    "do not publish it where departures and arrivals are known; make it with --protect-margins",
                )
