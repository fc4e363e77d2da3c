"""GeoParquet metadata: valid, and nothing in it that is not public."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyproj
import shapely

from flowveil.verify._broken import broken, shown
from flowveil.verify._json import only_keys, parse_json

if TYPE_CHECKING:
    import numpy.typing as npt

_COLUMN_KEYS = {"crs", "bbox", "edges", "orientation"}
_TYPES = {"Point", "LineString", "Polygon", "MultiPoint", "MultiLineString", "MultiPolygon", "GeometryCollection"}
_TOLERANCE = 1e-7  # degrees: about a centimeter


def read_shapes(geometry: list[bytes | None]) -> npt.NDArray[np.object_]:
    """Return the shapes of areas."""
    shapes = np.full(len(geometry), None, object)
    try:
        shapes[:] = shapely.from_wkb(geometry)
    except (shapely.errors.ShapelyError, TypeError, ValueError):
        raise broken("a geometry of areas.parquet is not WKB") from None
    for shape in shapes:
        if shape is not None and not np.isfinite(shapely.get_coordinates(shape)).all():
            raise broken("a geometry of areas.parquet is not finite")
    return shapes


def check_geo(data: bytes, shapes: npt.NDArray[np.object_]) -> None:
    """Check the `geo` metadata of areas.parquet against the shapes."""
    where = "the GeoParquet metadata"
    try:
        geo = parse_json(data)
    except ValueError as error:
        raise broken(f"{where} cannot be read: {shown(error)}") from None
    only_keys(geo, where, {"version", "primary_column", "columns"})
    if geo["primary_column"] != "geometry" or not str(geo["version"]).startswith("1."):
        raise broken(f"{where} is not of version 1 with the primary column 'geometry'")
    only_keys(geo["columns"], where, {"geometry"})
    column = geo["columns"]["geometry"]
    only_keys(column, where, {"encoding", "geometry_types"}, _COLUMN_KEYS)
    if column["encoding"] != "WKB":
        raise broken(f"{where} does not say WKB")
    _check_types(column["geometry_types"], shapes)
    if column.get("edges", "planar") not in ("planar", "spherical"):
        raise broken(f"{where} has unknown edges")
    if column.get("orientation", "counterclockwise") != "counterclockwise":
        raise broken(f"{where} has an unknown orientation")
    if "crs" in column and not _is_degrees(column["crs"]):
        raise broken(f"{where} has a CRS other than longitude and latitude")
    if "bbox" in column and not _is_box(column["bbox"], shapes):
        raise broken(f"{where} has a bbox that is not that of the published areas")


def _check_types(types: Any, shapes: npt.NDArray[np.object_]) -> None:
    if not isinstance(types, list) or not all(
        isinstance(kind, str) and kind.removesuffix(" Z") in _TYPES for kind in types
    ):
        raise broken("the GeoParquet metadata has unknown geometry types")
    listed = {kind.removesuffix(" Z") for kind in types}
    if listed and {shape.geom_type for shape in shapes if shape is not None} - listed:
        raise broken("the GeoParquet metadata does not list the geometry types that occur")


def _is_degrees(crs: Any) -> bool:
    if not isinstance(crs, dict):
        return False
    try:
        return bool(pyproj.CRS.from_json_dict(crs).equals("OGC:CRS84", ignore_axis_order=True)) and "remarks" not in crs
    except (pyproj.exceptions.CRSError, TypeError, ValueError):
        return False


def _is_box(box: Any, shapes: npt.NDArray[np.object_]) -> bool:
    if not isinstance(box, list) or len(box) != 4 or not all(type(edge) in (int, float) for edge in box):
        return False
    edges = np.array([float(edge) for edge in box])
    return bool(np.allclose(edges, shapely.total_bounds(shapes), rtol=0, atol=_TOLERANCE))
