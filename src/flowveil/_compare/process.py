"""A worker process under limits."""

from __future__ import annotations

import json
import subprocess
import tempfile
import time
from contextlib import suppress
from pathlib import Path
from typing import IO, TYPE_CHECKING

from flowveil._processes import python_command

if TYPE_CHECKING:
    from collections.abc import Callable

    from flowveil._compare.table import Row

_LOOK_AGAIN = 0.05  # seconds between two looks at a worker
_MEGABYTE = 1_000_000
_KIBIBYTE = 1024


def run_worker(
    job: bytes,
    flows: bytes,
    time_limit: float,
    memory_limit: int | None,
    watch: Callable[[float, int | None], None],
) -> Row:
    """Run one job to its end or to a limit (seconds, bytes), and return its row.

    watch: called while it runs, with seconds and bytes in use. Whatever happens, the worker is gone afterwards.
    """
    command = python_command("flowveil._compare.worker")
    pipe = subprocess.PIPE
    with (
        tempfile.TemporaryFile() as complaints,
        subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=complaints) as worker,  # noqa: S603  our own module
    ):
        try:
            return _follow(worker, (job, flows), time_limit, memory_limit, watch) or _died(worker, complaints)
        finally:
            worker.kill()  # does nothing to a worker that has ended


def _follow(
    worker: subprocess.Popen[bytes],
    content: tuple[bytes, ...],
    time_limit: float,
    memory_limit: int | None,
    watch: Callable[[float, int | None], None],
) -> Row | None:
    """Return the row of a worker, None if it died."""
    if worker.stdin is not None:
        with suppress(BrokenPipeError):
            worker.stdin.write(b"".join(content))
            worker.stdin.close()
    start = time.perf_counter()
    while worker.poll() is None:
        seconds, memory = time.perf_counter() - start, _memory(worker.pid)
        watch(seconds, memory)
        if memory is not None and memory_limit is not None and memory > memory_limit:
            note = f"more than {memory_limit / _MEGABYTE:,.0f} MB"
            return {"status": "memory limit", "seconds": seconds, "memory_mb": memory / _MEGABYTE, "note": note}
        if seconds > time_limit:
            return {"status": "time limit", "seconds": seconds, "note": f"more than {time_limit:g} s"}
        time.sleep(_LOOK_AGAIN)
    output = b"" if worker.stdout is None else worker.stdout.read()
    if worker.returncode != 0 or not output.strip():
        return None
    row: Row = json.loads(output.splitlines()[-1])
    return row


def _died(worker: subprocess.Popen[bytes], complaints: IO[bytes]) -> Row:
    complaints.seek(0)
    lines = complaints.read().decode(errors="replace").strip().splitlines()
    return {"status": "failed", "note": lines[-1] if lines else f"the process ended with code {worker.returncode}"}


def _memory(process: int) -> int | None:
    """Return the memory a process has now, in bytes; None where that cannot be told."""
    try:
        pages = int(Path(f"/proc/{process}/statm").read_text(encoding="ascii").split()[1])
    except (OSError, ValueError, IndexError):
        return _memory_by_ps(process)
    return pages * _page_size()


def _page_size() -> int:
    import resource  # noqa: PLC0415  not on Windows

    return resource.getpagesize()


def _memory_by_ps(process: int) -> int | None:
    try:
        answer = subprocess.run(["ps", "-o", "rss=", "-p", str(process)], capture_output=True, check=True)  # noqa: S603, S607
        return int(answer.stdout) * _KIBIBYTE
    except (OSError, ValueError, subprocess.CalledProcessError):
        return None
