"""Where trips come from: files or a table, described but not yet read."""

from __future__ import annotations

import glob
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

import pyarrow as pa
import pyarrow.feather

from flowveil._engine.cab_files import CABS, is_cab_file
from flowveil._engine.cloud import is_address, list_files
from flowveil._errors import InputError
from flowveil._folder import fingerprint_files, fingerprint_text
from flowveil._options import parse_text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from flowveil._arrays import ArrowTable

_ENDINGS = {".csv": "csv", ".parquet": "parquet", ".pq": "parquet", ".arrow": "arrow", ".feather": "arrow"}
_ONE_TYPE = "every column needs one type; turn ids into text"
_DATABASES = ("postgresql://", "postgres://")
_FORMATS = "trips are CSV, Parquet or Arrow files (.csv, .csv.gz, .parquet, .arrow), a glob of them, or a table"


@dataclass(frozen=True)
class FileSource:
    """Files of one format."""

    paths: tuple[str, ...]
    format: str  # csv, parquet or cabs


@dataclass(frozen=True, eq=False)
class TableSource:
    """A table in memory."""

    table: pa.Table


@dataclass(frozen=True)
class QuerySource:
    """The rows of a query to a database."""

    url: str = field(repr=False)  # may hold a password
    query: str


@dataclass(frozen=True)
class CloudSource:
    """Parquet files in the cloud."""

    address: str = field(repr=False)  # may hold a key
    paths: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class StreamSource:
    """Rows that come by once, such as those that another engine hands over."""

    reader: pa.RecordBatchReader
    kinds: dict[str, str] | None = None  # rows of CSV, all of them text: DuckDB's type of each column

    @property
    def format(self) -> str:
        """What the rows were written as."""
        return "arrow" if self.kinds is None else "csv"


Source = FileSource | TableSource | QuerySource | CloudSource | StreamSource

# What trips and samples are read from: files, a folder, a glob or an address, a table or frame, or a query of an audit.
Readable: TypeAlias = "str | Path | Sequence[str | Path] | pa.RecordBatch | ArrowTable | QuerySource"


def fingerprint(source: Source | None) -> list[dict[str, str | int]]:
    """Return by what an input is known again: of its files name, size and SHA-256, in order, or of its query a hash.

    Nothing for tables in memory, streams and the cloud.
    """
    if isinstance(source, QuerySource):
        return fingerprint_text("query", source.query)
    return fingerprint_files(source.paths) if isinstance(source, FileSource) else []


def open_source(source: Readable, query: str | None = None) -> Source:
    """Return what `source` (a path, a glob, a list of paths, a table, a frame or a database) stands for."""
    if isinstance(source, str) and source.startswith(_DATABASES):
        if query is None:
            raise InputError("a database was given, but not what to ask it", 'add --query "SELECT ... FROM ..."')
        return QuerySource(source, parse_text(query, "query", '"SELECT ... FROM ..."'))
    if query is not None:
        raise InputError("a query was given, but no database", f"INPUT is then {_DATABASES[0]}USER@HOST/DATABASE")
    if isinstance(source, QuerySource):
        return source
    if isinstance(source, str) and is_address(source):
        return CloudSource(source, list_files(source))
    if isinstance(source, str | Path):
        return _files([str(source)])
    if isinstance(source, list | tuple) and source and all(isinstance(item, str | Path) for item in source):
        return _files([str(item) for item in source])
    return TableSource(_table(source))


def _table(source: object) -> pa.Table:
    if isinstance(source, pa.Table):
        return source
    if isinstance(source, pa.RecordBatch):
        return pa.Table.from_batches([source])
    if type(source).__name__ == "LazyFrame" and hasattr(source, "collect"):  # of polars
        source = source.collect()
    if hasattr(source, "__arrow_c_stream__"):  # pandas, polars and others
        try:
            return pa.table(source)
        except (pa.ArrowException, TypeError):  # whose text would show values
            raise InputError(
                f"a column of the {type(source).__name__} holds values of several types", _ONE_TYPE
            ) from None
    raise InputError(f"trips cannot be read from a {type(source).__name__}", _FORMATS)


def _files(patterns: list[str]) -> Source:
    # By real path: a file that two patterns match would count its trips twice.
    paths = sorted({Path(path).resolve(): path for pattern in patterns for path in _matches(pattern)}.values())
    formats = {_format(path) for path in paths}
    if len(formats) > 1:
        raise InputError(f"the files have different formats: {', '.join(sorted(formats))}", "give files of one format")
    for path in paths:
        if not _is_text(path):
            raise InputError(f"the name {path!r} is not text in UTF-8", "give the file another name")
        if Path(path).stat().st_size == 0:
            raise InputError(f"the file {path!r} is empty", "give a file with a header and at least one trip")
    kind = formats.pop()
    if kind == "arrow":
        try:
            return TableSource(pa.concat_tables([pyarrow.feather.read_table(path) for path in paths]))
        except (pa.ArrowException, OSError) as error:
            raise InputError(f"the Arrow file cannot be read: {error}", _FORMATS) from None
    return FileSource(tuple(paths), kind)


def _matches(pattern: str) -> list[str]:
    path = Path(pattern)
    if path.is_dir():
        files = [str(item) for item in path.rglob("*") if item.is_file() and _kind(str(item)) and _is_data(item.name)]
        if not files:
            raise InputError(f"the folder {pattern!r} holds no trips", _FORMATS)
        return files
    if path.is_file():
        return [pattern]
    files = [item for item in glob.glob(pattern, recursive=True) if Path(item).is_file()]  # noqa: PTH207
    if not files:
        raise InputError(f"there is no file {pattern!r}", "check the path; quote a glob so that the shell leaves it")
    return files


def _is_text(name: str) -> bool:
    """Whether DuckDB can be told this name: Linux allows any bytes."""
    try:
        name.encode()
    except UnicodeEncodeError:
        return False
    return True


def _is_data(name: str) -> bool:
    """Whether a file of a folder is meant to be read: others put notes beside data under such names."""
    return not name.startswith((".", "_"))


def _kind(path: str) -> str | None:
    endings = [ending.lower() for ending in Path(path).suffixes]
    if endings and endings[-1] in {".gz", ".zst"}:
        endings.pop()
    kind = _ENDINGS.get(endings[-1] if endings else "")
    return CABS if kind is None and is_cab_file(path) else kind


def _format(path: str) -> str:
    kind = _kind(path)
    if kind is None:
        raise InputError(f"the format of {path!r} is not known", _FORMATS)
    return kind
