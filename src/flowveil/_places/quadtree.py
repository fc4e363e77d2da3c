"""Places on a square grid in meters, joined four by four."""

from __future__ import annotations

import math
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyproj
import shapely

from flowveil._errors import InputError
from flowveil._options import parse_text
from flowveil._places.bbox import box_center, box_shape
from flowveil._places.family import Family, list_areas
from flowveil._places.geodesy import square_kilometers, transform, utm_zone
from flowveil._places.h3index import is_point
from flowveil._places.hierarchy import ROOT, Hierarchy
from flowveil._places.naming import Unnamed
from flowveil._places.places import AreaTable

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt

    from flowveil._arrays import Column, FloatArray, IntArray, KeyArray
    from flowveil._folder import Json
    from flowveil._places.family import Listed, Numbered
    from flowveil._places.naming import Naming
    from flowveil._places.places import BoundingBox

# The largest square of the tree is at least as wide as the Earth's half circumference: a constant, so that the height
# of the tree says nothing about the data.
_WIDEST = 20_000_000.0
BIAS = 1 << 28  # makes coordinates of squares positive; 2**28 squares of 1 m reach past any projected coordinate
AXIS_BITS = 29
_AXIS_SHIFT = np.uint64(AXIS_BITS)
_AXIS_MASK = np.uint64((1 << 29) - 1)
_LEVEL_SHIFT = np.uint64(58)
_EDGE_POINTS = 4  # points a side of an outline, since straight in meters is slightly bent in degrees


class Quadtree:
    """Tiles are squares of `side` meters anchored at 0,0 of a projected CRS; four squares make one of the next level.

    A node's key packs level (0 = tile), x and y; `q:level/x/y` is the square whose lower left corner is
    (x, y) * side * 2**level.
    """

    top = "world"
    by_zone = False
    open = False
    naming: Naming = Unnamed()

    def __init__(self, side: float, bbox: BoundingBox, crs: str | None = None) -> None:
        self.side = side
        self.bbox = bbox
        self.typed_crs = crs
        self.crs = _metric_crs(crs or utm_zone(*box_center(bbox)))
        self.height = max(1, math.ceil(math.log2(_WIDEST / side)))
        self._forward = pyproj.Transformer.from_crs("EPSG:4326", self.crs, always_xy=True)
        # DuckDB calls `index` from threads of its own, in which pyproj crashes: it projects in a thread of Python's.
        self._projector = ThreadPoolExecutor(max_workers=1)
        self._back = pyproj.Transformer.from_crs(self.crs, "EPSG:4326", always_xy=True)
        if not np.isfinite(self._corners_of_bbox()).all():
            raise InputError(
                f"the bbox reaches where {self.crs.to_string()} does not", "give a smaller --bbox or another --crs"
            )

    def __reduce__(self) -> tuple[type[Quadtree], tuple[object, ...], dict[str, bool]]:
        # Projections and threads cannot be sent to another process; they follow from what was typed.
        return Quadtree, (self.side, self.bbox, self.typed_crs), {"open": self.open}

    def index(self, *columns: Column) -> Column:
        """Return the squares of (lon, lat); null where the projection does not reach."""
        lon, lat = (np.asarray(column.to_numpy(zero_copy_only=False), np.float64) for column in columns)
        good = is_point(lon, lat)
        x, y = np.full(len(lon), np.inf), np.full(len(lon), np.inf)
        x[good], y[good] = self._projector.submit(transform, self._forward, lon[good], lat[good]).result()
        with np.errstate(invalid="ignore"):
            squares = [np.floor(axis / self.side) for axis in (x, y)]
            good = (np.abs(squares[0]) < BIAS) & (np.abs(squares[1]) < BIAS)
        first, second = (np.where(good, square, 0).astype(np.int64) for square in squares)
        return pa.array(_pack(0, first, second), mask=~good)

    def hierarchy(self, seen: KeyArray) -> tuple[Hierarchy, IntArray]:
        """Return the tree over the squares seen, up to a fixed height, and the world above it."""
        keys, above = [seen], []
        squares = seen
        for _ in range(self.height):
            level, x, y = unpack(squares)
            up = _pack(int(level[0]) + 1, x >> 1, y >> 1)
            above.append(up)
            squares = np.unique(up)
            keys.append(squares)
        above.append(np.full(len(squares), np.iinfo(np.uint64).max))  # the world, above every square
        all_keys = np.append(np.concatenate(keys), np.uint64(np.iinfo(np.uint64).max))
        parent = np.searchsorted(all_keys, np.concatenate(above))  # levels ascend, so the keys are sorted
        hierarchy, number = Hierarchy.from_parents(np.append(parent, -1), all_keys)
        return hierarchy, number[: len(seen)]

    def family(self, hierarchy: Hierarchy) -> Family:
        """Return the areas of the tree: there are no others."""
        return Family.of(hierarchy)

    def listed(self, hierarchy: Hierarchy, areas: Sequence[str]) -> tuple[Listed, IntArray]:
        """Return the areas with these ids, and the number of each; -1 for one that the trees do not have."""
        return list_areas(self, hierarchy, areas)

    def ids(self, hierarchy: Numbered, nodes: IntArray) -> list[str]:
        """Return `q:level/x/y`, `world` for the root."""
        level, x, y = (part.tolist() for part in unpack(hierarchy.key[nodes]))
        names = [f"q:{a}/{b}/{c}" for a, b, c in zip(level, x, y, strict=True)]
        return [name if node else self.top for name, node in zip(names, nodes.tolist(), strict=True)]

    def describe(self, hierarchy: Numbered, nodes: IntArray) -> AreaTable:
        """Return ids, centers, tiles and outlines of nodes."""
        lon, lat = self.centers(hierarchy, nodes)
        tiles = self._tile_counts(hierarchy, nodes)
        return AreaTable(self.ids(hierarchy, nodes), lon, lat, tiles, None, self._shapes(hierarchy, nodes))

    def centers(self, hierarchy: Numbered, nodes: IntArray) -> tuple[FloatArray, FloatArray]:
        """Return the centers of squares; the world's is that of the bbox."""
        west, south, width, height = self._corners(hierarchy, nodes)
        lon, lat = transform(self._back, west + width / 2, south + height / 2)
        lon[nodes == ROOT], lat[nodes == ROOT] = box_center(self.bbox)
        good = np.isfinite(lon) & np.isfinite(lat)
        return np.where(good, lon, np.nan), np.where(good, lat, np.nan)

    def square_kilometers(self, hierarchy: Numbered, nodes: IntArray) -> FloatArray:
        """Return the ellipsoidal size of the outlines."""
        return square_kilometers(self._shapes(hierarchy, nodes))

    def sizes(self, hierarchy: Numbered, nodes: IntArray) -> FloatArray:
        """Return all tiles of squares, seen or not; the world's are those of the bbox."""
        return self._tile_counts(hierarchy, nodes).astype(np.float64)

    def settings(self) -> dict[str, Json]:
        """Return grid and CRS; the CRS follows from the bbox when it was not typed."""
        typed = {"grid": f"quadtree:{_number(self.side)}", "hierarchy": "quadtree", "crs": self.crs.to_string()}
        return typed | self.naming.settings()

    def report(self) -> list[str]:
        """Say which CRS was chosen when none was typed."""
        return [] if self.typed_crs else [f"squares are laid out in {self.crs.to_string()}, the UTM zone of the bbox"]

    def _tile_counts(self, hierarchy: Numbered, nodes: IntArray) -> IntArray:
        level, _, _ = unpack(hierarchy.key[nodes])
        return np.where(nodes == ROOT, self._tiles_of_bbox(), 4 ** np.where(nodes == ROOT, 0, level))

    def _corners(self, hierarchy: Numbered, nodes: IntArray) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
        """Return the lower left corners of nodes, their widths and heights, in meters."""
        level, x, y = unpack(hierarchy.key[nodes])
        width = self.side * 2.0 ** np.where(nodes == ROOT, 0, level)
        return x * width, y * width, width, width

    def _shapes(self, hierarchy: Numbered, nodes: IntArray) -> npt.NDArray[np.object_]:
        west, south, width, height = self._corners(hierarchy, nodes)
        along = np.arange(_EDGE_POINTS) / _EDGE_POINTS
        ring_x = np.concatenate([along, np.ones(_EDGE_POINTS), 1 - along, np.zeros(_EDGE_POINTS)])
        ring_y = np.concatenate([np.zeros(_EDGE_POINTS), along, np.ones(_EDGE_POINTS), 1 - along])
        lon, lat = transform(
            self._back, west[:, None] + width[:, None] * ring_x, south[:, None] + height[:, None] * ring_y
        )
        shapes = np.full(len(nodes), None, object)
        for row in range(len(nodes)):
            if nodes[row] == ROOT:
                shapes[row] = box_shape(self.bbox)
            elif np.isfinite(lon[row]).all() and np.isfinite(lat[row]).all():
                shapes[row] = shapely.Polygon(np.column_stack([lon[row], lat[row]]))
        return shapes

    def _corners_of_bbox(self) -> tuple[list[float], list[float]]:
        west, south, east, north = self.bbox
        x, y = self._forward.transform([west, west, east, east], [south, north, south, north])
        return x, y

    def _tiles_of_bbox(self) -> int:
        """Return the tiles of the rectangle of squares that holds the four corners of the bbox."""
        spans = [math.floor(max(v) / self.side) - math.floor(min(v) / self.side) + 1 for v in self._corners_of_bbox()]
        return int(spans[0] * spans[1])


