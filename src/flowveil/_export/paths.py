"""Samples of trajectories as points: the middle of each box and of its time span, with all that is published."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa

if TYPE_CHECKING:
    from flowveil._arrays import FloatArray, IntArray
    from flowveil._export.tables import Tables

SAMPLES = "samples"  # of synthetic trajectories: points
TRAJECTORIES = "trajectories"  # the kind of release that these are samples of
_TIME = pa.timestamp("us", tz="UTC")
_CORNERS = ("lon0", "lat0", "lon1", "lat1")


def middles(tables: Tables) -> tuple[FloatArray, FloatArray, IntArray]:
    """Return longitude, latitude and moment (microseconds since 1970, whole seconds) of the middle of samples."""
    rows = tables.rows
    lon0, lat0, lon1, lat1 = (rows[name].to_numpy() for name in _CORNERS)
    start, end = (rows[name].cast(pa.int64()).to_numpy() for name in ("t0", "t1"))
    second = 1_000_000
    moment = (start + end) // 2 // second * second
    return (lon0 + lon1) / 2, (lat0 + lat1) / 2, moment


def by_moment(tables: Tables) -> pa.Table:
    """Return one row a sample: group, moment, lon, lat of its middle, then what is published, by group and moment."""
    rows = tables.rows
    if tables.kind == SAMPLES:
        names = {"user": "group", "time": "moment"}
        return rows.rename_columns([names.get(name, name) for name in rows.column_names])
    lon, lat, moment = middles(tables)
    named = {"group": rows["group"], "moment": pa.array(moment).cast(_TIME), "lon": pa.array(lon), "lat": pa.array(lat)}
    table = pa.table(named | {name: rows[name] for name in rows.column_names if name != "group"})
    return table.sort_by([("group", "ascending"), ("moment", "ascending"), ("t0", "ascending")])
