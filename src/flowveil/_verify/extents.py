"""What areas cover, whatever was seen in them: do flows overlap, which areas lie in which.

Areas of grids, and nodes of one tree of zones, are boxes of whole numbers. Areas of several trees of zones are sets.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import numpy as np

from flowveil._verify.apart import find_overlap

if TYPE_CHECKING:
    from collections.abc import Sequence

    from flowveil._arrays import BoolArray, IntArray

    Pair = tuple[int, int]
    Both = tuple[IntArray, IntArray]


class Extents(Protocol):
    """What the areas of one side cover, by number."""

    def related(self, area: int) -> tuple[BoolArray, BoolArray]:
        """Return which areas lie in an area, and which share a tile with it."""

    def find_overlap(self, others: Extents, ends: Both, slots: Both) -> Pair | None:
        """Return two flows that overlap, None if there are none.

        others: the areas of the other side. ends: the areas of each flow. slots: low and high of the box of time and
        groups that each flow fills, one row a flow.
        """

    def find_shared(self) -> Pair | None:
        """Return two areas that share a tile, None if there are none."""


@dataclass(frozen=True, eq=False)
class Spans:
    """Areas that are boxes of whole numbers: from `low` to before `high`, one row an area and one column an axis."""

    low: IntArray
    high: IntArray

    def related(self, area: int) -> tuple[BoolArray, BoolArray]:
        """Return which areas lie in an area, and which share a tile with it."""
        low, high = self.low[area], self.high[area]
        inside: BoolArray = ((low <= self.low) & (self.high <= high)).all(axis=1)
        meeting: BoolArray = ((low < self.high) & (self.low < high)).all(axis=1)
        return inside, meeting

    def find_overlap(self, others: Extents, ends: Both, slots: Both) -> Pair | None:
        """Return two flows that overlap, None if there are none."""
        if not isinstance(others, Spans):
            raise TypeError("both sides of a release are of one kind")
        low = np.column_stack([slots[0], self.low[ends[0]], others.low[ends[1]]])
        high = np.column_stack([slots[1], self.high[ends[0]], others.high[ends[1]]])
        return find_overlap(low, high)

    def find_shared(self) -> Pair | None:
        """Return two areas that share a tile, None if there are none."""
        return find_overlap(self.low, self.high)


class ZoneSets:
    """Areas that are sets of zones."""

    def __init__(self, members: Sequence[IntArray], zones_total: int) -> None:
        self.members = members
        self._zones_total = zones_total
        self._size = np.array([len(zones) for zones in members], np.int64)
        self._area = np.repeat(np.arange(len(members)), self._size)
        self._zone = np.concatenate([np.zeros(0, np.int64), *members])

    def related(self, area: int) -> tuple[BoolArray, BoolArray]:
        """Return which areas lie in an area, and which share a zone with it."""
        held = np.zeros(self._zones_total, bool)
        held[self.members[area]] = True
        shared = np.bincount(self._area[held[self._zone]], minlength=len(self._size))
        return shared == self._size, shared > 0

    def find_overlap(self, others: Extents, ends: Both, slots: Both) -> Pair | None:
        """Return two flows that overlap, None if there are none: all pairs of zones are marked by slot."""
        if not isinstance(others, ZoneSets):
            raise TypeError("both sides of a release are of one kind")
        boxes = np.unique(np.concatenate(slots, axis=1), axis=0)
        axes = boxes.shape[1] // 2
        for low, high in zip(boxes[:, :axes], boxes[:, axes:], strict=True):
            there = (slots[0] <= low) & (high <= slots[1])  # flows of this slot, and of those that hold it
            flow_of = np.full((self._zones_total, self._zones_total), -1, np.int32)
            for flow in np.flatnonzero(there.all(axis=1)).tolist():
                pairs = np.ix_(self.members[ends[0][flow]], others.members[ends[1][flow]])
                if (taken := flow_of[pairs].max()) >= 0:
                    return int(taken), flow
                flow_of[pairs] = flow
        return None

    def find_shared(self) -> Pair | None:
        """Return two areas that share a zone, None if there are none."""
        area_of = np.full(self._zones_total, -1, np.int64)
        for area, zones in enumerate(self.members):
            if (taken := int(area_of[zones].max(initial=-1))) >= 0:
                return taken, area
            area_of[zones] = area
        return None
