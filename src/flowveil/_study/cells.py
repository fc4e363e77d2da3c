"""Cells of a study: what one process computes, and the rows it gives."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Callable

    from flowveil._options import Keywords
    from flowveil._processes import Message

Value: TypeAlias = bool | int | float | str | None
Row: TypeAlias = dict[str, Value]

DONE = "done"


class Call(NamedTuple):
    """One piece of work of a cell."""

    keys: Row  # what its rows are about; without a result they are all there is
    job: Keywords


class Cell(NamedTuple):
    """One combination of a method and what is asked of it, on one input. It has a process of its own.

    Its calls follow each other in that process: the matrices of the input, or a single one.
    """

    name: str  # of its file
    data: str  # which input
    measure: Callable[[Message, Keywords, object], list[Row]]  # called with the input, a job and a listener
    calls: list[Call]


def flat(figures: dict[str, object], prefix: str = "") -> Row:
    """Return the numbers of figures, and of figures in figures under names like `gdm_mean`."""
    row: Row = {}
    for name, value in figures.items():
        if isinstance(value, dict):
            row |= flat(value, f"{prefix}{name}_")
        elif isinstance(value, bool | int | float) or value is None:
            row[f"{prefix}{name}"] = value
    return row
