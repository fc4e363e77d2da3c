"""One row a method: the columns of a comparison, and how they read in a document."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

import pyarrow as pa

from flowveil._charts import PRIVATE, DrawnTable, comparison_svg, table_html

if TYPE_CHECKING:
    from collections.abc import Sequence

Cell: TypeAlias = bool | int | float | str | None
Row: TypeAlias = dict[str, Cell]

DONE = "done"

_KINDS: dict[str, pa.DataType] = {
    "method": pa.string(),
    "status": pa.string(),  # done, failed, time limit, memory limit
    "gbar": pa.float64(),
    "suppressed": pa.float64(),  # share of trips
    "e": pa.float64(),
    "d": pa.float64(),
    "gdm_mean": pa.float64(),  # meters
    "c_avg": pa.float64(),
    "mao": pa.float64(),  # square kilometers
    "mad": pa.float64(),
    "flows": pa.int64(),
    "origin_areas": pa.int64(),
    "destination_areas": pa.int64(),
    "homogeneous": pa.bool_(),  # one map for each end
    "promise": pa.string(),
    "verified": pa.bool_(),
    "seconds": pa.float64(),
    "memory_mb": pa.float64(),  # peak of the process, with Python and the flows
    "note": pa.string(),  # why there is no result
}
SCHEMA = pa.schema(_KINDS)

_HEADINGS = {
    "method": "method",
    "gbar": "gbar",
    "suppressed": "left out",
    "e": "e",
    "gdm_mean": "gdm, m",
    "flows": "flows",
    "origin_areas": "origin areas",
    "destination_areas": "destination areas",
    "homogeneous": "one map each",
    "promise": "promise",
    "verified": "verified",
    "seconds": "seconds",
    "memory_mb": "peak MB",
}


@dataclass(frozen=True, eq=False, repr=False)
class Comparison(DrawnTable):
    """One row a method, as a table that draws itself; `table` is the pyarrow table.

    >>> flows = fv.build_flows("trips.parquet", "h3:7", unit="person_id")
    >>> fv.compare(flows, "suppression", k=5)["flows"].to_pylist()
    [6]
    """

    table: pa.Table

    def __repr__(self) -> str:
        return markdown(self.table)

    def _repr_html_(self) -> str:
        """Show the table and the chart in a notebook. Private."""
        rows = [_told(row) for row in self.table.to_pylist()]
        text = table_html("Methods side by side", list(_HEADINGS.values()), rows, PRIVATE)
        return text + comparison_svg(self.table, "What methods lose")


def make_table(rows: Sequence[Row]) -> pa.Table:
    """Return rows as a table; what a row does not have is null."""
    return pa.Table.from_pylist([{name: row.get(name) for name in SCHEMA.names} for row in rows], SCHEMA)


def markdown(table: pa.Table | Comparison) -> str:
    """Return a comparison as a Markdown table; a method without a result says why."""
    lines = [list(_HEADINGS.values()), ["---"] + ["---:"] * (len(_HEADINGS) - 1)]
    lines += [[cell.replace("|", "/") for cell in _told(row)] for row in table.to_pylist()]
    return "".join(f"| {' | '.join(cells)} |\n" for cells in lines)


def _told(row: Row) -> list[str]:
    """Return a row as people write it; a method without a result says why."""
    cells = [shown(name, row[name]) for name in _HEADINGS]
    if row["status"] != DONE:
        cells[1] = f"{row['status']}: {row['note']}"
    return cells


def shown(name: str, value: Cell) -> str:
    """Return a value as people write it."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if name == "suppressed":
        return f"{value:.2%}"
    if name == "seconds":
        return f"{value:.2f}"
    if isinstance(value, float):
        return f"{value:,.0f}" if name == "memory_mb" or value >= 1000 else f"{value:.4g}"
    return f"{value:,}" if isinstance(value, int) else str(value)
