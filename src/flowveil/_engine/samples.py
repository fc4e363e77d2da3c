"""Reading samples: who was where and when, one row each."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from flowveil._engine.duckdb import connection, relation, types
from flowveil._engine.projected import degrees_sql
from flowveil._engine.reading import Reading
from flowveil._engine.rows import _person, _text, _trimmed, _with_types, number_sql
from flowveil._engine.shaping import identifier
from flowveil._engine.times import clock_error_sql, time_sql

if TYPE_CHECKING:
    from collections.abc import Mapping

    import duckdb
    import pyarrow as pa

    from flowveil._arrays import FloatArray, IntArray
    from flowveil._engine.condition import Condition
    from flowveil._engine.source import Source

SAMPLE_COLUMNS = ("user", "lon", "lat", "time")
_CLOCK_ERROR = "time before 1970 or after 2037"
_AS_WRITTEN = "flowveil as written"
_YES, _NO = "'1', '1.0', 'true', 't', 'yes', 'y'", "'0', '0.0', 'false', 'f', 'no', 'n'"


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
    source: Source,
    columns: Mapping[str, str],
    where: Condition | None = None,
    memory: int | None = None,
    towers: pa.Table | None = None,
    reading: Reading = Reading(),  # noqa: B008  frozen
) -> Samples:
    """Read every usable row; times without a zone are taken as UTC."""
    with connection(source, memory) as con:
        con.execute(f"CREATE TEMP TABLE samples AS {samples_sql(con, source, columns, where, towers, reading)}")
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


def samples_sql(
    con: duckdb.DuckDBPyConnection,
    source: Source,
    columns: Mapping[str, str],
    where: Condition | None,
    towers: pa.Table | None,
    reading: Reading,
) -> str:
    """Return SQL for all rows: user, lon, lat, time (microseconds), aware (in UTC), occupied where there is a column.

    `problem` says why a row cannot be used, and is null if it can. towers: where each tower is, by its id (columns
    tower, lon, lat), for rows that name a tower in place of coordinates.
    """
    rows = _rows_sql(con, source, columns, where, reading)
    if reading.input_crs is not None:
        rows = degrees_sql(con, reading.input_crs, [("lon", "lat")], rows)
    if "tower" in columns:
        con.register("towers", towers)
        rows = f"SELECT rows.*, towers.lon, towers.lat FROM ({rows}) AS rows LEFT JOIN towers USING (tower)"
    return f"SELECT *, {_problem_sql(columns)} AS problem FROM ({rows})"


def _problem_sql(columns: Mapping[str, str]) -> str:
    cases = ["WHEN \"user\" IS NULL THEN 'null user'"]
    if "tower" in columns:
        cases += ["WHEN tower IS NULL THEN 'null tower'", "WHEN lon IS NULL THEN 'unknown tower'"]
    cases += [
        "WHEN lon IS NULL OR lat IS NULL THEN 'null coordinate'",
        "WHEN NOT (isfinite(lon) AND isfinite(lat)) THEN 'not a number'",
        "WHEN abs(lon) > 180 OR abs(lat) > 90 THEN 'out of range'",
        "WHEN time IS NULL THEN 'null time'",
        f"WHEN {clock_error_sql('time')} THEN '{_CLOCK_ERROR}'",
    ]
    if "occupied" in columns:
        cases.append("WHEN occupied IS NULL THEN 'occupied is neither yes nor no'")
    return f"CASE {' '.join(cases)} END"


def _rows_sql(
    con: duckdb.DuckDBPyConnection,
    source: Source,
    columns: Mapping[str, str],
    where: Condition | None,
    reading: Reading,
) -> str:
    named = list(dict.fromkeys(columns.values()))
    table, kind = relation(con, source, named), types(con, source)
    written = {column: identifier(column) for column in named}
    if getattr(source, "format", "") == "csv":
        if where:
            written = {column: identifier(f"{_AS_WRITTEN} {number}") for number, column in enumerate(written)}
            table = _with_types(table, written, kind)
        kind = dict.fromkeys(written, "VARCHAR")
    text = {name: _text(written[column], kind[column]) for name, column in columns.items()}
    time = columns["time"]
    moment, aware = time_sql(text["time"], written[time], kind[time], time, reading.time_format)
    parts = [
        f'{_person(text["user"])} AS "user"',
        f"CASE WHEN isfinite({moment}) THEN epoch_us({moment}) END AS time",  # an infinite time has no microseconds
        f"{aware} AS aware",
    ]
    in_degrees = reading.input_crs is None and reading.decimal is None
    for name in ("lon", "lat"):
        if name in columns:
            of = kind[columns[name]]
            blank = _trimmed(written[columns[name]]) if of == "VARCHAR" else written[columns[name]]
            parts.append(f"{number_sql(blank, of, reading.decimal, either=in_degrees)} AS {name}")
    if "tower" in columns:
        parts.append(f"{text['tower']} AS tower")
    if "occupied" in columns:
        value = f"lower({text['occupied']})"
        parts.append(f"CASE WHEN {value} IN ({_YES}) THEN true WHEN {value} IN ({_NO}) THEN false END AS occupied")
    condition = f" WHERE ({where})" if where else ""
    return f"SELECT {', '.join(parts)} FROM {table}{condition}"
