"""From counted trips to flows: trees over the tiles in use, matrices, and everything in order."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from flowveil._engine import Nodes, Tree
from flowveil._flows.contracted import contract
from flowveil._flows.crowds import Crowds
from flowveil._flows.flows import Flows
from flowveil._flows.matrices import number_matrices
from flowveil._flows.people import Measures, People, least_weight
from flowveil._times import build_tree

if TYPE_CHECKING:
    from collections.abc import Sequence

    from flowveil._arrays import IntArray, KeyArray
    from flowveil._engine import Aggregate, Cluster
    from flowveil._places import Hierarchy, Places
    from flowveil._times import Levels, TimeSteps


@dataclass(frozen=True, eq=False)
class End:
    """The tree of one end of trips, and the leaf of each tile."""

    hierarchy: Hierarchy
    tile: KeyArray  # ascending
    leaf: IntArray

    def nodes(self, keys: KeyArray) -> IntArray:
        """Return the leaves of tiles."""
        return self.leaf[np.searchsorted(self.tile, keys)]


def grow_trees(places: Places, counted: Aggregate) -> tuple[End, End]:
    """Return the trees over the tiles that trips start and end in."""
    return _grow(places, np.unique(counted.origin)), _grow(places, np.unique(counted.destination))


def _grow(places: Places, tile: KeyArray) -> End:
    hierarchy, leaf = places.hierarchy(tile)
    return End(hierarchy, tile, leaf)


def assemble(
    places: Places,
    counted: Aggregate,
    ends: tuple[End, End],
    time: tuple[Levels | None, TimeSteps | None],
    groups: Sequence[str],
) -> Flows:
    """Return flows of counted trips, which do not know yet where these come from."""
    levels, steps = time
    origin, destination = ends[0].nodes(counted.origin), ends[1].nodes(counted.destination)
    sorting, edges, matrices = number_matrices(counted, None if levels else steps, groups)
    times, moment = None, None
    if levels is not None and counted.time is not None:
        seen, position = np.unique(counted.time, return_inverse=True)
        times, node = build_tree(levels, seen)
        moment = node[position]
    order = _order([destination, origin, *([] if moment is None else [moment]), *sorting])
    return Flows(
        places=places,
        origins=ends[0].hierarchy,
        destinations=ends[1].hierarchy,
        origin=_take(origin, order),
        destination=_take(destination, order),
        trips=_take(counted.trips, order),
        edges=edges,
        weight=None if counted.weight is None else _take(counted.weight, order),
        people=_people(counted, order),
        matrices=matrices,
        time=None if moment is None else _take(moment, order),
        times=times,
    )


def _order(keys: list[IntArray]) -> IntArray | None:
    """Return what sorts entries by keys, the last of which counts most; None if they are sorted, as in trees of H3.

    Many millions of entries are copied only where they must be.
    """
    same = np.ones(max(len(keys[0]) - 1, 0), bool)  # entries like the one after in all keys looked at
    for key in reversed(keys):
        if (same & (key[1:] < key[:-1])).any():
            order: IntArray = np.lexsort(keys)
            return order
        same &= key[1:] == key[:-1]
    return None


def _take(values: IntArray, order: IntArray | None) -> IntArray:
    return values if order is None else values[order]


def _people(counted: Aggregate, order: IntArray | None) -> People | None:
    count, person, trips = counted.visit_count, counted.visit_person, counted.visit_trips
    if count is None or person is None:
        return None
    if order is not None:
        start = (np.cumsum(count) - count)[order]
        count = count[order]
        visit = np.repeat(start - (np.cumsum(count) - count), count)
        visit += np.arange(len(visit))
        person, trips = person[visit], None if trips is None else trips[visit]
    return People(np.repeat(np.arange(len(count)), count), person, counted.person_weight, trips)


def count_crowds(cluster: Cluster, counted: Aggregate, ends: tuple[End, End], k: int, k_weight: float | None) -> Crowds:
    """Ask a cluster for all pairs of areas that at least k persons travel between, who stand for enough people.

    An area that is the only part of a larger one is not asked for twice.
    """
    first, second = (contract(end.hierarchy) for end in ends)
    trees = (
        Tree(end.tile, tree.number[end.leaf], tree.parent, tree.depth)
        for end, tree in zip(ends, (first, second), strict=True)
    )
    enough = least_weight(k_weight)
    counts = cluster.count_pairs(Nodes.of(counted, *trees), k, enough)
    row, origin = first.unfold(counts.origin)
    again, destination = second.unfold(counts.destination[row])
    row, origin = row[again], origin[again]
    order = np.lexsort((destination, origin, counts.matrix[row]))
    measures = Measures(counts.trips, counts.persons, counts.weight).take(row[order])
    pairs = counts.matrix[row][order], origin[order], destination[order]
    return Crowds(k, enough, cluster.mean_weight, *pairs, measures)
