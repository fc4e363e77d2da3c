"""Which flows lie in a remainder, and how many trips it would have on them if it were even."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pyarrow as pa
import shapely

from flowveil._arrays import texts
from flowveil._folder import REMAINDER, SIDES, TIMES
from flowveil._places import boxes_of_ids, square_kilometers

if TYPE_CHECKING:
    from flowveil._arrays import BoolArray, ChunkedColumn, FloatArray, IntArray

_FULL = 1 - 1e-9  # of the areas of a remainder: if finer flows fill so much, outlines do not tell where it lies
NONE = -1


class Evening(NamedTuple):
    """Trips which, spread evenly over the whole of areas, add up to what flows with remainders tell.

    A remainder has no trips on the finer flows inside it. It is spread over the whole as if it were as dense there as
    on the rest, and what falls on a finer flow is taken out again.
    """

    trips: FloatArray  # by flow, over the whole of its areas
    outer: IntArray  # a remainder
    inner: IntArray  # a flow inside it
    less: FloatArray  # trips of the remainder on the areas of that flow, below zero: what is taken out again


class Layers(NamedTuple):
    """Remainders, and flows right inside them."""

    outer: IntArray
    inner: IntArray
    part: FloatArray  # of the areas and the time of a remainder, what the flow is
    span: FloatArray  # of its time alone: 1 where all steps are alike


def even(flows: pa.Table, areas: pa.Table, keys: list[str]) -> Evening:
    """Return how flows are spread, some of which are remainders; keys: columns that divide the flows."""
    outer, inner, part, _ = find_layers(flows, areas, keys)
    taken = np.bincount(outer, weights=part, minlength=flows.num_rows)
    trips = flows["trips"].to_numpy() / (1 - taken)
    return Evening(trips, outer, inner, -(trips[outer] * part))


def find_layers(flows: pa.Table, areas: pa.Table, keys: list[str]) -> Layers:
    """Return which flows lie in which remainders, but for those whose areas are full: outlines do not tell more."""
    above = find_above(flows, areas, keys)
    inner = np.flatnonzero(above != NONE)
    outer = above[inner]
    spans = set(TIMES) <= set(keys)
    parts = [side.parts(inner, outer) for side in _sides(flows, areas, spans=spans)]
    part = np.prod(parts, axis=0)
    kept = np.bincount(outer, weights=part, minlength=flows.num_rows)[outer] < _FULL
    return Layers(outer[kept], inner[kept], part[kept], parts[-1][kept] if spans else np.ones(int(kept.sum())))


def evened(flows: pa.Table, areas: pa.Table, keys: list[str]) -> pa.Table:
    """Return ends, keys and trips of flows which, spread evenly over the whole of their areas, add up to what is told.

    What is taken out of a remainder is a flow of the same areas as the finer one, with negative trips.
    """
    trips, outer, inner, less = even(flows, areas, keys)
    ends, told = flows.select(list(SIDES)), flows.select(keys)
    rows = [
        pa.table({**_columns(ends), **_columns(told), "trips": trips}),
        pa.table({**_columns(ends.take(inner)), **_columns(told.take(outer)), "trips": less}),
    ]
    return pa.concat_tables(rows)


def find_above(flows: pa.Table, areas: pa.Table, keys: list[str]) -> IntArray:
    """Return for every flow the smallest remainder that holds it, -1 for none.

    Flows lie inside each other or have nothing in common. Of two remainders that hold a flow, one holds the other, and
    so more flows.
    """
    remainders = np.flatnonzero(np.asarray(flows[REMAINDER].to_numpy(zero_copy_only=False), bool))
    spans = set(TIMES) <= set(keys)
    sides = _sides(flows, areas, spans=spans)
    group = _groups(flows, [name for name in keys if not (spans and name in TIMES)])
    inside = {}
    for row in remainders.tolist():
        held = np.logical_and.reduce([group == group[row], *(side.held_by(row) for side in sides)])
        held[row] = False
        inside[row] = np.flatnonzero(held)
    above = np.full(flows.num_rows, NONE, np.int64)
    for row in sorted(inside, key=lambda row: -len(inside[row])):
        above[inside[row]] = row
    return above


def _columns(table: pa.Table) -> dict[str, ChunkedColumn]:
    return dict(zip(table.column_names, table.columns, strict=True))


def _groups(flows: pa.Table, keys: list[str]) -> IntArray:
    """Return for every flow the number of its group: what some columns say."""
    number: dict[tuple[object, ...], int] = {}
    rows = zip(*(flows[name].to_pylist() for name in keys), strict=True) if keys else [()] * flows.num_rows
    return np.array([number.setdefault(row, len(number)) for row in rows], np.int64)


def _sides(flows: pa.Table, areas: pa.Table, *, spans: bool) -> list[_Ends | _Spans]:
    """Return the ends of flows, and their spans of time where these differ in length."""
    named = list(zip(texts(areas["area"]), texts(areas["side"]), strict=True))
    sides: list[_Ends | _Spans] = []
    for side in SIDES:
        row = {area: number for number, (area, end) in enumerate(named) if end == side}
        sides.append(_Ends(areas, np.array([row[name] for name in texts(flows[side])], np.int64)))
    if spans:
        sides.append(_Spans(flows))
    return sides


class _Ends:
    """The areas at one end of flows."""

    def __init__(self, areas: pa.Table, area: IntArray) -> None:
        """Take areas, and by flow the row of its own."""
        used, self.area = np.unique(area, return_inverse=True)
        areas = areas.take(used)
        shapes = np.array(areas["geometry"].to_pylist(), object)
        self.size = square_kilometers(np.atleast_1d(shapely.from_wkb(shapes)))
        self.members: list[frozenset[str]] | None = None
        self.count = np.full(len(used), np.nan)
        if "members" in areas.column_names:  # zones: outlines may be missing
            members = areas["members"].to_pylist()
            everything = frozenset().union(*(names for names in members if names is not None))
            self.members = [everything if names is None else frozenset(names) for names in members]  # None: the top
            self.count = np.array([np.nan if names is None else len(names) for names in members])
        else:
            self.low, self.high = boxes_of_ids(texts(areas["area"]))
        self.found: dict[int, BoolArray] = {}

    def held_by(self, flow: int) -> BoolArray:
        """Return which flows have their area inside that of a flow."""
        area = int(self.area[flow])
        if area not in self.found:
            self.found[area] = self._inside(area)
        return self.found[area][self.area]

    def _inside(self, area: int) -> BoolArray:
        """Return which areas lie inside one."""
        if self.members is not None:
            own = self.members[area]
            return np.array([names <= own for names in self.members], bool)
        inside = (self.low[area] <= self.low) & (self.high <= self.high[area])
        return np.asarray(inside.all(axis=1))

    def parts(self, inner: IntArray, outer: IntArray) -> FloatArray:
        """Return which part of the areas of some flows the areas of others are, pair by pair; 0 where not known."""
        first, second = self.area[inner], self.area[outer]
        by_size, by_count = self.size[first] / self.size[second], self.count[first] / self.count[second]
        part = np.where(np.isfinite(by_size), by_size, by_count)
        return np.where(np.isfinite(part), np.minimum(part, 1), 0)


class _Spans:
    """The spans of time of flows."""

    def __init__(self, flows: pa.Table) -> None:
        edges = (flows[name].cast(pa.int64()).to_numpy(zero_copy_only=False) for name in TIMES)
        self.start, self.end = (np.asarray(edge, np.float64) for edge in edges)

    def held_by(self, flow: int) -> BoolArray:
        """Return which flows have their span inside that of a flow; all have in one without bounds."""
        if np.isnan(self.start[flow]):
            return np.ones(len(self.start), bool)
        return np.asarray((self.start >= self.start[flow]) & (self.end <= self.end[flow]))

    def parts(self, inner: IntArray, outer: IntArray) -> FloatArray:
        """Return which part of the spans of some flows the spans of others are; 0 where not known."""
        part = (self.end - self.start)[inner] / (self.end - self.start)[outer]
        return np.where(np.isfinite(part), part, 0)
