"""Streaming rows, for those who want to look at every trip themselves."""

from __future__ import annotations

from typing import TYPE_CHECKING

from flowveil._engine.duckdb import connection
from flowveil._engine.rows import rows_sql

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pyarrow as pa

    from flowveil._engine.rows import Request

_BATCH_ROWS = 250_000


def scan(request: Request) -> Iterator[pa.RecordBatch]:
    """Yield all rows that `where` keeps, usable or not; the request's bbox is not applied.

    Columns as in `rows_sql`: coordinates as doubles (null where unreadable), zone ids and unit as text.
    """
    with connection(request.source) as con:
        yield from con.sql(rows_sql(con, request)).to_arrow_reader(_BATCH_ROWS)
