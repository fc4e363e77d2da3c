"""Hierarchies of time: steps, the longer intervals that hold them, and all of time at the top."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from flowveil._errors import InputError
from flowveil._options import parse_text
from flowveil._places import ROOT, Hierarchy
from flowveil._times.steps import DAY, DAYS, HOUR, MONTH, WEEK, TimeSteps, duration, parse_steps

if TYPE_CHECKING:
    from flowveil._arrays import Column, IntArray

_NAMES = {"part-of-day": 6 * HOUR, "day": DAY, "week": 7 * DAY}


@dataclass(frozen=True)
class Levels:
    """What a user typed as `1h<part-of-day<day`."""

    text: str  # without spaces
    steps: TimeSteps
    lengths: tuple[int, ...]  # of the intervals above the steps, in microseconds, ascending


@dataclass(frozen=True, eq=False)
class TimeTree:
    """The hierarchy over the steps seen (over all hours of a cycle), and the interval of every node."""

    levels: Levels
    hierarchy: Hierarchy
    start: IntArray  # by node: as the keys of steps
    end: IntArray  # exclusive

    def values(self, nodes: IntArray) -> tuple[Column, Column]:
        """Return begin and end of nodes as they are published; null at the top of the calendar."""
        bounds = [self.levels.steps.values(edge[nodes]) for edge in (self.start, self.end)]
        if self.levels.steps.cycle:
            return bounds[0], bounds[1]
        top = pa.array(nodes == ROOT)
        first, last = (pa.compute.if_else(top, pa.scalar(None, values.type), values) for values in bounds)
        return first, last


def parse_hierarchy(text: str, timezone: str | None = None) -> Levels:
    """Return the levels of a hierarchy of time like `1h<part-of-day<day`, or raise."""
    parse_text(text, "time_hierarchy", "1h<part-of-day<day")
    first, *above = names = [part.strip() for part in text.split("<")]
    steps = parse_steps(first, timezone)
    if steps.name in (WEEK, MONTH, *DAYS):
        raise InputError(
            f"a hierarchy of time does not begin with {steps.name}", "write one like 1h<part-of-day<day, or use --time"
        )
    if not above:
        raise InputError(f"{text!r} has one level", "write a hierarchy of time like 1h<part-of-day<day")
    lengths = []
    below = steps.length
    for name in above:
        length = _NAMES.get(name) or duration(name)
        if length is None or length <= below or length % below or (steps.cycle or 168) * HOUR % length:
            raise InputError(
                f"{name!r} of the hierarchy of time {text!r} does not hold whole steps of the level before it",
                "from fine to coarse: lengths like 3h, part-of-day (6 hours), day, week",
            )
        lengths.append(length)
        below = length
    return Levels("<".join(names), steps, tuple(lengths))


def build_tree(levels: Levels, seen: IntArray) -> tuple[TimeTree, IntArray]:
    """Return the tree over steps (keys, distinct and sorted), and the node of each.

    Like a grid, a calendar holds the steps seen; a cycle holds all its hours.
    """
    cycle = levels.steps.cycle
    leaves = np.arange(cycle, dtype=np.int64) if cycle else seen
    rows = [_intervals(levels, leaves, length) for length in reversed(levels.lengths)]
    rows.append(_leaf_intervals(levels, leaves))
    starts, ends = [np.zeros(1, np.int64)], [np.full(1, cycle or 0, np.int64)]
    parents = [np.full(1, -1, np.int64)]
    above = np.zeros(len(leaves), np.int64)  # by leaf: the node one level up
    count = 1
    for start, end in rows:
        if cycle and end[0] - start[0] == cycle:  # the interval is the top itself
            continue
        distinct, first, place = np.unique(start, return_index=True, return_inverse=True)
        parents.append(above[first])
        starts.append(distinct)
        ends.append(end[first])
        above = count + place
        count += len(distinct)
    start, end = np.concatenate(starts), np.concatenate(ends)
    tree, number = Hierarchy.from_parents(np.concatenate(parents), start.astype(np.uint64))
    order = np.argsort(number)
    return TimeTree(levels, tree, start[order], end[order]), number[above[np.searchsorted(leaves, seen)]]


def _leaf_intervals(levels: Levels, keys: IntArray) -> tuple[IntArray, IntArray]:
    if levels.steps.cycle:
        return keys, keys + 1
    return keys, levels.steps.end(keys)


def _intervals(levels: Levels, keys: IntArray, length: int) -> tuple[IntArray, IntArray]:
    """Return begin and end of the intervals of a length that hold steps."""
    if levels.steps.cycle:
        hours = length // HOUR
        start = keys - keys % hours
        return start, start + hours
    start = levels.steps.begin(keys, levels.steps.local(keys), length)
    return start, levels.steps.end(start, length)