def _metric_crs(name: str) -> pyproj.CRS:
    hint = "name a projected CRS in meters by its code, e.g. --crs EPSG:32610"
    try:
        crs = pyproj.CRS.from_user_input(parse_text(name, "crs", "EPSG:32610"))
    except pyproj.exceptions.CRSError:
        raise InputError(f"there is no CRS {name!r}", hint) from None
    authority = crs.to_authority()
    if authority is None:
        raise InputError(f"the CRS {name!r} has no code of an authority", hint)
    crs = pyproj.CRS.from_authority(*authority)  # what the manifest will name, to the last parameter
    if not crs.is_projected or any(axis.unit_conversion_factor != 1 for axis in crs.axis_info):
        raise InputError(f"the CRS {name!r} is not a plane in meters", hint)
    return crs


def _number(side: float) -> str:
    """Write a number of meters so that it reads back the same."""
    return str(int(side)) if side == int(side) else repr(side)


def _pack(level: int, x: IntArray, y: IntArray) -> KeyArray:
    biased = [(axis + BIAS).astype(np.uint64) for axis in (x, y)]
    return (np.uint64(level) << _LEVEL_SHIFT) | (biased[0] << _AXIS_SHIFT) | biased[1]


def unpack(keys: KeyArray) -> tuple[IntArray, IntArray, IntArray]:
    level = (keys >> _LEVEL_SHIFT).astype(np.int64)
    x = ((keys >> _AXIS_SHIFT) & _AXIS_MASK).astype(np.int64) - BIAS
    y = (keys & _AXIS_MASK).astype(np.int64) - BIAS
    return level, x, y
