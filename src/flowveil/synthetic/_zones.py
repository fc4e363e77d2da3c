"""Zones that tile the city, small where many people live: a tree of cuts, with districts and regions above them."""

from __future__ import annotations

import heapq
import json
import struct
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa

from flowveil._arrays import FloatArray, IntArray
from flowveil.synthetic._landscape import Landscape
from flowveil.synthetic._plane import CITY_BBOX, DECIMALS, HEIGHT, METERS_PER_DEGREE, WIDTH, to_degrees
from flowveil.synthetic._streams import Stream, open_stream

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

_LEAF = -1


@dataclass(slots=True)
class _Node:
    """A rectangle in degrees, the sample points in it, and where it is cut (axis 0 is lon, 1 is lat)."""

    box: tuple[float, float, float, float]
    points: FloatArray
    axis: int = 0
    cut: float = 0.0
    children: tuple[int, int] = (_LEAF, _LEAF)
    district: int = 0
    region: int = 0


@dataclass(frozen=True, slots=True)
class Zones:
    """A binary tree of cuts whose leaves are the zones, and the table of the zones."""

    axis: IntArray
    cut: FloatArray
    children: IntArray  # a leaf is its own child, so that all points can descend equally far
    depth: int
    zone: IntArray  # row in the table of each leaf
    table: pa.Table = field(repr=False)

    def find(self, lon: FloatArray, lat: FloatArray) -> IntArray:
        """Return for points in the city the row of their zone in the table."""
        coordinates = np.stack([lon, lat], axis=1)
        points = np.arange(len(lon))
        node = np.zeros(len(lon), dtype=np.int64)
        for _ in range(self.depth):
            beyond = coordinates[points, self.axis[node]] > self.cut[node]
            node = self.children[node, beyond.astype(np.int64)]
        return self.zone[node]


def draw_zones(seed: int, landscape: Landscape) -> Zones:
    """Return the zones of the city with this seed; they do not depend on the number of persons."""
    random = open_stream(seed, Stream.ZONES)
    _, homes = landscape.settle(random, _SAMPLE_HOMES)
    anywhere = random.random(_SAMPLE_ANYWHERE) * WIDTH + 1j * random.random(_SAMPLE_ANYWHERE) * HEIGHT
    points = np.stack(to_degrees(np.concatenate([homes, anywhere.astype(np.complex64)])), axis=1)
    nodes = _cut_city(random, points)

    leaves, depth = _list_leaves(nodes)
    zone = np.full(len(nodes), _LEAF, dtype=np.int64)
    zone[leaves] = np.arange(len(leaves))
    own = [node.children if node.children[0] != _LEAF else (number, number) for number, node in enumerate(nodes)]
    return Zones(
        axis=np.array([node.axis for node in nodes]),
        cut=np.array([node.cut for node in nodes]),
        children=np.array(own),
        depth=depth,
        zone=zone,
        table=_tabulate([nodes[leaf] for leaf in leaves]),
    )


def _cut_city(random: np.random.Generator, points: FloatArray) -> list[_Node]:
    """Cut the fullest rectangle in two until there are enough; those on the way are the regions and districts."""
    nodes = [_Node(CITY_BBOX, points)]
    fullest = [(-len(points), 0)]
    while len(fullest) < ZONES:
        _, number = heapq.heappop(fullest)
        for child in _cut(random, nodes[number]):
            heapq.heappush(fullest, (-len(child.points), len(nodes)))
            nodes.append(child)
        nodes[number].children = (len(nodes) - 2, len(nodes) - 1)
        for rank, leaf in enumerate(sorted(leaf for _, leaf in fullest)):
            if len(fullest) == REGIONS:
                nodes[leaf].region = rank
            if len(fullest) == DISTRICTS:
                nodes[leaf].district = rank
    return nodes


def _cut(random: np.random.Generator, node: _Node) -> tuple[_Node, _Node]:
    west, south, east, north = node.box
    sides = (east - west) * METERS_PER_DEGREE[0], (north - south) * METERS_PER_DEGREE[1]
    node.axis = int(sides[1] > sides[0])
    low, high = node.box[node.axis], node.box[node.axis + 2]
    margin = _SMALLEST_PART * (high - low)
    place = np.quantile(node.points[:, node.axis], random.uniform(*_CUT_SHARES))
    place = np.clip(place, low + margin, high - margin)
    node.cut = float(np.round(place, _BORDER_DECIMALS)) + _BORDER_OFFSET

    beyond = node.points[:, node.axis] > node.cut
    if node.axis == 0:
        boxes = (west, south, node.cut, north), (node.cut, south, east, north)
    else:
        boxes = (west, south, east, node.cut), (west, node.cut, east, north)
    first = _Node(boxes[0], node.points[~beyond], district=node.district, region=node.region)
    second = _Node(boxes[1], node.points[beyond], district=node.district, region=node.region)
    return first, second


def _list_leaves(nodes: list[_Node]) -> tuple[list[int], int]:
    """Return the leaves, neighbors next to each other, and the depth of the deepest."""
    leaves, depth, stack = [], 0, [(0, 0)]
    while stack:
        number, level = stack.pop()
        first, second = nodes[number].children
        if first == _LEAF:
            leaves.append(number)
            depth = max(depth, level)
        else:
            stack += [(second, level + 1), (first, level + 1)]
    return leaves, depth


def _tabulate(zones: list[_Node]) -> pa.Table:
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
