"""The public list of matrices of a release with noise: one for each step of time and group, empty or not.

Nothing here looks at trips. Steps of a cycle (hours of the day) are known; those of the calendar follow from a period
that the user typed; groups are typed value by value. What is in no step or group is left out and counted privately.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from flowveil._engine import Division
from flowveil._errors import InputError
from flowveil._flows import check_groups
from flowveil._matrices.ladder import make_ladder
from flowveil._options import PERIODS, WINDOW, Protection, parse_groups, parse_names
from flowveil._register import parse_period
from flowveil._times import TimeSteps, build_tree, parse_hierarchy, parse_steps

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from flowveil._arrays import Column, IntArray
    from flowveil._folder import Json
    from flowveil._matrices.ladder import Ladder
    from flowveil._times import Levels, TimeTree

_MOST_STEPS = 100_000
_MICROSECOND = timedelta(microseconds=1)
_QUARTER = 900_000_000  # microseconds: clocks change at whole quarters of an hour
_RESERVED = frozenset({"nonnegative", "scale", "consistent", "persons_scale", "drawn"})  # columns of noise
_SPANS = dict(zip(PERIODS, ("1d", "week", "month"), strict=True))


@dataclass(frozen=True, eq=False)
class TimeAxis:
    """Time as a third axis of pairs of areas: its tree, and the ladder of its cuts."""

    tree: TimeTree
    ladder: Ladder
    place: IntArray  # by step of the list: where it stands in the ladder


@dataclass(frozen=True, eq=False)
class Layers:
    """Steps of time and groups. Matrices are numbered by step, then group; the last column of groups counts fastest."""

    steps: TimeSteps | None = None
    keys: IntArray = field(default_factory=lambda: np.zeros(1, np.int64))  # of all steps, ascending
    levels: Levels | None = None  # time is an axis that areas of time are cut from, and divides no matrices
    groups: dict[str, tuple[str | None, ...]] = field(default_factory=dict)
    period: str | None = None  # of steps of the calendar, as typed

    @cached_property
    def combinations(self) -> int:
        """How many combinations of groups there are."""
        return int(np.prod([len(values) for values in self.groups.values()], dtype=np.int64))

    @property
    def matrices(self) -> int:
        """How many matrices there are."""
        return self.combinations * (1 if self.levels else len(self.keys))

    @property
    def single(self) -> bool:
        """Whether nothing divides the trips."""
        return self.steps is None and not self.groups

    def numbers(self, step: IntArray, group: IntArray) -> IntArray:
        """Return the matrices of steps (places in the list) and combinations of groups."""
        return group if self.levels else step * self.combinations + group

    @cached_property
    def axis(self) -> TimeAxis | None:
        """Time as an axis, where it is one."""
        if self.levels is None:
            return None
        tree, node = build_tree(self.levels, self.keys)
        ladder = make_ladder(tree.hierarchy)
        order = np.argsort(ladder.leaf)
        return TimeAxis(tree, ladder, order[np.searchsorted(ladder.leaf, node, sorter=order)])

    def columns(self, matrix: IntArray) -> dict[str, Column]:
        """Return the columns that tell matrices apart: time where it divides them, then groups."""
        columns: dict[str, Column] = {}
        if self.steps is not None and self.levels is None:
            columns["time"] = self.steps.values(self.keys[matrix // self.combinations])
        rest = matrix % self.combinations
        left = self.combinations
        for name, values in self.groups.items():
            left //= len(values)
            columns[name] = pa.array(values, pa.string()).take(pa.array(rest // left % len(values), pa.int64()))
        return columns

    def settings(self, timezone: str | None) -> dict[str, Json]:
        """Return what was typed, for the manifest."""
        typed: dict[str, Json] = {}
        if self.levels is not None:
            typed["time_hierarchy"] = self.levels.text
        elif self.steps is not None:
            typed["time"] = self.steps.name
        if timezone is not None:
            typed["timezone"] = timezone
        if self.period is not None:
            typed["period"] = self.period
        if self.groups:
            typed["by"] = list(self.groups)
            typed["groups"] = {name: list(values) for name, values in self.groups.items()}
        return typed


def parse_layers(
    time: str | None,
    time_hierarchy: str | None,
    timezone: str | None,
    period: str | None,
    by: str | Sequence[str],
    groups: Mapping[str, Iterable[str | None]] | Iterable[str] | str | None,
) -> Layers:
    """Return the list of matrices that options ask for, or raise where they would leave it to the trips."""
    if time is not None and time_hierarchy is not None:
        raise InputError("both time and time_hierarchy were given", "a hierarchy of time begins with its steps")
    levels = None if time_hierarchy is None else parse_hierarchy(time_hierarchy, timezone)
    steps = levels.steps if levels else None if time is None else parse_steps(time, timezone)
    named, listed = parse_names(by, "by"), parse_groups(groups or {})
    if set(named) != set(listed) or len(set(named)) < len(named):
        raise InputError(
            "noise needs the values of each column of groups, and of no other: which there are is private",
            "list them without looking at the trips, e.g. --by sex --groups sex=f,m",
        )
    in_order = {name: listed[name] for name in named}
    if steps is None:
        return Layers(groups=in_order)
    if steps.cycle:
        return Layers(steps, np.arange(steps.cycle), levels, in_order)
    return Layers(steps, _steps_of(steps, period), levels, in_order, period)


def check_layers(layers: Layers, available: Sequence[str], unit: str | None) -> None:
    """Raise unless the trips have the columns of groups."""
    check_groups(list(layers.groups), available, unit)
    for name in layers.groups:
        if name.lower() in _RESERVED:
            raise InputError(f"a group cannot be called {name!r}: releases use that name", "rename the column")


def make_division(layers: Layers, protection: Protection, timezone: str | None) -> Division:
    """Return how the engine divides trips, and in which spans a bound on those of a person holds."""
    place = None if layers.steps is None else _Places(layers.steps, layers.keys)
    span = place if protection.name == WINDOW else None
    if protection.name in _SPANS:
        clock = TimeSteps(_SPANS[protection.name], timezone)
        return Division(place, tuple(layers.groups.values()), clock.index)
    return Division(place, tuple(layers.groups.values()), span)


@dataclass(frozen=True, eq=False)
class _Places:
    """Maps times to places in the list of steps."""

    steps: TimeSteps
    keys: IntArray

    def __call__(self, instant: Column, aware: Column) -> Column:
        """Return the place of each time, null where it is in no step."""
        key = np.asarray(self.steps.index(instant, aware).to_numpy(zero_copy_only=False), np.int64)
        place = np.minimum(np.searchsorted(self.keys, key), len(self.keys) - 1)
        return pa.array(place, pa.int64(), mask=self.keys[place] != key)


def _steps_of(steps: TimeSteps, period: str | None) -> IntArray:
    """Return all steps of the calendar that a period touches: by a clock, whatever trips there are."""
    days = parse_period(period)
    if days is None:
        raise InputError(
            f"which steps of {steps.name} there are must not come from the trips",
            "give --period like 2024-05, 2024-Q2 or 2024-05-01/2024-05-14, or cut time into hours of the day or week",
        )
    edges = [(datetime(day.year, day.month, day.day, tzinfo=UTC)) for day in (days[0], days[1] + timedelta(days=1))]
    shown = pa.array([(edge - datetime(1970, 1, 1, tzinfo=UTC)) // _MICROSECOND for edge in edges], pa.int64())
    midnight = TimeSteps("15min", steps.timezone).index(shown, pa.array([False, False]))
    first, last = midnight.to_numpy(zero_copy_only=False).tolist()
    grain = min(steps.length, _QUARTER)
    if (last - first) // max(steps.length, 1) > _MOST_STEPS:
        raise InputError(
            f"the period has more than {_MOST_STEPS:,} steps of {steps.name}", "give longer steps, or a shorter period"
        )
    moments = np.arange(first, last, grain, dtype=np.int64)
    keys = steps.index(pa.array(moments, pa.int64()), pa.array(np.ones(len(moments), bool)))
    return np.unique(np.asarray(keys.to_numpy(zero_copy_only=False), np.int64))
