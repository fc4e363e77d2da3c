"""Where trips come from: files or a table, described but not yet read."""

from __future__ import annotations

import glob
import re
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.feather
import shapely

from flowveil._arrays import GeoFrame, is_geo_frame
from flowveil._engine.cab_files import cab_format
from flowveil._engine.cloud import is_address, list_files
from flowveil._engine.open_matrix import read_matrices
from flowveil._engine.reading import Reading
from flowveil._engine.unpack import Unpacked, ready
from flowveil._errors import InputError
from flowveil._folder import fingerprint_files, fingerprint_text
from flowveil._options import parse_text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from flowveil._arrays import ArrowTable

_ENDINGS = {".csv": "csv", ".txt": "csv", ".tsv": "csv", ".parquet": "parquet", ".pq": "parquet"}
_ENDINGS |= {".arrow": "arrow", ".feather": "arrow", ".omx": "matrices"}
FILENAME = "filename"  # the column that says which file a row is from
_STEM_ENDING = r"(?i)(\.(csv|txt|tsv|parquet|pq))?(\.(gz|zst))?$"
FILENAME_SQL = rf"regexp_replace(regexp_extract({FILENAME}, '[^/\\]*$'), '{_STEM_ENDING}', '')"
_ONE_TYPE = "every column needs one type; turn ids into text"
_LINE = 1  # what shapely calls the kind
_DATABASES = ("postgresql://", "postgres://")
_FORMATS = (
    "trips are CSV, Parquet, Arrow or Open Matrix files (.csv, .txt, .tsv, .csv.gz, .zip, .parquet, .arrow, .omx),"
    " a glob of them, or a table"
)


@dataclass(frozen=True)
class Derived:
    """A column that is computed from others of the same row."""

    name: str
    columns: tuple[str, ...]
    sql: str  # of our own; {0}, {1} and so on are the columns as text


@dataclass(frozen=True, kw_only=True)
class Shaping:
    """What becomes of the rows of a source before anybody sees them."""

    wide: str | None = None  # the rows are a matrix: this column names rows, all others are named by columns
    derived: tuple[Derived, ...] = ()


@dataclass(frozen=True)
class FileSource(Shaping):
    """Files of one format."""

    paths: tuple[str, ...]  # as they were named
    format: str  # csv, parquet, or one of cabs
    unpacked: tuple[str, ...] = ()  # what is read in their place
    owner: Unpacked | None = field(default=None, repr=False, compare=False)
    notes: tuple[str, ...] = ()  # what was assumed
    named: bool = False  # rows have a column FILENAME, which says the file they are from

    @property
    def files(self) -> tuple[str, ...]:
        """The files to read."""
        return self.unpacked or self.paths


@dataclass(frozen=True, eq=False)
class TableSource(Shaping):
    """A table in memory."""

    table: pa.Table
    paths: tuple[str, ...] = ()  # of the files that it was read from


@dataclass(frozen=True)
class QuerySource(Shaping):
    """The rows of a query to a database."""

    url: str = field(repr=False)  # may hold a password
    query: str


@dataclass(frozen=True)
class CloudSource(Shaping):
    """Parquet files in the cloud."""

    address: str = field(repr=False)  # may hold a key
    paths: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class StreamSource(Shaping):
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
    return fingerprint_files(source.paths) if isinstance(source, FileSource | TableSource) else []


def open_source(source: Readable, query: str | None = None, reading: Reading = Reading()) -> Source:  # noqa: B008  frozen
    """Return what `source` (a path, a glob, a list of paths, a table, a frame or a database) stands for."""
    opened = _open(source, query, reading)
    if reading.encoding is not None and not (isinstance(opened, FileSource) and opened.format == "csv"):
        raise InputError("an encoding was given, but these are no text files", "leave out --encoding")
    if reading.matrices is not None and not (isinstance(opened, TableSource) and opened.paths):
        raise InputError("a matrix was named, but this is no Open Matrix file", "leave out --matrices")
    return opened


def with_file_names(source: Source) -> Source:
    """Return a source whose rows say which file they are from, for files each of which is of one user."""
    if not isinstance(source, FileSource) or source.format not in {"csv", "parquet"} or source.unpacked:
        raise InputError(
            "users cannot be called as their files are: this is no folder of CSV (in UTF-8) or Parquet files",
            "unpack or convert the files, or give a column of users, e.g. --columns user=YOUR_COLUMN",
        )
    names = [file_stem(path) for path in source.files]
    if len(set(names)) < len(names):
        raise InputError("two files have the same name, so that their users cannot be told apart", "rename one of them")
    return replace(source, named=True)


def file_stem(path: str) -> str:
    """Return the name of a file without its folder and endings, as `FILENAME_SQL` does."""
    return re.sub(_STEM_ENDING, "", Path(path).name)


