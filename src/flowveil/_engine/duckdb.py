"""Connections to DuckDB that leave nothing behind, and sources as SQL."""

from __future__ import annotations

import glob
import re
from contextlib import closing, contextmanager, suppress
from typing import TYPE_CHECKING

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq

from flowveil._engine.cab_files import CAB_FORMATS, cabs_sql
from flowveil._engine.cloud import cloud_dataset
from flowveil._engine.csv_files import csv_options
from flowveil._engine.database import query_reader, query_schema
from flowveil._engine.shaping import identifier, literal, shaped
from flowveil._engine.source import (
    FILENAME,
    FILENAME_SQL,
    CloudSource,
    FileSource,
    QuerySource,
    Source,
    StreamSource,
    TableSource,
)
from flowveil._errors import FlowveilError, InputError
from flowveil._folder import scratch_folder

if TYPE_CHECKING:
    from collections.abc import Collection, Generator, Iterable, Iterator

    from pyarrow.dataset import Dataset

_SETTINGS: dict[str, str | bool | int | float | list[str]] = {
    "autoinstall_known_extensions": "false",
    "autoload_known_extensions": "false",
    "preserve_insertion_order": "false",
    "python_enable_replacements": "false",  # a name in SQL is never a variable of Python
}
_DUCKDB_SHARE = 0.75  # of the memory allowed; the rest is for rows on their way and the arrays they become
_LEAST = 64e6  # bytes that DuckDB needs to work at all
_SEPARATORS = ",;\t|"
_INTERRUPTED = "Query interrupted"  # what DuckDB makes of Ctrl-C while Python waits for an answer
_NO_ROOM = ("Out of Memory Error", "can't start new thread")
_RAISED = " Detail: Python exception: "  # what follows is where, not what
_VALUE = re.compile(r"""'[^']*'|"[^"]*"|[-+]?\b\d[\w.+-]*""")  # what errors quote may be a person or a place


@contextmanager
def connection(source: Source, memory: int | None = None) -> Iterator[duckdb.DuckDBPyConnection]:
    """Open DuckDB with a spill folder of its own; close it and remove the folder whatever happens.

    Spill files hold trips, so an unclosed connection would leave them on disk. DuckDB's own errors become InputErrors.
    Nothing can be read but the files of the source, and nothing written but spill files: whatever SQL came to be run.
    memory: in bytes.
    """
    with scratch_folder() as folder:
        con = duckdb.connect(config=_SETTINGS | {"temp_directory": str(folder)})
        try:
            with suppress(duckdb.InvalidInputException):  # a notebook without ipywidgets, where DuckDB has none
                con.execute("SET enable_progress_bar = false")  # commands show their own
            con.execute("SET GLOBAL TimeZone = 'UTC'")  # conditions and ids do not depend on the machine
            _shut(con, source.files if isinstance(source, FileSource) else ())
            if memory is not None:
                con.execute(f"SET memory_limit = '{_DUCKDB_SHARE * memory / 1000:.0f}KB'")
            yield con
        except duckdb.InterruptException:
            raise KeyboardInterrupt from None
        except RuntimeError as error:
            if str(error) == _INTERRUPTED:
                raise KeyboardInterrupt from None
            raise
        except duckdb.Error as error:
            if any(sign in str(error) for sign in _NO_ROOM):  # also where one query reads from another
                raise InputError(f"the memory allowed is not enough: {_first_line(error)}", "raise --memory") from None
            raise InputError(f"the trips cannot be read: {_first_line(error)}", _hint(error)) from None
        finally:
            con.close()


def _shut(con: duckdb.DuckDBPyConnection, paths: Iterable[str]) -> None:
    """Leave a connection nothing outside but files that it may read; there is no way back."""
    allowed = {name for path in paths for name in (path, glob.escape(path))}  # DuckDB asks for a pattern by its text
    con.execute(f"SET allowed_paths = [{', '.join(literal(name) for name in sorted(allowed))}]")
    con.execute("SET enable_external_access = false")


