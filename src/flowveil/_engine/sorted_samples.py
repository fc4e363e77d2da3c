"""Samples by user and time, a part of the users at a time: in bounded memory, however many there are."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from flowveil._arrays import texts
from flowveil._engine.duckdb import connection, make_room
from flowveil._engine.reading import Reading
from flowveil._engine.samples import samples_sql
from flowveil._errors import InputError
from flowveil._options import REST
from flowveil._processes import cores

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    import duckdb

    from flowveil._arrays import BoolArray, ChunkedColumn, FloatArray, IntArray
    from flowveil._engine.condition import Condition
    from flowveil._engine.source import Source

_BATCH_ROWS = 200_000
_BATCH_BYTES = 60_000_000  # of a part and the arrays that it becomes, several of which are on their way


@dataclass(frozen=True, eq=False)
class UserSamples:
    """All usable samples of some users, by user, then time, then place."""

    users: list[str]
    start: IntArray  # first sample of each user, and the end
    time: IntArray  # microseconds since 1970
    lon: FloatArray
    lat: FloatArray
    occupied: BoolArray  # all False where there is no such column


@dataclass(eq=False)
class SortedSamples:
    """Samples on their way."""

    aware: bool  # times are in UTC, and not what a local clock shows
    rows: int  # of the source
    dropped: dict[str, int]  # rows that cannot be used, by reason
    parts: Iterator[UserSamples] = field(repr=False)


@contextmanager
def sort_samples(
    source: Source,
    columns: Mapping[str, str],
    where: Condition | None = None,
    memory: int | None = None,
    towers: pa.Table | None = None,
    reading: Reading = Reading(),  # noqa: B008  frozen
    batch_rows: int = _BATCH_ROWS,
) -> Iterator[SortedSamples]:
    """Sort samples, on disk where memory is short, and give them in parts of whole users."""
    with connection(source, memory) as con:
        con.execute(f"CREATE TEMP TABLE samples AS {samples_sql(con, source, columns, where, towers, reading)}")
        found = con.execute("SELECT problem, aware, count(*) FROM samples GROUP BY ALL ORDER BY ALL").fetchall()
        clocks = {aware for problem, aware, _ in found if problem is None}
        if len(clocks) > 1:
            raise InputError(
                f"some times of the column {columns['time']!r} say how far from UTC they are, and others do not",
                "write all of them in one way, or choose some with --where",
            )
        dropped: dict[str, int] = {}
        for problem, _, count in found:
            if problem is not None:
                dropped[problem] = dropped.get(problem, 0) + count
        rows = sum(count for _, _, count in found)
        if memory is not None:
            make_room(con, memory, REST + (cores() + 1) * _BATCH_BYTES)
        yield SortedSamples(clocks == {True}, rows, dropped, _parts(con, "occupied" in columns, batch_rows))


def _parts(con: duckdb.DuckDBPyConnection, has_occupied: bool, batch_rows: int) -> Iterator[UserSamples]:
    """Yield whole users; the last one of a batch waits for the next, which may go on with it."""
    occupied = "occupied" if has_occupied else "false"
    reader = con.sql(
        f'SELECT "user", time, lon, lat, {occupied} AS occupied FROM samples WHERE problem IS NULL'
        ' ORDER BY "user", time, lon, lat, occupied'
    ).to_arrow_reader(batch_rows)
    waiting: list[pa.Table] = []
    for batch in reader:
        table = pa.Table.from_batches([batch])
        ends = _changes(table.column("user"))
        if len(ends) > 1:  # a user ends in this batch
            yield _samples(pa.concat_tables([*waiting, table.slice(0, int(ends[-2]))]))
            waiting = [table.slice(int(ends[-2]))]
        elif table.num_rows:
            if waiting and waiting[0].column("user")[0] != table.column("user")[0]:
                yield _samples(pa.concat_tables(waiting))
                waiting = []
            waiting.append(table)
    if waiting:
        yield _samples(pa.concat_tables(waiting))


def _changes(users: ChunkedColumn) -> IntArray:
    """Return where each run of one user ends."""
    if not len(users):
        return np.zeros(0, np.int64)
    differs = pc.not_equal(users.slice(1), users.slice(0, len(users) - 1)).to_numpy()
    return np.append(np.flatnonzero(differs) + 1, len(users))


def _samples(table: pa.Table) -> UserSamples:
    ends = _changes(table.column("user"))
    start = np.concatenate([np.zeros(1, np.int64), ends])
    return UserSamples(
        users=texts(table.column("user").take(start[:-1])),
        start=start,
        time=np.ascontiguousarray(table.column("time").to_numpy(), np.int64),
        lon=np.ascontiguousarray(table.column("lon").to_numpy(), np.float64),
        lat=np.ascontiguousarray(table.column("lat").to_numpy(), np.float64),
        occupied=np.ascontiguousarray(table.column("occupied").to_numpy(), np.bool_),
    )
