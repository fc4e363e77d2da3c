"""What commands say while they work: to the terminal, never into a pipe's data."""

from __future__ import annotations

import json
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import typer
from rich.console import Console
from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping


@contextmanager
def progress() -> Iterator[Callable[[str], None]]:
    """Show a line that says what is being done and for how long; silent when stderr is not a terminal."""
    console = Console(stderr=True)
    if not console.is_terminal:
        yield lambda _: None
        return
    columns = (SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn())
    with Progress(*columns, console=console, transient=True) as bar:
        task = bar.add_task("starting", total=None)
        yield lambda text: bar.update(task, description=text)


def note(text: str) -> None:
    """Tell the user something on stderr."""
    typer.echo(f"note: {text}", err=True)


def print_json(content: Mapping[str, Any] | list[Any]) -> None:
    """Print one JSON value on stdout."""
    typer.echo(json.dumps(content, indent=2, ensure_ascii=False, allow_nan=False))


def show(value: Any) -> str:
    """Return a number as people write it."""
    if value is None:
        return "does not apply"
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, float):
        return f"{value:,.3f}" if abs(value) < 100 else f"{value:,.0f}"
    return str(value)
