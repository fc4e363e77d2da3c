"""Trips, described and checked for columns, read only when they are needed."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from flowveil import _engine as engine
from flowveil._charts import table_html
from flowveil._errors import InputError
from flowveil._options import parse_columns, parse_whole
from flowveil._trips.columns import recognize
from flowveil._trips.shape import choose_layout, join_columns, shape

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import pyarrow as pa

    from flowveil._folder import Remembered
    from flowveil._trips.known_layouts import Layout

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
    reading: engine.Reading = field(default_factory=engine.Reading)  # what the user said of how it is written
    layout: Layout | None = None  # by which its columns are known
    notes: tuple[str, ...] = ()  # what was assumed

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
    layout: str | None = None,
    encoding: str | None = None,
    decimal: str | None = None,
    time_format: str | None = None,
    input_crs: str | None = None,
    matrices: str | None = None,
) -> Trips:
    """Describe the trips in a file, a glob of files, an Arrow table, a pandas or polars frame, or a database.

    `columns` maps meanings (start_lon, start_lat, end_lon, end_lat, origin, destination, count) to other column
    names (as text, NAME=COLUMN,...; start_time=DATE+TIME where these are two columns); `where` keeps the rows that
    fulfill a DuckDB condition, which looks at one row only. `query` is what to ask a database whose URL
    (postgresql://...) is the source.
    layout: one of `layouts()`, where it is not to be told by the columns; "" for none.
    encoding: of text files, as Python calls it; by default UTF-8, UTF-16, or Windows' and Latin letters.
    decimal: "," if numbers are written 1.234,5, "." if 1,234.5; degrees are read either way.
    time_format: how times are written, e.g. "%d/%m/%Y %H:%M", or "unix", "unix-ms", "unix-us", "unix-ns", "excel".
    input_crs: of coordinates that are not degrees of WGS 84, e.g. "EPSG:2154".
    matrices: which matrices of an Open Matrix file, with commas between them.

    >>> import pyarrow as pa
    >>> fv.read_trips(pa.table({"origin": ["a"], "dest": ["b"]})).columns
    {'origin': 'origin', 'destination': 'dest'}
    """
    mapping = parse_columns(columns)
    reading = engine.parse_reading(
        {
            "layout": layout,
            "encoding": encoding,
            "decimal": decimal,
            "time_format": time_format,
            "input_crs": input_crs,
            "matrices": matrices,
        }
    )
    opened = engine.open_source(source, query, reading)
    opened, available = join_columns(opened, engine.column_names(opened), mapping)
    chosen = choose_layout(opened, available, mapping, reading)
    if chosen is not None:
        opened = shape(opened, chosen, available, reading)
        available = engine.column_names(opened)
    kept = engine.check_condition(opened, where)
    told = () if chosen is None else tuple(f"layout {chosen.name}: {note}" for note in chosen.notes)
    notes = (*(opened.notes if isinstance(opened, engine.FileSource) else ()), *told, *_named_twice(opened, available))
    return Trips(opened, available, recognize(available, mapping, chosen), kept, mapping, reading, chosen, notes)


def _named_twice(source: engine.Source, available: Sequence[str]) -> list[str]:
    """Say which names a text file gives to several columns."""
    if not isinstance(source, engine.FileSource) or source.format != "csv":
        return []
    return [
        f"several columns are called {name.rpartition('_')[0]!r}: by this name the first is read; {name!r} is another"
        for name in engine.named_anew(source.files[0], available)
    ]


def reopen_trips(
    trips: TripsLike, story: Remembered, columns: str | Mapping[str, str] | None, where: str | None
) -> Trips:
    """Return trips as the audit file of a release says that they were read; columns and where may be given anew."""
    if isinstance(trips, Trips):
        if columns or where:
            raise InputError("columns or where were given with trips that have their own", "give them to read_trips")
        return trips
    reading = story.reading
    if not isinstance(trips, str | Path | list | tuple):  # of which a file was read once
        reading = {name: value for name, value in reading.items() if name not in ("encoding", "matrices")}
    return read_trips(trips, columns or story.columns, where or story.where, **reading)
