"""Samples of trajectories on a time bar: when each begins and ends, and how many fall into each step."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

import numpy as np

from flowveil._report.packing import pack, pack_steps
from flowveil._report.scene import significant

if TYPE_CHECKING:
    from flowveil._arrays import FloatArray, IntArray
    from flowveil._folder import Json
    from flowveil._report.scene import Key, Spans

_SECOND = 1_000_000  # microseconds
_HOUR = 3_600 * _SECOND
_STEPS = (1, 2, 3, 6, 12, 24, 48, 168)  # hours
_MOST_STEPS = 240
_DAY_PARTS = 3 * _HOUR  # the longest step that tells parts of the day apart


def hours(spans: Spans, amount: IntArray, rows: IntArray) -> dict[str, Json]:
    """Return group, begin and end of listed samples (rows), and the samples of users in each step of time.

    A sample counts in every step that it spans, by the share of it that lies there: it is spread evenly over its time.
    """
    group, start, end = spans
    step = _step(start, end) * _HOUR
    begin = int(start.min()) // step * step if len(start) else 0
    count = max(1, -(-(int(end.max()) - begin) // step)) if len(end) else 0
    amounts = spread((start - begin) / step, (end - begin) / step, amount, count)
    moments = [datetime.fromtimestamp((begin + row * step) // _SECOND, UTC) for row in range(count)]
    return {
        "group": pack_steps(group[rows]),
        "groups": len(np.unique(group)),
        "start": pack(np.rint((start[rows] - begin) / _SECOND).astype(np.int64)),
        "length": pack(np.rint((end[rows] - start[rows]) / _SECOND).astype(np.int64)),
        "begin": begin // _SECOND,
        "step": step // _SECOND,
        "labels": [f"{moment:%Y-%m-%d %H:%M}" for moment in moments],
        "hours": [moment.hour for moment in moments] if step <= _DAY_PARTS else None,
        "amounts": [significant(amount) for amount in amounts.tolist()],
    }


def amounts_of(key: Key, volume: IntArray) -> tuple[list[str], FloatArray]:
    """Return the values of a key that a reader chooses among, and the amount of each."""
    if key.steps is not None:
        start, end = (edge[key.position].astype(np.float64) for edge in (key.steps.first, key.steps.last))
        return key.steps.labels, spread(start, end, volume, len(key.steps.labels))
    return key.values, np.asarray(np.bincount(key.position, volume, len(key.values)), np.float64)


def spread(start: FloatArray, end: FloatArray, amount: IntArray, count: int) -> FloatArray:
    """Return how much falls into each of `count` steps when amounts are spread evenly from start to end, in steps."""
    found = np.zeros(count)
    first = np.minimum(np.floor(start).astype(np.int64), max(count - 1, 0))
    last = np.maximum(first, np.minimum(np.ceil(end).astype(np.int64) - 1, count - 1))
    for step in range(count):
        rows = np.flatnonzero((first <= step) & (last >= step))
        length = end[rows] - start[rows]
        part = np.minimum(end[rows], step + 1) - np.maximum(start[rows], step)
        share = np.where(length > 0, part / np.where(length > 0, length, 1), 1.0)
        found[step] = float((amount[rows] * share).sum())
    return found


def _step(start: IntArray, end: IntArray) -> int:
    """Return the shortest step in hours with which the time bar is not too long."""
    if not len(start):
        return 1
    length = (int(end.max()) - int(start.min())) / _HOUR
    return next((step for step in _STEPS if length / step <= _MOST_STEPS), int(length // _MOST_STEPS + 1))
