"""The ground that areas lie on, as spots: small squares, finer where the outlines of areas run."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import shapely

from flowveil._places import boxes_of_ids, places_of_points

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import numpy.typing as npt

    from flowveil._arrays import FloatArray, IntArray

    Holding = Callable[[FloatArray, FloatArray], tuple[IntArray, IntArray]]  # points to (shape, point) pairs

_FIRST = 48  # squares along the longer side of the ground, before any is divided
_FINE = 0.25  # of the width of a small area: squares so small are not divided
_SMALL = 0.05  # the share of areas that may be smaller than what is called small


@dataclass(frozen=True, eq=False)
class Ground:
    """Spots, and which of them each shape holds."""

    lon: FloatArray  # middle of a spot
    lat: FloatArray
    wide: FloatArray  # degrees of longitude; 0 for a spot that is a point
    high: FloatArray  # degrees of latitude
    size: FloatArray  # square degrees at the latitude of the ground
    shape: IntArray  # (shape, spot) by shape: which spots each holds
    spot: IntArray


def lay_ground(shapes: npt.NDArray[np.object_], holding: Holding, most: int) -> Ground:
    """Cover shapes with squares, divided in four where an outline runs through, and list the squares of each shape.

    most: squares, after which none is divided. holding: tells which shapes hold which points. A shape that holds the
    middle of no square gets a spot of its own, a point inside it.
    """
    west, south, east, north = shapely.total_bounds(shapes)
    stretch = 1 / max(np.cos(np.radians((south + north) / 2)), 0.01)  # degrees of longitude a degree of latitude
    lon, lat, high = _squares(shapes, (west, south, east, north), stretch, most)
    wide = high * stretch
    shape, spot = holding(lon, lat)
    lost = np.setdiff1d(np.arange(len(shapes)), shape)
    points = shapely.point_on_surface(shapes[lost])
    first = len(lon)
    lon, lat = np.append(lon, shapely.get_x(points)), np.append(lat, shapely.get_y(points))
    wide, high = (np.append(length, np.zeros(len(lost))) for length in (wide, high))
    size = wide * high / stretch
    size[first:] = shapely.area(shapes[lost]) / stretch
    if len(lost):  # other shapes hold these points too
        more, new = holding(lon[first:], lat[first:])
        shape, spot = np.append(shape, more), np.append(spot, first + new)
    own, at = np.unique(
        np.column_stack([np.append(shape, lost), np.append(spot, first + np.arange(len(lost)))]), axis=0
    ).T
    used, at = np.unique(at, return_inverse=True)
    return Ground(lon[used], lat[used], wide[used], high[used], size[used], own, at)


def holding_shapes(shapes: npt.NDArray[np.object_]) -> Holding:
    """Return what tells which shapes hold points."""

    def find(lon: FloatArray, lat: FloatArray) -> tuple[IntArray, IntArray]:
        points = np.asarray(shapely.points(lon, lat), object)
        shape, point = shapely.STRtree(points).query(shapes, predicate="intersects")
        return shape.astype(np.int64), point.astype(np.int64)

    return find


def holding_cells(areas: Sequence[str], resolution: int) -> Holding:
    """Return what tells which areas of an H3 grid hold points: cells of which they are made reach out of outlines."""
    on_lattice = any(area.startswith("l:") for area in areas)
    low, high = boxes_of_ids(areas, resolution)
    boxes = shapely.box(low[:, 1] - 0.5, low[:, 2] - 0.5, high[:, 1] - 0.5, high[:, 2] - 0.5)

    def find(lon: FloatArray, lat: FloatArray) -> tuple[IntArray, IntArray]:
        place = places_of_points(lon, lat, resolution, on_lattice=on_lattice)
        points = np.asarray(shapely.points(place[:, 1].astype(np.float64), place[:, 2].astype(np.float64)), object)
        tree = shapely.STRtree(points)
        area, point = (found.astype(np.int64) for found in tree.query(boxes))
        same = (low[area, 0] <= place[point, 0]) & (place[point, 0] < high[area, 0])
        return area[same], point[same]

    return find


def _squares(
    shapes: npt.NDArray[np.object_], bounds: tuple[float, float, float, float], stretch: float, most: int
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return the middles of squares and their heights."""
    west, south, east, north = bounds
    side = max((east - west) / stretch, north - south, 1e-9) / _FIRST
    columns, rows = (max(int(np.ceil(length / side - 1e-9)), 1) for length in ((east - west) / stretch, north - south))
    column, row = (axis.ravel() for axis in np.meshgrid(np.arange(columns), np.arange(rows), indexing="ij"))
    lon = np.asarray(west + (column + 0.5) * side * stretch, np.float64)
    lat = np.asarray(south + (row + 0.5) * side, np.float64)
    fine = _FINE * np.sqrt(np.quantile(shapely.area(shapes) / stretch, _SMALL))
    lines = shapely.STRtree(shapely.boundary(shapes))
    done: list[tuple[FloatArray, FloatArray, float]] = []
    count = 0
    while side > fine:
        half = side / 2
        boxes = shapely.box(lon - half * stretch, lat - half, lon + half * stretch, lat + half)
        crossed = np.zeros(len(lon), bool)
        crossed[np.unique(lines.query(boxes, predicate="intersects")[0])] = True
        if count + len(lon) + 3 * int(crossed.sum()) > most or not crossed.any():
            break
        count += int((~crossed).sum())
        done.append((lon[~crossed], lat[~crossed], float(side)))
        east_of, north_of = (
            np.tile(signs, int(crossed.sum())) * half / 2 for signs in ([-1, -1, 1, 1], [-1, 1, -1, 1])
        )
        lon = np.asarray(np.repeat(lon[crossed], 4) + east_of * stretch, np.float64)
        lat = np.asarray(np.repeat(lat[crossed], 4) + north_of, np.float64)
        side = half
    done.append((lon, lat, float(side)))
    high = np.concatenate([np.full(len(part[0]), part[2]) for part in done])
    return np.concatenate([part[0] for part in done]), np.concatenate([part[1] for part in done]), high
