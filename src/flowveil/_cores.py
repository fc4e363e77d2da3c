"""Doing several things at once, on the cores that this process may use."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

Part = TypeVar("Part")
Result = TypeVar("Result")


def cores() -> int:
    """Return how many cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def at_once(function: Callable[[Part], Result], parts: Iterable[Part]) -> list[Result]:
    """Return the function's results, in order. Threads gain time only where the work releases Python's lock."""
    work = list(parts)
    if len(work) == 1 or cores() == 1:
        return [function(part) for part in work]
    with ThreadPoolExecutor(min(cores(), len(work))) as pool:
        return list(pool.map(function, work))
