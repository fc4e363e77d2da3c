"""Flows between tiles: what every method starts from."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from flowveil._arrays import IntArray
    from flowveil.engine import Source
    from flowveil.places import BoundingBox, Hierarchy, Places


@dataclass(frozen=True, eq=False)
class People:
    """Who travels on which tile pair: distinct persons do not add up, so they are kept one by one."""

    pair: IntArray  # tile pair, ascending
    person: IntArray  # person, numbered from 0; each (pair, person) occurs once
    weight: IntArray | None  # by person, in millionths


@dataclass(frozen=True, eq=False)
class Measures:
    """Size of groups of trips: one entry a group."""

    trips: IntArray
    persons: IntArray | None  # distinct persons; None without a unit
    weight: IntArray | None  # weights of distinct persons (of trips without a unit), in millionths


@dataclass(frozen=True, eq=False)
class Provenance:
    """What the flows were made from. Private, but for unit, weight and bbox, which the user typed."""

    source: Source | None = None
    columns: dict[str, str] = field(default_factory=dict)  # as the user mapped them
    where: str | None = None
    zones: str | None = None  # path of the zones file
    unit: str | None = None
    weight: str | None = None
    bbox: BoundingBox | None = None
    rows: int = 0  # rows read, after where
    dropped: dict[str, int] = field(default_factory=dict)  # rows that cannot be used, by reason
    outside_bbox: int = 0  # rows that the bbox left out, as asked
    unknown_zones: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()  # sentences for the user


@dataclass(frozen=True, eq=False)
class Flows:
    """Trips by pair of tiles, with one hierarchy of places for each end.

    Tile pairs are sorted by (origin, destination) and distinct; `origin` and `destination` are leaf nodes.
    """

    places: Places
    origins: Hierarchy
    destinations: Hierarchy
    origin: IntArray
    destination: IntArray
    trips: IntArray
    weight: IntArray | None = None  # sum over trips, in millionths
    people: People | None = None
    provenance: Provenance = field(default_factory=Provenance)

    def __len__(self) -> int:
        return len(self.trips)

    @property
    def total(self) -> int:
        """All trips."""
        return int(self.trips.sum())

    def measure(self, group: IntArray, count: int) -> Measures:
        """Measure groups of tile pairs: `group` has one entry a tile pair, from 0 to `count` - 1, or -1 for none."""
        trips = add_by_group(group, self.trips, count)
        if self.people is None:
            return Measures(trips, None, None if self.weight is None else add_by_group(group, self.weight, count))
        of_group, person = _visits_by_group(self.people, group)
        persons = np.bincount(of_group, minlength=count).astype(np.int64)
        if self.people.weight is None:
            return Measures(trips, persons, None)
        return Measures(trips, persons, add_by_group(of_group, self.people.weight[person], count))

    def join(self, group: IntArray, count: int, origin: IntArray, destination: IntArray) -> Flows:
        """Return flows with one entry a group (from `origin[g]` to `destination[g]`) in place of tile pairs."""
        people = self.people
        if people is not None:
            people = People(*_visits_by_group(people, group), people.weight)
        return replace(
            self,
            origin=origin,
            destination=destination,
            trips=add_by_group(group, self.trips, count),
            weight=None if self.weight is None else add_by_group(group, self.weight, count),
            people=people,
        )


def _visits_by_group(people: People, group: IntArray) -> tuple[IntArray, IntArray]:
    """Return the distinct (group, person), sorted, for a grouping of tile pairs (-1 for none)."""
    of_visit = group[people.pair]
    inside = of_visit >= 0
    persons = int(people.person.max(initial=0)) + 1
    return np.divmod(np.unique(of_visit[inside] * persons + people.person[inside]), persons)


def add_by_group(group: IntArray, values: IntArray, count: int) -> IntArray:
    """Sum integers by group, exactly; entries with group -1 are left out."""
    inside = group >= 0
    totals = np.zeros(count, np.int64)
    np.add.at(totals, group[inside], values[inside])
    return totals
