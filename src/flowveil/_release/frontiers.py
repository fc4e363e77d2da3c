"""Precision against suppression, before anything is published."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import pyarrow as pa

from flowveil._charts import DrawnTable, frontier_svg, frontier_text
from flowveil._errors import InputError
from flowveil._flows import check_flows
from flowveil._methods import methods, own_options, parse_points
from flowveil._options import DEFAULT_LOSS
from flowveil._release.anonymization import make_problem
from flowveil._release.demand import DEFAULT_METHOD, parse_demand

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from flowveil._flows import Flows
    from flowveil._methods import FrontierPoint, Method, Value

_KINDS: dict[str, pa.DataType] = {
    "lambda": pa.float64(),
    "gbar": pa.float64(),
    "suppressed": pa.float64(),
    "flows": pa.int64(),
    "origin_areas": pa.int64(),
    "destination_areas": pa.int64(),
}
_SCHEMA = pa.schema(_KINDS)


@dataclass(frozen=True, eq=False, repr=False)
class Frontier(DrawnTable):
    """A table that draws itself: all that a pyarrow table can do goes to `table`, and Arrow reads it as one.

    pyarrow tables cannot be subclassed, so `isinstance(..., pa.Table)` is false; `pa.table(frontier)` is the table.

    >>> curve = fv.frontier(fv.build_flows("trips.parquet", "h3:7"), k=5, points=3)
    >>> curve["flows"].to_pylist()
    [133, 243, 234]
    """

    table: pa.Table
    method: str

    def __repr__(self) -> str:
        return frontier_text(self.table)

    def _repr_html_(self) -> str:
        """Show the chart in a notebook."""
        return frontier_svg(self.table, self.method)


def find_frontier(method: Method) -> Callable[..., list[FrontierPoint]]:
    """Return the function that follows the frontier of a method, or raise if it has none."""
    if method.frontier is None:
        able = ", ".join(other.name for other in methods() if other.frontier)
        raise InputError(f"{method.name} has no frontier: it has one answer", f"methods with a frontier: {able}")
    return method.frontier


def frontier(
    flows: Flows,
    method: str = DEFAULT_METHOD,
    k: int | None = None,
    *,
    preset: str | None = None,
    points: int = 24,
    loss: str = DEFAULT_LOSS,
    k_weight: float | str | None = None,
    min_tiles: int = 1,
    max_share: float | None = None,
    options: Mapping[str, Value] | None = None,
) -> Frontier:
    """Return what a method reaches at different prices of a left-out trip, from the finest to the most complete.

    Columns: lambda (the price), gbar, suppressed (share of trips), flows, origin_areas, destination_areas. It can be
    used as a pyarrow table and draws itself in a notebook. Private: it is computed from the true trips.
    points: how many to show at most; other options as for `anonymize`.
    k, preset, loss, k_weight, min_tiles, max_share: as for `anonymize`.

    >>> flows = fv.build_flows("trips.parquet", "h3:7", unit="person_id")
    >>> for row in fv.frontier(flows, k=5, points=3).table.to_pylist():
    ...     print(f"{row['suppressed']:.1%} left out, {row['flows']} flows")
    94.3% left out, 6 flows
    17.6% left out, 96 flows
    0.0% left out, 93 flows
    """
    asked = parse_demand(
        method,
        k,
        preset=preset,
        unit=check_flows(flows).provenance.unit,
        counted_persons=flows.provenance.counted_persons,
        loss=loss,
        k_weight=k_weight,
        min_tiles=min_tiles,
        max_share=max_share,
        options=options,
    )
    points = parse_points(points)
    rows = find_frontier(asked.method)(make_problem(flows, asked), points, **own_options(asked.options))
    rows = [row for row in rows if row.flows]
    values = zip(*rows, strict=True) if rows else [()] * len(_SCHEMA)
    columns = [pa.array(list(column), kind) for column, kind in zip(values, _SCHEMA.types, strict=True)]
    return Frontier(pa.Table.from_arrays(columns, schema=_SCHEMA), method)