@contextmanager
def streamed(
    con: duckdb.DuckDBPyConnection, name: str, schema: pa.Schema, batches: Generator[pa.RecordBatch]
) -> Iterator[None]:
    """Make batches a table that can be read once; what goes wrong while they are made is raised as it was.

    DuckDB would turn Ctrl-C into an error of its own. When this is left, no thread works on the batches any more.
    """
    failures: list[BaseException] = []

    def watched() -> Iterator[pa.RecordBatch]:
        try:
            yield from batches
        except (FlowveilError, KeyboardInterrupt) as failure:
            failures.append(failure)
            raise

    with closing(batches):
        reader = pa.RecordBatchReader.from_batches(schema, watched())
        con.register(name, reader)
        try:
            yield
        except duckdb.Error:
            if failures:
                raise failures[0] from None
            raise
        finally:
            con.unregister(name)
            reader.close()


def make_room(con: duckdb.DuckDBPyConnection, memory: int, arrays: float) -> None:
    """Leave so many bytes of the memory allowed to arrays; DuckDB spills what it has no room for any more."""
    share = min(_DUCKDB_SHARE * memory, max(memory - arrays, _LEAST))
    with suppress(duckdb.OutOfMemoryException):  # what it holds cannot be spilled: it keeps its share
        con.execute(f"SET memory_limit = '{share / 1000:.0f}KB'")


def column_names(source: Source) -> tuple[str, ...]:
    """Return the columns of a source."""
    if (known := _known_names(source)) is not None:
        return known
    with connection(source) as con:
        names = tuple(types(con, source))
    if _is_csv(source) and len(names) == 1 and (marks := [mark for mark in _SEPARATORS if mark in names[0]]):
        raise InputError(
            f"the lines of the CSV file cannot be split at {marks[0]!r} into the columns of its first line",
            "the first line names the columns, and every line has as many values as there are names",
        )
    return names


def _known_names(source: Source) -> tuple[str, ...] | None:
    """Return the columns of a table or a Parquet file as DuckDB would name them; None if that is to be asked.

    Asking takes longer: a connection has to be made.
    """
    if source.wide is not None or source.derived or not isinstance(source, TableSource | FileSource):
        return None
    names = source.table.column_names if isinstance(source, TableSource) else _names_of_file(source)
    return tuple(names) if all(names) and len({name.casefold() for name in names}) == len(names) > 0 else None


def _names_of_file(source: FileSource) -> list[str]:
    """Return the columns of a single Parquet file; none where folders may be columns, or where it cannot be read."""
    if source.format != "parquet" or source.named or len(source.files) != 1 or "=" in source.files[0]:
        return []
    with suppress(pa.ArrowException, OSError, ValueError):  # DuckDB says what is wrong
        names: list[str] = pq.read_schema(source.files[0]).names
        return names
    return []


def first_rows(source: Source, most: int) -> pa.Table:
    """Return a few rows of a source as they are written; values of CSV files are text."""
    with connection(source) as con:
        table = relation(con, source, types(con, source) if _is_csv(source) else ())
        rows: pa.Table = con.sql(f"SELECT * FROM {table} LIMIT {most:d}").to_arrow_table()
        return rows


def types(con: duckdb.DuckDBPyConnection, source: Source) -> dict[str, str]:
    """Return the DuckDB type of each column."""
    table = shape(con, source)
    if isinstance(source, StreamSource) and source.kinds is not None:
        columns = (f"NULL::{kind} AS {identifier(column)}" for column, kind in source.kinds.items())
        table = shaped(f"(SELECT {', '.join(columns)} WHERE false)", source)
    rows = con.execute(f"DESCRIBE SELECT * FROM {table}").fetchall()
    return {row[0]: row[1] for row in rows}


def shape(con: duckdb.DuckDBPyConnection, source: Source) -> str:
    """Return SQL for a table with the columns of the source; where rows come by once, it has none."""
    if isinstance(source, FileSource | TableSource | CloudSource):
        return relation(con, source)
    schema = query_schema(source) if isinstance(source, QuerySource) else source.reader.schema
    con.register("input_shape", schema.empty_table())
    return shaped("input_shape", source)


def relation(con: duckdb.DuckDBPyConnection, source: Source, text: Collection[str] = ()) -> str:
    """Return SQL that reads the source. CSV columns in `text` are read as text: 007 is not 7, N/A is not an error."""
    made = {column.name: column.columns for column in source.derived}
    return shaped(_unshaped(con, source, {name for column in text for name in made.get(column, (column,))}), source)


