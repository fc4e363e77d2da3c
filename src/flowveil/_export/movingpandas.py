"""GeoParquet that geopandas reads and MovingPandas makes a TrajectoryCollection of: a point for each sample."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import shapely

from flowveil._export.paths import by_moment

if TYPE_CHECKING:
    from pathlib import Path

    from flowveil._export.tables import Tables

_GEO = {
    "version": "1.1.0",
    "primary_column": "geometry",
    "columns": {"geometry": {"encoding": "WKB", "geometry_types": ["Point"]}},
}


def write(tables: Tables, path: Path) -> int:
    """Write traj_id (the group), t (the middle of the time span), what is published, and the middle of the box."""
    table = by_moment(tables)
    points = np.column_stack([table["lon"].to_numpy(), table["lat"].to_numpy()])
    names = {"group": "traj_id", "moment": "t"}
    table = table.drop(["lon", "lat"]).append_column(
        "geometry", pa.array([shapely.to_wkb(shapely.Point(point)) for point in points], pa.binary())
    )
    table = table.rename_columns([names.get(name, name) for name in table.column_names])
    pq.write_table(table.replace_schema_metadata({"geo": json.dumps(_GEO)}), path)
    return int(table.num_rows)
