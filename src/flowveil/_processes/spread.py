"""The same work on many parts, spread over the cores of this machine.

Threads would gain nothing: most methods spend their time in Python, which runs one thread at a time. A process of its
own takes a second to start. So this one begins alone, asks for help where much is left to do, and works on; a helper
takes parts once it is ready.
"""

from __future__ import annotations

import subprocess
import time
from collections import deque
from contextlib import ExitStack, contextmanager, suppress
from threading import Thread
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from flowveil._processes.command import python_command
from flowveil._processes.core_count import cores, one_core
from flowveil._processes.packing import pack, receive, send, unpack

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

Part = TypeVar("Part")
Result = TypeVar("Result")

WORTH_HELP = 3.0  # seconds of work left
_TOLD = 0.2  # seconds of work after which one can tell what is left
_CHUNKS = 4  # a helper takes so small a part of its share of what is left, that all may end together


class Spread(Protocol):
    """A way to do the same work on many parts."""

    def __call__(
        self, function: Callable[[Part], Result], parts: Sequence[Part], shared: Sequence[object]
    ) -> list[Result]:
        """Return the function's results, in order.

        Function, parts and results must be picklable; `shared` are objects that parts have in common, sent only once.
        """


def over_cores(function: Callable[[Part], Result], parts: Sequence[Part], shared: Sequence[object]) -> list[Result]:
    """Do all parts on the cores of this machine. However it ends, no helper is left."""
    workers = min(cores(), len(parts))
    if workers <= 1:
        return [function(part) for part in parts]
    work = _Work(function, parts, shared, workers)
    start = time.perf_counter()
    with ExitStack() as stack:
        helpers: list[Thread] | None = None
        while number := work.take(1):
            work.found[number[0]] = function(parts[number[0]])
            if helpers is None and work.seconds_left(time.perf_counter() - start) > WORTH_HELP:
                helpers = _ask(work, workers - 1, stack)
        for helper in helpers or []:
            helper.join()
    # A helper that fails dies, and what it had taken is done here, where its error can be seen.
    return [work.found[number] if number in work.found else function(part) for number, part in enumerate(parts)]


class _Work:
    """Parts that wait, and what was found for others. Threads share it; a deque and a dict are safe for that."""

    def __init__(
        self, function: Callable[[Any], Any], parts: Sequence[Any], shared: Sequence[object], workers: int
    ) -> None:
        self.found: dict[int, Any] = {}
        self._function, self._parts, self._shared, self._workers = function, parts, shared, workers
        self._waiting = deque(range(len(parts)))

    def take(self, most: int | None = None) -> list[int]:
        """Take parts to do next: by default as many as a helper should take. None when all are taken."""
        found: list[int] = []
        most = most or len(self._waiting) // (_CHUNKS * self._workers) or 1
        with suppress(IndexError):
            while len(found) < most:
                found.append(self._waiting.popleft())
        return found

    def pack_common(self) -> bytes:
        """Pack what a helper needs for all parts."""
        return pack((self._function, self._shared))

    def pack(self, numbers: Sequence[int]) -> bytes:
        """Pack parts for a helper."""
        return pack([self._parts[number] for number in numbers], self._shared)

    def seconds_left(self, seconds: float) -> float:
        """Estimate how long the parts that wait will take, after so many seconds of work."""
        return seconds / len(self.found) * len(self._waiting) if seconds > _TOLD else 0.0


def _ask(work: _Work, count: int, stack: ExitStack) -> list[Thread]:
    """Start helpers, as many as the system allows."""
    helpers: list[Thread] = []
    with suppress(OSError):
        while len(helpers) < count:
            helpers.append(stack.enter_context(_helper(work)))
        stack.enter_context(one_core())
    return helpers


@contextmanager
def _helper(work: _Work) -> Iterator[Thread]:
    """Start a process that helps, and the thread that feeds it; end both."""
    command = python_command("flowveil._processes.worker")
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=subprocess.DEVNULL) as process:  # noqa: S603  our own module
        feeder = Thread(target=_feed, args=(process, work), daemon=True)
        feeder.start()
        try:
            yield feeder
        finally:
            process.kill()
            feeder.join()
            with suppress(OSError):
                process.communicate()  # closes what a dead process left of its pipes


def _feed(process: subprocess.Popen[bytes], work: _Work) -> None:
    if process.stdin is None or process.stdout is None:
        return
    with suppress(EOFError, OSError):  # it died
        send(work.pack_common(), process.stdin)
        receive(process.stdout)
        while numbers := work.take():
            send(work.pack(numbers), process.stdin)
            work.found.update(zip(numbers, unpack(receive(process.stdout)), strict=True))
