"""Connections to DuckDB that leave nothing behind, and sources as SQL."""

from __future__ import annotations

import glob
import re
import tempfile
from contextlib import contextmanager
from typing import TYPE_CHECKING

import duckdb

from flowveil._errors import InputError
from flowveil.engine._source import FileSource, Source

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

# DuckDB guesses separator and types. It may not guess comments or lines to skip: it would leave out trips in silence.
_CSV_OPTIONS = "header = true, union_by_name = true, skip = 0, comment = '', quote = '\"'"
_SEPARATORS = ",;\t|"
_VALUE = re.compile(r"""'[^']*'|"[^"]*"|[-+]?\b\d[\w.+-]*""")  # what errors quote may be a person or a place


@contextmanager
def connection(memory: str | None = None) -> Iterator[duckdb.DuckDBPyConnection]:
    """Open DuckDB with a spill folder of its own; close it and remove the folder whatever happens.

    Spill files hold trips, so an unclosed connection would leave them on disk. DuckDB's own errors become InputErrors.
    """
    with tempfile.TemporaryDirectory(prefix="flowveil-spill-") as folder:
        con = duckdb.connect(config={"temp_directory": folder, "preserve_insertion_order": "false"})
        con.execute("SET enable_progress_bar = false")  # commands show their own
        try:
            if memory is not None:
                if not re.fullmatch(r"\d+(\.\d+)?\s*[KMGT]i?B", memory):
                    raise InputError(f"{memory!r} is not an amount of memory", "write it like --memory 2GB")
                con.execute(f"SET memory_limit = '{memory}'")
            yield con
        except duckdb.OutOfMemoryException as error:
            raise InputError(f"the memory allowed is not enough: {_first_line(error)}", "raise --memory") from None
        except duckdb.Error as error:
            raise InputError(f"the trips cannot be read: {_first_line(error)}", _hint(error)) from None
        finally:
            con.close()


def column_names(source: Source) -> tuple[str, ...]:
    """Return the columns of a source."""
    with connection() as con:
        names = tuple(types(con, source))
    if _is_csv(source) and len(names) == 1 and (found := [mark for mark in _SEPARATORS if mark in names[0]]):
        raise InputError(
            f"the lines of the CSV file cannot be split at {found[0]!r} into the columns of its first line",
            "the first line names the columns, and every line has as many values as there are names",
        )
    return names


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
    files = f"[{', '.join(literal(glob.escape(path)) for path in source.paths)}]"
    if source.format == "parquet":
        return f"read_parquet({files}, union_by_name = true)"
    kinds = ", ".join(f"{literal(column)}: 'VARCHAR'" for column in sorted(set(text)))
    types_given = f", types = {{{kinds}}}" if kinds else ""
    return f"read_csv({files}, {_CSV_OPTIONS}{types_given})"


def literal(text: str) -> str:
    """Quote text for SQL."""
    return "'" + text.replace("'", "''") + "'"


def identifier(name: str) -> str:
    """Quote a column name for SQL."""
    return '"' + name.replace('"', '""') + '"'


def _is_csv(source: Source) -> bool:
    return isinstance(source, FileSource) and source.format == "csv"


def _hint(error: duckdb.Error) -> str:
    if "not utf-8 encoded" in str(error):
        return "save the file as UTF-8"
    if "CSV Error on Line" in str(error):
        return "look at this line of the file: too many or too few values, quotes that do not match, or a wrong type"
    return "check the file and the columns that are named"


def _first_line(error: Exception) -> str:
    """Return the first line of an error, with values masked unless it speaks of names and syntax only."""
    line = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
    about_names = isinstance(error, duckdb.BinderException | duckdb.ParserException | duckdb.CatalogException)
    return line if about_names or "CSV Error on Line" in line else _VALUE.sub("...", line)
