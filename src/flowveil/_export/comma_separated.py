"""Tables as comma-separated values: flows with the names of their ends, areas, the zones of each area."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

import numpy as np
import pyarrow as pa
import pyarrow.csv
import shapely

if TYPE_CHECKING:
    from pathlib import Path

    from flowveil._arrays import ChunkedColumn, Column
    from flowveil._export.tables import Tables


def write(tables: Tables, folder: Path) -> int:
    """Write flows.csv, areas.csv and, of zones, members.csv; of other releases each table."""
    for name, table in plain_tables(tables).items():
        pyarrow.csv.write_csv(table, folder / f"{name}.csv")
    return int(tables.rows.num_rows)


def plain_tables(tables: Tables) -> dict[str, pa.Table]:
    """Return by name what is written: moments as text in UTC, outlines as well-known text."""
    if tables.kind != "flows":
        return {name: _plain(table) for name, table in {tables.kind: tables.rows, **tables.beside}.items()}
    areas = tables.areas.drop_columns([name for name in ("members", "geometry") if name in tables.areas.column_names])
    plain = {"flows": _plain(tables.named_flows()), "areas": areas.append_column("geometry", _outlines(tables))}
    return plain if tables.members is None else plain | {"members": tables.members}


def _outlines(tables: Tables) -> Column:
    """Return the outlines of areas as well-known text, to a centimeter."""
    shapes = shapely.from_wkb(np.array(tables.areas["geometry"].to_pylist(), object))
    return pa.array(shapely.to_wkt(shapes, rounding_precision=7).tolist(), pa.string())


def _plain(table: pa.Table) -> pa.Table:
    """Return a table whose moments are text such as 2024-03-04T07:00:00Z."""
    for at, field in enumerate(table.schema):
        if pa.types.is_timestamp(field.type):
            table = table.set_column(at, field.name, _moments(table.column(at)))
    return table


def _moments(column: ChunkedColumn) -> Column:
    values = cast("list[np.datetime64 | None]", column.to_pylist())
    texts = [None if value is None else str(value).replace(" ", "T").replace("+00:00", "Z") for value in values]
    return pa.array(texts, pa.string())
