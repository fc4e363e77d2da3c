"""The same work on many parts, spread over the executors of Spark."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, TypeVar, cast

import pyarrow as pa

from flowveil._arrays import whole_numbers
from flowveil._engine.spark_session import open_session, reason_of
from flowveil._errors import FlowveilError, InputError
from flowveil._processes import one_core, pack, unpack

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from pyspark.sql import SparkSession
    from pyspark.sql.pandas._typing import ArrowMapIterFunction

Part = TypeVar("Part")
Result = TypeVar("Result")

_TASKS = 200  # at most, at a time: enough that large and small parts even out
_AT_A_TIME = 2**28  # bytes of packed parts, which pass through the memory of Spark's driver
_LARGEST = 2**30  # bytes of a packed part that Arrow can carry, with room to spare
_HINT = "executors need flowveil (PYSPARK_PYTHON names their Python) and memory for the largest matrix or block"
_COLUMNS: dict[str, pa.DataType] = {"number": pa.int64(), "result": pa.binary()}
_ANSWER = pa.schema(_COLUMNS)


def over_executors(
    function: Callable[[Part], Result], parts: Sequence[Part], shared: Sequence[object], *, master: str | None
) -> list[Result]:
    """Do all parts on a cluster; flowveil must be installed there. A part on its own is done here."""
    results: dict[int, Result] = {}
    if len(parts) > 1:
        work = partial(do_rows, function=function, shared=shared)
        with open_session(master) as session:
            for rows in _batches(parts, shared):
                results |= _do_at_once(session, rows, work)
    # What an executor cannot do is done here, where its error can be seen.
    return [results[number] if number in results else function(part) for number, part in enumerate(parts)]


def _batches(parts: Sequence[object], shared: Sequence[object]) -> Iterator[pa.Table]:
    """Yield parts as rows, packed, as many as may be under way at a time."""
    waiting: dict[int, bytes] = {}
    size = 0
    for number, part in enumerate(parts):
        packed = pack(part, shared)
        if len(packed) > _LARGEST:
            continue
        if size + len(packed) > _AT_A_TIME and waiting:
            yield pa.table({"number": list(waiting), "part": list(waiting.values())})
            waiting, size = {}, 0
        waiting[number] = packed
        size += len(packed)
    if waiting:
        yield pa.table({"number": list(waiting), "part": list(waiting.values())})


def _do_at_once(session: SparkSession, rows: pa.Table, work: ArrowMapIterFunction) -> dict[int, Result]:
    """Return the results of packed parts by number."""
    from py4j.protocol import Py4JJavaError  # type: ignore[import-untyped] # noqa: PLC0415  an extra
    from pyspark.errors import PySparkException  # noqa: PLC0415  an extra
    from pyspark.sql.pandas.types import from_arrow_schema  # noqa: PLC0415  an extra

    try:
        frame = session.createDataFrame(rows).repartition(min(len(rows), _TASKS))
        answers = frame.mapInArrow(work, from_arrow_schema(_ANSWER)).toArrow()
    except PySparkException as error:
        raise _failed(error) from None
    except Py4JJavaError as error:  # which says what was called; its cause, what went wrong
        cause = error.java_exception.getCause() or error.java_exception
        raise _failed(RuntimeError(cause.getMessage())) from None
    done = answers.filter(answers["result"].is_valid())
    results = (unpack(packed) for packed in cast("list[bytes]", done["result"].to_pylist()))
    return dict(zip(whole_numbers(done["number"]), results, strict=True))


def _failed(error: Exception) -> InputError:
    return InputError(f"Spark cannot do the work: {reason_of(error)}", _HINT)


def do_rows(
    batches: Iterator[pa.RecordBatch], function: Callable[[Part], object], shared: Sequence[object]
) -> Iterator[pa.RecordBatch]:
    """Yield the results of packed parts, null where there is an error to be seen; an executor does this."""
    for batch in batches:
        for number, part in zip(batch["number"], batch["part"], strict=True):
            try:
                with one_core():  # Spark runs one task a core
                    result = pack(function(unpack(part.as_buffer(), shared)))
            except FlowveilError:
                result = None
            yield pa.record_batch([[number.as_py()], [result]], schema=_ANSWER)
