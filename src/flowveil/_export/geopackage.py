"""GeoPackage: two layers, areas as outlines and flows as lines; of zones, a table of the zones of each area."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa
import shapely

from flowveil._errors import InputError

if TYPE_CHECKING:
    from pathlib import Path

    from shapely.geometry.base import BaseGeometry

    from flowveil._arrays import Column
    from flowveil._export.tables import Tables


def write(tables: Tables, path: Path) -> int:
    """Write the layers `areas` and `flows`, and the table `members`; what has no place has a null geometry."""
    try:
        import pyogrio  # noqa: PLC0415  an extra
        from pyogrio.errors import DataLayerError, DataSourceError  # noqa: PLC0415  an extra
    except ImportError:
        raise InputError("a GeoPackage needs the package pyogrio", "pip install 'flowveil[export]'") from None
    tables.check_places()
    tables.check_groups("geometry", "fid")
    areas = tables.areas.to_pylist()
    shapes = [None if row["geometry"] is None else shapely.from_wkb(row["geometry"]) for row in areas]
    layer = tables.areas.select(["area", "name", "lon", "lat", "tiles"]).append_column("geometry", _wkb(shapes))
    center = {row["area"]: None if row["lon"] is None else (row["lon"], row["lat"]) for row in areas}
    ends = zip(*(tables.flows[side].to_pylist() for side in ("origin", "destination")), strict=True)
    lines = [_line(center[origin], center[destination]) for origin, destination in ends]
    flows = tables.flows.append_column("geometry", _wkb(lines))
    named = path.with_name("layers.gpkg")  # GDAL warns about other endings
    try:
        for name, table, kind in (("areas", layer, "MultiPolygon"), ("flows", flows, "LineString")):
            pyogrio.write_arrow(
                table.replace_schema_metadata(None),
                named,
                layer=name,
                driver="GPKG",
                geometry_name="geometry",
                geometry_type=kind,
                crs="EPSG:4326",
                append=named.exists(),
            )
        if (members := tables.members) is not None:
            pyogrio.write_arrow(members, named, layer="members", driver="GPKG", append=True)
    except (DataLayerError, DataSourceError) as error:  # of a disk that is full it says what failed next
        raise InputError(f"the GeoPackage cannot be written: {error}", "check that the disk has room") from None
    named.rename(path)
    return int(tables.flows.num_rows)


def _wkb(shapes: list[BaseGeometry | None]) -> Column:
    whole = [
        shapely.multipolygons([shape]) if shape is not None and shape.geom_type == "Polygon" else shape
        for shape in shapes
    ]
    return pa.array([None if shape is None else shapely.to_wkb(shape) for shape in whole], pa.binary())


def _line(start: tuple[float, float] | None, end: tuple[float, float] | None) -> BaseGeometry | None:
    return None if start is None or end is None else shapely.linestrings([start, end])
