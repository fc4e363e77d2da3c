"""Slots: the matrices of a release (a step of time and a group each), and which of them hold a trip."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from flowveil._verify.broken import broken
from flowveil._verify.clock import VALUES_OF_CYCLE, Clock, length_of
from flowveil._verify.forest import NONE
from flowveil._verify.rows import distinct

if TYPE_CHECKING:
    from collections.abc import Hashable, Mapping, Sequence

    from flowveil._arrays import BoolArray, ChunkedColumn, IntArray
    from flowveil._verify.extents import Extents
    from flowveil._verify.options import Options
    from flowveil._verify.tables import FlowTable

    Interval = tuple[int | None, int | None]  # begin and end; both None for all of time


_HOUR = 3_600_000_000
_ALL = -(2**63)  # stands for all of time in arrays
_CALENDAR = range(-2_240_524_800_000_000, 7_289_654_400_000_000)  # 1899 to 2200: trips are from 1900 on


class Slots:
    """The distinct times and groups of flows. With a hierarchy of time, slots of one group may hold each other."""

    def __init__(
        self,
        options: Options,
        keys: Mapping[str, ChunkedColumn],
        flows_total: int,
        places: Sequence[int] | None = None,
    ) -> None:
        self._options = options
        self._places = range(len(options.by)) if places is None else places  # of the groups among those of a request
        self._clock = Clock(options.timezone)
        self._lengths = [length_of(name) for name in options.time_levels]
        self._cycle = VALUES_OF_CYCLE.get(options.time_levels[0]) if options.time_levels else None
        columns = [_plain(keys[name]) for name in keys]
        rows = list(zip(*columns, strict=True)) if columns else [()] * flows_total
        distinct = dict.fromkeys(rows)
        self._time_columns = len(keys) - len(options.by)
        self._number: dict[tuple[Interval, tuple[Hashable, ...]], int] = {}
        for row in distinct:
            interval = self._interval(row[: self._time_columns])
            self._number[interval, row[self._time_columns :]] = len(self._number)
        place = {row: number for number, row in enumerate(distinct)}
        self.of_flow: IntArray = np.array([place[row] for row in rows], np.int64)

    def bounds(self) -> tuple[IntArray, IntArray]:
        """Return by slot the box it fills, low and high: time, and groups numbered in any order."""
        groups = {group: place for place, group in enumerate({group for _, group in self._number})}
        low, high = [], []
        for (begin, end), group in self._number:
            low.append((-(2**62) if begin is None else begin, groups[group]))
            high.append((2**62 if end is None else end, groups[group] + 1))
        return np.array(low, np.int64).reshape(-1, 2), np.array(high, np.int64).reshape(-1, 2)

    @property
    def same_areas(self) -> bool:
        """Whether all slots have their pairs of areas in common."""
        return self._options.same_areas

    @property
    def divided(self) -> frozenset[str]:
        """The columns that divide flows into slots; a hierarchy of time is an axis and divides nothing."""
        timed = bool(self._options.time_levels) and not self._options.is_hierarchy
        return frozenset(self._options.by) | ({"time"} if timed else set())

    def names(self) -> list[tuple[Interval, frozenset[tuple[str, Hashable]]]]:
        """Return by slot its interval and the values of its groups; all hours of a cycle are all of time."""
        everything = (0, self._cycle)
        return [
            ((None, None) if interval == everything else interval, frozenset(zip(self._options.by, group, strict=True)))
            for interval, group in self._number
        ]

    def locate(self, batch: pa.RecordBatch, known: BoolArray) -> list[IntArray]:
        """Return for each level of time the slot of each known row, -1 for none."""
        groups, of_row = self._groups(batch, known)
        levels = []
        for begin, end in self._levels(batch, known):
            _, moment = distinct(begin)
            keys, position = distinct(moment * len(groups) + of_row)
            example = np.zeros(len(keys), np.int64)  # a row of each key: all of them have its interval
            example[position] = np.arange(len(position))
            intervals = [_open(*bounds) for bounds in zip(begin[example].tolist(), end[example].tolist(), strict=True)]
            of_key = [groups[place] for place in of_row[example].tolist()]
            slots = [self._number.get(key, NONE) for key in zip(intervals, of_key, strict=True)]
            levels.append(np.array(slots, np.int64)[position])
        return levels

    def steps(self, batch: pa.RecordBatch, known: BoolArray) -> IntArray:
        """Return when the step of time of each known row begins."""
        return self._levels(batch, known)[0][0]

    def _groups(self, batch: pa.RecordBatch, known: BoolArray) -> tuple[list[tuple[str | None, ...]], IntArray]:
        """Return the groups that known rows are in, and which of them each row is in."""
        groups: list[tuple[str | None, ...]] = [()]
        of_row = np.zeros(int(known.sum()), np.int64)
        for name in self._group_columns():
            texts = batch.column(name).filter(pa.array(known)).dictionary_encode("encode")
            values = texts.dictionary.to_pylist()
            keys, of_row = distinct(of_row * len(values) + texts.indices.to_numpy())
            groups = [(*groups[key // len(values)], values[key % len(values)]) for key in keys.tolist()]
        return groups, of_row

    def _group_columns(self) -> list[str]:
        return [f"by_{place}" for place in self._places]

    def _levels(self, batch: pa.RecordBatch, known: BoolArray) -> list[tuple[IntArray, IntArray]]:
        """Return begin and end of the interval of each row, from the finest to all of time."""
        rows = int(known.sum())
        everything = np.full(rows, _ALL), np.full(rows, _ALL)
        if not self._options.time_levels:
            return [everything]
        written = batch.column("time").to_numpy(zero_copy_only=False)[known].astype(np.int64)
        utc = self._clock.read(written, batch.column("aware").to_numpy(zero_copy_only=False)[known].astype(bool))
        if self._cycle:
            hour = self._clock.turn(utc, self._options.time_levels[0])
            spans = [1, *((length or 0) // _HOUR for length in self._lengths[1:])]
            levels = [(hour - hour % span, hour - hour % span + span) for span in spans]
            whole = np.zeros(rows, np.int64), np.full(rows, self._cycle)
        else:
            begins = [(self._clock.begin(utc, length), length) for length in self._lengths if length]
            levels = [(begin, self._clock.end(begin, length)) for begin, length in begins]
            whole = everything
        if not self._options.is_hierarchy:
            return levels[:1]
        covers = self._cycle is not None and self._lengths[-1] == self._cycle * _HOUR
        return levels if covers else [*levels, whole]

    def _interval(self, values: tuple[int | None, ...]) -> Interval:
        """Return the interval that a flow names, after checking that there is one like it."""
        if not self._options.time_levels:
            return None, None
        begin = values[0]
        if begin is None:
            if not self._options.is_hierarchy or self._cycle or values[1] is not None:
                raise broken("a flow has no time")
            return None, None
        allowed = self._intervals_from(begin) if self._cycle or begin in _CALENDAR else []
        fitting = [interval for interval in allowed if not self._options.is_hierarchy or interval[1] == values[1]]
        if not fitting:
            raise broken("a flow has a time that is not one of the steps of the release")
        return fitting[0]

    def _intervals_from(self, begin: int) -> list[tuple[int, int]]:
        """Return the intervals that may begin at a time, the finest first."""
        if self._cycle:
            spans = [1, *((length or 0) // _HOUR for length in self._lengths[1:]), self._cycle]
            return [(begin, begin + span) for span in spans if begin % span == 0 and 0 <= begin <= self._cycle - span]
        at = np.array([begin], np.int64)
        return [
            (begin, int(self._clock.end(at, length)[0]))
            for length in self._lengths
            if length and int(self._clock.begin(at, length)[0]) == begin
        ]


def check_apart(
    flows: FlowTable, extents: tuple[Extents, Extents], ends: tuple[IntArray, IntArray], slots: Slots, rows: IntArray
) -> None:
    """Raise if two flows, of some rows, overlap in time, group, origin and destination."""
    low, high = (bounds[slots.of_flow[rows]] for bounds in slots.bounds())
    pair = extents[0].find_overlap(extents[1], (ends[0][rows], ends[1][rows]), (low, high))
    if pair is not None:
        one, other = sorted(rows[list(pair)].tolist())
        raise broken(f"the flows {flows.name(one)} and {flows.name(other)} overlap")


def check_common(
    flows: FlowTable, extents: tuple[Extents, Extents], ends: tuple[IntArray, IntArray], rows: IntArray
) -> None:
    """Raise if pairs of areas, of some rows, overlap without being the same pair, whatever their times and groups."""
    pairs = np.column_stack([ends[0][rows], ends[1][rows]])
    _, first = np.unique(pairs, axis=0, return_index=True)
    begin = np.zeros((len(first), 1), np.int64)  # all of them in one slot
    pair = extents[0].find_overlap(extents[1], (pairs[first, 0], pairs[first, 1]), (begin, begin + 1))
    if pair is not None:
        one, other = sorted(rows[first[list(pair)]].tolist())
        raise broken(f"the flows {flows.name(one)} and {flows.name(other)} overlap, but are promised areas in common")


def _open(begin: int, end: int) -> Interval:
    return (None, None) if begin == _ALL else (begin, end)


def _plain(column: ChunkedColumn) -> list[Any]:  # Any: text, or whole numbers
    """Return values as Python has them, timestamps as microseconds."""
    return (column.cast(pa.int64()) if pa.types.is_timestamp(column.type) else column).to_pylist()
