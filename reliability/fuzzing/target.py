"""What is fuzzed: a function that takes bytes, with inputs to begin from."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path


class Broken(Exception):  # noqa: N818  what was found, not what went wrong here
    """A result that must not be: a finding, though nothing was raised."""


@dataclass(frozen=True)
class Target:
    """Something that takes bytes of anybody; it may do its work, or raise one of flowveil's own errors."""

    name: str
    run: Callable[[bytes, Path], None]  # takes the bytes, and an empty folder to work in
    seeds: Callable[[], Sequence[bytes]] | None = None  # good inputs to change; None: bytes are where chance begins
    words: tuple[bytes, ...] = ()  # that are put into inputs
    begin: Callable[[], object] | None = None  # makes what executions need; what it raises is no refusal
    batch: int = 2_000  # executions of one process
    seconds: float = 20.0  # of processor time, for one execution
    largest: int = 1 << 14  # bytes of an input
    share: float = 1.0  # of the time of a run, against others
    files: bool = True  # whether it may write files; those that do not are looked after once for a whole batch
