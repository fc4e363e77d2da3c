"""Trips, described and checked for columns, read only when they are needed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from flowveil import _engine as engine
from flowveil._charts import table_html
from flowveil._options import parse_columns, parse_whole
from flowveil._trips.columns import recognize

if TYPE_CHECKING:
    from collections.abc import Mapping

    import pyarrow as pa

_SHOWN = 40  # columns


@dataclass(frozen=True, eq=False)
class Trips:
    """Trips to be read: where they are, which column is what, which rows count.

    >>> fv.read_trips("trips.parquet").columns["start_time"]
    'start_time'
    """

    source: engine.Source
    available: tuple[str, ...]  # every column of the input
    columns: dict[str, str]  # meaning -> column of the input
    where: engine.Condition | None
    mapping: dict[str, str]  # what the user mapped

    def head(self, rows: int = 5) -> pa.Table:
        """Return the first rows as they are written, to look at them. Private, as trips are.

        rows: how many at most. Of CSV files all values are text; the condition is not applied.

        >>> fv.read_trips("trips.parquet").head(2).num_rows
        2
        """
        return engine.first_rows(self.source, parse_whole(rows, "rows", "it is a number of rows, 1 or more"))

    def _repr_html_(self) -> str:
        """Show the columns in a notebook: no row was read yet."""
        meanings = {column: meaning for meaning, column in self.columns.items()}
        rows = [(column, meanings.get(column, "")) for column in self.available[:_SHOWN]]
        more = len(self.available) - _SHOWN
        told = [f"{more:,} more columns are not shown"] if more > 0 else []
        told += [] if self.where is None else ["only rows that fulfill the condition are read"]
        return table_html(f"Trips, {len(self.available):,} columns", ("column", "is"), rows, "; ".join(told))


TripsLike: TypeAlias = "Trips | engine.Readable"  # trips, or what they are read from


def read_trips(
    source: engine.Readable,
    columns: str | Mapping[str, str] | None = None,
    where: str | None = None,
    *,
    query: str | None = None,
) -> Trips:
    """Describe the trips in a file, a glob of files, an Arrow table, a pandas or polars frame, or a database.

    `columns` maps meanings (start_lon, start_lat, end_lon, end_lat, origin, destination, count) to other column
    names (as text, NAME=COLUMN,...); `where` keeps the rows that fulfill a DuckDB condition, which looks at one row
    only. `query` is what to ask a database whose URL (postgresql://...) is the source.

    >>> import pyarrow as pa
    >>> fv.read_trips(pa.table({"origin": ["a"], "dest": ["b"]})).columns
    {'origin': 'origin', 'destination': 'dest'}
    """
    mapping = parse_columns(columns)
    opened = engine.open_source(source, query)
    available = engine.column_names(opened)
    kept = engine.check_condition(opened, where)
    return Trips(opened, available, recognize(available, mapping), kept, mapping)
