"""Which flow holds a pair of tiles, where areas may overlap in any way.

The flows that may hold a pair start in an area that holds its first tile: their destinations are marked, once for all
pairs with that first tile, and of the areas that hold the second tile one at most has a mark.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from flowveil._verify.broken import broken
from flowveil._verify.forest import NONE

if TYPE_CHECKING:
    import numpy.typing as npt

    from flowveil._arrays import IntArray
    from flowveil._verify.sides import Ragged, Side
    from flowveil._verify.tables import FlowTable

    Marks = npt.NDArray[np.int32]

_MOST_MARKS = 4_000_000  # room for marks, to bound memory
_MOST_PAIRS = 50_000  # pairs whose areas are looked at together


class FlowIndex:
    """Flows that do not overlap, searchable by slot and pair of spots."""

    def __init__(
        self, flows: FlowTable, sides: tuple[Side, Side], ends: tuple[IntArray, IntArray], slot: IntArray
    ) -> None:
        self._flows = flows
        self._sides = sides
        self._width = max(len(sides[1].areas), 1)
        self._origins_total = max(len(sides[0].areas), 1)
        key = slot * self._origins_total + ends[0]  # origins of each slot are numbered apart
        self._flow = np.argsort(key, kind="stable")
        self._key = key[self._flow]
        self._destination = ends[1]

    def find(self, slot: IntArray, origin: IntArray, destination: IntArray) -> IntArray:
        """Return the flow of each pair of spots, -1 for none; pairs are sorted by slot (-1 for none) and origin."""
        flow = np.full(len(slot), NONE, np.int64)
        first = int(np.searchsorted(slot, 0))
        if first == len(slot) or not len(self._flow):
            return flow
        slot, origin, destination = slot[first:], origin[first:], destination[first:]
        begins = np.append(True, (slot[1:] != slot[:-1]) | (origin[1:] != origin[:-1]))
        row, rows = np.cumsum(begins) - 1, np.flatnonzero(begins)
        starts, origin_of_row = np.unique(origin[rows], return_inverse=True)
        ends, destination = np.unique(destination, return_inverse=True)
        from_start, to_end = self._sides[0].holders(starts), self._sides[1].holders(ends)
        step = max(1, _MOST_MARKS // self._width)
        mark = np.full(min(step, len(rows)) * self._width, NONE, np.int32)
        for low in range(0, len(rows), step):
            some = slice(low, low + step)
            cells = self._mark(mark, slot[rows[some]], origin_of_row[some], from_start)
            begin, end = np.searchsorted(row, [low, low + step]).tolist()
            for start in range(begin, end, _MOST_PAIRS):
                pairs = slice(start, min(start + _MOST_PAIRS, end))
                flow[first:][pairs] = self._read(mark, row[pairs] - low, destination[pairs], to_end)
            mark[cells] = NONE
        return flow

    def _mark(self, mark: Marks, slot: IntArray, origin: IntArray, from_start: Ragged) -> IntArray:
        """Mark for each row of a slot and a spot the destinations of flows from there; return where marks are."""
        row, area = from_start.take(origin)
        key = slot[row] * self._origins_total + area
        low, high = (np.searchsorted(self._key, key, side=side) for side in ("left", "right"))
        row = np.repeat(row, high - low)
        place = np.arange(len(row)) + np.repeat(low - (np.cumsum(high - low) - (high - low)), high - low)
        flow = self._flow[place]
        cells: IntArray = row * self._width + self._destination[flow]
        mark[cells] = flow
        if len(bad := np.flatnonzero(mark[cells] != flow)):
            self._raise_overlap(int(flow[bad[0]]), int(mark[cells[bad[0]]]))
        return cells

    def _read(self, mark: Marks, row: IntArray, destination: IntArray, to_end: Ragged) -> IntArray:
        """Return the flow that is marked in a row for an area that holds each destination, -1 for none."""
        pair, area = to_end.take(destination)
        marked = mark[row[pair] * self._width + area]
        hits = np.flatnonzero(marked != NONE)
        flow = np.full(len(row), NONE, np.int64)
        flow[pair[hits]] = marked[hits]
        if len(bad := np.flatnonzero(flow[pair[hits]] != marked[hits])):
            self._raise_overlap(int(flow[pair[hits[bad[0]]]]), int(marked[hits[bad[0]]]))
        return flow

    def _raise_overlap(self, flow: int, other: int) -> None:
        one, two = sorted((flow, other))
        raise broken(f"the flows {self._flows.name(one)} and {self._flows.name(two)} overlap")
