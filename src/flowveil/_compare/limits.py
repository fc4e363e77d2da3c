"""A method in a process of its own, under limits."""

from __future__ import annotations

import math
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor, wait
from functools import partial
from typing import IO, TYPE_CHECKING, cast

from flowveil._compare.row import method_row
from flowveil._errors import FlowveilError
from flowveil._processes import Worker, memory_in_use

if TYPE_CHECKING:
    from collections.abc import Callable
    from concurrent.futures import Future

    from flowveil._compare.table import Row
    from flowveil._flows import Flows
    from flowveil._options import Keywords

_LOOK_AGAIN = 0.05  # seconds between two looks at a worker
_MEGABYTE = 1_000_000


def limited_row(
    flows: Flows,
    job: Keywords,
    time_limit: float,
    memory_limit: int | None,
    watch: Callable[[float, int | None], None],
) -> Row:
    """Run one method to its end or to a limit (seconds, bytes), and return its row.

    watch: called while it runs, with seconds and bytes in use. Whatever happens, the worker is gone afterwards.
    """
    row: Row
    with (
        tempfile.TemporaryFile() as complaints,
        Worker(partial(method_row, flows), stderr=complaints) as worker,
        ThreadPoolExecutor(1) as thread,
    ):
        try:
            row = _follow(thread.submit(worker.get_ready), worker, math.inf, memory_limit, watch) or cast(
                "Row", _follow(thread.submit(worker.call, job), worker, time_limit, memory_limit, watch)
            )
        except FlowveilError as error:
            row = {"status": "failed", "note": " ".join(error.message.splitlines())}
        except EOFError:
            row = {"status": "failed", "note": _last_words(worker, complaints)}
        finally:
            worker.kill()  # so that the thread ends
    return row


def _follow(
    work: Future[Row | None],
    worker: Worker,
    time_limit: float,
    memory_limit: int | None,
    watch: Callable[[float, int | None], None],
) -> Row | None:
    """Return the result of work that the worker does, or a row that tells of a limit."""
    start = time.perf_counter()
    while wait([work], _LOOK_AGAIN).not_done:
        seconds, memory = time.perf_counter() - start, memory_in_use(worker.pid)
        watch(seconds, memory)
        if memory is not None and memory_limit is not None and memory > memory_limit:
            note = f"more than {memory_limit / _MEGABYTE:,.0f} MB"
            return {"status": "memory limit", "seconds": seconds, "memory_mb": memory / _MEGABYTE, "note": note}
        if seconds > time_limit:
            return {"status": "time limit", "seconds": seconds, "note": f"more than {time_limit:g} s"}
    return work.result()


def _last_words(worker: Worker, complaints: IO[bytes]) -> str:
    complaints.seek(0)
    lines = complaints.read().decode(errors="replace").strip().splitlines()
    return lines[-1] if lines else f"the process ended with code {worker.exit_code}"
