"""Which published areas lie in which, from what is public: ids of grids, members of zones."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from flowveil._arrays import texts
from flowveil._places import boxes_of_ids

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    import pyarrow as pa

    from flowveil._arrays import BoolArray, IntArray


class Relations:
    """The areas of one side of some releases, numbered, and which of them lie in or meet each other."""

    def __init__(self, areas: Iterable[pa.Table], side: str) -> None:
        members: dict[str, list[str] | None] = {}
        for table in areas:
            own = table.filter(np.array([end == side for end in table["side"].to_pylist()], bool))
            zones = own["members"].to_pylist() if "members" in own.column_names else [None] * own.num_rows
            members |= dict(zip(texts(own["area"]), zones, strict=True))
        self._number = {area: number for number, area in enumerate(members)}
        self._sets: list[int] | None = None
        if any(zones is not None for zones in members.values()):
            self._sets = _bits(list(members.values()))
        else:
            self._low, self._high = boxes_of_ids(list(members))
        self._known: dict[int, tuple[BoolArray, BoolArray]] = {}

    def numbers(self, names: Sequence[str]) -> IntArray:
        """Return the number of each area."""
        return np.array([self._number[name] for name in names], np.int64)

    def of(self, area: int) -> tuple[BoolArray, BoolArray]:
        """Return by area whether it lies in this one, and whether the two have something in common."""
        if area not in self._known:
            self._known[area] = self._relate(area)
        return self._known[area]

    def _relate(self, area: int) -> tuple[BoolArray, BoolArray]:
        if self._sets is not None:
            own = self._sets[area]
            shared = [zones & own for zones in self._sets]
            inside = [part == zones for part, zones in zip(shared, self._sets, strict=True)]
            return np.array(inside, bool), np.array([part > 0 for part in shared], bool)
        low, high = self._low[area], self._high[area]
        inside = ((low <= self._low) & (self._high <= high)).all(axis=1)
        return inside, ((low < self._high) & (self._low < high)).all(axis=1)


def _bits(members: list[list[str] | None]) -> list[int]:
    """Return sets of zones as bits; an area without a list is the top, which has all of them."""
    zones = {zone: place for place, zone in enumerate(sorted({zone for some in members for zone in some or ()}))}
    everything = (1 << len(zones)) - 1
    return [everything if some is None else sum(1 << zones[zone] for zone in some) for some in members]
