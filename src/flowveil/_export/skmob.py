"""The columns of scikit-mobility's FlowDataFrame and its tessellation, or of its TrajDataFrame."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.csv

from flowveil._export.geojson import feature, outline, write_features
from flowveil._export.paths import SAMPLES, TRAJECTORIES, by_moment

if TYPE_CHECKING:
    from pathlib import Path

    from flowveil._export.tables import Tables


def write(tables: Tables, folder: Path) -> int:
    """Write flows.csv (origin, destination, flow, datetime, groups, marks) and tessellation.geojson (tile_ID)."""
    if tables.kind in {SAMPLES, TRAJECTORIES}:
        return _write_trajectories(tables, folder)
    tables.check_groups("flow", "datetime")
    flows = tables.between("geometry")
    shapes = [
        feature(outline(row["geometry"]), {"tile_ID": row["area"], "name": row["name"], "tiles": row["tiles"]})
        for row in tables.areas.to_pylist()
        if row["geometry"] is not None
    ]
    write_features(folder / "tessellation.geojson", shapes)
    named = {"origin": flows["origin"], "destination": flows["destination"], "flow": flows["trips"]}
    named |= {"datetime" if key == "time" else key: flows[key] for key in tables.keys}
    named |= {mark: flows[mark] for mark in tables.marks}
    pyarrow.csv.write_csv(pa.table(named), folder / "flows.csv")
    return int(flows.num_rows)


def _write_trajectories(tables: Tables, folder: Path) -> int:
    """Write trajectories.csv (uid, datetime, lat, lng of the middle of each sample, then what is published)."""
    table = by_moment(tables)
    names = {"group": "uid", "moment": "datetime", "lon": "lng"}
    order = ["group", "moment", "lat", "lon", *table.column_names[4:]]
    named = table.select(order).rename_columns([names.get(name, name) for name in order])
    pyarrow.csv.write_csv(named, folder / "trajectories.csv")
    return int(named.num_rows)
