"""Single trips once more: which pair of tiles counts each, and its mark or its coordinates."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from flowveil._engine import read_located, read_marked
from flowveil._errors import InputError
from flowveil._flows.crowds import Crowds
from flowveil._times import build_tree, parse_hierarchy, parse_steps

if TYPE_CHECKING:
    from flowveil._arrays import FloatArray, IntArray, KeyArray
    from flowveil._engine import KeyedRows
    from flowveil._flows.flows import Flows
    from flowveil._times import TimeSteps

_CHANGED = "the input is not what it was when the trips were counted"


@dataclass(frozen=True, eq=False)
class MarkedTrips:
    """Rows of trips, sorted by mark and pair of tiles."""

    mark: KeyArray
    owner: KeyArray | None  # the mark of the person, with a unit
    pair: IntArray  # the pair of tiles that counts it
    trips: IntArray  # 1, but for rows of a counted table
    weight: IntArray | None  # in millionths
    known_by: tuple[str, ...]  # what marks are made of
    counted: bool  # rows are numbers of trips: which trips these are is not known
    first: int | None  # the earliest and the latest time, in microseconds since 1970; None where some are not known
    last: int | None


def mark_trips(flows: Flows, secret: bytes) -> MarkedTrips:
    """Read the trips of flows once more, and return them by their marks."""
    story = flows.provenance
    if story.request is None or isinstance(flows.people, Crowds):
        raise InputError(
            "these flows do not know the single trips that they were made of",
            "build them on this machine, with build_flows, or leave out the register",
        )
    steps = _steps(flows)
    request = replace(story.request, stamp=story.stamp, secret=secret)
    rows = read_marked(request, flows.places.index, flows.memory, None if steps is None else steps.index)
    pair = _pairs(flows, rows, steps)
    order = np.lexsort((pair, rows.mark))
    ends = tuple(request.columns)
    known = (*ends, *([f"start_time ({rows.clock})"] if rows.clock else []), *([story.unit] if story.unit else []))
    return MarkedTrips(
        mark=rows.mark[order],
        owner=None if rows.owner is None else rows.owner[order],
        pair=pair[order],
        trips=rows.trips[order],
        weight=None if rows.weight is None else rows.weight[order],
        known_by=known,
        counted=request.count is not None,
        first=rows.first,
        last=rows.last,
    )


@dataclass(frozen=True, eq=False)
class LocatedTrips:
    """Rows of trips with their coordinates."""

    start: FloatArray  # rows lon, lat
    end: FloatArray
    pair: IntArray  # the pair of tiles that counts it
    trips: IntArray  # 1, but for rows of a counted table


def locate_trips(flows: Flows) -> LocatedTrips | None:
    """Read the trips of flows once more, and return them with their coordinates; None where they have none."""
    request = flows.provenance.request
    if request is None or request.by_zone:
        return None
    steps = _steps(flows)
    rows = read_located(request, flows.places.index, flows.memory, None if steps is None else steps.index)
    return LocatedTrips(rows.start, rows.end, _pairs(flows, rows, steps), rows.trips)


def _steps(flows: Flows) -> TimeSteps | None:
    story = flows.provenance
    if story.time_hierarchy is not None:
        return parse_hierarchy(story.time_hierarchy, story.timezone).steps
    return None if story.time is None else parse_steps(story.time, story.timezone)


def _pairs(flows: Flows, rows: KeyedRows, steps: TimeSteps | None) -> IntArray:
    """Return by row the pair of tiles that counts it, or raise if the rows are not those that were counted."""
    matrix = _matrices(flows, rows, steps)
    time, of_time = _times(flows, rows)
    ends = [(flows.origin, _leaves(flows, rows.origin)), (flows.destination, _leaves(flows, rows.destination))]
    own, others = flows.matrix, matrix
    for (here, there), count in (
        ((time, of_time), int(time.max(initial=0)) + 1),
        *((end, int(end[0].max(initial=0)) + 1) for end in ends),
    ):
        own, others = own * count + here, np.where((others < 0) | (there >= count), -1, others * count + there)
    order = np.argsort(own, kind="stable")
    place = np.minimum(np.searchsorted(own[order], others), len(own) - 1)
    pair = order[place]
    counts = np.bincount(pair, rows.trips, len(flows)).astype(np.int64)
    if (own[pair] != others).any() or (counts != flows.trips).any():
        raise InputError(_CHANGED, "run it again on files that nobody writes to")
    return np.asarray(pair, np.int64)


def _leaves(flows: Flows, tiles: KeyArray) -> IntArray:
    """Return the leaf of each tile: trees over the same tiles are the same."""
    seen, place = np.unique(tiles, return_inverse=True)
    _, leaf = flows.places.hierarchy(seen)
    return np.asarray(leaf[place], np.int64)


def _times(flows: Flows, rows: KeyedRows) -> tuple[IntArray, IntArray]:
    """Return the node of time of every pair of tiles, and of every row; 0 where time is no axis."""
    story = flows.provenance
    if flows.time is None or rows.time is None or story.time_hierarchy is None:
        return np.zeros(len(flows), np.int64), np.zeros(len(rows), np.int64)
    seen, place = np.unique(rows.time, return_inverse=True)
    _, node = build_tree(parse_hierarchy(story.time_hierarchy, story.timezone), seen)
    return flows.time, node[place]


def _matrices(flows: Flows, rows: KeyedRows, steps: TimeSteps | None) -> IntArray:
    """Return by row the number of its matrix, -1 if there is none."""
    columns: list[
        tuple[list[object], IntArray]
    ] = []  # by column of the keys of matrices: values, and the place of each
    if "time" in flows.matrices.column_names and rows.time is not None and steps is not None:
        seen, place = np.unique(rows.time, return_inverse=True)
        columns.append((steps.values(seen).to_pylist(), place))
    columns += [(list(labels.values), labels.code) for labels in rows.by]
    if not columns:
        return np.zeros(len(rows), np.int64)
    key = np.zeros(len(rows), np.int64)
    for values, place in columns:
        key = key * max(len(values), 1) + place
    distinct, example, code = np.unique(key, return_index=True, return_inverse=True)
    names = list(zip(*([values[place[row]] for row in example] for values, place in columns), strict=True))
    keys = zip(*(flows.matrices[name].to_pylist() for name in flows.matrices.column_names), strict=True)
    number = {row: place for place, row in enumerate(keys)}
    return np.array([number.get(name, -1) for name in names], np.int64)[code] if len(distinct) else code
