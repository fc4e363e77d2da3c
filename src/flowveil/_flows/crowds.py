"""Crowds: how many persons travel between areas, where the persons themselves stayed on a cluster."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from flowveil._errors import InputError
from flowveil._flows.people import Measures

if TYPE_CHECKING:
    from fractions import Fraction

    from flowveil._arrays import BoolArray, CountArray, IntArray
    from flowveil._places import Hierarchy

_AFTER_ALL = np.iinfo(np.int64).max  # no pair has this number


@dataclass(frozen=True, eq=False)
class Crowds:
    """All node pairs that hold enough people, in the place of People.

    It is all that is to be known of persons where whole node pairs are published. Asked for more, it raises.
    """

    k: int  # a pair is here if it has so many persons
    least_weight: int  # whose weights are so many millionths together
    mean_weight: Fraction | None  # people that a person stands for on average; None without weights
    matrix: IntArray  # the pairs, sorted by (matrix, origin, destination); matrix 0 where there is one only
    origin: IntArray
    destination: IntArray
    measures: Measures

    @property
    def pair(self) -> IntArray:
        """Raise: persons are not known one by one."""
        raise _unknown()

    @property
    def person(self) -> IntArray:
        """Raise, like `pair`."""
        raise _unknown()

    @property
    def weight(self) -> IntArray | None:
        """Raise, like `pair`."""
        raise _unknown()

    @property
    def trips(self) -> CountArray | None:
        """Raise, like `pair`."""
        raise _unknown()

    def part(self, matrix: int) -> Crowds:
        """Return the crowds of one matrix by itself."""
        rows = slice(*np.searchsorted(self.matrix, [matrix, matrix + 1]).tolist())
        return replace(
            self,
            matrix=self.matrix[rows] - matrix,
            origin=self.origin[rows],
            destination=self.destination[rows],
            measures=self.measures.take(rows),
        )

    def measure(self, trips: IntArray, matrix: IntArray, origin: IntArray, destination: IntArray) -> Measures:
        """Measure groups of trips, each with its matrix (-1 for several) and the lowest node pair that holds it.

        A group that is all of its pair has the same persons. If the pair is not here, the group has too few people
        whatever it is, and is said to have none. Of a part of a pair that is here nothing is known: that raises.
        """
        if ((matrix < 0) & (trips > 0)).any():
            raise _unknown()
        ends = (self.origin, origin), (self.destination, destination)
        width, height = (int(max(nodes.max(initial=0) for nodes in end)) + 1 for end in ends)
        known = (self.matrix * width + self.origin) * height + self.destination
        wanted = (matrix * width + origin) * height + destination
        place = np.searchsorted(np.append(known, _AFTER_ALL), wanted)
        here = np.append(known, _AFTER_ALL)[place] == wanted
        if (self.measures.trips[place[here]] != trips[here]).any():
            raise _unknown()
        persons, weight = (_spread(values, place, here) for values in (self.measures.persons, self.measures.weight))
        return Measures(trips, persons, weight)


def _spread(values: IntArray | None, place: IntArray, here: BoolArray) -> IntArray | None:
    """Return values by place, 0 where there is none here."""
    if values is None:
        return None
    spread = np.zeros(len(place), np.int64)
    spread[here] = values[place[here]]
    return spread


def lowest_above(tree: Hierarchy, group: IntArray, leaf: IntArray, count: int) -> IntArray:
    """Return for each of `count` groups of leaves the lowest node that holds all of them, -1 for an empty group.

    Of the nodes of a group that differ, the deepest ones climb, until one is left.
    """
    lowest = np.full(count, -1, np.int64)
    while len(group):
        group, node = np.divmod(np.unique(group * len(tree) + leaf), len(tree))
        alone = np.bincount(group, minlength=count)[group] == 1
        lowest[group[alone]] = node[alone]
        group, leaf = group[~alone], node[~alone]
        depth = tree.depth[leaf]
        deepest = np.zeros(count, np.int64)
        np.maximum.at(deepest, group, depth)
        leaf = np.where(depth == deepest[group], tree.parent[leaf], leaf)
    return lowest


def _unknown() -> InputError:
    return InputError(
        "persons stayed on the cluster, which counted only the pairs of areas with enough of them",
        "build the flows without k for methods or options that need to know more",
    )
