"""What executors of Spark do with their rows: the same as one machine does with all of them."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace
from itertools import chain
from typing import TYPE_CHECKING

import pyarrow as pa

from flowveil._arrays import texts
from flowveil._engine.duckdb import connection, read_text
from flowveil._engine.keys import Tally, key_batches, key_schema
from flowveil._engine.source import FileSource, StreamSource

if TYPE_CHECKING:
    from collections.abc import Generator, Iterable, Iterator

    from flowveil._engine.keys import Index
    from flowveil._engine.rows import Request

TALLY = "tally"  # column: null for a usable row; else what is to be said of rows that are not
_SETS = ("unknown_zones", "signs", "clocks")  # of a tally: JSON has lists in their place
_MEMORY = 400_000_000  # bytes of an executor, for rows on their way


def key_rows(
    batches: Iterator[pa.RecordBatch], request: Request, index: Index, step: Index | None
) -> Iterator[pa.RecordBatch]:
    """Yield the keyed rows of one partition of a table, and one row that tells of the others."""
    first = next(batches, None)
    if first is not None:
        reader = pa.RecordBatchReader.from_batches(first.schema, chain([first], batches))
        yield from _keyed(replace(request, source=StreamSource(reader, derived=request.source.derived)), index, step)


def key_files(
    batches: Iterator[pa.RecordBatch], request: Request, kinds: dict[str, str], index: Index, step: Index | None
) -> Iterator[pa.RecordBatch]:
    """Yield the keyed rows of CSV files. DuckDB reads them here too: no two programs read CSV alike."""
    for path in chain.from_iterable(texts(batch["path"]) for batch in batches):
        file = FileSource((path,), "csv")
        with connection(file, _MEMORY) as con:
            source = StreamSource(read_text(con, file, list(kinds)), kinds, derived=request.source.derived)
            yield from _keyed(replace(request, source=source), index, step)


def _keyed(request: Request, index: Index, step: Index | None) -> Iterator[pa.RecordBatch]:
    tally = Tally()
    schema = pa.schema([(TALLY, pa.string()), *signed(key_schema(request))])
    with connection(request.source, _MEMORY) as con:
        con.execute("SET threads = 1")  # Spark runs one task a core
        for batch in key_batches(con, request, index, step, tally, cores=1):
            columns = [column.view(kind) for column, kind in zip(batch.columns, schema.types[1:], strict=True)]
            yield pa.record_batch([pa.nulls(batch.num_rows, pa.string()), *columns], schema=schema)
    told = {TALLY: _write(tally), "trips": 1}  # so that the trips of equal tallies count them
    yield pa.record_batch([pa.array([told.get(item.name)], item.type) for item in schema], schema=schema)


def signed(schema: pa.Schema) -> pa.Schema:
    """Return the schema with the same bits in signed integers: Spark has no others."""
    return pa.schema([(item.name, pa.int64() if item.type == pa.uint64() else item.type) for item in schema])


def packed(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Yield each batch as one value."""
    for batch in batches:
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, batch.schema) as writer:
            writer.write_batch(batch)
        yield pa.record_batch([pa.array([sink.getvalue().to_pybytes()])], ["batch"])


def untold(batches: Iterable[pa.RecordBatch], schema: pa.Schema, tally: Tally) -> Generator[pa.RecordBatch]:
    """Yield visits by themselves, and add up what is told of other rows."""
    for batch in batches:
        told = batch[TALLY].is_valid()
        for text, times in zip(batch[TALLY].filter(told), batch["trips"].filter(told), strict=True):
            for _ in range(times.as_py()):
                tally.add(_read(text.as_py()))
        visits = batch.filter(batch[TALLY].is_null())
        columns = [visits[item.name].view(item.type) for item in schema]
        yield pa.record_batch(columns, schema=schema)


def _write(tally: Tally) -> str:
    return json.dumps(vars(tally) | {name: sorted(vars(tally)[name]) for name in _SETS})


def _read(text: str) -> Tally:
    told = json.loads(text)
    sets = {name: set(told.pop(name)) for name in _SETS}
    return Tally(**told | sets | {"problems": Counter(told["problems"])})
