"""Times of figures: hours of a week, or spans of the calendar."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from flowveil._errors import InputError
from flowveil._times import parse_hierarchy, parse_steps

if TYPE_CHECKING:
    from collections.abc import Mapping

    from flowveil._folder import Json
    from flowveil._risk.exact.layers import Part
    from flowveil._times import TimeSteps


def read_moments(options: Mapping[str, Json], table: pa.Table) -> tuple[str, list[Part]] | None:
    """Return the axis that the times of a table lie on, and where; None if the options tell of no time."""
    steps = steps_of(options)
    if steps is None:
        return None
    return place_moments(
        steps, _edges(table, "time"), _edges(table, "time_end") if "time_hierarchy" in options else None
    )


def place_moments(steps: TimeSteps, start: list[int | None], end: list[int | None] | None) -> tuple[str, list[Part]]:
    """Return the axis of times from a beginning to before an end, by default that of its step, and where they lie.

    Hours of a day, and kinds of days, are hours of a week. Times that were cut by different clocks lie on different
    axes, as nothing is known of how they meet; and so do hours of a day and spans of the calendar.
    """
    clock = steps.timezone or "as written"
    if steps.cycle:
        end = end or [None if first is None else first + 1 for first in start]
        return f"hours by {clock}", [_hours(steps, *span) for span in zip(start, end, strict=True)]
    return f"calendar by {clock}", [
        None if first is None or last is None else (first, last)
        for first, last in zip(start, end or _ends(steps, start), strict=True)
    ]


def steps_of(options: Mapping[str, Json]) -> TimeSteps | None:
    """Return the steps that a release cuts time into, the finest of a hierarchy; None if it does not."""
    zone = options.get("timezone")
    if "time_hierarchy" in options:
        return parse_hierarchy(options["time_hierarchy"], zone).steps
    return parse_steps(options["time"], zone) if "time" in options else None


def _edges(table: pa.Table, name: str) -> list[int | None]:
    try:
        values: list[int | None] = table[name].cast(pa.int64()).to_pylist()
    except (KeyError, pa.ArrowException):
        raise InputError(f"the column {name!r} does not hold times", "flowveil verify says what is wrong") from None
    return values


def _hours(steps: TimeSteps, first: int | None, last: int | None) -> Part:
    if first is None or last is None:
        return None
    return frozenset(hour for value in range(first, last) for hour in steps.hours_of_week(value))


def _ends(steps: TimeSteps, start: list[int | None]) -> list[int | None]:
    """Return where steps of the calendar end."""
    ends = steps.end(np.array([0 if first is None else first for first in start], np.int64))
    return [None if first is None else last for first, last in zip(start, ends.tolist(), strict=True)]
