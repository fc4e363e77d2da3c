"""Which trips two releases have in common, as far as that can be told without looking at each."""

from __future__ import annotations

import re
from calendar import monthrange
from datetime import date
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from flowveil._register.entries import Entry, NewEntry

_MONTHS_OF_QUARTER = 3
_CLOCKS_APART = 26 * 3_600_000_000  # microseconds: no two clocks of the world show times that differ by more


def parse_period(text: str | None) -> tuple[date, date] | None:
    """Return the first and last day of a period that is written like 2024, 2024-Q1, 2024-01 or 2024-01-01/2024-03-31.

    None for other words, which tell readers something but not this program.
    """
    first, _, last = (text or "").strip().partition("/")
    begin, end = _span(first.strip()), _span(last.strip() or first.strip())
    return None if begin is None or end is None or begin[0] > end[1] else (begin[0], end[1])


def _span(text: str) -> tuple[date, date] | None:
    match = re.fullmatch(r"(\d{4})(?:-(?:Q([1-4])|(\d{2})(?:-(\d{2}))?))?", text)
    if match is None:
        return None
    year, quarter, month, day = (None if part is None else int(part) for part in match.groups())
    try:
        if day is not None:
            return (whole := date(year or 0, month or 0, day)), whole
        begins = (quarter - 1) * _MONTHS_OF_QUARTER + 1 if quarter else month or 1
        ends = begins + _MONTHS_OF_QUARTER - 1 if quarter else month or 12
        return date(year or 0, begins, 1), date(year or 0, ends, monthrange(year or 0, ends)[1])
    except ValueError:  # no such day
        return None


def _clock(entry: Entry | NewEntry) -> str:
    """Return by which clock times of a release are: those of a clock of unknown place are comparable to no others."""
    return next((name for name in entry.known_by if name.startswith("start_time")), "")


def are_apart(one: Entry | NewEntry, other: Entry) -> str | None:
    """Return by what two releases are of different times; None if that cannot be told."""
    if one.first is not None and one.last is not None and other.first is not None and other.last is not None:
        gap = 0 if _clock(one) == _clock(other) else _CLOCKS_APART
        if one.last + gap < other.first or other.last + gap < one.first:
            return "by the times of their trips"
        return None
    if _clock(one) and _clock(other):  # rows tell, even where some have no time, and not what was typed
        return None
    here, there = parse_period(one.period), parse_period(other.period)
    if here is not None and there is not None and (here[1] < there[0] or there[1] < here[0]):
        return "by the periods that you typed"
    return None
