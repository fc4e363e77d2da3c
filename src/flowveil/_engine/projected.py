"""Coordinates of another CRS as degrees, inside DuckDB."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyproj
from duckdb.func import PythonUDFType

if TYPE_CHECKING:
    import duckdb

    from flowveil._arrays import Column

_LON, _LAT = "degrees_lon", "degrees_lat"
_NOWHERE = 1e9  # degrees, out of any range: what a projection has no place for
_mine = threading.local()  # a transformer serves one thread
# DuckDB calls functions on threads of its own, which pyproj does not survive: threads of Python do the work for them.
_workers = ThreadPoolExecutor(2, "degrees")


def degrees_sql(con: duckdb.DuckDBPyConnection, crs: str, places: list[tuple[str, str]], rows: str) -> str:
    """Return SQL for rows with x and y of a CRS in these pairs of columns, with degrees of WGS 84 in their place."""
    # DuckDB wants to see the number of parameters, and no annotations.
    functions = {_LON: lambda x, y: _ask(crs, x, y)[0], _LAT: lambda x, y: _ask(crs, x, y)[1]}
    for name, function in functions.items():
        con.create_function(name, function, ["DOUBLE", "DOUBLE"], "DOUBLE", type=PythonUDFType.ARROW)
    changed = ", ".join(
        f"{function}({lon}, {lat}) AS {column}"
        for lon, lat in places
        for function, column in ((_LON, lon), (_LAT, lat))
    )
    return f"SELECT * REPLACE ({changed}) FROM ({rows})"


def _ask(crs: str, x: Column, y: Column) -> tuple[Column, Column]:
    return _workers.submit(_convert, crs, x, y).result()


def _convert(crs: str, x: Column, y: Column) -> tuple[Column, Column]:
    known: dict[str, pyproj.Transformer] = _mine.__dict__.setdefault("transformers", {})
    if crs not in known:
        known[crs] = pyproj.Transformer.from_crs(crs, "EPSG:4326", always_xy=True)
    east, north = (np.asarray(values.to_numpy(zero_copy_only=False)) for values in (x, y))
    lon, lat = (np.where(np.isfinite(values), values, _NOWHERE) for values in known[crs].transform(east, north))
    return pa.array(lon), pa.array(lat)