def _open(source: Readable, query: str | None, reading: Reading) -> Source:
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
        return _files([str(source)], reading)
    if isinstance(source, list | tuple) and source and all(isinstance(item, str | Path) for item in source):
        return _files([str(item) for item in source], reading)
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
            return _index_first(_without_shapes(source) if is_geo_frame(source) else pa.table(source))
        except (pa.ArrowException, TypeError):  # whose text would show values
            raise InputError(
                f"a column of the {type(source).__name__} holds values of several types", _ONE_TYPE
            ) from None
    raise InputError(f"trips cannot be read from a {type(source).__name__}", _FORMATS)


def _index_first(table: pa.Table) -> pa.Table:
    """Return a table with the columns first that were the index of a frame of pandas, where people see them."""
    index = (table.schema.pandas_metadata or {}).get("index_columns", [])
    first = [name for name in index if isinstance(name, str) and name in table.column_names]
    return table.select([*first, *(name for name in table.column_names if name not in first)]) if first else table


def _without_shapes(frame: GeoFrame) -> pa.Table:
    """Return a frame of geopandas without its shapes; of lines, both ends, in degrees, unless columns have them."""
    table = pa.table(frame.to_wkb())
    shapes = frame.geometry if frame.crs is None else frame.to_crs("EPSG:4326").geometry
    lines = np.asarray(shapes.to_numpy(), object)
    if not (there := ~shapely.is_missing(lines)).any() or (shapely.get_type_id(lines[there]) != _LINE).any():
        return table.drop_columns([shapes.name])
    for end, place in (("start", 0), ("end", -1)):
        points = shapely.get_point(lines, place)
        for axis, values in (("lon", shapely.get_x(points)), ("lat", shapely.get_y(points))):
            if f"{end}_{axis}" not in table.column_names:
                table = table.append_column(f"{end}_{axis}", pa.array(values, pa.float64(), mask=np.isnan(values)))
    return table.drop_columns([shapes.name])


def _files(patterns: list[str], reading: Reading) -> Source:
    # By real path: a file that two patterns match would count its trips twice.
    paths = sorted({Path(path).resolve(): path for pattern in patterns for path in _matches(pattern)}.values())
    for path in paths:
        if not _is_text(path):
            raise InputError(f"the name {path!r} is not text in UTF-8", "give the file another name")
        if Path(path).stat().st_size == 0:
            raise InputError(f"the file {path!r} is empty", "give a file with a header and at least one trip")
        if not path.lower().endswith(".zip"):
            _format(path)
    files, owner, notes = ready(paths, reading.encoding, lambda name: _format(name) == "csv", _is_trips)
    formats = {_format(file) for file in files}
    if len(formats) > 1:
        raise InputError(f"the files have different formats: {', '.join(sorted(formats))}", "give files of one format")
    kind = formats.pop()
    if kind == "arrow":
        try:
            return TableSource(pa.concat_tables([_whole(pyarrow.feather.read_table(path)) for path in files]))
        except (pa.ArrowException, OSError) as error:
            raise InputError(f"the Arrow file cannot be read: {error}", _FORMATS) from None
    if kind == "matrices":
        return TableSource(read_matrices(files, reading.chosen), tuple(paths))
    return FileSource(tuple(paths), kind, () if owner is None else tuple(files), owner, tuple(notes))


def _whole(table: pa.Table) -> pa.Table:
    """Return a table whose offsets were looked at: Arrow files are mapped, and a wrong offset ends the process."""
    table.validate(full=True)
    return table


def _is_trips(name: str) -> bool:
    return _kind(name) is not None


def _matches(pattern: str) -> list[str]:
    path = Path(pattern)
    if path.is_dir():
        files = [
            str(item) for item in path.rglob("*") if item.is_file() and _is_known(str(item)) and _is_data(item.name)
        ]
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


def _is_known(path: str) -> bool:
    """Whether a file of a folder may hold trips; notes beside data are often called .txt."""
    if path.lower().endswith(".txt"):
        return cab_format(path) is not None
    return path.lower().endswith(".zip") or _is_trips(path)


def _kind(path: str) -> str | None:
    endings = [ending.lower() for ending in Path(path).suffixes]
    if endings and endings[-1] in {".gz", ".zst"}:
        endings.pop()
    return _ENDINGS.get(endings[-1] if endings else "")


def _format(path: str) -> str:
    kind = cab_format(path) or _kind(path)
    if kind is None and path.lower().endswith((".xls", ".xlsx", ".xlsm", ".ods")):
        raise InputError(f"{path!r} is a workbook", "save its sheet as CSV, which keeps what is shown, and give that")
    if kind is None:
        raise InputError(f"the format of {path!r} is not known", _FORMATS)
    return kind
