"""Releases as frames of pandas and geopandas, which are not needed otherwise."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import shapely

from flowveil._arrays import texts
from flowveil._errors import InputError
from flowveil._folder import AREAS, FLOWS, SIDES, Kind
from flowveil._options import parse_choice
from flowveil._reading.boxes import flows_of_boxes

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import TypeAlias

    import geopandas as gpd
    import numpy.typing as npt
    import pandas as pd

    from flowveil._folder import Files

    Shapes: TypeAlias = Mapping[str, Mapping[str, shapely.Geometry | None]]  # by column of places, by id


def as_pandas(table: pa.Table) -> pd.DataFrame:
    """Return a table as a frame."""
    try:
        import pandas as pd  # noqa: PLC0415, F401  an extra of readers
    except ImportError:
        raise InputError("a frame needs the package pandas", "pip install pandas; the tables are pyarrow's") from None
    frame: pd.DataFrame = table.to_pandas()
    return frame


def flows_frame(files: Files) -> pd.DataFrame:
    """Return the main table of a release; flows with the names of their ends beside the ids."""
    table = files.tables[files.kind.tables[0]]
    return as_pandas(name_ends(table, files.tables[AREAS]) if FLOWS in files.tables else table)


def name_ends(flows: pa.Table, areas: pa.Table) -> pa.Table:
    """Return flows with the name of each end beside its id, where areas have names."""
    named = areas["name"].to_pylist() if "name" in areas.column_names else []
    name_of = dict(zip(texts(areas["area"]), named, strict=False))
    for side in SIDES if any(name_of.values()) else ():
        title = f"{side}_name"
        if title not in flows.column_names:
            names = pa.array([name_of.get(area) for area in texts(flows[side])], pa.string())
            flows = flows.add_column(flows.column_names.index(side) + 1, title, names)
    return flows


def geo_frame(files: Files, layer: str) -> gpd.GeoDataFrame:
    """Return a layer of a release: "flows" as lines between centers, or "areas" as outlines; trajectories as boxes."""
    parse_choice(layer, "layer", ("flows", "areas"))
    if files.kind is Kind.TRAJECTORIES:
        table = files.tables[files.kind.tables[0]]
        return _on_map(table, _boxes(table))
    flows, areas = flows_and_areas(files)
    if layer == "areas":
        shapes = shapely.from_wkb(np.array(areas["geometry"].to_pylist(), object))
        return _on_map(areas.drop_columns(["geometry"]), shapes)
    return shaped_frame(name_ends(flows, areas), centers(areas))


def flows_and_areas(files: Files) -> tuple[pa.Table, pa.Table]:
    """Return flows and areas; boxes are areas too."""
    return flows_of_boxes(files) if files.kind is Kind.CELLS else (files.tables[FLOWS], files.tables[AREAS])


def shaped_frame(table: pa.Table, shapes: Shapes) -> gpd.GeoDataFrame:
    """Return a table as a frame: with the shape that its only column of places has, or lines between two points."""
    ends = [np.array([places.get(name) for name in texts(table[column])], object) for column, places in shapes.items()]
    return _on_map(table, _lines(ends) if len(ends) > 1 else ends[0])


def centers(areas: pa.Table) -> Shapes:
    """Return by side and area a point, not a number where an area has no place."""
    places = (areas[name].to_numpy(zero_copy_only=False) for name in ("lon", "lat"))
    points = np.asarray(shapely.points(*places), object).tolist()
    found: dict[str, dict[str, shapely.Geometry | None]] = {side: {} for side in SIDES}
    for side, area, point in zip(texts(areas["side"]), texts(areas["area"]), points, strict=True):
        found[side][area] = point
    return found


def _on_map(table: pa.Table, shapes: npt.NDArray[np.object_]) -> gpd.GeoDataFrame:
    try:
        import geopandas as gpd  # noqa: PLC0415  an extra of readers
    except ImportError:
        raise InputError("a map frame needs the package geopandas", "pip install geopandas") from None
    return gpd.GeoDataFrame(as_pandas(table), geometry=shapes, crs="EPSG:4326")


def _lines(ends: Sequence[npt.NDArray[np.object_]]) -> npt.NDArray[np.object_]:
    """Return straight lines between points, None where an end has no place."""
    places = np.stack([np.column_stack([shapely.get_x(end), shapely.get_y(end)]) for end in ends], axis=1)
    known = np.isfinite(places).all(axis=(1, 2))
    lines: npt.NDArray[np.object_] = np.full(len(places), None, np.object_)
    lines[known] = np.asarray(shapely.linestrings(places[known]), np.object_)
    return lines


def _boxes(samples: pa.Table) -> npt.NDArray[np.object_]:
    """Return the boxes of samples."""
    west, south, east, north = (samples[name].to_numpy() for name in ("lon0", "lat0", "lon1", "lat1"))
    return np.asarray(shapely.box(west, south, east, north), object)
