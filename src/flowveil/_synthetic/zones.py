"""Zones that tile the city, small where many people live, with districts and regions above them."""

from __future__ import annotations

import heapq
import json
import struct
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from flowveil._synthetic.plane import CITY_BBOX, DECIMALS, HEIGHT, METERS_PER_DEGREE, WIDTH, to_degrees
from flowveil._synthetic.streams import Stream, open_stream

if TYPE_CHECKING:
    from flowveil._arrays import FloatArray, IntArray
    from flowveil._synthetic.landscape import Landscape

ZONES = 300
DISTRICTS = 30
REGIONS = 6

_REGION_NAMES = ("Ambervale", "Brackenfell", "Cloverholt", "Dunmere", "Elderwick", "Foxhaven")
_DISTRICT_NAMES = tuple(
    first + second
    for first in ("Alder", "Birch", "Cedar", "Elm", "Hazel", "Linden")
    for second in ("bridge", "field", "gate", "hill", "mill")
)

# Homes to even out over zones, and points anywhere, so that open country is not one zone.
_SAMPLE_HOMES = 20_000
_SAMPLE_ANYWHERE = 4_000
# A cut leaves at least this share of the longer side on both sides, so that no zone is a thin strip.
_SMALLEST_PART = 0.25
# Where the cut falls among the points of a zone: not always in the middle, so that zones differ.
_CUT_SHARES = (0.35, 0.65)
# Borders have four decimals and half a step of trip coordinates: no trip end lies on a border.
_BORDER_DECIMALS = 4
_BORDER_OFFSET = 0.5 * 10**-DECIMALS


@dataclass(frozen=True, slots=True)
class _Rectangle:
    """A rectangle in degrees (west, south, east, north), the sample points in it, and what it belongs to."""

    box: tuple[float, float, float, float]
    points: FloatArray
    district: int = 0
    region: int = 0


@dataclass(frozen=True, slots=True)
class Zones:
    """The table of the zones, and the grid of all their borders, which knows the zone of each of its cells."""

    table: pa.Table = field(repr=False)
    lon_borders: FloatArray
    lat_borders: FloatArray
    cells: IntArray

    def find(self, lon: FloatArray, lat: FloatArray) -> IntArray:
        """Return for points in the city the row of their zone in the table."""
        return self.cells[np.searchsorted(self.lon_borders, lon), np.searchsorted(self.lat_borders, lat)]


def draw_zones(seed: int, landscape: Landscape) -> Zones:
    """Return the zones of the city with this seed; they do not depend on the number of persons."""
    random = open_stream(seed, Stream.ZONES)
    _, homes = landscape.settle(random, _SAMPLE_HOMES)
    anywhere = random.random(_SAMPLE_ANYWHERE) * WIDTH + 1j * random.random(_SAMPLE_ANYWHERE) * HEIGHT
    points = np.stack(to_degrees(np.concatenate([homes, anywhere.astype(np.complex64)])), axis=1)
    zones = _cut_city(random, points)

    boxes = np.array([zone.box for zone in zones])
    lon_borders, lat_borders = np.unique(boxes[:, [0, 2]]), np.unique(boxes[:, [1, 3]])
    cells = np.empty((len(lon_borders) - 1, len(lat_borders) - 1), dtype=np.int64)
    columns, rows = np.searchsorted(lon_borders, boxes[:, [0, 2]]), np.searchsorted(lat_borders, boxes[:, [1, 3]])
    for zone, ((west, east), (south, north)) in enumerate(zip(columns, rows, strict=True)):
        cells[west:east, south:north] = zone
    return Zones(_tabulate(zones), lon_borders[1:-1], lat_borders[1:-1], cells)


def _cut_city(random: np.random.Generator, points: FloatArray) -> list[_Rectangle]:
    """Cut the fullest rectangle in two until there are enough; those on the way are the regions and districts."""
    # Ordered by number of points; the serial number settles ties.
    fullest = [(-len(points), 0, _Rectangle(CITY_BBOX, points))]
    serial = 0
    while len(fullest) < ZONES:
        _, _, rectangle = heapq.heappop(fullest)
        for part in _cut(random, rectangle):
            serial += 1
            heapq.heappush(fullest, (-len(part.points), serial, part))
        if len(fullest) == REGIONS:
            fullest = [(size, number, replace(part, region=rank)) for rank, (size, number, part) in enumerate(fullest)]
        if len(fullest) == DISTRICTS:
            fullest = [
                (size, number, replace(part, district=rank)) for rank, (size, number, part) in enumerate(fullest)
            ]
    zones = [part for _, _, part in fullest]
    return sorted(zones, key=lambda zone: (zone.region, zone.district, zone.box))


def _cut(random: np.random.Generator, rectangle: _Rectangle) -> tuple[_Rectangle, _Rectangle]:
    """Cut a rectangle across its longer side."""
    west, south, east, north = rectangle.box
    axis = int((north - south) * METERS_PER_DEGREE[1] > (east - west) * METERS_PER_DEGREE[0])
    low, high = rectangle.box[axis], rectangle.box[axis + 2]
    margin = _SMALLEST_PART * (high - low)
    place = np.quantile(rectangle.points[:, axis], random.uniform(*_CUT_SHARES))
    place = np.clip(place, low + margin, high - margin)
    border = float(np.round(place, _BORDER_DECIMALS)) + _BORDER_OFFSET

    beyond = rectangle.points[:, axis] > border
    first = (west, south, border, north) if axis == 0 else (west, south, east, border)
    second = (border, south, east, north) if axis == 0 else (west, border, east, north)
    return (
        replace(rectangle, box=first, points=rectangle.points[~beyond]),
        replace(rectangle, box=second, points=rectangle.points[beyond]),
    )


def _tabulate(zones: list[_Rectangle]) -> pa.Table:
    boxes = np.array([zone.box for zone in zones])
    districts = [_DISTRICT_NAMES[zone.district] for zone in zones]
    columns = {
        "zone_id": [f"Z{number:03d}" for number in range(len(zones))],
        "name": [f"{district} {number}" for number, district in enumerate(districts)],
        "district": districts,
        "region": [_REGION_NAMES[zone.region] for zone in zones],
        "lon": (boxes[:, 0] + boxes[:, 2]) / 2,
        "lat": (boxes[:, 1] + boxes[:, 3]) / 2,
        "geometry": pa.array([_encode_box(*zone.box) for zone in zones], pa.binary()),
    }
    # The metadata makes the table GeoParquet wherever it is written.
    geometry = {"encoding": "WKB", "geometry_types": ["Polygon"], "bbox": list(CITY_BBOX)}
    geo = {"version": "1.1.0", "primary_column": "geometry", "columns": {"geometry": geometry}}
    return pa.table(columns).replace_schema_metadata({"geo": json.dumps(geo)})


def _encode_box(west: float, south: float, east: float, north: float) -> bytes:
    """Return a rectangle as WKB: little-endian, polygon, one ring of five points, counterclockwise."""
    corners = (west, south, east, south, east, north, west, north, west, south)
    return struct.pack("<BIII10d", 1, 3, 1, 5, *corners)
