"""One row a method: the columns of a comparison, and how they read in a document."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import pyarrow as pa

from flowveil._charts import PRIVATE, DrawnTable, comparison_svg, table_html
from flowveil._measure import METRIC_COLUMNS
from flowveil._study.cells import DONE

if TYPE_CHECKING:
    from collections.abc import Sequence

    from flowveil._study.cells import Row, Value

_ALWAYS = ("method", "gbar", "suppressed", "e", "flows", "promise", "seconds", "memory_mb")

_KINDS: dict[str, pa.DataType] = {
    "method": pa.string(),
    "status": pa.string(),  # done, failed, time limit, memory limit
    **{name: pa.int64() if column.whole else pa.float64() for name, column in METRIC_COLUMNS.items()},
    "homogeneous": pa.bool_(),  # one map for each end
    "promise": pa.string(),
    "verified": pa.bool_(),
    "seconds": pa.float64(),
    "memory_mb": pa.float64(),  # peak of the process, with Python and the flows
    "note": pa.string(),  # why there is no result
}
SCHEMA = pa.schema(_KINDS)

# Of the metrics, those that a document shows; the table has all of them.
_SHOWN = {
    *("gbar", "suppressed", "e", "d", "gdm_mean", "gdm_raw_mean", "mao", "mad", "c_dm", "c_avg", "flows"),
    *("origin_areas", "destination_areas", "tight_gbar", "tight_gdm_mean", "elsewhere_suppressed", "elsewhere_mad"),
    *("population_gbar", "population_suppressed", "population_e", "below_k", "below_k_weight"),
}
HEADINGS = {
    "method": "method",
    **{name: column.heading for name, column in METRIC_COLUMNS.items() if name in _SHOWN},
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
        headings, *rows = _lines(self.table)
        text = table_html("Methods side by side", headings, rows, PRIVATE)
        return text + comparison_svg(self.table, "What methods lose")


def make_table(rows: Sequence[Row]) -> pa.Table:
    """Return rows as a table; what a row does not have is null."""
    return pa.Table.from_pylist([{name: row.get(name) for name in SCHEMA.names} for row in rows], SCHEMA)


def markdown(table: pa.Table | Comparison) -> str:
    """Return a comparison as a Markdown table; a method without a result says why."""
    headings, *rows = _lines(table)
    lines = [headings, ["---"] + ["---:"] * (len(headings) - 1)]
    lines += [[cell.replace("|", "/") for cell in row] for row in rows]
    return "".join(f"| {' | '.join(cells)} |\n" for cells in lines)


def _lines(table: pa.Table | Comparison) -> list[list[str]]:
    """Return headings and rows as people write them; a column that no row has is not there."""
    rows = table.to_pylist()
    names = [name for name in HEADINGS if name in _ALWAYS or any(row[name] is not None for row in rows)]
    lines = [[HEADINGS[name] for name in names]]
    for row in rows:
        cells = [shown(name, row[name]) for name in names]
        if row["status"] != DONE:  # a method without a result says why
            cells[1] = f"{row['status']}: {row['note']}"
        lines.append(cells)
    return lines


def shown(name: str, value: Value) -> str:
    """Return a value as people write it."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if name.endswith("suppressed"):
        return f"{value:.2%}"
    if name == "seconds":
        return f"{value:.2f}"
    if isinstance(value, float):
        return f"{value:,.0f}" if name == "memory_mb" or value >= 1000 else f"{value:.4g}"
    return f"{value:,}" if isinstance(value, int) else str(value)
