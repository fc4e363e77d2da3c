"""The columns of scikit-mobility's FlowDataFrame, and the tessellation that it needs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.csv

from flowveil._export.geojson import feature, outline, write_features

if TYPE_CHECKING:
    from pathlib import Path

    from flowveil._export.tables import Tables


def write(tables: Tables, folder: Path) -> int:
    """Write flows.csv (origin, destination, flow, datetime, groups, marks) and tessellation.geojson (tile_ID)."""
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
