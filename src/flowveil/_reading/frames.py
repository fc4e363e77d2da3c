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
    import geopandas as gpd
    import numpy.typing as npt
    import pandas as pd

    from flowveil._folder import Files


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
    try:
        import geopandas as gpd  # noqa: PLC0415  an extra of readers
    except ImportError:
        raise InputError("a map frame needs the package geopandas", "pip install geopandas") from None
    parse_choice(layer, "layer", ("flows", "areas"))
    if files.kind is Kind.TRAJECTORIES:
        table = files.tables[files.kind.tables[0]]
        return gpd.GeoDataFrame(as_pandas(table), geometry=_boxes(table), crs="EPSG:4326")
    if files.kind is Kind.CELLS:
        flows, areas = flows_of_boxes(files)
    else:
        flows, areas = files.tables[FLOWS], files.tables[AREAS]
    if layer == "areas":
        shapes = shapely.from_wkb(np.array(areas["geometry"].to_pylist(), object))
        return gpd.GeoDataFrame(as_pandas(areas.drop_columns(["geometry"])), geometry=shapes, crs="EPSG:4326")
    return gpd.GeoDataFrame(as_pandas(name_ends(flows, areas)), geometry=_lines(flows, areas), crs="EPSG:4326")


def _lines(flows: pa.Table, areas: pa.Table) -> npt.NDArray[np.object_]:
    """Return straight lines between the centers of areas, None where an end has no place."""
    points = {}
    for row in areas.select(["area", "side", "lon", "lat"]).to_pylist():
        points[row["side"], row["area"]] = (np.nan if row["lon"] is None else row["lon"], row["lat"])
    missing = (np.nan, np.nan)
    ends = [[points.get((side, area), missing) for area in texts(flows[side])] for side in SIDES]
    start, stop = (np.array(end, np.float64).reshape(-1, 2) for end in ends)
    known = np.isfinite(np.column_stack([start, stop])).all(axis=1)
    lines: npt.NDArray[np.object_] = np.full(len(start), None, np.object_)
    lines[known] = np.asarray(shapely.linestrings(np.stack([start[known], stop[known]], axis=1)), np.object_)
    return lines


def _boxes(samples: pa.Table) -> npt.NDArray[np.object_]:
    """Return the boxes of samples."""
    west, south, east, north = (samples[name].to_numpy() for name in ("lon0", "lat0", "lon1", "lat1"))
    return np.asarray(shapely.box(west, south, east, north), object)
