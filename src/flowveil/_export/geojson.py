"""GeoJSON: areas as outlines, flows as straight lines between their centers; of trajectories, boxes."""

from __future__ import annotations

import json
from datetime import datetime
from typing import TYPE_CHECKING

import shapely

from flowveil._export.tables import as_moment

if TYPE_CHECKING:
    from pathlib import Path

    from flowveil._export.tables import Tables
    from flowveil._folder import Json

_DIGITS = 7  # of a degree: a centimeter


def write(tables: Tables, folder: Path) -> int:
    """Write areas.geojson and flows.geojson; what has no place on the map has a null geometry, as the format allows."""
    if tables.kind == "trajectories":
        return _write_boxes(tables, folder)
    tables.check_places()
    areas = tables.areas.to_pylist()
    outlines = [
        feature(outline(row["geometry"]), {name: row[name] for name in ("area", "name", "lon", "lat", "tiles")})
        for row in areas
    ]
    write_features(folder / "areas.geojson", outlines)
    center = {row["area"]: None if row["lon"] is None else [row["lon"], row["lat"]] for row in areas}
    lines = [feature(_line(center[row["origin"]], center[row["destination"]]), row) for row in tables.flows.to_pylist()]
    write_features(folder / "flows.geojson", lines)
    return int(tables.flows.num_rows)


def _write_boxes(tables: Tables, folder: Path) -> int:
    """Write trajectories.geojson: the box of each sample, with all columns."""
    west, south, east, north = (tables.rows[name].to_numpy() for name in ("lon0", "lat0", "lon1", "lat1"))
    boxes = shapely.box(west, south, east, north)
    samples = zip([shapely.to_wkb(box) for box in boxes], tables.rows.to_pylist(), strict=True)
    write_features(folder / "trajectories.geojson", [feature(outline(box), row) for box, row in samples])
    return int(tables.rows.num_rows)


def outline(geometry: bytes | None) -> dict[str, Json] | None:
    """Return an outline as GeoJSON."""
    if geometry is None:
        return None
    shape: dict[str, Json] = json.loads(shapely.to_geojson(shapely.from_wkb(geometry)))
    return {"type": shape["type"], "coordinates": _rounded(shape["coordinates"])}


def feature(geometry: dict[str, Json] | None, properties: dict[str, Json]) -> dict[str, Json]:
    """Return one feature."""
    plain = {name: as_moment(value) if isinstance(value, datetime) else value for name, value in properties.items()}
    return {"type": "Feature", "geometry": geometry, "properties": plain}


def write_features(path: Path, features: list[dict[str, Json]]) -> None:
    """Write one feature a line."""
    body = ",\n".join(json.dumps(item, ensure_ascii=False, allow_nan=False) for item in features)
    path.write_text(f'{{"type": "FeatureCollection", "features": [\n{body}\n]}}\n', encoding="utf-8")


def _line(start: list[float] | None, end: list[float] | None) -> dict[str, Json] | None:
    if start is None or end is None:
        return None
    return {"type": "LineString", "coordinates": [_rounded(start), _rounded(end)]}


def _rounded(value: Json) -> Json:
    return [_rounded(part) for part in value] if isinstance(value, list) else round(value, _DIGITS)
