"""Trips and stops as tables, and a file that takes them part by part."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Self

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path
    from types import TracebackType

    from flowveil._arrays import Column, FloatArray, IntArray
    from flowveil._fixes.finding import Places, UserTrips

RECORD = "flowveil"  # of the file's metadata: how trips were made
_ROWS = 100_000  # of a group of rows


def trip_schema(*, aware: bool, short_stops: int) -> pa.Schema:
    """Return the columns of trips."""
    ends = [(f"{end}_{axis}", pa.float64()) for end in ("start", "end") for axis in ("lon", "lat")]
    way = [(f"stop_{n + 1}_{axis}", pa.float64()) for n in range(short_stops) for axis in ("lon", "lat")]
    return pa.schema([("user_id", pa.string()), *_clock(aware), *ends, *way])


def stop_schema(*, aware: bool) -> pa.Schema:
    """Return the columns of stops."""
    return pa.schema([("user_id", pa.string()), *_clock(aware), ("lon", pa.float64()), ("lat", pa.float64())])


def trip_table(schema: pa.Schema, users: Sequence[str], made: UserTrips) -> pa.Table:
    """Return trips: from when somebody was last seen at the start to when they were first seen at the end."""
    starts, ends = made.starts, made.ends
    values = [starts.lon, starts.lat, ends.lon, ends.lat, *made.way.T]
    return _table(schema, users, starts.user, (starts.left, ends.came), values)


def stop_table(schema: pa.Schema, users: Sequence[str], stops: Places) -> pa.Table:
    """Return stops: from the first to the last fix there."""
    return _table(schema, users, stops.user, (stops.came, stops.left), [stops.lon, stops.lat])


def _clock(aware: bool) -> list[tuple[str, pa.DataType]]:
    kind = pa.timestamp("us", "UTC" if aware else None)
    return [("start_time", kind), ("end_time", kind)]


def _table(
    schema: pa.Schema,
    users: Sequence[str],
    user: IntArray,
    times: tuple[IntArray, IntArray],
    values: Sequence[FloatArray],
) -> pa.Table:
    columns: list[Column] = [pa.array(users, pa.string()).take(user)]
    columns += [pa.array(time, pa.int64()).cast(schema.field("start_time").type) for time in times]
    columns += [pa.array(value, pa.float64(), mask=np.isnan(value)) for value in values]
    return pa.table(columns, schema=schema)


class TableFile:
    """A Parquet file that grows; what it holds does not depend on the parts in which it came."""

    def __init__(self, path: Path, schema: pa.Schema) -> None:
        self.rows = 0
        self.schema = schema
        self._waiting: list[pa.Table] = []
        self._writer = pq.ParquetWriter(path, schema, compression="zstd")

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._writer.close()

    def add(self, table: pa.Table) -> None:
        """Write rows, or keep them until there are enough for a group."""
        self.rows += table.num_rows
        self._waiting.append(table)
        if sum(part.num_rows for part in self._waiting) >= _ROWS:
            self._write(whole_groups=True)

    def end(self, record: Mapping[str, object]) -> None:
        """Write what is left, and how the rows were made."""
        self._write(whole_groups=False)
        self._writer.add_key_value_metadata({RECORD: json.dumps(record, ensure_ascii=False)})

    def _write(self, *, whole_groups: bool) -> None:
        table = pa.concat_tables([self.schema.empty_table(), *self._waiting]).combine_chunks()
        ready = table.num_rows // _ROWS * _ROWS if whole_groups else table.num_rows
        self._writer.write_table(table.slice(0, ready), row_group_size=_ROWS)
        self._waiting = [table.slice(ready)]
