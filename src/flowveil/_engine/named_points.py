"""Reading points with an id, such as the towers of a phone network."""

from __future__ import annotations

from typing import TYPE_CHECKING

from flowveil._engine.duckdb import connection, relation, types
from flowveil._engine.rows import _text
from flowveil._engine.shaping import identifier

if TYPE_CHECKING:
    from collections.abc import Mapping

    import pyarrow as pa

    from flowveil._engine.source import Source


def read_points(source: Source, columns: Mapping[str, str]) -> tuple[pa.Table, dict[str, int]]:
    """Return points (first the id as text, then lon and lat), and how many rows cannot be used, by reason.

    columns: the column of the id, of lon and of lat, in this order, by what they are called in the answer.
    """
    with connection(source) as con:
        table, kind = relation(con, source, list(columns.values())), types(con, source)
        kind = dict.fromkeys(kind, "VARCHAR") if getattr(source, "format", "") == "csv" else kind
        (name, column), *places = columns.items()
        parts = [f"{_text(identifier(column), kind[column])} AS {name}"]
        parts += [f"TRY_CAST({identifier(place)} AS DOUBLE) AS {axis}" for axis, place in places]
        con.execute(f"CREATE TEMP TABLE points AS SELECT {', '.join(parts)} FROM {table}")
        good = "isfinite(lon) AND isfinite(lat) AND abs(lon) <= 180 AND abs(lat) <= 90"
        problems = {
            "null id": f"SELECT count(*) FROM points WHERE {name} IS NULL",
            "no coordinates": f"SELECT count(*) FROM points WHERE NOT coalesce({good}, false)",
            "an id that another row has": f"SELECT count({name}) - count(DISTINCT {name}) FROM points",
        }
        counts = {reason: int(con.execute(sql).fetchall()[0][0]) for reason, sql in problems.items()}
        points: pa.Table = con.sql(f"SELECT * FROM points ORDER BY {name}").to_arrow_table()
        return points, {reason: count for reason, count in counts.items() if count}