def _unshaped(con: duckdb.DuckDBPyConnection, source: Source, text: Collection[str]) -> str:
    """Return SQL that reads the source as it is."""
    if not isinstance(source, FileSource):
        con.register("input_table", _arrow(source))
        of_text = source.kinds if isinstance(source, StreamSource) else None
        return "input_table" if of_text is None else f"({_typed(of_text, text)})"
    if source.format in CAB_FORMATS:
        return cabs_sql(source.format, _names(source))
    table = _scan(source, text)
    return f"(SELECT * REPLACE ({FILENAME_SQL} AS {FILENAME}) FROM {table})" if source.named else table


def _scan(source: FileSource, text: Collection[str]) -> str:
    """Return SQL that reads Parquet or CSV files, with the path of each row's file where it is asked for."""
    more = ", filename = true" if source.named else ""
    if source.format == "parquet":
        return f"read_parquet({_names(source)}, union_by_name = true{more})"
    if source.wide is not None:
        return f"read_csv({_names(source)}, {csv_options(source.files)}, all_varchar = true)"
    made = {FILENAME} if source.named else set()
    if kinds := ", ".join(f"{literal(column)}: 'VARCHAR'" for column in sorted(set(text) - made)):
        more += f", types = {{{kinds}}}"
    return f"read_csv({_names(source)}, {csv_options(source.files)}{more})"


def _names(source: FileSource) -> str:
    return f"[{', '.join(literal(glob.escape(path)) for path in source.files)}]"


def _typed(kinds: dict[str, str], text: Collection[str]) -> str:
    """Return SQL that gives columns of text, but for `text`, the types that DuckDB saw in all files together."""
    columns = (
        name if column in text else f"TRY_CAST({name} AS {kind}) AS {name}"
        for column, kind in kinds.items()
        for name in [identifier(column)]
    )
    return f"SELECT {', '.join(columns)} FROM input_table"


def read_text(con: duckdb.DuckDBPyConnection, source: FileSource, columns: list[str]) -> pa.RecordBatchReader:
    """Return the rows of CSV files as text; columns that they lack are null."""
    table = f"read_csv({_names(source)}, {csv_options(source.files)}, all_varchar = true)"
    there = [row[0] for row in con.execute(f"DESCRIBE SELECT * FROM {table}").fetchall()]
    named = (identifier(name) if name in there else f"NULL::VARCHAR AS {identifier(name)}" for name in columns)
    reader: pa.RecordBatchReader = con.sql(f"SELECT {', '.join(named)} FROM {table}").to_arrow_reader()
    return reader


def _arrow(source: TableSource | QuerySource | CloudSource | StreamSource) -> pa.Table | Dataset | pa.RecordBatchReader:
    if isinstance(source, TableSource):
        return source.table
    if isinstance(source, CloudSource):
        return cloud_dataset(source)
    return query_reader(source) if isinstance(source, QuerySource) else source.reader


def _is_csv(source: Source) -> bool:
    return isinstance(source, FileSource) and source.format == "csv"


def _hint(error: duckdb.Error) -> str:
    if "not utf-8 encoded" in str(error):
        return "name the encoding of the file, e.g. --encoding cp1252"
    if "CSV Error on Line" in str(error):
        return "look at this line of the file: too many or too few values, quotes that do not match, or a wrong type"
    if "Conversion Error" in str(error):
        return "check the file and the columns that are named; a condition compares text with text, e.g. id = '5'"
    return "check the file and the columns that are named"


def _first_line(error: Exception) -> str:
    """Return the first line of an error, with values masked unless it speaks of names and syntax only."""
    text = str(error).partition(_RAISED)[0].strip()
    line = text.splitlines()[0] if text else type(error).__name__
    about_names = isinstance(error, duckdb.BinderException | duckdb.ParserException | duckdb.CatalogException)
    return line if about_names or "CSV Error on Line" in line else mask(line)


def mask(text: str) -> str:
    """Hide numbers and what is quoted: it may be a person or a place."""
    return _VALUE.sub("...", text)
