"""The pair of tables that flowmap.blue and flowmap.gl read: locations and flows."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.csv

from flowveil._export.tables import as_moment
from flowveil._folder import TIMES

if TYPE_CHECKING:
    from pathlib import Path

    from flowveil._arrays import ChunkedColumn, Column
    from flowveil._export.tables import Tables


def write(tables: Tables, folder: Path) -> int:
    """Write locations.csv (id, name, lat, lon) and flows.csv (origin, dest, count, time, groups, marks)."""
    tables.check_groups("dest", "count")
    flows = tables.between("lon")
    known = [row for row in tables.areas.to_pylist() if row["lon"] is not None]
    locations = {
        "id": [row["area"] for row in known],
        "name": [row["name"] or row["area"] for row in known],
        "lat": [row["lat"] for row in known],
        "lon": [row["lon"] for row in known],
    }
    kinds = [pa.string(), pa.string(), pa.float64(), pa.float64()]
    columns = [pa.array(values, kind) for values, kind in zip(locations.values(), kinds, strict=True)]
    pyarrow.csv.write_csv(pa.table(columns, names=list(locations)), folder / "locations.csv")
    named: dict[str, Column | ChunkedColumn] = {
        "origin": flows["origin"],
        "dest": flows["destination"],
        "count": flows["trips"],
    }
    for key in tables.keys:
        named[key] = _moments(flows[key]) if key in TIMES else flows[key]
    named |= {mark: flows[mark] for mark in tables.marks}
    pyarrow.csv.write_csv(pa.table(named), folder / "flows.csv")
    return int(flows.num_rows)


def _moments(times: ChunkedColumn) -> Column:
    return pa.array([None if value is None else as_moment(value) for value in times.to_pylist()], pa.string())
