"""What commands say while they work: to the terminal, never into a pipe's data."""

from __future__ import annotations

import json
import time
from contextlib import contextmanager
from datetime import timedelta
from typing import TYPE_CHECKING

import typer
from rich.console import Console
from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

_WARNING = "WARNING: "  # how notes of the library begin that are more than notes


class Doing:
    """Says what is being done; silent without a bar."""

    def __init__(self, bar: Progress | None = None) -> None:
        self._bar = bar
        self._task = None if bar is None else bar.add_task("starting", total=None)
        self._text, self._since = "", 0.0

    def __call__(self, text: str) -> None:
        """Say what begins now."""
        self._text, self._since = text, time.monotonic()
        self._show(text)

    def rows(self, done: int, total: int | None) -> None:
        """Say how many rows are done, how fast, and how long the rest will take."""
        rate = done / max(time.monotonic() - self._since, 1e-9)
        of_all = f"{done:,} rows" if total is None else f"{done / max(total, 1):.0%} of {total:,} rows"
        left = "" if total is None else f", {timedelta(seconds=int((total - done) / max(rate, 1)))} left"
        self._show(f"{self._text}: {of_all}, {rate:,.0f} a second{left}")

    def _show(self, text: str) -> None:
        if self._bar is not None and self._task is not None:
            self._bar.update(self._task, description=text)


@contextmanager
def progress() -> Iterator[Doing]:
    """Show a line that says what is being done and for how long; silent when stderr is not a terminal."""
    console = Console(stderr=True)
    if not console.is_terminal:
        yield Doing()
        return
    columns = (SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn())
    with Progress(*columns, console=console, transient=True) as bar:
        yield Doing(bar)


def note(text: str) -> None:
    """Tell the user something on stderr; what the library calls a warning as one."""
    if text.startswith(_WARNING):
        warn(text.removeprefix(_WARNING))
    else:
        typer.echo(f"note: {text}", err=True)


def warn(text: str) -> None:
    """Tell the user on stderr that a result may mislead."""
    typer.echo(f"warning: {text}", err=True)


def print_json(content: Mapping[str, object] | Sequence[object]) -> None:
    """Print one JSON value on stdout."""
    typer.echo(json.dumps(content, indent=2, ensure_ascii=False, allow_nan=False))


def count(number: int, one: str) -> str:
    """Return how many there are of something, which has an s where it is not one."""
    return f"{number:,} {one}{'' if number == 1 else 's'}"


def show(value: object) -> str:
    """Return a number as people write it."""
    if value is None:
        return "does not apply"
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, float):
        return f"{value:,.0f}" if value.is_integer() or abs(value) >= 100 else f"{value:,.3f}"
    return str(value)
