"""The list of matrices of a release with noise, worked out from its manifest alone: steps of time and groups."""

from __future__ import annotations

import re
from calendar import monthrange
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from itertools import product
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from flowveil._verify.broken import broken
from flowveil._verify.clock import VALUES_OF_CYCLE, Clock, length_of

if TYPE_CHECKING:
    from flowveil._arrays import ChunkedColumn, IntArray
    from flowveil._folder import Json
    from flowveil._verify.options import Options

_EPOCH = datetime(1970, 1, 1)  # noqa: DTZ001 what a clock shows
_QUARTER = 900_000_000  # microseconds
_HOUR = 4 * _QUARTER
_MOST = 20_000_000  # quarters of an hour: some five hundred years
_DAY = r"(\d{4})(?:-(?:Q([1-4])|(\d{2})(?:-(\d{2}))?))?"
_PERIOD = re.compile(rf"\s*{_DAY}\s*(?:/\s*{_DAY}\s*)?")


@dataclass(frozen=True, eq=False)
class Layers:
    """Steps of time, and combinations of groups, all of which must be published."""

    options: Options
    steps: IntArray  # when each begins, or its number in a cycle; [0] where time is not cut
    groups: dict[tuple[str | None, ...], int]  # by combination: its number

    @property
    def matrices(self) -> int:
        """How many matrices there are; time as an axis divides none."""
        return len(self.groups) * (1 if self.options.is_hierarchy else len(self.steps))

    @property
    def spans(self) -> int:
        """How many steps of time a matrix has."""
        return len(self.steps) if self.options.is_hierarchy else 1

    def place(self, flows: pa.Table) -> tuple[IntArray, IntArray, IntArray]:
        """Return the matrix of each flow, and the first of its steps and the one after the last; raise if unknown."""
        group = self._groups(flows)
        if not self.options.time_levels:
            zero = np.zeros(flows.num_rows, np.int64)
            return group, zero, zero + 1
        first = _numbers(flows["time"])
        if self.options.is_hierarchy:
            low, high = self._intervals(first, _numbers(flows["time_end"]))
            return group, low, high
        step = self.find(first)
        zero = np.zeros(len(step), np.int64)
        return step * len(self.groups) + group, zero, zero + 1

    def find(self, times: IntArray) -> IntArray:
        """Return the places of times in the list of steps; raise where one is in none."""
        place = np.minimum(np.searchsorted(self.steps, times), len(self.steps) - 1)
        if (self.steps[place] != times).any():
            raise broken("a flow is of a step of time that the manifest does not list")
        return place

    def _groups(self, flows: pa.Table) -> IntArray:
        columns = [flows[name].to_pylist() for name in self.options.by]
        values = list(zip(*columns, strict=True)) if columns else [()] * flows.num_rows
        if strange := set(values) - set(self.groups):
            raise broken(f"a flow is of a group that the manifest does not list ({len(strange)} of them)")
        return np.array([self.groups[value] for value in values], np.int64)

    def _intervals(self, begin: IntArray, end: IntArray) -> tuple[IntArray, IntArray]:
        """Return which steps intervals span: each is one of a level, or all of time."""
        cycle = VALUES_OF_CYCLE.get(self.options.time_levels[0])
        clock = Clock(self.options.timezone)
        whole = np.array([cycle or 0]) == end - begin if cycle else (begin == _NOTHING) & (end == _NOTHING)
        fits = whole.copy()
        for name in self.options.time_levels:
            length = 1 if name in VALUES_OF_CYCLE else length_of(name) or 0
            if cycle:
                hours = max(length // _HOUR, 1)
                fits |= (begin % hours == 0) & (end - begin == hours)
            else:
                known = np.where(whole, 0, begin)
                fits |= ~whole & (clock.begin(known, length) == known) & (clock.end(known, length) == end)
        low = np.where(whole, 0, np.searchsorted(self.steps, begin))
        high = np.where(whole, len(self.steps), np.searchsorted(self.steps, end))
        if not fits.all() or (low >= high).any():
            raise broken("a flow spans a time that is none of the hierarchy of the manifest")
        return low, high


_NOTHING = -(2**63)  # stands for all of time in arrays


def _numbers(column: ChunkedColumn) -> IntArray:
    """Return times as whole numbers, a lowest one for null."""
    return np.asarray(column.cast(pa.int64()).fill_null(pa.scalar(_NOTHING, pa.int64())).to_numpy(), np.int64)


def read_layers(options: Options, typed: dict[str, Json]) -> Layers:
    """Return the list of matrices; typed: the options of the manifest, of which `options` were checked."""
    groups = typed.get("groups", {})
    named = isinstance(groups, dict) and all(
        isinstance(values, list) and values and len(set(map(str, values))) == len(values) for values in groups.values()
    )
    if not named or list(groups) != list(options.by):
        raise broken("'groups' of the manifest does not list the values of each column of 'by'")
    if not all(value is None or (isinstance(value, str) and value) for values in groups.values() for value in values):
        raise broken("'groups' of the manifest has a value that is no text")
    numbers = {values: place for place, values in enumerate(product(*groups.values()))}
    calendar = bool(options.time_levels) and options.time_levels[0] not in VALUES_OF_CYCLE
    if ("period" in typed) != calendar:
        raise broken("steps of the calendar need a period, and nothing else does")
    if not options.time_levels:
        return Layers(options, np.zeros(1, np.int64), numbers)
    if not calendar:
        return Layers(options, np.arange(VALUES_OF_CYCLE[options.time_levels[0]]), numbers)
    return Layers(options, _steps(options, typed["period"]), numbers)


def _steps(options: Options, period: Json) -> IntArray:
    """Return when all steps begin that a period touches."""
    match = _PERIOD.fullmatch(period) if isinstance(period, str) else None
    if match is None:
        raise broken("'period' of the manifest is not a period")
    parts = match.groups()
    try:
        first, last = _days(parts[:4])[0], _days(parts[4:] if parts[4] else parts[:4])[1]
    except ValueError:
        raise broken("'period' of the manifest is not a period") from None
    shown = [datetime(day.year, day.month, day.day) for day in (first, last + timedelta(days=1))]  # noqa: DTZ001
    edges = np.array([(moment - _EPOCH) // timedelta(microseconds=1) for moment in shown], np.int64)
    clock, length = Clock(options.timezone), length_of(options.time_levels[0])
    begin, end = clock.read(edges, np.zeros(2, bool)).tolist()
    if length is None or not 0 < (end - begin) // _QUARTER < _MOST:
        raise broken("'period' of the manifest is not a period")
    grain = _QUARTER if length < 0 else min(length, _QUARTER)
    return np.unique(clock.begin(np.arange(begin, end, grain), length))


def _days(parts: tuple[str | None, ...]) -> tuple[date, date]:
    """Return the first and last day of a year, quarter, month or day."""
    year, quarter, month, day = (None if part is None else int(part) for part in parts)
    if year is None:
        raise ValueError
    if day is not None and month is not None:
        return date(year, month, day), date(year, month, day)
    first = 3 * quarter - 2 if quarter else month or 1
    last = 3 * quarter if quarter else month or 12
    return date(year, first, 1), date(year, last, monthrange(year, last)[1])
