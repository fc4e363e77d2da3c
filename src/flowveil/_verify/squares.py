"""Squares of a quadtree, with pyproj and whole numbers alone."""

from __future__ import annotations

import math
import re
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
import pyproj
import shapely

from flowveil._verify.broken import broken, shown
from flowveil._verify.extents import Spans
from flowveil._verify.geo import TOLERANCE, is_outline
from flowveil._verify.ground import Climber, climb, close
from flowveil._verify.sides import Side

if TYPE_CHECKING:
    from collections.abc import Hashable, Sequence

    import pyarrow as pa
    from shapely.geometry.base import BaseGeometry

    from flowveil._arrays import BoolArray, FloatArray, IntArray
    from flowveil._verify.extents import Extents
    from flowveil._verify.ground import Ground, Point

_TOP = "world"
_HIGHEST = 30  # levels; tiles of a square, 4 to this power, stay within 64 bits
FARTHEST = 1 << 28  # squares from 0,0: beyond, a projection has gone wild
BITS = 32
NUMBER = r"(0|-?[1-9][0-9]{0,9})"  # of an id, written in one way
_STEPS = 4  # parts of each edge of an outline, which is slightly bent in degrees

# A node of the tree: level, x, y. The top is above every level.
Node = tuple[int, int, int]
_WORLD: Node = (_HIGHEST + 1, 0, 0)


