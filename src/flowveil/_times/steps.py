"""Steps of time: of the calendar, or of the hours of a day or week whatever the date."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from flowveil._errors import InputError
from flowveil._options import parse_timezone, shown

if TYPE_CHECKING:
    from flowveil._arrays import BoolArray, Column, IntArray

HOUR_OF_DAY, HOUR_OF_WEEK = "hour-of-day", "hour-of-week"
CYCLES = {HOUR_OF_DAY: 24, HOUR_OF_WEEK: 168}  # hours until they begin again
HOUR = 3_600_000_000  # in microseconds, as all times here
DAY = 24 * HOUR
MONDAY = 4 * DAY  # a Monday: 1970-01-05
_UNITS = {"min": HOUR // 60, "h": HOUR, "d": DAY}


@dataclass(frozen=True)
class TimeSteps:
    """Equal steps: the key of a step is its beginning in UTC, in microseconds, or the number of its hour in a cycle."""

    name: str  # 15min, 1h, 1d, hour-of-day, hour-of-week and the like
    timezone: str | None = None  # None: as written, aware times in UTC

    @property
    def cycle(self) -> int | None:
        """Hours of the cycle; None for steps of the calendar."""
        return CYCLES.get(self.name)

    @property
    def length(self) -> int:
        """The length of a step in microseconds."""
        return duration(self.name) or HOUR

    def index(self, instant: Column, aware: Column) -> Column:
        """Return the step (int64) of times, in microseconds: in UTC where `aware`, else by the local clock."""
        utc, local = self._clocks(instant, aware.to_numpy(zero_copy_only=False).astype(bool))
        if self.cycle == CYCLES[HOUR_OF_DAY]:
            step = local // HOUR % 24
        elif self.cycle:
            step = (local - MONDAY) // HOUR % CYCLES[HOUR_OF_WEEK]
        else:
            step = self.begin(utc, local, self.length)
        return pa.array(step, pa.int64())

    def begin(self, utc: IntArray, local: IntArray, length: int) -> IntArray:
        """Return when the steps of a length began, in UTC: at whole multiples on the local clock since midnight.

        Up to an hour the clock is turned back, so that an hour that a clock shows twice is two hours. Longer steps
        begin where the clock first shows their beginning.
        """
        into = (local - MONDAY) % length
        if length <= HOUR or self.timezone is None:
            return utc - into
        return self._to_utc(local - into)

    def local(self, utc: IntArray) -> IntArray:
        """Return what a clock shows."""
        if self.timezone is None:
            return utc
        zoned = pa.array(utc, pa.int64()).cast(pa.timestamp("us", "UTC")).cast(pa.timestamp("us", self.timezone))
        shown = pc.local_timestamp(cast("pa.TimestampArray", zoned))
        return np.asarray(shown.cast(pa.int64()).to_numpy(), np.int64)

    def values(self, keys: IntArray) -> Column:
        """Return steps as they are published: UTC timestamps, or whole numbers of hours."""
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
        clock = cast("pa.TimestampArray", pa.array(local, pa.int64()).cast(pa.timestamp("us")))
        zoned = pc.assume_timezone(clock, self.timezone or "UTC", ambiguous="earliest", nonexistent="latest")
        return np.asarray(zoned.cast(pa.int64()).to_numpy(), np.int64)


def duration(name: str) -> int | None:
    """Return the length of steps like 15min in microseconds; None if this is no length that divides a day."""
    match = re.fullmatch(r"([1-9][0-9]{0,3})(min|h|d)", name)
    if match is None:
        return None
    length = int(match[1]) * _UNITS[match[2]]
    return length if DAY % length == 0 else None


def parse_steps(name: str, timezone: str | None = None) -> TimeSteps:
    """Return the steps of that name, or raise."""
    if not isinstance(name, str) or (name not in CYCLES and duration(name) is None):
        raise InputError(
            f"time cannot be cut into {shown(name)}",
            f"use 15min, 1h, 1d or another length that divides a day, {HOUR_OF_DAY} or {HOUR_OF_WEEK}",
        )
    return TimeSteps(name, None if timezone is None else parse_timezone(timezone))
