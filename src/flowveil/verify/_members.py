"""Areas made of zones: what is in them is what areas.parquet lists."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import shapely

from flowveil.verify._broken import broken, shown
from flowveil.verify._forest import NONE, Forest

if TYPE_CHECKING:
    from collections.abc import Sequence

    from flowveil._arrays import BoolArray, IntArray
    from flowveil.places import ZoneTable
    from flowveil.verify._ground import Point
    from flowveil.verify._tables import AreasTable

_TOP = "all"
_TOLERANCE = 1e-6  # degrees


class Members:
    """Areas are sets of zones, which must be the zones that their ids name where ids say it."""

    top = _TOP

    def __init__(self, zones: ZoneTable, columns: tuple[str, ...] | None, areas: AreasTable) -> None:
        self._zones = zones
        self._columns = columns
        self._rank = {zone: rank for rank, zone in enumerate(zones.ids)}
        self._named = _named_by_columns(zones, columns) if columns is not None else None
        self._ids = pa.array(zones.ids, pa.string())
        self._members: dict[str, IntArray] = {}
        for area, members in zip(areas.area, areas.members or [], strict=True):
            ranks = self._ranks(area, members)
            if not np.array_equal(self._members.setdefault(area, ranks), ranks):
                raise broken(f"the area {shown(area)} has other members as origin than as destination")

    def check_id(self, area: str) -> None:
        """Raise unless the members are those that the id names."""
        members = self._members[area]
        if self._named is not None:
            if not any(np.array_equal(members, zones) for zones in self._named.get(area, [])):
                raise broken(f"the members of the area {shown(area)} are not the zones that its id names")
            return
        number = area.removeprefix("ward:")
        if number == area or not number.isdecimal() or str(int(number)) != number or len(number) > 18:
            raise broken(f"{shown(area)!r} is not the id of an area")
        count = len(self._zones.ids)
        if int(number) >= 2 * count or (int(number) < count) != (len(members) == 1):
            raise broken(f"the members of the area {shown(area)} do not go with its id")
        if int(number) < count and int(members[0]) != int(number):
            raise broken(f"the members of the area {shown(area)} are not the zone that its id names")

    def tiles(self, area: str) -> int:
        """Return how many zones an area has."""
        return len(self._members[area])

    def is_center(self, area: str, point: Point | None) -> bool:
        """Whether the point lies among the centers of the zones."""
        lon, lat = self._zones.lon[self._members[area]], self._zones.lat[self._members[area]]
        placed = np.isfinite(lon) & np.isfinite(lat)
        if point is None or not placed.any():
            return point is None and not placed.any()
        inside = [
            values[placed].min() - _TOLERANCE <= value <= values[placed].max() + _TOLERANCE
            for values, value in zip((lon, lat), point, strict=True)
        ]
        return all(inside)

    def is_shape(self, area: str, shape: shapely.Geometry | None) -> bool:
        """Whether the outline reaches as far as the zones do; there is none if a zone has none."""
        parts = self._zones.geometry[self._members[area]]
        if any(part is None for part in parts):
            return shape is None
        if shape is None:
            return False
        return bool(np.allclose(shape.bounds, shapely.total_bounds(parts), rtol=0, atol=_TOLERANCE, equal_nan=True))

    def most_tiles_of_bbox(self) -> int | None:
        """Zones have no bbox."""
        return None

    def locate(self, batch: pa.RecordBatch, usable: BoolArray) -> tuple[IntArray, IntArray, BoolArray]:
        """Return the ranks of the zones of both ends; unknown zones have none."""
        ranks = [pc.index_in(batch.column(end), value_set=self._ids) for end in ("origin", "destination")]
        known = usable & pc.and_(ranks[0].is_valid(), ranks[1].is_valid()).to_numpy(zero_copy_only=False)
        origin, destination = (np.asarray(rank.fill_null(0), np.int64) for rank in ranks)
        return origin, destination, known

    def side(self, areas: Sequence[str]) -> MemberSide:
        """Return the areas of one side."""
        return MemberSide(areas, [self._members[area] for area in areas], len(self._zones.ids))

    def _ranks(self, area: str, members: list[str | None] | None) -> IntArray:
        if area == _TOP:
            if members is not None:
                raise broken(f"the area {_TOP} lists members")
            return np.arange(len(self._zones.ids))
        if not members:
            raise broken(f"the area {shown(area)} has no members")
        for member in members:
            if member is None or member not in self._rank:
                raise broken(f"the area {shown(area)} has a member that is not a zone")
        ranks = np.array([self._rank[str(member)] for member in members], np.int64)
        if (np.diff(ranks) <= 0).any():
            raise broken(f"the members of the area {shown(area)} are not sorted and distinct")
        return ranks


class MemberSide:
    """The areas of one side, from largest to smallest, laid over the zones."""

    def __init__(self, areas: Sequence[str], members: list[IntArray], zones_total: int) -> None:
        self._smallest = np.full(zones_total, NONE, np.int64)
        self._sizes = np.array([len(zones) for zones in members], np.int64)
        parent = np.full(len(members), NONE, np.int64)
        for area in sorted(
            range(len(members)), key=lambda area: (-len(members[area]), areas[area] != _TOP, areas[area])
        ):
            around = np.unique(self._smallest[members[area]])
            if len(around) > 1:
                other = areas[int(around[-1])]
                raise broken(f"the areas {shown(areas[area])} and {shown(other)} share a part of their members")
            parent[area] = around[0]
            self._smallest[members[area]] = area
        self.forest = Forest(parent)

    def smallest(self, tiles: IntArray) -> IntArray:
        """Return the number of the smallest area that holds each zone, -1 for none."""
        found: IntArray = self._smallest[tiles]
        return found

    def tiles_seen(self) -> IntArray:
        """Return the zones of each area: a tree of zones holds all of them, seen or not."""
        return self._sizes


def _named_by_columns(zones: ZoneTable, columns: tuple[str, ...]) -> dict[str, list[IntArray]]:
    """Return the sets of zones that an id `column=value` may name, alone or with the path above it."""
    for column in columns:
        if column not in zones.columns:
            raise broken(f"the zones have no column {shown(column)!r}", "give the zones that the release was made with")
    found: dict[tuple[tuple[str, str], ...], list[int]] = {}
    for rank, zone in enumerate(zones.ids):
        path: tuple[tuple[str, str], ...] = ()
        for column in reversed(columns[1:]):
            value = zones.columns[column][rank]
            if value is not None:
                path = (*path, (column, value))
                found.setdefault(path, []).append(rank)
        found[(*path, (columns[0], zone))] = [rank]
    named: dict[str, list[IntArray]] = {}
    for path, ranks in found.items():
        members = np.array(ranks, np.int64)
        for part in {path[-1:], path}:
            named.setdefault("/".join(f"{column}={value}" for column, value in part), []).append(members)
    return named
