"""Flows between tiles: what every method starts from."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from flowveil._charts import PRIVATE, bars_svg, table_html
from flowveil._engine import Reading
from flowveil._errors import InputError
from flowveil._flows.crowds import Crowds, lowest_above
from flowveil._flows.people import Measures, People, joined, most_of_one, visits_by_group
from flowveil._options import shown

if TYPE_CHECKING:
    from flowveil._arrays import BoolArray, IntArray
    from flowveil._engine import Request, Source
    from flowveil._places import BoundingBox, Hierarchy, Places
    from flowveil._times import TimeTree


@dataclass(frozen=True, eq=False)
class Provenance:
    """What the flows were made from. Private, but for what the user typed: unit, weight, bbox, time and groups."""

    source: Source | None = None
    columns: dict[str, str] = field(default_factory=dict)  # as the user mapped them
    where: str | None = None
    reading: Reading = field(default_factory=Reading)  # how the user said that it is written
    zones: str | None = None  # path of the zones file
    places: str | None = None  # path of the file of places that areas are called after
    unit: str | None = None
    counted: bool = False  # rows of the input are counts
    counted_persons: bool = False  # these are of persons, each of them counted once
    weight: str | None = None
    trip_weight: str | None = None
    bbox: BoundingBox | None = None
    time: str | None = None  # steps
    time_hierarchy: str | None = None
    timezone: str | None = None
    by: tuple[str, ...] = ()
    rows: int = 0  # rows read, after where
    dropped: dict[str, int] = field(default_factory=dict)  # rows that cannot be used, by reason
    outside_bbox: int = 0  # rows that the bbox left out, as asked
    unknown_zones: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()  # sentences for the user
    doubts: tuple[str, ...] = ()  # and what looks wrong with where trips lie
    request: Request | None = None  # what the engine was asked for
    stamp: str | None = None  # the column of start times, whether time is cut or not


def _undivided() -> pa.Table:
    """Return the keys of a single matrix: none."""
    return pa.table({})


_STEPS = (1, 2, 5, 10, 20, 50)  # trips of a pair of tiles, from which on


def _crowds_svg(trips: IntArray) -> str:
    """Draw how many trips lie in pairs of tiles with few of them: those are what a release has to hide."""
    share = np.bincount(np.searchsorted(_STEPS, trips, side="right") - 1, trips, len(_STEPS)) / max(trips.sum(), 1)
    names = [f"{low}" if high - low == 1 else f"{low} to {high - 1}" for low, high in pairwise(_STEPS)]
    names.append(f"{_STEPS[-1]} or more")
    bars = [(name, part, f"{part:.0%}") for name, part in zip(names, share.tolist(), strict=True)]
    return bars_svg("Share of trips by how many share their pair of tiles", bars)


@dataclass(frozen=True, eq=False, repr=False)
class Flows:
    """Trips by pair of tiles, with one hierarchy of places for each end.

    Tile pairs are sorted by (matrix, time, origin, destination) and distinct; `origin` and `destination` are leaf
    nodes. A pair belongs to one matrix: with steps of time or groups there are several on the same trees, else there
    is one. With a hierarchy of time it also has a leaf there.

    >>> flows = fv.build_flows("trips.parquet", "h3:7", unit="person_id")
    >>> len(flows), flows.total
    (630, 2000)
    """

    places: Places
    origins: Hierarchy
    destinations: Hierarchy
    origin: IntArray
    destination: IntArray
    trips: IntArray
    edges: IntArray  # by matrix: its first tile pair; and the number of tile pairs
    weight: IntArray | None = None  # sum over trips, in millionths
    people: People | Crowds | None = None
    provenance: Provenance = field(default_factory=Provenance)
    matrices: pa.Table = field(default_factory=_undivided)  # by matrix: its step of time and its groups
    time: IntArray | None = None  # by tile pair: leaf of `times`
    times: TimeTree | None = None
    memory: int | None = None  # bytes that these and what becomes of them may use; None for any number

    def __len__(self) -> int:
        return len(self.trips)

    def __repr__(self) -> str:
        parts = f" in {self.matrix_count:,} matrices" if self.matrix_count > 1 else ""
        lost = sum(self.dropped.values())
        told = f"; {lost:,} of {self.provenance.rows:,} rows dropped" if lost else ""
        return f"<Flows: {self.total:,} trips on {len(self):,} pairs of tiles{parts}{told}>"

    def _repr_html_(self) -> str:
        """Show in a notebook what was counted, and how few trips share a pair of tiles. Private."""
        story = self.provenance
        facts = [("trips", f"{self.total:,}"), ("pairs of tiles", f"{len(self):,}")]
        if self.matrix_count > 1:
            facts.append(("steps of time or groups", f"{self.matrix_count:,}"))
        facts.append(
            ("persons", "not known: k counts trips") if story.unit is None else ("persons", f"by {story.unit}")
        )
        facts += [(f"rows dropped: {reason}", f"{rows:,}") for reason, rows in story.dropped.items()]
        return table_html("Flows between tiles", (), facts, PRIVATE) + _crowds_svg(self.trips)

    @cached_property
    def total(self) -> int:
        """All trips."""
        return int(self.trips.sum())

    @property
    def dropped(self) -> dict[str, int]:
        """Rows of the input that cannot be used and are in no flow, by reason."""
        return self.provenance.dropped

    @property
    def matrix_count(self) -> int:
        """How many matrices there are."""
        return len(self.edges) - 1

    @property
    def matrix(self) -> IntArray:
        """By tile pair: its matrix. It is made anew each time: there are many pairs, and `edges` says the same."""
        return np.repeat(np.arange(self.matrix_count), np.diff(self.edges))

    @property
    def divided(self) -> bool:
        """Whether steps of time or groups tell matrices apart; there may be but one that has trips."""
        return int(self.matrices.num_columns) > 0

    def part(self, matrix: int) -> Flows:
        """Return one of the matrices by itself; persons keep their numbers.

        matrix: its number, from 0.

        >>> flows = fv.build_flows("trips.parquet", "h3:7", by="sex")
        >>> women, men = (flows.part(number) for number in range(flows.matrix_count))
        >>> women.total + men.total == flows.total
        True
        """
        if self.matrix_count == 1:  # nothing to copy
            return self
        start, stop = self.edges[[matrix, matrix + 1]].tolist()
        rows = slice(start, stop)
        people = self.people
        if people is not None:
            people = people.part(matrix) if isinstance(people, Crowds) else people.part(start, stop)
        return replace(
            self,
            origin=self.origin[rows],
            destination=self.destination[rows],
            trips=self.trips[rows],
            edges=np.array([0, stop - start]),
            weight=None if self.weight is None else self.weight[rows],
            people=people,
            matrices=_undivided(),
            time=None if self.time is None else self.time[rows],
        )

    def on(self, places: Places) -> Flows:
        """Return the same flows on other places that have the same tiles; persons may not be on a cluster.

        places: what makes hierarchies over the tiles.

        >>> flows = fv.build_flows("trips.parquet", "h3:7")
        >>> flows.on(flows.places).total == flows.total
        True
        """
        if places is self.places or isinstance(self.people, Crowds):
            return self
        (origins, origin), (destinations, destination) = (
            _regrow(places, *end) for end in ((self.origins, self.origin), (self.destinations, self.destination))
        )
        order = np.lexsort([destination, origin, *([] if self.time is None else [self.time]), self.matrix])
        return replace(
            self,
            places=places,
            origins=origins,
            destinations=destinations,
            origin=origin[order],
            destination=destination[order],
            trips=self.trips[order],
            weight=None if self.weight is None else self.weight[order],
            people=None if self.people is None else self.people.on(order),
            time=None if self.time is None else self.time[order],
        )

    def measure(self, group: IntArray, count: int, *, most: bool = False) -> Measures:
        """Measure groups of tile pairs: `group` has one entry a tile pair, from 0 to `count` - 1, or -1 for none.

        most: count also the trips of the one person who makes most of them.

        >>> import numpy as np
        >>> flows = fv.build_flows("trips.parquet", "h3:7", unit="person_id")
        >>> together = flows.measure(np.zeros(len(flows), np.int64), 1)
        >>> together.trips.tolist(), together.persons.tolist()
        ([2000], [100])
        """
        trips = add_by_group(group, self.trips, count)
        if self.people is None:
            return Measures(trips, None, None if self.weight is None else add_by_group(group, self.weight, count))
        if isinstance(self.people, Crowds):
            return self.people.measure(trips, *self._lowest_pairs(group, count))
        of_group, person = visits_by_group(self.people, group)
        persons = np.bincount(of_group, minlength=count).astype(np.int64)
        of_person = self.people.weight
        weight = None if of_person is None else add_by_group(of_group, of_person[person], count)
        return Measures(trips, persons, weight, most_of_one(self.people, group, count) if most else None)

    def join(self, group: IntArray, count: int, origin: IntArray, destination: IntArray) -> Flows:
        """Return one matrix with an entry a group (from `origin[g]` to `destination[g]`) in place of tile pairs.

        group: by tile pair, from 0 to count - 1, or -1 for none.

        >>> import numpy as np
        >>> flows = fv.build_flows("trips.parquet", "h3:7", unit="person_id")
        >>> joined = flows.join(np.zeros(len(flows), np.int64), 1, flows.origin[:1], flows.destination[:1])
        >>> len(joined), joined.total
        (1, 2000)
        """
        return replace(
            self,
            origin=origin,
            destination=destination,
            trips=add_by_group(group, self.trips, count),
            edges=np.array([0, count]),
            weight=None if self.weight is None else add_by_group(group, self.weight, count),
            people=None if self.people is None else joined(self.people, group),
            matrices=_undivided(),
        )

    def _lowest_pairs(self, group: IntArray, count: int) -> tuple[IntArray, IntArray, IntArray]:
        """Return by group its matrix (-1 if there are several) and the lowest nodes that hold all of its ends."""
        inside = group >= 0
        group = group[inside]
        matrix = self.matrix[inside]
        low, high = np.full(count, self.matrix_count), np.full(count, -1)
        np.minimum.at(low, group, matrix)
        np.maximum.at(high, group, matrix)
        return (
            np.where(low == high, low, -1),
            lowest_above(self.origins, group, self.origin[inside], count),
            lowest_above(self.destinations, group, self.destination[inside], count),
        )


def _regrow(places: Places, tree: Hierarchy, leaf: IntArray) -> tuple[Hierarchy, IntArray]:
    """Return the tree that places have over the leaves of another, and the leaf in it of each leaf given."""
    nodes, position = np.unique(leaf, return_inverse=True)
    tiles, order = np.unique(tree.key[nodes], return_inverse=True)
    grown, leaves = places.hierarchy(tiles)
    return grown, leaves[order][position]


def check_flows(value: object) -> Flows:
    """Return flows, or raise if these are none."""
    if not isinstance(value, Flows):
        raise InputError(
            f"flows were expected, and this is {shown(value)}", "count the trips first: build_flows(trips, ...)"
        )
    return value


def add_by_group(group: IntArray, values: IntArray, count: int) -> IntArray:
    """Sum integers by group, exactly; entries with group -1 are left out."""
    inside = group >= 0
    totals = np.zeros(count, np.int64)
    np.add.at(totals, group[inside], values[inside])
    return totals


def without_pairs(flows: Flows, gone: BoolArray) -> Flows:
    """Return flows in which nobody travels on some pairs of tiles; the pairs stay."""
    people = flows.people
    if isinstance(people, People):
        stays = ~gone[people.pair]
        trips = None if people.trips is None else people.trips[stays]
        people = People(people.pair[stays], people.person[stays], people.weight, trips)
    weight = None if flows.weight is None else np.where(gone, 0, flows.weight)
    return replace(flows, trips=np.where(gone, 0, flows.trips), weight=weight, people=people)
