"""Local time: which day, hour and kind of day a moment is, and the moment of a day and minute."""

from __future__ import annotations

from datetime import date
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from flowveil._errors import InputError
from flowveil._options import parse_timezone, shown

if TYPE_CHECKING:
    from flowveil._arrays import IntArray

MINUTES_PER_DAY = 1440
_SECONDS_PER_MINUTE = 60
_MONDAY = 3  # days from a Monday to the first of January 1970
_WEEKDAYS = 5
_MOST_DAYS = 3_660
_HINT = "write the first and the last day like --days 2024-03-04,2024-03-17; they are published, so take public ones"


class Days(NamedTuple):
    """A public range of days in a time zone: the first one in days since 1970, and how many."""

    first: int
    many: int
    timezone: str

    def typed(self) -> str:
        """Return the range as it is written."""
        first, last = (date.fromordinal(_EPOCH + day) for day in (self.first, self.first + self.many - 1))
        return f"{first},{last}"

    def weekends(self) -> IntArray:
        """Return for each day whether it is a Saturday or Sunday."""
        return is_weekend(self.first + np.arange(self.many))


_EPOCH = date(1970, 1, 1).toordinal()


def parse_days(value: object, timezone: object = None) -> Days:
    """Return a range of days, or raise."""
    zone = parse_timezone("UTC" if timezone is None else timezone)
    if value is None:
        raise InputError("synthetic paths need days that are public", _HINT)
    parts = value.split(",") if isinstance(value, str) else []
    try:
        first, last = (date.fromisoformat(part.strip()).toordinal() - _EPOCH for part in parts)
    except ValueError:
        raise InputError(f"the days {shown(value)} cannot be read", _HINT) from None
    if not 0 <= last - first < _MOST_DAYS:
        raise InputError(f"the days {shown(value)} are not between 1 and {_MOST_DAYS:,}", _HINT)
    return Days(first, last - first + 1, zone)


def local_minutes(minutes: IntArray, timezone: str) -> IntArray:
    """Return minutes of local clocks since the local 1970, for minutes of UTC."""
    if timezone == "UTC":
        return minutes
    moments = pa.array(minutes * _SECONDS_PER_MINUTE, pa.timestamp("s", tz="UTC")).cast(pa.timestamp("s", tz=timezone))
    local = pc.call_function("local_timestamp", [moments]).cast(pa.int64()).to_numpy()
    return np.asarray(local // _SECONDS_PER_MINUTE, np.int64)


def utc_minutes(minutes: IntArray, timezone: str) -> IntArray:
    """Return minutes of UTC for minutes of local clocks; those that clocks skip are the first after."""
    if timezone == "UTC":
        return minutes
    local = pa.array(minutes * _SECONDS_PER_MINUTE, pa.timestamp("s"))
    options = pc.AssumeTimezoneOptions(timezone, ambiguous="earliest", nonexistent="latest")
    moments = pc.call_function("assume_timezone", [local], options).cast(pa.int64()).to_numpy()
    return np.asarray(moments // _SECONDS_PER_MINUTE, np.int64)


def is_weekend(day: IntArray) -> IntArray:
    """Return 1 for Saturdays and Sundays, else 0; days since 1970."""
    return ((day + _MONDAY) % 7 >= _WEEKDAYS).astype(np.int64)
