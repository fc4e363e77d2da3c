"""The answers of the input: every trip counted where it starts and ends."""

from __future__ import annotations

import warnings
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import shapely

from flowveil._engine import read_located
from flowveil._errors import FlowveilWarning, InputError
from flowveil._flows import build_flows, make_request
from flowveil._options import parse_bbox
from flowveil._places import NodeAreas, Zones, choose_places, meters_between
from flowveil._questions.compared import Facts
from flowveil._questions.districts import make_squares
from flowveil._times import HOUR_OF_DAY, parse_steps

if TYPE_CHECKING:
    from flowveil._arrays import FloatArray, IntArray
    from flowveil._flows import Flows
    from flowveil._folder import Settings
    from flowveil._places import Hierarchy, ZonesLike, ZoneTable
    from flowveil._trips import Trips

_FINE = "h3:8"  # on which squares are laid out: cells of half a kilometer
_HOURLY = ("1h", HOUR_OF_DAY, "hour-of-week")  # steps of time that tell the hour, beside those of minutes
_HOURS = 24


class Truth:
    """Trips of an input, asked about districts."""

    def __init__(self, trips: Trips, options: Settings, input_zones: str | None, asked: ZonesLike | None) -> None:
        self.trips = trips
        self.options = options
        self.by_zone = options.get("grid", "") is None and "start_lon" not in trips.columns
        self.zones: ZonesLike | None = input_zones or asked
        if self.by_zone and self.zones is None:
            raise InputError(
                "trips name zones, and the audit file does not say where these are", "give them with --zones"
            )

    @property
    def timed(self) -> bool:
        """Whether both the trips and the release know the hour."""
        steps = str(self.options.get("time") or self.options.get("time_hierarchy") or "").partition("<")[0]
        return "start_time" in self.trips.columns and (steps.endswith("min") or steps in _HOURLY)

    @cached_property
    def _named(self) -> Flows:
        """Trips between the zones that they name."""
        clock = {"time": HOUR_OF_DAY, "timezone": self.options.get("timezone")} if self.timed else {}
        return self._count(None, zones=self.zones, hierarchy="ward", **clock)

    @cached_property
    def _fine(self) -> Flows:
        """Trips between small cells."""
        return self._count(_FINE, places="", bbox=self.options.get("bbox"), hierarchy="h3")

    def _count(self, grid: str | None, **options: object) -> Flows:
        with warnings.catch_warnings():  # of rows that the release lacks as well
            warnings.simplefilter("ignore", FlowveilWarning)
            return build_flows(self.trips, grid, max_unusable=1, **options)  # type: ignore[arg-type]

    def squares(self) -> tuple[ZoneTable, str]:
        """Return squares over where trips start and end."""
        flows = self._named if self.by_zone else self._fine
        lon, lat = np.concatenate([_centers(flows, 0), _centers(flows, 1)], axis=1)
        trips = np.tile(flows.trips, 2)
        known = np.isfinite(lon)
        if not known.any():
            raise InputError("the zones of the trips have no place", "give zones with outlines or lon and lat")
        return make_squares(lon[known], lat[known], trips[known])

    def facts(self, districts: ZoneTable) -> tuple[Facts, float]:
        """Return what is true of trips between districts, and which share of the trips has an end in none."""
        return self._of_zones(districts) if self.by_zone else self._of_points(districts)

    def _of_points(self, districts: ZoneTable) -> tuple[Facts, float]:
        """Return facts of trips with coordinates."""
        places = choose_places(None, districts.as_table(), "ward")
        bbox = self.options.get("bbox")
        request = make_request(self.trips, places, None, None, None if bbox is None else parse_bbox(bbox))
        steps = parse_steps(HOUR_OF_DAY, self.options.get("timezone")) if self.timed else None
        request = replace(request, time=None if steps is None else self.trips.columns["start_time"])
        rows = read_located(request, places.index, None, None if steps is None else steps.index)
        if not len(rows):
            raise _nothing()
        pair = rows.origin.astype(np.int64) * len(districts.ids) + rows.destination.astype(np.int64)
        hours = None
        if steps is not None and rows.time is not None:
            seen, place = np.unique(rows.time, return_inverse=True)
            hours = _summed(np.array(steps.values(seen).to_pylist(), np.int64)[place], rows.trips, _HOURS)
        trips = rows.trips.astype(np.float64)
        facts = Facts(_matrix(pair, rows.trips, len(districts.ids)), between(rows.start, rows.end), trips, hours)
        return facts, 1 - float(trips.sum()) / self._fine.total

    def _of_zones(self, districts: ZoneTable) -> tuple[Facts, float]:
        """Return facts of trips that name zones."""
        flows = self._named
        row, column = (self._districts(side, districts) for side in (0, 1))
        trips = np.where((row >= 0) & (column >= 0), flows.trips, 0)
        if not trips.any():
            raise _nothing()
        inside = trips > 0
        pair = row[inside] * len(districts.ids) + column[inside]
        hours = None
        if self.timed:
            hours = _summed(np.array(flows.matrices["time"].to_pylist(), np.int64)[flows.matrix], trips, _HOURS)
        kilometers = between(_centers(flows, 0), _centers(flows, 1))
        known = np.isfinite(kilometers) & inside
        far, weights = (kilometers[known], trips[known].astype(np.float64)) if known.any() else (None, None)
        matrix = _matrix(pair, trips[inside], len(districts.ids))
        return Facts(matrix, far, weights, hours), 1 - float(trips.sum()) / flows.total

    def _districts(self, side: int, districts: ZoneTable) -> IntArray:
        """Return by pair of zones the district of one end, -1 for none.

        A zone that trips name lies in the district of the same id, or else in the one that holds its center.
        """
        flows = self._named
        tree, leaf = _end(flows, side)
        leaves = np.flatnonzero(tree.is_leaf)
        areas = NodeAreas(flows.places, tree)
        number = {zone: row for row, zone in enumerate(districts.ids)}
        members = areas.describe(leaves).members or []
        if districts.id_guessed is not None:  # numbers of rows, say, which mean other zones
            number = {}
        found = np.array([number.get(own[0], -1) if own else -1 for own in members], np.int64)
        if not (found >= 0).any() and districts.has_outlines:
            lon, lat = areas.centers(leaves)
            points = np.asarray(shapely.points(np.nan_to_num(lon), np.nan_to_num(lat)), object)
            point, shape = shapely.STRtree(districts.geometry).query(points, predicate="intersects")
            found[point[::-1]] = shape[::-1]  # of several the first
            found[~np.isfinite(lon)] = -1
        own_district = np.full(len(tree), -1, np.int64)
        own_district[leaves] = found
        return own_district[leaf]

    def snapped(self, points: FloatArray) -> FloatArray:
        """Return points where the input would have them: in the centers of zones where trips name these."""
        places = self._named.places if self.by_zone else None
        if not isinstance(places, Zones) or not places.table.has_outlines:
            return points
        count = len(places.table.ids)
        rank = places.index(pa.array(points[0]), pa.array(points[1])).fill_null(count).to_numpy().astype(np.int64)
        return np.stack([np.append(axis, np.nan)[rank] for axis in (places.table.lon, places.table.lat)])

    def center_of(self, zones: list[str]) -> FloatArray:
        """Return the centers of zones that trips name."""
        places = self._named.places
        if not isinstance(places, Zones):
            return np.full((2, len(zones)), np.nan)
        number = {zone: row for row, zone in enumerate(places.table.ids)}
        rows = np.array([number.get(zone, -1) for zone in zones], np.int64)
        return np.stack([np.append(axis, np.nan)[rows] for axis in (places.table.lon, places.table.lat)])


def between(start: FloatArray, end: FloatArray) -> FloatArray:
    """Return kilometers between points, as the crow flies."""
    return meters_between(start[0], start[1], end[0], end[1]) / 1000


def _nothing() -> InputError:
    return InputError("no trip starts and ends in the zones", "give zones where the trips are")


def _summed(place: IntArray, trips: IntArray, count: int) -> FloatArray:
    return np.asarray(np.bincount(place, trips, count), np.float64)


def _matrix(pair: IntArray, trips: IntArray, count: int) -> FloatArray:
    return _summed(pair, trips, count * count).reshape(count, count)


def _end(flows: Flows, side: int) -> tuple[Hierarchy, IntArray]:
    return ((flows.origins, flows.origin), (flows.destinations, flows.destination))[side]


def _centers(flows: Flows, side: int) -> FloatArray:
    """Return longitude and latitude of the tiles of one end."""
    tree, leaf = _end(flows, side)
    distinct, place = np.unique(leaf, return_inverse=True)
    return np.stack(flows.places.centers(tree, distinct))[:, place]