class Squares:
    """Areas are squares of `side` * 2**level meters, anchored at 0,0 of a CRS."""

    top = _TOP

    def __init__(self, side: float, crs: str, bbox: tuple[float, float, float, float] | None) -> None:
        try:
            plane = pyproj.CRS.from_user_input(crs)
        except pyproj.exceptions.CRSError:
            raise broken("'crs' of the manifest is not known") from None
        if not plane.is_projected:
            raise broken("'crs' of the manifest is not a plane")
        if plane.to_string() != crs:
            raise broken("'crs' of the manifest is not written as pyproj writes it")
        self._side = side
        self.tree: Hashable = ("squares", side, crs)
        self._bbox = bbox
        self._to_plane = pyproj.Transformer.from_crs("EPSG:4326", plane, always_xy=True)
        self._to_degrees = pyproj.Transformer.from_crs(plane, "EPSG:4326", always_xy=True)

    def check_id(self, area: str) -> None:
        """Raise unless the id is `q:level/x/y`, written in one way."""
        parts = re.fullmatch(rf"q:(0|[1-9][0-9]?)/{NUMBER}/{NUMBER}", area)
        if not parts or int(parts[1]) > _HIGHEST or max(abs(int(parts[2])), abs(int(parts[3]))) > FARTHEST:
            raise broken(f"{shown(area)!r} is not the id of a square")

    def tiles(self, area: str) -> int:
        """Return how many squares of level 0 an area has."""
        _, _, width, height = self._box(area)
        return width * height

    def path(self, area: str) -> Sequence[Hashable]:
        """Return the node of an area, and those above it."""
        return climb(_WORLD if area == _TOP else _node(area), _above)

    def is_center(self, area: str, point: Point | None) -> bool:
        """Whether this is the center of the area; none where the projection does not reach."""
        x, y, width, height = self._box(area)
        lon, lat = self._to_degrees.transform((x + width / 2) * self._side, (y + height / 2) * self._side)
        if not (math.isfinite(lon) and math.isfinite(lat)):
            return point is None
        return point is not None and close(point, (lon, lat), TOLERANCE)

    def is_shape(self, area: str, shape: BaseGeometry | None) -> bool:
        """Whether this is the area, from its lower left on; none where the projection does not reach."""
        ring = self._ring(*self._box(area))
        return is_outline(shape, shapely.Polygon(ring) if np.isfinite(ring).all() else None)

    def most_tiles_of_bbox(self) -> int | None:
        """Return the squares of the rectangle in the plane that holds the corners of the bbox."""
        if self._bbox is None:
            return None
        west, south, east, north = self._bbox
        x, y = self._to_plane.transform([west, west, east, east], [south, north, south, north])
        if not np.isfinite([x, y]).all():
            return None
        columns, rows = (math.floor(max(v) / self._side) - math.floor(min(v) / self._side) + 1 for v in (x, y))
        return int(columns * rows)

    def locate(self, batch: pa.RecordBatch, usable: BoolArray) -> tuple[IntArray, IntArray, BoolArray]:
        """Return the squares of both ends; points that the projection does not reach have none."""
        ends = [self._squares(batch, end, usable) for end in ("start", "end")]
        return ends[0][0], ends[1][0], ends[0][1] & ends[1][1]

    def centers(self, tiles: IntArray) -> tuple[FloatArray, FloatArray]:
        """Return lon and lat of the centers of squares."""
        nodes = [_node_of_tile(tile) for tile in tiles.tolist()]
        x, y = ([(node[axis] + 0.5) * self._side for node in nodes] for axis in (1, 2))
        lon, lat = self._to_degrees.transform(x, y)
        return np.array(lon, np.float64), np.array(lat, np.float64)

    def bounds(self, tiles: IntArray) -> FloatArray:
        """Return west, south, east and north of squares."""
        corners = [_node_of_tile(tile) for tile in tiles.tolist()]
        rings = [self._ring(x, y, 1, 1) for _, x, y in corners]
        return np.array([[*ring.min(axis=0), *ring.max(axis=0)] for ring in rings], np.float64).reshape(-1, 4)

    def tile(self, area: str) -> int | None:
        """Return the square that an id names, if it is of level 0."""
        if not re.fullmatch(r"q:0/(0|-?[1-9][0-9]{0,8})/(0|-?[1-9][0-9]{0,8})", area):
            return None
        _, x, y = _node(area)
        return (x + FARTHEST << BITS) | (y + FARTHEST) if max(abs(x), abs(y)) < FARTHEST else None

    def all_tiles(self) -> IntArray | None:
        """Return nothing: a tree of squares holds those seen."""
        return None

    def side(self, areas: Sequence[str]) -> Side:
        """Return the areas of one side."""
        nodes = [_WORLD if area == _TOP else _node(area) for area in areas]
        return Side(areas, Climber(nodes, _above, _node_of_tile).holders)

    def extents(self, areas: Sequence[str]) -> Extents:
        """Return areas as boxes of tiles."""
        far = 1 << 60
        boxes = [(-far, -far, 2 * far, 2 * far) if area == _TOP else self._box(area) for area in areas]
        box = np.array(boxes, np.int64).reshape(-1, 4)
        return Spans(box[:, :2], box[:, :2] + box[:, 2:])

    def check_seen(self, side: Side) -> None:
        """Check nothing: an area may be any square that holds the tiles seen in it."""

    def joined(self, _: Ground) -> Squares:
        """Return these squares: ids say all."""
        return self

    def _squares(self, batch: pa.RecordBatch, end: str, usable: BoolArray) -> tuple[IntArray, BoolArray]:
        lon, lat = (batch.column(f"{end}_{axis}").to_numpy(zero_copy_only=False)[usable] for axis in ("lon", "lat"))
        # A list of one point, since pyproj takes an array of one for a number.
        points = [axis.tolist() if len(axis) == 1 else axis for axis in (lon, lat)]
        x, y = (np.array(axis, np.float64) for axis in self._to_plane.transform(points[0], points[1]))
        with np.errstate(invalid="ignore"):
            column, row = np.floor(x / self._side), np.floor(y / self._side)
            good = (np.abs(column) < FARTHEST) & (np.abs(row) < FARTHEST)
        column, row = (np.where(good, part, 0).astype(np.int64) + FARTHEST for part in (column, row))
        tiles, reached = np.zeros(len(usable), np.int64), np.zeros(len(usable), bool)
        tiles[usable] = (column << BITS) | row
        reached[usable] = good
        return tiles, reached

    def _ring(self, x: int, y: int, width: int, height: int) -> FloatArray:
        """Return points along the edges of a rectangle of squares in degrees, from its lower left on."""
        corners = [(0, 0), (1, 0), (1, 1), (0, 1), (0, 0)]
        points = [
            (x + width * (left + (right - left) * step / _STEPS), y + height * (low + (up - low) * step / _STEPS))
            for (left, low), (right, up) in pairwise(corners)
            for step in range(_STEPS)
        ]
        plane = np.array(points) * self._side
        return np.column_stack(self._to_degrees.transform(plane[:, 0], plane[:, 1]))

    def _box(self, area: str) -> tuple[int, int, int, int]:
        """Return the first square of an area, its width and its height in squares."""
        level, x, y = _node(area)
        return x << level, y << level, 1 << level, 1 << level


def _node(area: str) -> Node:
    level, x, y = area.removeprefix("q:").split("/")
    return int(level), int(x), int(y)


def _node_of_tile(tile: int) -> Node:
    return 0, (tile >> BITS) - FARTHEST, (tile & ((1 << BITS) - 1)) - FARTHEST


def _above(node: Node) -> Node | None:
    level, x, y = node
    if node == _WORLD:
        return None
    return _WORLD if level == _HIGHEST else (level + 1, x >> 1, y >> 1)
