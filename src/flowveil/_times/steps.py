"""Steps of time: of the calendar, or hours of a day or week and kinds of days, whatever the date."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from flowveil._errors import InputError
from flowveil._folder import CYCLES
from flowveil._options import parse_timezone, shown

if TYPE_CHECKING:
    from flowveil._arrays import BoolArray, Column, IntArray

HOUR_OF_DAY, HOUR_OF_WEEK = "hour-of-day", "hour-of-week"
WEEKEND, DAY_TYPE = "weekday-weekend", "day-type"
WEEK, MONTH = "week", "month"
HOURS_OF_CYCLE = {HOUR_OF_DAY: 24, HOUR_OF_WEEK: 168}  # until they begin again
# The kind of each day of the week, from Monday on: weekday, Saturday or weekend, Sunday.
DAYS = {WEEKEND: (0, 0, 0, 0, 0, 1, 1), DAY_TYPE: (0, 0, 0, 0, 0, 1, 2)}
HOUR = 3_600_000_000  # in microseconds, as all times here
DAY = 24 * HOUR
MONDAY = 4 * DAY  # a Monday: 1970-01-05
_UNITS = {"min": HOUR // 60, "h": HOUR, "d": DAY}
_LONGER_THAN_A_MONTH = 32 * DAY


@dataclass(frozen=True)
class TimeSteps:
    """Steps: the key of one is its beginning in UTC, in microseconds, or its number in a cycle of hours or of days."""

    name: str  # 15min, 1h, 1d, week, month, hour-of-day, hour-of-week, weekday-weekend, day-type and the like
    timezone: str | None = None  # None: as written, aware times in UTC

    @property
    def cycle(self) -> int | None:
        """Values of the cycle: hours, or kinds of days; None for steps of the calendar."""
        return CYCLES.get(self.name)

    @property
    def length(self) -> int:
        """The length of a step in microseconds; months have none."""
        return 7 * DAY if self.name == WEEK else duration(self.name) or HOUR

    def index(self, instant: Column, aware: Column) -> Column:
        """Return the step (int64) of times, in microseconds: in UTC where `aware`, else by the local clock."""
        utc, local = self._clocks(instant, aware.to_numpy(zero_copy_only=False).astype(bool))
        if self.name in DAYS:
            step = np.array(DAYS[self.name])[(local - MONDAY) // DAY % 7]
        elif self.cycle:
            step = (local - MONDAY) // HOUR % self.cycle
        elif self.name == MONTH:
            step = self._to_utc(_month(local))
        else:
            step = self.begin(utc, local, self.length)
        return pa.array(step, pa.int64())

    def end(self, begin: IntArray, length: int | None = None) -> IntArray:
        """Return when steps of the calendar, or intervals of a length, end: where the next begins.

        A day may have 23 or 25 hours, and an hour in which a clock changes by half an hour is two steps.
        """
        if length is None and self.name == MONTH:
            return self._to_utc(_month(self.local(begin + _LONGER_THAN_A_MONTH)))
        length = length or self.length
        if self.timezone is None:
            return begin + length
        local = self.local(begin)
        rest = length - (local - MONDAY) % length
        if length > HOUR:
            return self._to_utc(local + rest)
        return self._next_change(begin, begin + rest)

    def hours_of_week(self, value: int) -> list[int]:
        """Return the hours of the week (0 is Monday at midnight) that a value of a cycle stands for."""
        if self.name in DAYS:
            return [24 * day + hour for day, kind in enumerate(DAYS[self.name]) if kind == value for hour in range(24)]
        return list(range(value, HOURS_OF_CYCLE[HOUR_OF_WEEK], self.cycle or 1))

    def begin(self, utc: IntArray, local: IntArray, length: int) -> IntArray:
        """Return when the steps of a length began, in UTC: at whole multiples on the local clock since midnight.

        Up to an hour the clock is turned back, so that an hour that a clock shows twice is two hours, and not beyond
        the clock's last change. Longer steps begin where the clock first shows their beginning.
        """
        into = (local - MONDAY) % length
        if self.timezone is None:
            return utc - into
        if length > HOUR:
            return self._to_utc(local - into)
        return self._last_change(utc - into, utc)

    def local(self, utc: IntArray) -> IntArray:
        """Return what a clock shows."""
        if self.timezone is None:
            return utc
        zoned = pa.array(utc, pa.int64()).cast(pa.timestamp("us", "UTC")).cast(pa.timestamp("us", self.timezone))
        shown = pc.local_timestamp(cast("pa.TimestampArray", zoned))
        return np.asarray(shown.cast(pa.int64()).to_numpy(), np.int64)

    def _last_change(self, low: IntArray, high: IntArray) -> IntArray:
        """Return when clocks changed from what they were at `low` to what they are at `high`; `low` if they did not."""
        found, place = low.copy(), np.flatnonzero(self._ahead(low) != self._ahead(high))
        before, after = low[place], high[place]
        while len(place) and (after - before > 1).any():
            middle = (before + after) // 2
            changed = self._ahead(middle) == self._ahead(after)
            before, after = np.where(changed, before, middle), np.where(changed, middle, after)
        found[place] = after
        return found

    def _next_change(self, low: IntArray, high: IntArray) -> IntArray:
        """Return the same, `high` if clocks did not change."""
        change = self._last_change(low, high - 1)
        return np.where(change > low, change, high)

    def _ahead(self, utc: IntArray) -> IntArray:
        """Return by how much a clock is ahead of UTC."""
        return self.local(utc) - utc

    def values(self, keys: IntArray) -> Column:
        """Return steps as they are published: UTC timestamps, or whole numbers."""
        return pa.array(keys, pa.int64()) if self.cycle else pa.array(keys, pa.int64()).cast(pa.timestamp("us", "UTC"))

    def _clocks(self, instant: Column, aware: BoolArray) -> tuple[IntArray, IntArray]:
        """Return times in UTC and as a local clock shows them."""
        written = np.asarray(instant.to_numpy(zero_copy_only=False), np.int64)
        if self.timezone is None:
            return written, written
        utc = written.copy()
        utc[~aware] = self._to_utc(written[~aware])
        return utc, self.local(utc)

    def _to_utc(self, local: IntArray) -> IntArray:
        """Return when a clock shows these times: the first time if twice, and what comes next if never."""
        if self.timezone is None:
            return local
        clock = cast("pa.TimestampArray", pa.array(local, pa.int64()).cast(pa.timestamp("us")))
        zoned = pc.assume_timezone(clock, self.timezone, ambiguous="earliest", nonexistent="latest")
        return np.asarray(zoned.cast(pa.int64()).to_numpy(), np.int64)


def _month(local: IntArray) -> IntArray:
    """Return when the months of times began, by the same clock."""
    months = local.astype("datetime64[us]").astype("datetime64[M]")
    return months.astype("datetime64[us]").astype(np.int64)


def duration(name: str) -> int | None:
    """Return the length of steps like 15min in microseconds; None if this is no length that divides a day."""
    match = re.fullmatch(r"([1-9][0-9]{0,3})(min|h|d)", name)
    if match is None:
        return None
    length = int(match[1]) * _UNITS[match[2]]
    return length if DAY % length == 0 else None


def parse_steps(name: str, timezone: str | None = None) -> TimeSteps:
    """Return the steps of that name, or raise."""
    known = (WEEK, MONTH, *CYCLES)
    if not isinstance(name, str) or (name not in known and duration(name) is None):
        raise InputError(
            f"time cannot be cut into {shown(name)}",
            f"use 15min, 1h, 1d or another length that divides a day, {', '.join(known[:-1])} or {known[-1]}",
        )
    return TimeSteps(name, None if timezone is None else parse_timezone(timezone))
