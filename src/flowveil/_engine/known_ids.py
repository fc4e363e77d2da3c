"""Whether the rows of an input name things that are known."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa

from flowveil._engine.duckdb import connection, relation, types
from flowveil._engine.rows import _text
from flowveil._engine.shaping import identifier

if TYPE_CHECKING:
    from collections.abc import Sequence

    from flowveil._engine.source import Source


def names_any(source: Source, columns: Sequence[str], ids: Sequence[str]) -> bool:
    """Whether one of the columns has one of the ids in any row."""
    with connection(source) as con:
        table, kind = relation(con, source, columns), types(con, source)
        made = {column.name for column in source.derived}
        is_csv = getattr(source, "format", "") == "csv"
        con.register("known_ids", pa.table({"id": pa.array(ids, pa.string())}))
        texts = (
            _text(identifier(column), "VARCHAR" if is_csv and column not in made else kind[column])
            for column in columns
        )
        named = " OR ".join(f"({text}) IN (SELECT id FROM known_ids)" for text in texts)
        return bool(con.execute(f"SELECT 1 FROM {table} WHERE {named} LIMIT 1").fetchall())
