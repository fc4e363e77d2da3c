"""Areas made of zones: what is in them is what areas.parquet lists."""

from __future__ import annotations

import re
from collections import Counter
from copy import copy
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import shapely

from flowveil._verify.broken import broken, shown
from flowveil._verify.dendrograms import TREES, Dendrograms
from flowveil._verify.extents import Spans, ZoneSets
from flowveil._verify.forest import NONE
from flowveil._verify.geo import TOLERANCE, is_outline
from flowveil._verify.ground import close
from flowveil._verify.inside import Outlines
from flowveil._verify.sides import Ragged, Side

if TYPE_CHECKING:
    from collections.abc import Hashable, Mapping, Sequence

    from shapely.geometry.base import BaseGeometry

    from flowveil._arrays import BoolArray, FloatArray, IntArray
    from flowveil._places import ZoneTable
    from flowveil._verify.extents import Extents
    from flowveil._verify.ground import Ground, Point
    from flowveil._verify.tables import AreasTable

    Path = tuple[tuple[str, str], ...]  # columns and values from the top down to a node

_TOP = "all"
_FIRST = next(iter(TREES))  # the only tree of a release by dendrogram; of those by many, that of zones by themselves
_NODE = r"(0|[1-9][0-9]{0,8})"


class Members:
    """Areas are sets of zones, which must be the zones that their ids name where ids say it."""

    top = _TOP

    def __init__(
        self, zones: ZoneTable, columns: tuple[str, ...] | None, areas: AreasTable, *, many: bool = False
    ) -> None:
        """Take zones and areas; many: the areas are of several dendrograms, which may overlap."""
        self._zones = zones
        self._rank = {zone: rank for rank, zone in enumerate(zones.ids)}
        self._finest = None if columns is None else columns[0]
        self._columns = columns or ()
        self.tree: Hashable = ("zones", columns, many, tuple(zones.ids))
        self._zones_of = {} if columns is None else _zones_by_path(zones, columns)
        self._named = _named_by_columns(self._zones_of)
        self._dendrograms = Dendrograms(zones.lon, zones.lat) if columns is None else None
        self._trees = list(TREES) if many else [_FIRST]
        self._ids = pa.array(zones.ids, pa.string())
        self.members: dict[str, IntArray] = {}
        self._outlines: dict[str, BaseGeometry | None] = {}
        for area, members in zip(areas.area, areas.members or [], strict=True):
            ranks = self._ranks(area, members)
            if not np.array_equal(self.members.setdefault(area, ranks), ranks):
                raise broken(f"the area {shown(area)} has other members as origin than as destination")

    def check_id(self, area: str) -> None:
        """Raise unless the members are those that the id names."""
        members = self.members[area]
        if not any(np.array_equal(members, zones) for zones in self._zones_named(area)):
            raise broken(f"the members of the area {shown(area)} are not the zones that its id names")
        if self._dendrograms is not None:
            earlier = self._trees[: self._trees.index(area.partition(":")[0])]
            if name := next((name for name in earlier if self._dendrograms.tree(name).has(members)), None):
                raise broken(f"the area {shown(area)} is one of the tree {name}, and not called so")

    def tiles(self, area: str) -> int:
        """Return how many zones an area has."""
        return len(self.members[area])

    def path(self, area: str) -> Sequence[Hashable]:
        """Return the node of an area, and those above it: the nodes of one of its zones that hold all of them."""
        if area == _TOP:
            return [_TOP]
        members = self.members[area]
        if self._dendrograms is not None:
            tree, _, number = area.partition(":")
            if tree != _FIRST:
                raise broken(f"the area {shown(area)} is not one of the tree {_FIRST}")
            return [*self._dendrograms.tree(_FIRST).path(int(number)), _TOP]
        nodes = [
            path
            for path in _paths_of(self._zones, self._columns, int(members[0]))
            if np.isin(members, self._zones_of[path]).all()
        ]
        return [*nodes[::-1], _TOP]

    def is_center(self, area: str, point: Point | None) -> bool:
        """Whether the point is the mean of the centers of the zones that have one."""
        lon, lat = self._zones.lon[self.members[area]], self._zones.lat[self.members[area]]
        placed = np.isfinite(lon) & np.isfinite(lat)
        if point is None or not placed.any():
            return point is None and not placed.any()
        return close(point, (float(lon[placed].mean()), float(lat[placed].mean())), TOLERANCE)

    def is_shape(self, area: str, shape: BaseGeometry | None) -> bool:
        """Whether this is the outline of the zones, united; there is none if a zone has none."""
        if area not in self._outlines:
            self._outlines[area] = self._outline(area)
        return is_outline(shape, self._outlines[area], united=len(self.members[area]) > 1)

    def most_tiles_of_bbox(self) -> int | None:
        """Return None: zones have no bbox."""
        return None

    def locate(self, batch: pa.RecordBatch, usable: BoolArray) -> tuple[IntArray, IntArray, BoolArray]:
        """Return the ranks of the zones of both ends; unknown zones, and places in none, have none."""
        if "origin" not in batch.schema.names:
            return self._locate_points(batch, usable)
        ranks = [pc.index_in(batch.column(end), value_set=self._ids) for end in ("origin", "destination")]
        known = usable & pc.and_(ranks[0].is_valid(), ranks[1].is_valid()).to_numpy(zero_copy_only=False)
        origin, destination = (np.asarray(rank.fill_null(0), np.int64) for rank in ranks)
        return origin, destination, known

    def _locate_points(self, batch: pa.RecordBatch, usable: BoolArray) -> tuple[IntArray, IntArray, BoolArray]:
        ranks = []
        for end in ("start", "end"):
            lon, lat = (batch.column(f"{end}_{axis}").to_numpy(zero_copy_only=False)[usable] for axis in ("lon", "lat"))
            rank = np.full(batch.num_rows, NONE, np.int64)
            rank[usable] = self._points.locate(lon, lat)
            ranks.append(rank)
        return ranks[0], ranks[1], usable & (ranks[0] != NONE) & (ranks[1] != NONE)

    @cached_property
    def _points(self) -> Outlines:
        return Outlines(self._zones.geometry)

    @property
    def zones(self) -> ZoneTable:
        """The zones, sorted by id."""
        return self._zones

    @property
    def zone_ids(self) -> list[str]:
        """The ids of all zones, by rank."""
        return self._zones.ids

    def centers(self, tiles: IntArray) -> tuple[FloatArray, FloatArray]:
        """Return lon and lat of zones."""
        return self._zones.lon[tiles], self._zones.lat[tiles]

    def bounds(self, tiles: IntArray) -> FloatArray:
        """Return west, south, east and north of the shapes of zones."""
        edges: FloatArray = shapely.bounds(self._zones.geometry[tiles]).reshape(-1, 4)
        return edges

    def tile(self, area: str) -> int | None:
        """Return the rank of the zone that an id names, if it names one."""
        if self._finest is not None:
            column, _, zone = area.partition(f"{self._finest}=")
            return None if column else self._rank.get(zone)
        number = re.fullmatch(rf"{_FIRST}:{_NODE}", area)
        return int(number[1]) if number and int(number[1]) < len(self._zones.ids) else None

    def all_tiles(self) -> IntArray | None:
        """Return every zone: a tree of zones holds all of them."""
        return np.arange(len(self._zones.ids))

    def side(self, areas: Sequence[str]) -> Side:
        """Return the areas of one side: a tree of zones holds all of them, seen or not."""
        members = [self.members[area] for area in areas]
        sizes = np.array([len(zones) for zones in members], np.int64)
        zone = np.concatenate([np.zeros(0, np.int64), *members])
        order = np.argsort(zone, kind="stable")
        starts = np.searchsorted(zone[order], np.arange(len(self._zones.ids) + 1))
        holders = Ragged(starts, np.repeat(np.arange(len(areas)), sizes)[order])

        def find_holders(zones: IntArray) -> Ragged:
            place, area = holders.take(zones)
            return Ragged(np.searchsorted(place, np.arange(len(zones) + 1)), area)

        return Side(areas, find_holders, sizes)

    def extents(self, areas: Sequence[str]) -> Extents:
        """Return areas as intervals of zones in the order of their tree, or as sets if they are of several trees."""
        members = [self.members[area] for area in areas]
        if len(self._trees) > 1:
            return ZoneSets(members, len(self._zones.ids))
        places = [self._position[zones] for zones in members]
        spans = np.array([(place.min(), place.max() + 1) for place in places], np.int64).reshape(-1, 2)
        return Spans(spans[:, :1], spans[:, 1:])

    @cached_property
    def _position(self) -> IntArray:
        """By zone: its place in an order in which the zones of every area of the tree follow each other."""
        if self._dendrograms is not None:
            return self._dendrograms.tree(_FIRST).position
        paths = [_paths_of(self._zones, self._columns, rank)[-1] for rank in range(len(self._zones.ids))]
        position = np.empty(len(paths), np.int64)
        position[sorted(range(len(paths)), key=lambda rank: paths[rank])] = np.arange(len(paths))
        return position

    def check_seen(self, side: Side) -> None:
        """Check nothing: areas are known without the trips."""

    def joined(self, other: Ground) -> Members:
        """Return what knows the members of all areas."""
        both = copy(self)
        both.members = self.members | (other.members if isinstance(other, Members) else {})
        return both

    def _zones_named(self, area: str) -> list[IntArray]:
        """Return the sets of zones that an id may name."""
        if self._dendrograms is None:
            return self._named.get(area, [])
        tree = area.partition(":")[0]
        number = re.fullmatch(rf"{tree}:{_NODE}", area) if tree in self._trees else None
        zones = self._dendrograms.tree(tree).zones(int(number[1])) if number else None
        if zones is None:
            raise broken(f"{shown(area)!r} is not the id of an area")
        return [zones]

    def _outline(self, area: str) -> BaseGeometry | None:
        parts = shapely.force_2d(self._zones.geometry[self.members[area]])
        if any(part is None for part in parts):
            return None
        return parts[0] if len(parts) == 1 else shapely.union_all(shapely.make_valid(parts))

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


