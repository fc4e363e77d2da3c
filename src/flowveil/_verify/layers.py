"""Remainders: flows that hold finer flows, which are taken out of them. How deep each flow lies inside others."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from flowveil._verify.broken import broken
from flowveil._verify.extents import Spans

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
        inside, crossing = pairs.related(flow)
        if not len(inside):
            raise broken(f"the flow {flows.name(flow)} is marked as remainder and holds no finer flow")
        depth[inside] += 1
        for inner in inside[flows.remainder[inside]].tolist():
            holders.setdefault(inner, []).append(flow)
        to_be_held += [(flow, other) for other in crossing.tolist()]
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
        self._of_flow = (*ends, slots.of_flow)
        self._relate = (*(side.related for side in extents), Spans(*slots.bounds()).related)
        self._known: tuple[dict[int, tuple[BoolArray, BoolArray]], ...] = ({}, {}, {})

    def related(self, flow: int) -> tuple[IntArray, IntArray]:
        """Return which other flows lie in a flow, and which others share something with it."""
        meeting = np.arange(len(self._of_flow[0]))
        inside = meeting != flow
        meeting = meeting[inside]
        inside = inside[inside]
        for of_flow, relate, known in zip(self._of_flow, self._relate, self._known, strict=True):
            part = int(of_flow[flow])
            if part not in known:
                known[part] = relate(part)
            holds, meets = (values[of_flow[meeting]] for values in known[part])
            meeting, inside = meeting[meets], (inside & holds)[meets]
        return meeting[inside], meeting[~inside]
