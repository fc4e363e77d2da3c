"""Distances and sizes on the WGS 84 ellipsoid."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

import numpy as np
import pyproj
import shapely

if TYPE_CHECKING:
    import numpy.typing as npt

    from flowveil._arrays import FloatArray


@cache
def _ellipsoid() -> pyproj.Geod:
    return pyproj.Geod(ellps="WGS84")


def square_kilometers(shapes: npt.NDArray[np.object_]) -> FloatArray:
    """Return the geodesic size of each shape in degrees, NaN for None.

    Rings may run either way: what an inner ring encloses is taken away, and the parts of a shape add up.
    """
    sizes = [np.nan if shape is None else sum(map(_square_meters, _polygons(shape))) / 1e6 for shape in shapes]
    return np.array(sizes, np.float64)


def _polygons(shape: shapely.Geometry) -> list[shapely.Polygon]:
    """Return the polygons that a shape is or is made of, one inside the other."""
    if isinstance(shape, shapely.Polygon):
        return [shape]
    return [polygon for part in getattr(shape, "geoms", ()) for polygon in _polygons(part)]


def _square_meters(polygon: shapely.Polygon) -> float:
    outer, *inner = (
        abs(_ellipsoid().geometry_area_perimeter(ring)[0]) for ring in (polygon.exterior, *polygon.interiors)
    )
    return float(outer - sum(inner))


def meters_between(lon: FloatArray, lat: FloatArray, other_lon: FloatArray, other_lat: FloatArray) -> FloatArray:
    """Return geodesic distances point by point, NaN where a coordinate is."""
    distance = np.full(len(lon), np.nan)
    good = np.isfinite(lon) & np.isfinite(lat) & np.isfinite(other_lon) & np.isfinite(other_lat)
    first, last = (_plain(lon[good]), _plain(lat[good])), (_plain(other_lon[good]), _plain(other_lat[good]))
    _, _, distance[good] = _ellipsoid().inv(*first, *last)
    return distance


def utm_zone(lon: float, lat: float) -> str:
    """Return the EPSG code of the UTM zone (WGS 84) that holds a point."""
    zone = min(int((lon + 180) // 6) + 1, 60)
    return f"EPSG:{(32600 if lat >= 0 else 32700) + zone}"


def to_meters(lon: FloatArray, lat: FloatArray) -> FloatArray:
    """Project points to a plane in meters (Lambert azimuthal equal-area around their middle), one row a point."""
    middle_lon, middle_lat = (float(v.min() + v.max()) / 2 for v in (lon, lat))
    plane = pyproj.CRS.from_dict({"proj": "laea", "lon_0": middle_lon, "lat_0": middle_lat, "datum": "WGS84"})
    return np.column_stack(transform(pyproj.Transformer.from_crs("EPSG:4326", plane, always_xy=True), lon, lat))


def transform(transformer: pyproj.Transformer, x: FloatArray, y: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Transform points, in arrays of any shape."""
    u, v = transformer.transform(_plain(x), _plain(y))
    return np.asarray(u, np.float64).reshape(x.shape), np.asarray(v, np.float64).reshape(x.shape)


def _plain(values: FloatArray) -> FloatArray | float:
    """Return one value as a number: pyproj converts arrays of one itself, in a way that NumPy is about to forbid."""
    return float(values.item()) if values.size == 1 else values
