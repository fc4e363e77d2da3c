"""Reading samples: who was where and when, one row each."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from flowveil._engine.duckdb import connection, relation, types
from flowveil._engine.rows import _person, _text, _with_types
from flowveil._engine.shaping import identifier
from flowveil._errors import InputError

if TYPE_CHECKING:
    from collections.abc import Mapping

    import duckdb

    from flowveil._arrays import FloatArray, IntArray
    from flowveil._engine.condition import Condition
    from flowveil._engine.source import Source

SAMPLE_COLUMNS = ("user", "lon", "lat", "time")
_AS_WRITTEN = "flowveil as written"
_TIMES = ("TIMESTAMP", "DATE", "VARCHAR")


@dataclass(frozen=True, eq=False)
class Samples:
    """Usable rows of a source, in any order; users are numbered in the order of their ids."""

    users: tuple[str, ...]  # ascending
    user: IntArray
    lon: FloatArray
    lat: FloatArray
    time: IntArray  # microseconds since 1970, UTC
    dropped: dict[str, int]


def read_samples(
    source: Source, columns: Mapping[str, str], where: Condition | None = None, memory: int | None = None
) -> Samples:
    """Read every usable row; times without a zone are taken as UTC."""
    with connection(source, memory) as con:
        con.execute(
            f"CREATE TEMP TABLE samples AS SELECT *, {_PROBLEM} AS problem FROM ({_sql(con, source, columns, where)})"
        )
        dropped = con.execute(
            "SELECT problem, count(*) FROM samples WHERE problem IS NOT NULL GROUP BY problem ORDER BY problem"
        ).fetchall()
        users = con.execute('SELECT DISTINCT "user" FROM samples WHERE problem IS NULL ORDER BY "user"').fetchall()
        con.execute(
            'CREATE TEMP TABLE ranks AS SELECT "user", row_number() OVER (ORDER BY "user") - 1 AS rank'
            ' FROM (SELECT DISTINCT "user" FROM samples WHERE problem IS NULL)'
        )
        rows = con.execute(
            'SELECT rank, lon, lat, time FROM samples JOIN ranks USING ("user") WHERE problem IS NULL'
        ).fetchnumpy()
    return Samples(
        users=tuple(row[0] for row in users),
        user=np.asarray(rows["rank"], np.int64),
        lon=np.asarray(rows["lon"], np.float64),
        lat=np.asarray(rows["lat"], np.float64),
        time=np.asarray(rows["time"], np.int64),
        dropped={reason: int(count) for reason, count in dropped},
    )


_PROBLEM = (
    "CASE WHEN \"user\" IS NULL THEN 'null user' WHEN lon IS NULL OR lat IS NULL THEN 'null coordinate'"
    " WHEN NOT (isfinite(lon) AND isfinite(lat)) THEN 'not a number'"
    " WHEN abs(lon) > 180 OR abs(lat) > 90 THEN 'out of range'"
    " WHEN time IS NULL THEN 'null time' END"
)


def _sql(con: duckdb.DuckDBPyConnection, source: Source, columns: Mapping[str, str], where: Condition | None) -> str:
    named = [columns[name] for name in SAMPLE_COLUMNS]
    table, kind = relation(con, source, named), types(con, source)
    written = {column: identifier(column) for column in named}
    if getattr(source, "format", "") == "csv":
        if where:
            written = {column: identifier(f"{_AS_WRITTEN} {number}") for number, column in enumerate(written)}
            table = _with_types(table, written, kind)
        kind = dict.fromkeys(written, "VARCHAR")
    time = columns["time"]
    if not kind[time].startswith(_TIMES):
        raise InputError(
            f"the column {time!r} holds {kind[time].lower()}, not times",
            "write times as 2024-05-17 08:30:00, with a zone if they are not in UTC",
        )
    user = _person(_text(written[columns["user"]], kind[columns["user"]]))
    lon, lat = (f"TRY_CAST({written[columns[name]]} AS DOUBLE)" for name in ("lon", "lat"))
    # An infinite time has no microseconds: it counts as none.
    moment = f"TRY_CAST({written[time]} AS TIMESTAMPTZ)"
    micros = f"CASE WHEN isfinite({moment}) THEN epoch_us({moment}) END"
    condition = f" WHERE ({where})" if where else ""
    return f'SELECT {user} AS "user", {lon} AS lon, {lat} AS lat, {micros} AS time FROM {table}{condition}'
