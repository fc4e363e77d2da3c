"""Rectangles in degrees, in place of nodes of a tree.

Bounds: whole ten-millionths of a degree (a centimeter): a tile's center lies in a rectangle or not, without rounding.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import shapely

from flowveil._errors import InputError
from flowveil._places.geodesy import square_kilometers
from flowveil._places.places import AreaTable

if TYPE_CHECKING:
    import numpy.typing as npt

    from flowveil._arrays import BoolArray, FloatArray, IntArray
    from flowveil._places.hierarchy import Hierarchy
    from flowveil._places.places import BoundingBox, Places

UNIT = 10_000_000  # parts of a degree
_GLOBE = (-180.0, -90.0, 180.0, 90.0)


@dataclass(frozen=True, eq=False)
class Rectangles:
    """Rectangles inside a frame, numbered by their bounds: west, south, east, north, one row each.

    One holds the points above its west and south up to its east and north, these included; on the frame all are.
    """

    bounds: IntArray
    frame: IntArray  # west, south, east, north
    closed: bool  # the frame is a bbox; otherwise it is the globe, and a side on it is open

    def __len__(self) -> int:
        return len(self.bounds)

    @property
    def is_open(self) -> BoolArray:
        """Which rectangles have a side without a bound."""
        beyond: BoolArray = (self.bounds == self.frame).any(axis=1)
        return beyond & (not self.closed)

    def hold(self, points: IntArray) -> tuple[IntArray, IntArray]:
        """Return all pairs (number of a rectangle, number of a point inside it), sorted; points have rows lon, lat."""
        tree = shapely.STRtree(shapely.points(points[0], points[1]))
        box, point = tree.query(shapely.box(*self.bounds.T))
        inside = np.ones(len(box), bool)
        for axis in range(2):
            low = self.bounds[box, axis]
            inside &= (points[axis][point] > low) | (low == self.frame[axis])
        box, point = box[inside], point[inside]
        order = np.lexsort((point, box))
        return box[order], point[order]

    def part(self, numbers: IntArray) -> Rectangles:
        """Return some of the rectangles."""
        return Rectangles(self.bounds[numbers], self.frame, self.closed)


def make_frame(bbox: BoundingBox | None) -> IntArray:
    """Return the bounds of everything: those of a bbox, or the globe's."""
    frame: IntArray = np.rint(np.array(bbox or _GLOBE) * UNIT).astype(np.int64)
    return frame


def tile_points(places: Places, hierarchy: Hierarchy, nodes: IntArray, frame: IntArray) -> IntArray:
    """Return the centers of tiles as whole numbers, rows lon and lat; one outside the frame is moved to its edge.

    In the west and south that is a hair inside: a rectangle that ends on these edges would have no width.
    """
    distinct, position = np.unique(nodes, return_inverse=True)
    lon, lat = places.centers(hierarchy, distinct)
    if not (np.isfinite(lon) & np.isfinite(lat)).all():
        raise InputError("a zone has no centre", "rectangles need lon and lat columns or a geometry for every zone")
    points = np.rint(np.stack([lon, lat]) * UNIT).astype(np.int64)
    inside: IntArray = np.clip(points, frame[:2, None] + 1, frame[2:, None])[:, position]
    return inside


def tile_bounds(places: Places, hierarchy: Hierarchy, nodes: IntArray, frame: IntArray) -> IntArray:
    """Return the smallest rectangle inside the frame around each tile and its center, one row a tile.

    A zone without a shape is its center; a rectangle is open in the west and south, so it starts a hair before that.
    """
    distinct, position = np.unique(nodes, return_inverse=True)
    points = tile_points(places, hierarchy, distinct, frame)
    edges = shapely.bounds(places.describe(hierarchy, distinct).geometry).T * UNIT  # NaN without a shape
    low = np.fmin(np.floor(edges[:2]), points - 1).astype(np.int64)
    high = np.fmax(np.ceil(edges[2:]), points).astype(np.int64)
    low = np.clip(low, frame[:2, None], frame[2:, None] - 1)
    high = np.maximum(np.clip(high, frame[:2, None], frame[2:, None]), low + 1)
    around: IntArray = np.concatenate([low, high]).T[position]
    return around


@dataclass(frozen=True, eq=False)
class RectangleAreas:
    """Rectangles as areas of one axis."""

    rectangles: Rectangles
    places: Places
    hierarchy: Hierarchy

    def ids(self, numbers: IntArray) -> list[str]:
        """Return `r:N`."""
        return [f"r:{number}" for number in numbers.tolist()]

    def tiles(self, numbers: IntArray) -> IntArray:
        """Return how many tiles of the axis have their center in each rectangle."""
        return np.array([len(inside) for inside in self.inside(numbers)], np.int64)

    def describe(self, numbers: IntArray) -> AreaTable:
        """Return ids, centers, outlines, and for zones the members; tiles of a grid are not counted."""
        lon, lat = self.centers(numbers)
        members: list[list[str] | None] | None = None
        tiles = np.full(len(numbers), -1, np.int64)
        if self.places.by_zone:
            inside = self.inside(numbers)
            names = self.places.describe(self.hierarchy, self._leaves).members or []
            members = [sorted(name for tile in own.tolist() for name in names[tile] or []) for own in inside]
            tiles = np.array([len(own) for own in inside], np.int64)
        return AreaTable(self.ids(numbers), lon, lat, tiles, members, self._shapes(numbers))

    def centers(self, numbers: IntArray) -> tuple[FloatArray, FloatArray]:
        """Return the middles of rectangles; one with an open side has none."""
        some = self.rectangles.part(numbers)
        middle = (some.bounds[:, :2] + some.bounds[:, 2:]) / (2 * UNIT)
        middle[some.is_open] = np.nan
        return middle[:, 0], middle[:, 1]

    def square_kilometers(self, numbers: IntArray) -> FloatArray:
        """Return the size of rectangles on the ellipsoid; one with an open side has none."""
        sizes = square_kilometers(self._shapes(numbers))
        return np.where(self.rectangles.part(numbers).is_open, np.nan, sizes)

    def inside(self, numbers: IntArray) -> list[IntArray]:
        """Return for each rectangle which leaves lie in it, as places in the list of leaves."""
        points = tile_points(self.places, self.hierarchy, self._leaves, self.rectangles.frame)
        box, point = self.rectangles.part(numbers).hold(points)
        return np.split(point, np.searchsorted(box, np.arange(1, len(numbers))))

    @property
    def _leaves(self) -> IntArray:
        return np.flatnonzero(self.hierarchy.is_leaf)

    def _shapes(self, numbers: IntArray) -> npt.NDArray[np.object_]:
        edges = self.rectangles.bounds[numbers] / UNIT
        return np.asarray(shapely.box(edges[:, 0], edges[:, 1], edges[:, 2], edges[:, 3]), object)
