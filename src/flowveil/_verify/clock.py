"""Steps of time, worked out with Python's own time zones: all times are whole microseconds since 1970."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import TYPE_CHECKING
from zoneinfo import ZoneInfo

import numpy as np

if TYPE_CHECKING:
    from flowveil._arrays import BoolArray, IntArray

HOURS_OF_CYCLE = {"hour-of-day": 24, "hour-of-week": 7 * 24}
KINDS_OF_DAYS = {"weekday-weekend": 2, "day-type": 3}
VALUES_OF_CYCLE = HOURS_OF_CYCLE | KINDS_OF_DAYS
CALENDAR = ("week", "month")  # steps that are no part of a day
MONTH = -1  # in place of a length
_MINUTE = 60_000_000
_HOUR = 60 * _MINUTE
_DAY = 24 * _HOUR
_WEEK_BEGINS = 4 * _DAY  # 1970-01-05 was a Monday
_LENGTHS = {"part-of-day": 6 * _HOUR, "day": _DAY, "week": 7 * _DAY}
_UNITS = {"min": _MINUTE, "h": _HOUR, "d": _DAY}
_QUARTER = 15 * _MINUTE  # clocks are put forward and back at whole quarters of an hour
_EPOCH = datetime(1970, 1, 1)  # noqa: DTZ001 what a clock shows


def length_of(name: str) -> int | None:
    """Return the length of an interval by its name, None if there is no such interval."""
    if name in _LENGTHS:
        return _LENGTHS[name]
    if name == CALENDAR[1]:
        return MONTH
    match = re.fullmatch(r"([1-9][0-9]{0,3})(min|h|d)", name)
    length = int(match[1]) * _UNITS[match[2]] if match else None
    return length if length and _DAY % length == 0 else None


class Clock:
    """What time it is in a zone; without one, the time as written."""

    def __init__(self, zone: str | None) -> None:
        self._zone = None if zone is None else ZoneInfo(zone)

    def read(self, written: IntArray, aware: BoolArray) -> IntArray:
        """Return times in UTC: those that are `aware` are, others show a local clock."""
        if self._zone is None:
            return written
        utc = written.copy()
        utc[~aware] = self._utc(written[~aware])
        return utc

    def turn(self, utc: IntArray, cycle: str) -> IntArray:
        """Return the hour of the day, or of the week from Monday on, or the kind of day."""
        since_monday = self._local(utc) - _WEEK_BEGINS
        if cycle in HOURS_OF_CYCLE:
            hours: IntArray = since_monday // _HOUR % HOURS_OF_CYCLE[cycle]
            return hours
        day = since_monday // _DAY % 7
        # 0 up to Friday; then 1 and 2, or 1 and 1 where both days of a weekend are one kind
        kind: IntArray = np.clip(day - 4, 0, KINDS_OF_DAYS[cycle] - 1)
        return kind

    def begin(self, utc: IntArray, length: int) -> IntArray:
        """Return when the interval of a length around each time began."""
        local = self._local(utc)
        if length == MONTH:
            day, place = np.unique(local // _DAY, return_inverse=True)
            first = np.array([_first_of_month(which) for which in day.tolist()], np.int64)
            return self._utc(first[place])
        into = (local - _WEEK_BEGINS) % length
        if self._zone is None or length > _HOUR:
            return self._utc(local - into)
        quarter, place = np.unique(utc // _QUARTER, return_inverse=True)
        same_since = np.array([_same_since(self._zone, which) for which in quarter.tolist()], np.int64)
        begin: IntArray = np.maximum(utc - into, same_since[place])
        return begin

    def end(self, begin: IntArray, length: int) -> IntArray:
        """Return when intervals end that begin at these times: where the next one begins."""
        if length == MONTH:
            return self.begin(begin + 32 * _DAY, length)
        if self._zone is None:
            return begin + length
        start, place = np.unique(begin, return_inverse=True)
        local = self._local(start)
        shown = local - (local - _WEEK_BEGINS) % length + length  # by the clock when the interval is over
        if length > _HOUR:
            return self._utc(shown)[place]
        spans = zip(start.tolist(), (start + shown - local).tolist(), strict=True)
        return np.array([_same_until(self._zone, *span) for span in spans], np.int64)[place]

    def _local(self, utc: IntArray) -> IntArray:
        if self._zone is None:
            return utc
        quarter, place = np.unique(utc // _QUARTER, return_inverse=True)
        ahead = np.array([_ahead(self._zone, which) for which in quarter.tolist()], np.int64)
        return utc + ahead[place]

    def _utc(self, local: IntArray) -> IntArray:
        if self._zone is None:
            return local
        quarter, place = np.unique(local // _QUARTER, return_inverse=True)
        quarters = np.array([_utc_of_quarter(self._zone, which) for which in quarter.tolist()], np.int64).reshape(-1, 2)
        start, runs = quarters[place].T
        utc: IntArray = start + runs * (local - quarter[place] * _QUARTER)
        return utc


def _first_of_month(day: int) -> int:
    """Return when the month of a day (counted from 1970) began, as its clock shows it."""
    first = (_EPOCH + timedelta(days=day)).replace(day=1)
    return (first - _EPOCH) // timedelta(microseconds=1)


@lru_cache(maxsize=1 << 18)
def _ahead(zone: ZoneInfo, quarter: int) -> int:
    """Return how far a clock is ahead of UTC in a quarter of an hour of UTC."""
    moment = datetime.fromtimestamp(quarter * 900, UTC).astimezone(zone).utcoffset() or timedelta()
    return moment // timedelta(microseconds=1)


@lru_cache(maxsize=1 << 18)
def _same_since(zone: ZoneInfo, quarter: int) -> int:
    """Return since when a clock has been as far ahead as in a quarter, looking back an hour and a quarter at most."""
    first = next((one for one in range(quarter, quarter - 5, -1) if _ahead(zone, one - 1) != _ahead(zone, one)), None)
    return (quarter - 5 if first is None else first) * _QUARTER


def _same_until(zone: ZoneInfo, first: int, last: int) -> int:
    """Return when a clock first changes after a time, up to a last one."""
    ahead = _ahead(zone, first // _QUARTER)
    quarters = range(first // _QUARTER + 1, -(-last // _QUARTER))
    return next((one * _QUARTER for one in quarters if _ahead(zone, one) != ahead), last)


@lru_cache(maxsize=1 << 18)
def _utc_of_quarter(zone: ZoneInfo, quarter: int) -> tuple[int, int]:
    """Return when a clock first shows a quarter of an hour, and 1; if it never does, when it jumps over it, and 0."""
    shown = quarter * _QUARTER
    moment = (_EPOCH + timedelta(microseconds=shown)).replace(tzinfo=zone)
    first = shown - (moment.utcoffset() or timedelta()) // timedelta(microseconds=1)
    if first + _ahead(zone, first // _QUARTER) == shown:
        return first, 1
    after = first // _QUARTER  # in the gap: this is past the jump
    while after - 1 and _ahead(zone, after - 1) == _ahead(zone, after):
        after -= 1
    return after * _QUARTER, 0
