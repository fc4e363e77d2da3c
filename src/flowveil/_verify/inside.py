"""Which zone a point lies in, by crossings of a ray: in doubles where these are sure, else in fractions.

A point is in the first zone, by rank, whose outline holds it: a ray to the east crosses the outline an odd number of
times, or the point is on it.
"""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np
import shapely

from flowveil._verify.forest import NONE

if TYPE_CHECKING:
    import numpy.typing as npt
    from shapely.geometry.base import BaseGeometry

    from flowveil._arrays import BoolArray, FloatArray, IntArray

_DOUBT = 1e-15  # of the two products of a cross product: a difference below that may have any sign
_MOST_PAIRS = 4_000_000  # of points and edges that are looked at together, to bound memory


class Outlines:
    """Zones by their edges."""

    def __init__(self, geometry: npt.NDArray[np.object_]) -> None:
        self._edges = {rank: _edges(shape) for rank, shape in enumerate(geometry) if _covers_ground(shape)}

    def locate(self, lon: FloatArray, lat: FloatArray) -> IntArray:
        """Return the rank of the zone of each point, -1 for none."""
        rank = np.full(len(lon), NONE, np.int64)
        order = np.argsort(lat, kind="stable")
        y = lat[order]
        for zone, edges in self._edges.items():
            low, high = edges[:, 1].min(), edges[:, 3].max()
            some = order[np.searchsorted(y, low, "left") : np.searchsorted(y, high, "right")]
            west, east = edges[:, [0, 2]].min(), edges[:, [0, 2]].max()
            some = some[(rank[some] == NONE) & (lon[some] >= west) & (lon[some] <= east)]
            if len(some):
                rank[some[_inside(edges, lon[some], lat[some])]] = zone
        return rank


def _covers_ground(shape: BaseGeometry | None) -> bool:
    return shape is not None and shape.geom_type in ("Polygon", "MultiPolygon") and not shape.is_empty


def _edges(shape: BaseGeometry) -> FloatArray:
    """Return x and y of both ends of all edges, the lower end first."""
    parts = []
    for ring in shapely.get_rings(shapely.get_parts(shape)):
        points = shapely.get_coordinates(ring)
        edges = np.hstack([points[:-1], points[1:]])
        down = edges[:, 1] > edges[:, 3]
        edges[down] = edges[down][:, [2, 3, 0, 1]]
        parts.append(edges)
    return np.concatenate(parts)


def _inside(edges: FloatArray, x: FloatArray, y: FloatArray) -> BoolArray:
    """Whether points, which are sorted by y, lie inside edges or on them."""
    first, last = np.searchsorted(y, edges[:, 1], "left"), np.searchsorted(y, edges[:, 3], "right")
    if (last - first).sum() > _MOST_PAIRS and len(x) > 1:
        half = len(x) // 2
        return np.concatenate([_inside(edges, x[:half], y[:half]), _inside(edges, x[half:], y[half:])])
    length = last - first
    edge = np.repeat(np.arange(len(edges)), length)
    point = np.arange(len(edge)) - np.repeat(np.cumsum(length) - length, length) + np.repeat(first, length)
    x1, y1, x2, y2 = edges[edge].T
    left, right = (x2 - x1) * (y[point] - y1), (x[point] - x1) * (y2 - y1)
    unsure = np.abs(left - right) <= _DOUBT * (np.abs(left) + np.abs(right))
    near = (np.minimum(x1, x2) <= x[point]) & (x[point] <= np.maximum(x1, x2))
    crossed = (left > right) & (y[point] < y2)
    inside: BoolArray = np.bincount(point[crossed], minlength=len(x)) % 2 == 1
    for doubtful in np.unique(point[unsure & near]).tolist():
        of_point = edges[edge[point == doubtful]]
        inside[doubtful] = _is_inside(of_point, float(x[doubtful]), float(y[doubtful]))
    return inside


def _is_inside(edges: FloatArray, x: float, y: float) -> bool:
    """Whether a point lies inside edges or on one of them, without rounding."""
    is_odd = False
    east, north = Fraction(x), Fraction(y)
    for x1, y1, x2, y2 in (tuple(map(Fraction, edge)) for edge in edges.tolist()):
        cross = (x2 - x1) * (north - y1) - (east - x1) * (y2 - y1)
        if cross == 0 and min(x1, x2) <= east <= max(x1, x2) and y1 <= north <= y2:
            return True
        is_odd ^= cross > 0 and y1 <= north < y2
    return is_odd
