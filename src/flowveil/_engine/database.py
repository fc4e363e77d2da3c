"""Rows of a query to a PostgreSQL database, streamed: never the whole table in memory."""

from __future__ import annotations

import re
from contextlib import contextmanager
from typing import TYPE_CHECKING
from urllib.parse import unquote

import pyarrow as pa

from flowveil._errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from adbc_driver_manager import dbapi

    from flowveil._engine.source import QuerySource

_PASSWORD = re.compile(r"//[^/@]*?:(.*)@|[?&]password=([^&]*)")
_QUOTED = re.compile(r"'[^']*'")  # what errors of the server quote may be a person or a place
_OPAQUE = "arrow.opaque"  # a type that Arrow lacks, such as numeric: its text will do


def query_schema(source: QuerySource) -> pa.Schema:
    """Return the columns of a query, which is not run."""
    with _cursor(source) as cursor:
        schema = cursor.adbc_execute_schema(source.query)
    return pa.schema([pa.field(field.name, _plain(field.type)) for field in schema])


def query_reader(source: QuerySource) -> pa.RecordBatchReader:
    """Return the rows of a query; it runs when the first of them is asked for."""
    schema = query_schema(source)
    return pa.RecordBatchReader.from_batches(schema, _batches(source, schema))


def _batches(source: QuerySource, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    with _cursor(source) as cursor:
        cursor.execute(source.query)
        for batch in cursor.fetch_record_batch():
            columns = [column.cast(field.type) for column, field in zip(batch.columns, schema, strict=True)]
            yield pa.record_batch(columns, schema=schema)


def _plain(kind: pa.DataType) -> pa.DataType:
    if isinstance(kind, pa.BaseExtensionType) and kind.extension_name == _OPAQUE:
        return kind.storage_type
    return kind


@contextmanager
def _cursor(source: QuerySource) -> Iterator[dbapi.Cursor]:
    """Connect for reading only. Errors tell what the server says, but never the password."""
    try:
        from adbc_driver_postgresql.dbapi import Error, connect  # noqa: PLC0415  an extra
    except ImportError:
        raise InputError(
            "reading from PostgreSQL needs a driver", "install it with: pip install 'flowveil[postgres]'"
        ) from None
    try:
        with connect(source.url) as con, con.cursor() as cursor:
            cursor.execute("SET TRANSACTION READ ONLY")
            yield cursor
    except Error as error:
        raise InputError(
            f"the database does not answer the query: {_reason(str(error), source.url)}", _hint(str(error))
        ) from None


def _reason(text: str, url: str) -> str:
    line = text.strip().splitlines()[0]
    if "URI" in line or "percent-encoded" in line:  # these quote the URL
        return "its URL cannot be understood"
    line = re.sub(r"^[A-Z_]+: (\[libpq\] )?", "", line)
    for match in _PASSWORD.finditer(url):
        for password in filter(None, match.groups()):
            line = line.replace(password, "...").replace(unquote(password), "...")
    return _QUOTED.sub("...", line)


def _hint(text: str) -> str:
    if "Failed to connect" in text:
        return "write postgresql://USER@HOST:PORT/DATABASE; the password may be in PGPASSWORD or ~/.pgpass"
    return "try the query with psql; --query takes one SELECT without a semicolon"