def _zones_by_path(zones: ZoneTable, columns: tuple[str, ...]) -> dict[Path, IntArray]:
    """Return the zones of every node; a node is its path from the top."""
    for column in columns:
        if column not in zones.columns:
            raise broken(f"the zones have no column {shown(column)!r}", "give the zones that the release was made with")
    ranks_of: dict[Path, list[int]] = {}
    for rank in range(len(zones.ids)):
        for path in _paths_of(zones, columns, rank):
            ranks_of.setdefault(path, []).append(rank)
    return {path: np.array(ranks, np.int64) for path, ranks in ranks_of.items()}


def _paths_of(zones: ZoneTable, columns: tuple[str, ...], rank: int) -> list[Path]:
    """Return the nodes that hold a zone, from the top down, the zone itself last."""
    steps = [(column, zones.columns[column][rank]) for column in reversed(columns[1:])]
    whole = (*((column, value) for column, value in steps if value is not None), (columns[0], zones.ids[rank]))
    return [whole[: length + 1] for length in range(len(whole))]


def _named_by_columns(zones_of: Mapping[Path, IntArray]) -> dict[str, list[IntArray]]:
    """Return the sets of zones that an id names: `column=value`, with the path above it where that is not unique.

    Values may hold any sign, so that two paths may read the same.
    """
    times = Counter(path[-1] for path in zones_of)
    named: dict[str, list[IntArray]] = {}
    for path, ranks in zones_of.items():
        part = path if times[path[-1]] > 1 else path[-1:]
        name = "/".join(f"{column}={value}" for column, value in part)
        named.setdefault(name, []).append(ranks)
    return named
