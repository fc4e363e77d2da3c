"""What a method solves: flows, the requirement and the budget, as arrays."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from flowveil._flows import People, Provenance
from flowveil._places import Family
from flowveil._problem.axis import Axis, Dimension
from flowveil._problem.builder import build_cube, build_in_runs
from flowveil._problem.crowd_cells import check_crowds
from flowveil._problem.positions import Positions
from flowveil._problem.sheets import runs_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from flowveil._arrays import BoolArray, IntArray
    from flowveil._flows import Flows, Measures
    from flowveil._places import Sensitive
    from flowveil._problem.chance import Chance
    from flowveil._problem.cube import Cube, LinkArray
    from flowveil._problem.requirement import Requirement
    from flowveil._problem.sheets import Groups

_TABLE_SHARE = 8  # a table of pairs may have this many cells an entry before sorting is cheaper


@dataclass(frozen=True, eq=False)
class Problem:
    """Flows to be published under a requirement."""

    flows: Flows
    requirement: Requirement
    budget: int  # the most trips that may be suppressed
    loss: str = "tiles"  # what a method minimizes: one of LOSSES
    max_gbar: float | None = None  # instead of the budget: the precision to reach, with the least suppression
    time_weight: float = 1.0  # what a step of time costs in the loss; a tile (meter, square kilometer) costs 1
    several: bool = False  # areas may be split in all ways that their family has, not only as its first tree does
    remainders: bool = False  # a flow may count what finer flows inside it leave
    sensitive: Sensitive | None = None  # places that areas of few tiles may not touch
    same_areas: bool = False  # all matrices have their areas in common
    chance: Chance | None = None  # a secret draw that keeps cells from being divided
    keep_safe: bool = False  # a pair of tiles that passes may not be a part of a larger flow

    def __post_init__(self) -> None:
        check_crowds(self.flows, self.requirement)

    @cached_property
    def axes(self) -> tuple[Axis, ...]:
        """The dimensions of the tile pairs: origins, destinations, and time where it is a hierarchy."""
        flows = self.flows
        axes = [Axis(flows.origins, flows.origin), Axis(flows.destinations, flows.destination)]
        if flows.times is not None and flows.time is not None:
            axes.append(Axis(flows.times.hierarchy, flows.time, is_place=False, weight=self.time_weight))
        return tuple(axes)

    @cached_property
    def families(self) -> tuple[Family, Family]:
        """The areas of origins and destinations that may be published."""
        trees, places = (self.flows.origins, self.flows.destinations), self.flows.places
        first, second = (places.family(tree) if self.several else Family.of(tree) for tree in trees)
        return first, second

    @cached_property
    def dimensions(self) -> tuple[Dimension, ...]:
        """The axes, each with all ways to split its areas."""
        ends, times = self.axes[:2], self.axes[2:]
        return (
            *(Dimension(family, axis) for family, axis in zip(self.families, ends, strict=True)),
            *(Dimension(Family.of(axis.hierarchy), axis) for axis in times),
        )

    @cached_property
    def _barred(self) -> tuple[BoolArray, BoolArray] | None:
        """By area of each end: whether it is too small beside a sensitive place; None where there are no such."""
        if self.sensitive is None:
            return None
        places = self.flows.places
        first, second = (self.sensitive.barred(places, family, np.arange(len(family))) for family in self.families)
        return first, second

    def bars(self, origin: IntArray | LinkArray, destination: IntArray | LinkArray) -> BoolArray | None:
        """Return which pairs of areas (of the families) may only be split, None where none is: a place forbids it."""
        if self._barred is None:
            return None
        barred: BoolArray = self._barred[0][origin] | self._barred[1][destination]
        return barred

    @property
    def everybody(self) -> tuple[int, str]:
        """How many there are in all, and what is counted; persons that a cluster counted are no more than trips."""
        people = self.flows.people
        if isinstance(people, People):
            return len(np.unique(people.person)), "person"
        return self.flows.total, "person" if self.flows.provenance.counted_persons else "trip"

    def part(self, matrix: int) -> Problem:
        """Return the problem of one matrix by itself, with its share of the budget."""
        if self.flows.matrix_count == 1:  # its cube may be there already
            return self
        flows = self.flows.part(matrix)
        budget = self.budget * flows.total // self.flows.total
        chance = None if self.chance is None else replace(self.chance, first=self.chance.first + matrix)
        return replace(self, flows=flows, budget=budget, chance=chance)

    def bare(self) -> Problem:
        """Return a problem that tells a method all it may know, and nothing of where trips came from."""
        return replace(self, flows=replace(self.flows, provenance=Provenance(bbox=self.flows.provenance.bbox)))

    def shared(self) -> list[object]:
        """Return what all matrices have in common: places, trees and weights of persons."""
        flows = self.flows
        weight = flows.people.weight if isinstance(flows.people, People) else None
        common = [flows.places, flows.origins, flows.destinations, flows.times, flows.provenance, weight]
        return [item for item in common if item is not None]

    @cached_property
    def cube(self) -> Cube:
        """All pairs of nodes that may be published."""
        return build_cube(self)

    @cached_property
    def runs(self) -> list[Groups]:
        """Matrices in runs of about as many tile pairs each."""
        return runs_of(self)

    def cube_of(self, runs: Sequence[Groups], reduce: Callable[[Cube], Cube]) -> Cube:
        """Return what a function leaves of the cube of each run; all of it is never there at once."""
        return build_in_runs(self, runs, reduce)

    @cached_property
    def positions(self) -> Positions:
        """Where tile pairs lie, for methods that cut space and not trees."""
        return Positions(self.flows)

    def measure(self, group: IntArray, count: int) -> Measures:
        """Measure groups of tile pairs (see `Flows.measure`) in all that the requirement tests."""
        return self.flows.measure(group, count, most=self.requirement.max_share is not None)

    def measure_pairs(self, origin: IntArray, destination: IntArray) -> NodePairs:
        """Group tile pairs by a pair of nodes (one entry a tile pair; -1 at either end leaves it out)."""
        inside = (origin >= 0) & (destination >= 0)
        group = np.full(len(origin), -1, np.int64)
        first, second, group[inside] = _distinct(origin[inside], destination[inside])
        measures = self.measure(group, len(first))
        publishable = self.requirement.passes(
            measures, self.flows.origins.tiles[first], self.flows.destinations.tiles[second]
        )
        if self.sensitive is not None:
            ends = ((self.flows.origins, first), (self.flows.destinations, second))
            publishable &= ~np.any([self.sensitive.barred(self.flows.places, *end) for end in ends], axis=0)
        return NodePairs(first, second, group, measures, publishable)

    def coarsen(self, pairs: NodePairs) -> Problem:
        """Return the same problem with pairs of nodes in place of tile pairs; what is in none of them is left out."""
        flows = self.flows.join(pairs.group, len(pairs.origin), pairs.origin, pairs.destination)
        return replace(self, flows=flows)


@dataclass(frozen=True, eq=False)
class NodePairs:
    """Distinct pairs of nodes that hold trips, sorted by (origin, destination)."""

    origin: IntArray
    destination: IntArray
    group: IntArray  # by tile pair: the node pair it belongs to, -1 for none
    measures: Measures
    publishable: BoolArray


def _distinct(origin: IntArray, destination: IntArray) -> tuple[IntArray, IntArray, IntArray]:
    """Return the distinct pairs of nodes, sorted, and the pair of each entry.

    Where few nodes are in use, a table of all their pairs is marked: no sorting.
    """
    origins, row = _ranks(origin)
    destinations, column = _ranks(destination)
    key = row * len(destinations) + column
    cells = len(origins) * len(destinations)
    if cells > _TABLE_SHARE * len(key):
        distinct, group = np.unique(key, return_inverse=True)
    else:
        seen = np.zeros(cells, bool)
        seen[key] = True
        distinct = np.flatnonzero(seen)
        group = (np.cumsum(seen) - 1)[key]
    place, other = np.divmod(distinct, max(len(destinations), 1))
    return origins[place], destinations[other], group


def _ranks(nodes: IntArray) -> tuple[IntArray, IntArray]:
    """Return the distinct nodes, sorted, and the rank of each entry among them."""
    used = np.zeros(int(nodes.max(initial=-1)) + 1, bool)
    used[nodes] = True
    return np.flatnonzero(used), (np.cumsum(used) - 1)[nodes]
