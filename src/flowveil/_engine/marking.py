"""Reading all usable rows with the keys that they were counted by, and with their marks or coordinates."""

from __future__ import annotations

from contextlib import closing
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from flowveil._engine.aggregate import Labels
from flowveil._engine.duckdb import connection
from flowveil._engine.keys import Tally, key_batches, key_schema

if TYPE_CHECKING:
    from flowveil._arrays import FloatArray, IntArray, KeyArray
    from flowveil._engine.keys import Index
    from flowveil._engine.rows import Request


@dataclass(frozen=True, eq=False)
class KeyedRows:
    """Usable rows, in no order, with the keys of the entry of an `Aggregate` that counts each."""

    time: IntArray | None  # step
    by: tuple[Labels, ...]
    origin: KeyArray
    destination: KeyArray
    trips: IntArray

    def __len__(self) -> int:
        return len(self.origin)


@dataclass(frozen=True, eq=False)
class MarkedRows(KeyedRows):
    """Usable rows with their marks."""

    mark: KeyArray
    owner: KeyArray | None  # the mark of the person, with a unit
    weight: IntArray | None  # in millionths
    clock: str | None  # whether times are in UTC, local or some of each; None where there are none
    first: int | None  # the earliest and the latest time, in microseconds; None where a row has none
    last: int | None


@dataclass(frozen=True, eq=False)
class LocatedRows(KeyedRows):
    """Usable rows with their coordinates, rows lon and lat."""

    start: FloatArray
    end: FloatArray


def read_marked(request: Request, index: Index, memory: int | None = None, step: Index | None = None) -> MarkedRows:
    """Read rows as they were counted, each with its mark; the request has a secret."""
    table = _read(request, index, memory, step)
    stamp = table["stamp"] if request.stamp else None
    known = stamp is not None and table.num_rows > 0 and stamp.null_count == 0
    span = np.asarray(stamp.to_numpy(), np.int64) if stamp is not None and known else None
    return MarkedRows(
        *_keys(table, request),
        mark=table["mark"].to_numpy(),
        owner=table["owner"].to_numpy() if request.unit else None,
        weight=np.asarray(table["weight"].to_numpy(), np.int64) if request.weight else None,
        clock=_clock(table) if request.stamp else None,
        first=None if span is None else int(span.min()),
        last=None if span is None else int(span.max()),
    )


def read_located(request: Request, index: Index, memory: int | None = None, step: Index | None = None) -> LocatedRows:
    """Read rows as they were counted, each with its coordinates."""
    request = replace(request, located=True)
    table = _read(request, index, memory, step)
    start, end = (
        np.stack([table[f"{place}_{axis}"].to_numpy() for axis in ("lon", "lat")]) for place in ("start", "end")
    )
    return LocatedRows(*_keys(table, request), start=start, end=end)


def _read(request: Request, index: Index, memory: int | None, step: Index | None) -> pa.Table:
    with connection(request.source, memory) as con, closing(con.cursor()) as rows:
        batches = list(key_batches(rows, request, index, step, Tally()))
    return pa.Table.from_batches(batches, key_schema(request))


def _keys(
    table: pa.Table, request: Request
) -> tuple[IntArray | None, tuple[Labels, ...], KeyArray, KeyArray, IntArray]:
    """Return the keys and trips of rows."""
    return (
        np.asarray(table["time"].to_numpy(), np.int64) if request.time else None,
        tuple(_labels(table, f"by_{number}") for number in range(len(request.by))),
        table["origin"].to_numpy(),
        table["destination"].to_numpy(),
        np.asarray(table["trips"].to_numpy(), np.int64) if request.count else np.ones(table.num_rows, np.int64),
    )


def _clock(table: pa.Table) -> str:
    """Return by which clock times are written."""
    aware = np.asarray(table["stamp_aware"].to_numpy(), bool)
    return "UTC" if aware.all() else "mixed" if aware.any() else "local"


def _labels(table: pa.Table, name: str) -> Labels:
    values = table[name].unique().to_pylist()
    code = pc.index_in(table[name], value_set=pa.array(values, pa.string()))
    return Labels(np.asarray(code.to_numpy(), np.int64), tuple(values))
