"""Trips by pair of tiles: what every engine returns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from flowveil._arrays import CountArray, IntArray, KeyArray


@dataclass(frozen=True, eq=False)
class Labels:
    """The values of a column of groups, by pair of tiles."""

    code: IntArray
    values: tuple[str | None, ...]  # by code: sorted, null last


@dataclass(frozen=True, eq=False)
class Aggregate:
    """Trips by time, groups and pair of tiles (keys), sorted by all of these, and who makes them."""

    time: IntArray | None  # step
    by: tuple[Labels, ...]
    origin: KeyArray
    destination: KeyArray
    trips: IntArray
    weight: IntArray | None  # in millionths, summed over trips
    visit_count: IntArray | None  # with a unit: distinct persons of each entry
    visit_person: IntArray | None  # who they are, entry by entry, ascending
    person_weight: IntArray | None  # in millionths, by person
    rows: int
    dropped: dict[str, int]
    outside_bbox: int
    unknown_zones: tuple[str, ...]
    swapped: bool  # exchanging longitude and latitude would make more rows usable
    decimal_comma: bool  # coordinates are written like 4,5
    visit_trips: CountArray | None = None  # with a unit: trips of each of `visit_person`
    unclear_counts: bool = False  # whether the sign between digits of counts is of thousands was not said
    two_clocks: bool = False  # some times are in UTC, and others as a local clock shows them
