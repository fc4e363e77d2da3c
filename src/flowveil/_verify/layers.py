"""Remainders: flows that hold finer flows, which are taken out of them. How deep each flow lies inside others."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from flowveil._verify.broken import broken

if TYPE_CHECKING:
    from flowveil._arrays import BoolArray, IntArray
    from flowveil._verify.extents import Extents
    from flowveil._verify.slots import Slots
    from flowveil._verify.tables import FlowTable


def find_depths(
    flows: FlowTable, extents: tuple[Extents, Extents], ends: tuple[IntArray, IntArray], slots: Slots
) -> IntArray:
    """Return how many remainders hold each flow, or raise unless remainders are nested with all flows that they meet.

    A trip is counted in the deepest flow that holds it. Flows of one depth must not overlap, which is not checked here;
    if they do not, a flow that is no remainder holds no other.
    """
    depth = np.zeros(len(flows), np.int64)
    if flows.remainder is None:
        return depth
    pairs = _Pairs(extents, ends, slots)
    holders: dict[int, list[int]] = {}  # by remainder: those that hold it
    to_be_held: list[tuple[int, int]] = []
    for flow in np.flatnonzero(flows.remainder).tolist():
        inside, meeting = pairs.related(flow)
        if not inside.any():
            raise broken(f"the flow {flows.name(flow)} is marked as remainder and holds no finer flow")
        depth += inside
        for inner in np.flatnonzero(inside & flows.remainder).tolist():
            holders.setdefault(inner, []).append(flow)
        to_be_held += [(flow, other) for other in np.flatnonzero(meeting & ~inside).tolist()]
    for flow, other in to_be_held:
        if other not in holders.get(flow, ()):
            one, two = sorted((flow, other))
            raise broken(
                f"the flows {flows.name(one)} and {flows.name(two)} overlap, and none is a remainder of the other"
            )
    return depth


class _Pairs:
    """Where flows lie: both areas, time and group."""

    def __init__(self, extents: tuple[Extents, Extents], ends: tuple[IntArray, IntArray], slots: Slots) -> None:
        self._extents = extents
        self._ends = ends
        self._low, self._high = (bounds[slots.of_flow] for bounds in slots.bounds())
        self._known: tuple[dict[int, tuple[BoolArray, BoolArray]], ...] = ({}, {})

    def related(self, flow: int) -> tuple[BoolArray, BoolArray]:
        """Return which other flows lie in a flow, and which share something with it."""
        low, high = self._low[flow], self._high[flow]
        inside: BoolArray = ((low <= self._low) & (self._high <= high)).all(axis=1)
        meeting: BoolArray = ((low < self._high) & (self._low < high)).all(axis=1)
        for extents, ends, known in zip(self._extents, self._ends, self._known, strict=True):
            area = int(ends[flow])
            if area not in known:
                known[area] = extents.related(area)
            inside &= known[area][0][ends]
            meeting &= known[area][1][ends]
        inside[flow] = meeting[flow] = False
        return inside, meeting
