"""Doing several things at once, on the cores that this process may use."""

from __future__ import annotations

import os
from collections import deque
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterable, Iterator
    from concurrent.futures import Future

Part = TypeVar("Part")
Result = TypeVar("Result")

_others_taken: ContextVar[bool] = ContextVar("others_taken", default=False)


def cores() -> int:
    """Return how many cores the work at hand may use."""
    if _others_taken.get():
        return 1
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@contextmanager
def one_core() -> Iterator[None]:
    """Leave the other cores to processes that do the same work on other parts."""
    token = _others_taken.set(True)
    try:
        yield
    finally:
        _others_taken.reset(token)


def at_once(function: Callable[[Part], Result], parts: Iterable[Part]) -> list[Result]:
    """Return the function's results, in order. Threads gain time only where the work releases Python's lock."""
    work = list(parts)
    if len(work) < 2 or cores() == 1:
        return [function(part) for part in work]
    results: dict[int, Result] = {}
    turns = iter(range(len(work)))

    def take_turns() -> None:
        for turn in turns:
            results[turn] = function(work[turn])

    with ThreadPoolExecutor(min(cores(), len(work))) as pool:
        for thread in [pool.submit(take_turns) for _ in range(min(cores(), len(work)))]:
            thread.result()
    return [results[turn] for turn in range(len(work))]


def work_ahead(
    function: Callable[[Part], Result], parts: Iterable[Part], threads: int | None = None
) -> Generator[Result]:
    """Yield the function's results, in order, while threads work on the next parts; few of these wait at a time."""
    most = threads or cores()
    waiting: deque[Future[Result]] = deque()
    pool = ThreadPoolExecutor(most)
    try:
        for part in parts:
            waiting.append(pool.submit(function, part))
            if len(waiting) > most:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
    finally:
        pool.shutdown(cancel_futures=True)
