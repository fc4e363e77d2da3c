"""Connections to DuckDB that leave nothing behind, and sources as SQL."""

from __future__ import annotations

import re
import tempfile
from contextlib import contextmanager
from typing import TYPE_CHECKING

import duckdb

from flowveil._errors import InputError
from flowveil.engine._source import FileSource, Source

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator


@contextmanager
def connection(memory: str | None = None) -> Iterator[duckdb.DuckDBPyConnection]:
    """Open DuckDB with a spill folder of its own; close it and remove the folder whatever happens.

    Spill files hold trips, so an unclosed connection would leave them on disk. DuckDB's own errors become InputErrors.
    """
    with tempfile.TemporaryDirectory(prefix="flowveil-spill-") as folder:
        con = duckdb.connect(config={"temp_directory": folder, "preserve_insertion_order": "false"})
        try:
            if memory is not None:
                if not re.fullmatch(r"\d+(\.\d+)?\s*[KMGT]i?B", memory):
                    raise InputError(f"{memory!r} is not an amount of memory", "write it like --memory 2GB")
                con.execute(f"SET memory_limit = '{memory}'")
            yield con
        except duckdb.OutOfMemoryException as error:
            raise InputError(f"the memory allowed is not enough: {_first_line(error)}", "raise --memory") from None
        except duckdb.Error as error:
            raise InputError(
                f"the trips cannot be read: {_first_line(error)}", "check the file and the columns that are named"
            ) from None
        finally:
            con.close()


def column_names(source: Source) -> tuple[str, ...]:
    """Return the columns of a source."""
    with connection() as con:
        return tuple(types(con, source))


def check_condition(source: Source, where: str | None) -> None:
    """Raise if `where` is not a condition on this source."""
    if where is None:
        return
    with connection() as con:
        table = relation(con, source)
        try:
            con.execute(f"SELECT 1 FROM {table} WHERE (\n{where}\n) LIMIT 0")
        except duckdb.Error as error:
            raise InputError(
                f"the condition {where!r} cannot be used: {_first_line(error)}",
                "--where takes a DuckDB condition on the input's columns, e.g. --where \"start_time >= '2024-01-01'\"",
            ) from None


def types(con: duckdb.DuckDBPyConnection, source: Source) -> dict[str, str]:
    """Return the DuckDB type of each column."""
    rows = con.execute(f"DESCRIBE SELECT * FROM {relation(con, source)}").fetchall()
    return {row[0]: row[1] for row in rows}


def relation(con: duckdb.DuckDBPyConnection, source: Source, text: Collection[str] = ()) -> str:
    """Return SQL that reads the source. CSV columns in `text` are read as text: 007 is not 7, N/A is not an error."""
    if not isinstance(source, FileSource):
        con.register("input_table", source.table)
        return "input_table"
    files = f"[{', '.join(literal(path) for path in source.paths)}]"
    if source.format == "parquet":
        return f"read_parquet({files}, union_by_name = true)"
    kinds = ", ".join(f"{literal(column)}: 'VARCHAR'" for column in sorted(set(text)))
    return f"read_csv({files}, header = true, union_by_name = true{f', types = {{{kinds}}}' if kinds else ''})"


def literal(text: str) -> str:
    """Quote text for SQL."""
    return "'" + text.replace("'", "''") + "'"


def identifier(name: str) -> str:
    """Quote a column name for SQL."""
    return '"' + name.replace('"', '""') + '"'


def _first_line(error: Exception) -> str:
    return str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
