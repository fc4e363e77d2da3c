"""Counting trips on one machine."""

from __future__ import annotations

from contextlib import closing
from functools import partial
from typing import TYPE_CHECKING, TypeAlias

from flowveil._engine.duckdb import connection, relation
from flowveil._engine.keys import Tally, key_batches
from flowveil._engine.source import FileSource
from flowveil._engine.visits import group_visits, read_visits

if TYPE_CHECKING:
    from collections.abc import Callable

    import duckdb

    from flowveil._engine.aggregate import Aggregate
    from flowveil._engine.keys import Index
    from flowveil._engine.rows import Request

    # Is told how many rows were read so far, and of how many; None where that is not known.
    Watch: TypeAlias = Callable[[int, int | None], None]


def aggregate(
    request: Request,
    index: Index,
    memory: int | None = None,
    step: Index | None = None,
    watch: Watch | None = None,
) -> Aggregate:
    """Count trips as `engine.counting` says.

    Rows stream from DuckDB to the index and back: DuckDB reads and cleans, all cores look up tiles, DuckDB groups
    first by person and pair, then by pair, so that distinct persons cost no second pass.
    """
    tally = Tally()
    with connection(request.source, memory) as con:
        with closing(con.cursor()) as rows:
            told = None if watch is None else partial(_tell, watch, _total(rows, request))
            batches = key_batches(rows, request, index, step, tally, watch=told)
            group_visits(con, request, batches)
        return read_visits(con, request, tally, memory)


def _tell(watch: Watch, total: int | None, rows: int) -> None:
    watch(rows, total)


def _total(con: duckdb.DuckDBPyConnection, request: Request) -> int | None:
    """Return how many rows will be read, where that costs nothing to know."""
    source = request.source
    if request.where or not isinstance(source, FileSource) or source.format != "parquet":
        return None
    return int(con.execute(f"SELECT count(*) FROM {relation(con, source)}").fetchall()[0][0])
