"""Parquet files that hold their table and nothing else.

A table is written again and the two files are compared: what a reader cannot see (names inside nested types,
statistics, bytes that belong to no column, unused entries of dictionaries) has no other place to hide in.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, cast

import pyarrow as pa
import pyarrow.parquet as pq

from flowveil._verify.broken import broken, shown

if TYPE_CHECKING:
    from pathlib import Path

_MAGIC = b"PAR1"
_LENGTH_BYTES = 4  # of the footer's length, which stands before the last magic
_CREATOR = r"parquet-cpp-arrow version [0-9.]{1,20}"
_STATISTICS = ("min", "max", "null_count", "distinct_count")
_CHUNK = ("path_in_schema", "physical_type", "compression", "num_values", "file_path")


def read_parquet(path: Path, schema: pa.Schema) -> pa.Table:
    """Read a Parquet file that has exactly these columns, in this order, and this metadata."""
    try:
        data = path.read_bytes()
        with pq.ParquetFile(pa.BufferReader(data)) as file:
            _check_metadata(path.name, file.metadata, schema)
            _check_columns(path.name, file.schema_arrow, schema)
            table = file.read().cast(schema)  # before a look at column chunks, where pyarrow aborts on a broken footer
            table.validate(full=True)
            _check_layout(path.name, data, file.metadata)
            _check_same(path.name, data, file, table)
    except (pa.ArrowException, OSError, ValueError, OverflowError) as error:
        raise broken(f"{path.name} cannot be read: {shown(error)}") from None
    return table


def read_any_columns(path: Path, metadata: dict[bytes | str, bytes | str] | None = None) -> pa.Table:
    """Read a Parquet file that has this metadata, and columns that are looked at elsewhere."""
    try:
        written = pq.read_schema(path)
    except (pa.ArrowException, OSError, ValueError) as error:
        raise broken(f"{path.name} cannot be read: {shown(error)}") from None
    return read_parquet(path, pa.schema([(field.name, field.type) for field in written], metadata))


def has_column(path: Path, name: str) -> bool:
    """Whether a Parquet file, which anyone may have written, seems to have a column."""
    try:
        return name in pq.read_schema(path).names
    except (pa.ArrowException, OSError, ValueError):
        return False  # reading the file says what is wrong with it


def _check_metadata(name: str, metadata: pq.FileMetaData, schema: pa.Schema) -> None:
    allowed = schema.metadata or {}
    entries = metadata.metadata or {}
    for key in entries:
        if key not in allowed:
            key_text = shown(key.decode(errors="replace"))
            raise broken(f"{name} has the metadata key {key_text!r}, which is no part of the format")
    for key, value in allowed.items():
        if entries.get(key) != value:
            raise broken(f"the metadata {key.decode()!r} of {name} is not that of the format")
    if not re.fullmatch(_CREATOR, metadata.created_by):
        raise broken(f"{name} does not say which version of pyarrow wrote it, and nothing else")


def _check_columns(name: str, written: pa.Schema, schema: pa.Schema) -> None:
    for column in written.names:
        if column not in schema.names:
            raise broken(f"{name} has the column {shown(column)!r}, which is no part of the format")
    for column in schema.names:
        if written.names.count(column) != 1:
            raise broken(f"{name} does not have one column {column!r}")
        kind, expected = written.field(column).type, schema.field(column).type
        if kind != expected:
            raise broken(f"the column {column!r} of {name} is {shown(kind)}, not {expected}")
    if written.names != schema.names:
        raise broken(f"the columns of {name} are not in the order {', '.join(schema.names)}")


def _check_layout(name: str, data: bytes, metadata: pq.FileMetaData) -> None:
    """Raise unless the file is magic, column chunks one after another, footer, its length, magic."""
    place = len(_MAGIC)
    for group in range(metadata.num_row_groups):
        for column in range(metadata.num_columns):
            chunk = metadata.row_group(group).column(column)
            starts = [chunk.data_page_offset, chunk.dictionary_page_offset]
            if min(start for start in starts if start is not None) != place:
                raise broken(f"{name} has bytes that belong to no column")
            place += chunk.total_compressed_size
    place += metadata.serialized_size
    end = metadata.serialized_size.to_bytes(_LENGTH_BYTES, "little") + _MAGIC
    if not data.startswith(_MAGIC) or data[place:] != end:
        raise broken(f"{name} has bytes that belong to no column")


def _write_again(table: pa.Table, *, early: bool = False) -> bytes:
    """Write a table the way releases are written; early: as they were before outlines were stored once."""
    target = pa.BufferOutputStream()
    once = "geometry" in table.column_names and not early
    with pq.ParquetWriter(
        target,
        table.schema,
        compression="zstd",
        compression_level={"geometry": 9} if once else None,
        dictionary_pagesize_limit=2**30 if once else None,
        store_schema=False,
    ) as writer:
        writer.write_table(table.combine_chunks())
        writer.add_key_value_metadata(cast("dict[str, str]", table.schema.metadata or {}))  # bytes will do too
    return bytes(target.getvalue())


def _check_same(name: str, data: bytes, file: pq.ParquetFile, table: pa.Table) -> None:
    """Compare a file with its table written again: byte by byte if the same version of pyarrow wrote it."""
    again = _write_again(table)
    with pq.ParquetFile(pa.BufferReader(again)) as other:
        if not file.schema.equals(other.schema):
            raise broken(f"the schema of {name} is not that of the format")
        _check_chunks(name, file.metadata, other.metadata)
        if file.metadata.created_by != other.metadata.created_by or data == again:
            return
        if data != _write_again(table, early=True):
            raise broken(
                f"{name} is not byte for byte what {shown(file.metadata.created_by)} writes for its table",
                "write and verify with the same installation of pyarrow; if both were, do not publish this folder",
            )


def _check_chunks(name: str, written: pq.FileMetaData, expected: pq.FileMetaData) -> None:
    rows = [
        [metadata.row_group(group).num_rows for group in range(metadata.num_row_groups)]
        for metadata in (written, expected)
    ]
    if rows[0] != rows[1]:
        raise broken(f"the rows of {name} are not grouped as releases are written")
    for group in range(written.num_row_groups):
        for column in range(written.num_columns):
            chunk, other = (metadata.row_group(group).column(column) for metadata in (written, expected))
            if any(getattr(chunk, part) != getattr(other, part) for part in _CHUNK):
                raise broken(f"the column {shown(chunk.path_in_schema)!r} of {name} is not stored as the format says")
            if chunk.statistics is not None and not _agree(chunk.statistics, other.statistics):
                raise broken(f"the statistics of {shown(chunk.path_in_schema)!r} of {name} are not those of its values")


def _agree(written: pq.Statistics, expected: pq.Statistics | None) -> bool:
    """Whether statistics are those of the values, or left out."""
    if expected is None:
        return False
    pairs = [(getattr(written, part), getattr(expected, part)) for part in _STATISTICS]
    return all(value is None or value == true for value, true in pairs)
