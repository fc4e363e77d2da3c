"""The same work on many parts, spread over the cores of this machine.

Threads would gain nothing: most methods spend their time in Python, which runs one thread at a time. A process of its
own takes a second to start. So this one begins alone, asks for help where much is left to do, and works on; a helper
takes parts once it is ready.
"""

from __future__ import annotations

import time
from collections import deque
from contextlib import ExitStack, contextmanager, suppress
from functools import partial
from subprocess import DEVNULL
from threading import Thread
from typing import TYPE_CHECKING, Protocol, TypeVar

from flowveil._errors import FlowveilError
from flowveil._processes.core_count import cores, one_core
from flowveil._processes.worker import Worker

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from flowveil._processes.packing import Message

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
            work.results[number[0]] = function(parts[number[0]])
            if helpers is None and work.seconds_left(time.perf_counter() - start) > WORTH_HELP:
                helpers = _ask(work, workers - 1, stack)
        for helper in helpers or []:
            helper.join()
    # What a helper had taken when it failed or died is done here, where an error can be seen.
    return [work.results[number] if number in work.results else function(part) for number, part in enumerate(parts)]


class _Work:
    """Parts that wait, and the results of others. Threads share it; a deque and a dict are safe for that."""

    def __init__(
        self, function: Callable[[Message], Message], parts: Sequence[Message], shared: Sequence[object], workers: int
    ) -> None:
        self.function, self.parts, self.shared = function, parts, shared
        self.results: dict[int, Message] = {}
        self._workers = workers
        self._waiting = deque(range(len(parts)))

    def take(self, most: int | None = None) -> list[int]:
        """Take parts to do next: by default as many as a helper should take. None when all are taken."""
        taken: list[int] = []
        most = most or len(self._waiting) // (_CHUNKS * self._workers) or 1
        with suppress(IndexError):
            while len(taken) < most:
                taken.append(self._waiting.popleft())
        return taken

    def seconds_left(self, seconds: float) -> float:
        """Estimate how long the parts that wait will take, after so many seconds of work."""
        return seconds / len(self.results) * len(self._waiting) if seconds > _TOLD else 0.0


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
    with Worker(partial(_do_all, work.function), work.shared, stderr=DEVNULL) as worker:
        feeder = Thread(target=_feed, args=(worker, work), daemon=True)
        feeder.start()
        try:
            yield feeder
        finally:
            worker.kill()
            feeder.join()


def _feed(worker: Worker, work: _Work) -> None:
    with suppress(EOFError, FlowveilError):  # it died, or there is an error to be seen
        worker.get_ready()
        while numbers := work.take():
            work.results.update(zip(numbers, worker.call([work.parts[number] for number in numbers]), strict=True))


def _do_all(function: Callable[[Part], Result], parts: Sequence[Part], _: object) -> list[Result]:
    """Do some parts; a helper does this."""
    with one_core():
        return [function(part) for part in parts]
