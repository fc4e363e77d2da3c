"""A cell in a process of its own, under limits."""

from __future__ import annotations

import math
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import ExitStack
from functools import partial
from typing import IO, TYPE_CHECKING, NamedTuple, Self, cast

from flowveil._errors import FlowveilError
from flowveil._processes import Worker, memory_in_use

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from concurrent.futures import Future

    from flowveil._processes import Message
    from flowveil._study.cells import Cell, Row

    Look = Callable[[float, int | None], None]  # hears seconds and bytes in use

_LOOK_AGAIN = 0.05  # seconds between two looks at a worker
_MEGABYTE = 1_000_000


class Limits(NamedTuple):
    """What one call of a cell may use."""

    seconds: float = math.inf
    memory: int | None = None  # bytes


def limited_rows(data: Message, cell: Cell, limits: Limits, look: Look) -> Iterator[list[Row]]:
    """Yield the rows of each call of a cell, run to its end or to a limit.

    All calls are made in one process; after one that was stopped or died, the next begins another. Whatever happens,
    no process is left.
    """
    with ExitStack() as stack:
        process: _Process | None = None
        for keys, job in cell.calls:
            if process is None:
                process = stack.enter_context(_Process(data, cell))
            rows = process.call(job, limits, look)
            if process.ended:
                process = None
            yield [keys | row for row in rows]


def rows_here(data: Message, cell: Cell) -> Iterator[list[Row]]:
    """Yield the same rows, computed in this process: quick, but without limits."""
    for keys, job in cell.calls:
        try:
            rows = cell.measure(data, job, None)
        except FlowveilError as error:
            rows = [_failed(error.message)]
        yield [keys | row for row in rows]


def _failed(message: str) -> Row:
    return {"status": "failed", "note": " ".join(message.splitlines())}


class _Process:
    """A worker that has the input of a cell, and the thread that waits for it."""

    def __init__(self, data: Message, cell: Cell) -> None:
        self._stack = ExitStack()
        self._complaints: IO[bytes] = self._stack.enter_context(tempfile.TemporaryFile())  # noqa: SIM115  the stack does
        worker = Worker(partial(cell.measure, data), stderr=self._complaints)
        self._worker = self._stack.enter_context(worker)
        self._thread = self._stack.enter_context(ThreadPoolExecutor(1))
        self._stack.callback(self._worker.kill)  # so that the thread ends
        self._ready = False
        self.ended = False

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def call(self, job: Message, limits: Limits, look: Look) -> list[Row]:
        """Return the rows of a job, or one that says why there are none."""
        try:
            if not self._ready:
                # Getting ready takes what the input takes to arrive: no method's fault.
                late = self._follow(self._thread.submit(self._worker.get_ready), Limits(memory=limits.memory), look)
                if late is not None:
                    return self._stop(cast("Row", late))
                self._ready = True
            result = self._follow(self._thread.submit(self._worker.call, job), limits, look)
        except FlowveilError as error:
            return [_failed(error.message)]
        except EOFError:
            return self._stop(_failed(self._last_words()))
        return self._stop(result) if isinstance(result, dict) else result

    def _stop(self, row: Row) -> list[Row]:
        self.ended = True
        self._worker.kill()
        return [row]

    def _follow(self, work: Future[Message], limits: Limits, look: Look) -> Message:
        """Return the result of work that the worker does, or a row that tells of a limit."""
        start = time.perf_counter()
        while wait([work], _LOOK_AGAIN).not_done:
            seconds, memory = time.perf_counter() - start, memory_in_use(self._worker.pid)
            look(seconds, memory)
            if memory is not None and limits.memory is not None and memory > limits.memory:
                note = f"more than {limits.memory / _MEGABYTE:,.0f} MB"
                return {"status": "memory limit", "seconds": seconds, "memory_mb": memory / _MEGABYTE, "note": note}
            if seconds > limits.seconds:
                return {"status": "time limit", "seconds": seconds, "note": f"more than {limits.seconds:g} s"}
        return work.result()

    def _last_words(self) -> str:
        self._complaints.seek(0)
        lines = self._complaints.read().decode(errors="replace").strip().splitlines()
        return lines[-1] if lines else f"the process ended with code {self._worker.exit_code}"
