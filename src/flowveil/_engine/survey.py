"""A first look at an input: what it is, which zones it names, when its trips were made. Private."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from flowveil._arrays import texts
from flowveil._engine.duckdb import connection
from flowveil._engine.rows import rows_sql
from flowveil._engine.source import CloudSource, FileSource, QuerySource
from flowveil._engine.unpack import find_encoding

if TYPE_CHECKING:
    from collections.abc import Sequence

    from flowveil._engine.rows import Request
    from flowveil._engine.source import Source

_HOUR = 3_600_000_000  # microseconds
_NAMES = {"csv": "text (CSV)", "parquet": "Parquet", "cabs": "fixes of cabs"}


@dataclass(frozen=True)
class Clock:
    """When trips were made, as their clock shows, or in UTC."""

    first: datetime | None
    last: datetime | None
    hours: int  # in which a trip starts
    unusable: int  # rows without a time that can be used
    aware: bool  # times say where they are, and are given in UTC


def describe_source(source: Source, encoding: str | None) -> dict[str, str | int]:
    """Return what an input is; encoding: of text, if the user said it."""
    if isinstance(source, QuerySource):
        return {"format": "database"}
    if isinstance(source, CloudSource):
        return {"format": "Parquet in the cloud", "files": len(source.paths)}
    if not isinstance(source, FileSource):
        paths = getattr(source, "paths", ())
        return {"format": "Open Matrix", "files": len(paths)} if paths else {"format": "table"}
    size = sum(Path(path).stat().st_size for path in source.paths)
    told: dict[str, str | int] = {"format": _NAMES[source.format], "files": len(source.paths), "bytes": size}
    if source.format == "csv":
        plain = [path for path in source.paths if not path.lower().endswith(".zip")]
        found = {encoding or find_encoding(path) or "utf-8" for path in plain}
        told |= {"encoding": ", ".join(sorted(found))} if found else {}
    return told


def find_zones(request: Request) -> list[str]:
    """Return the ids of zones that trips start or end in, sorted."""
    with connection(request.source) as con:
        rows = rows_sql(con, request)
        ends = " UNION ".join(f"SELECT {name} AS id FROM rows" for name in request.columns)
        found = con.sql(f"WITH rows AS ({rows}) SELECT id FROM ({ends}) WHERE id IS NOT NULL ORDER BY id")
        return texts(found.to_arrow_table()["id"])


def look_at_clock(request: Request) -> Clock:
    """Return when the trips of a request with a column of times were made."""
    with connection(request.source) as con:
        figures = "min(time), max(time), count(DISTINCT time // $1), count(*) - count(time), bool_or(aware)"
        row: Sequence[int | None] = con.execute(
            f"SELECT {figures} FROM ({rows_sql(con, request)})", [_HOUR]
        ).fetchall()[0]
    first, last = (None if value is None else datetime.fromtimestamp(value / 1e6, UTC) for value in row[:2])
    return Clock(first, last, int(row[2] or 0), int(row[3] or 0), bool(row[4]))
