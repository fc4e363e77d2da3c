"""Counting trips on a Spark cluster: rows are read, cleaned and grouped there, visits are numbered here."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa

from flowveil._engine.duckdb import connection, streamed, types
from flowveil._engine.keys import Tally, key_schema
from flowveil._engine.source import FileSource
from flowveil._engine.spark_session import HINT, open_session, reason_of
from flowveil._engine.spark_worker import TALLY, key_files, key_rows, packed, signed, untold
from flowveil._engine.visits import read_visits, visit_columns
from flowveil._errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    import duckdb
    from pyspark.sql import DataFrame, DataFrameReader, SparkSession

    from flowveil._engine.aggregate import Aggregate
    from flowveil._engine.keys import Index
    from flowveil._engine.rows import Request

_FOLDER_TYPES = {"BIGINT": "bigint", "DATE": "date", "TIMESTAMP": "timestamp_ntz"}


def aggregate(
    request: Request, index: Index, master: str | None, memory: int | None = None, step: Index | None = None
) -> Aggregate:
    """Count as on one machine, with the same result to the last bit.

    Every executor runs the same SQL and the same index on its rows (flowveil must be installed there), and Spark groups
    by pair and person. What leaves the cluster is one row for each person on each pair, which DuckDB sorts here.
    """
    with grouped_visits(request, index, master, memory, step) as (con, visits):
        return read_grouped(con, visits, request, memory)


@contextmanager
def grouped_visits(
    request: Request, index: Index, master: str | None, memory: int | None, step: Index | None
) -> Iterator[tuple[duckdb.DuckDBPyConnection, DataFrame]]:
    """Open DuckDB here, and visits as a frame of Spark, which has computed nothing yet."""
    source = request.source
    if not isinstance(source, FileSource):
        raise InputError("Spark reads trips from files only", "give Parquet or CSV files, or use --engine duckdb")
    if source.wide is not None:
        raise InputError("Spark reads no matrices", "one machine is enough: use --engine duckdb")
    with connection(source, memory) as con, open_session(master) as session:
        keys, sums = visit_columns(request)
        keyed = _key(session, request, source, types(con, replace(source, derived=())), index, step)
        yield con, add_up(keyed, [TALLY, *keys], sums)


def add_up(frame: DataFrame, keys: Sequence[str], sums: Mapping[str, str]) -> DataFrame:
    """Group a frame of Spark by keys, with sums by name in SQL."""
    from pyspark.sql import functions  # noqa: PLC0415  an extra

    return frame.groupBy(*keys).agg(*(functions.expr(sql).alias(name) for name, sql in sums.items()))


def read_grouped(con: duckdb.DuckDBPyConnection, visits: DataFrame, request: Request, memory: int | None) -> Aggregate:
    """Fetch visits from the cluster and return them as arrays."""
    tally = Tally()
    schema = _visit_schema(request)
    with streamed(con, "grouped", schema, untold(fetch(visits), schema, tally)):
        con.execute("CREATE TEMP TABLE visits AS SELECT * FROM grouped")
    return read_visits(con, request, tally, memory)


def fetch(frame: DataFrame) -> Iterator[pa.RecordBatch]:
    """Yield the rows of a frame, one partition after the other; the work begins here.

    They are packed into few large values on the way: Spark hands over rows one by one.
    """
    from pyspark.errors import PySparkException  # noqa: PLC0415  an extra

    try:
        for row in frame.mapInArrow(packed, "batch binary").toLocalIterator():
            yield from pa.ipc.open_stream(bytes(row["batch"]))
    except PySparkException as error:
        raise InputError(f"Spark cannot count the trips: {reason_of(error)}", HINT) from None


def _key(
    session: SparkSession, request: Request, source: FileSource, kinds: dict[str, str], index: Index, step: Index | None
) -> DataFrame:
    """Return keyed rows as a frame of Spark, which has computed nothing yet."""
    from pyspark.sql.pandas.types import from_arrow_schema  # noqa: PLC0415  an extra

    schema = from_arrow_schema(pa.schema([(TALLY, pa.string()), *signed(key_schema(request))]))
    if source.format == "csv":
        files = session.sparkContext.parallelize([(path,) for path in source.files], len(source.files))
        frame = session.createDataFrame(files, "path string")
        work = partial(key_files, request=request, kinds=kinds, index=index, step=step)
    else:
        frame = _with_folders(session.read.option("mergeSchema", "true"), source, kinds)
        if request.where is None:
            made = {column.name: column.columns for column in source.derived}
            named = [name for column in request.named for name in made.get(column, (column,))]
            frame = frame.select(*(_quoted(name) for name in dict.fromkeys(named)))
        work = partial(key_rows, request=request, index=index, step=step)
    return frame.mapInArrow(work, schema)


def _with_folders(reader: DataFrameReader, source: FileSource, kinds: dict[str, str]) -> DataFrame:
    """Return Parquet files as a frame; keys in names of folders (day=3) get the types that DuckDB gives them."""
    folders = [str(Path(path).parent) for path in source.files]
    while any("=" in Path(folder).name for folder in folders):
        folders = [str(Path(folder).parent) if "=" in Path(folder).name else folder for folder in folders]
    keys = len(set(folders)) == 1 and str(Path(source.files[0]).parent) != folders[0]
    frame = (reader.option("basePath", folders[0]) if keys else reader).parquet(*source.files)
    for name, kind in frame.dtypes:
        if kind == "string" and kinds[name] in _FOLDER_TYPES:
            frame = frame.withColumn(name, frame[_quoted(name)].cast(_FOLDER_TYPES[kinds[name]]))
    return frame


def _quoted(name: str) -> str:
    """Quote a column name for Spark."""
    return f"`{name.replace('`', '``')}`"


def _visit_schema(request: Request) -> pa.Schema:
    keys, sums = visit_columns(request)
    keyed = key_schema(request)
    return pa.schema([*(keyed.field(name) for name in keys), *(pa.field(name, pa.int64()) for name in sums)])
