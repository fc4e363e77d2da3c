"""Atoms: the trips that lie in the same flow of each of two layers."""

from __future__ import annotations

import itertools
from dataclasses import dataclass, replace
from functools import cache
from typing import TYPE_CHECKING

import numpy as np

from flowveil._flows import Measures

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from flowveil._arrays import BoolArray, IntArray
    from flowveil._flows import Crowds, Flows, People
    from flowveil._problem import Requirement

NONE = -1  # no flow of a layer


@dataclass(frozen=True, eq=False)
class Atoms:
    """Trips by the flow of a first and of a second layer that counts them (-1 for none; not both)."""

    first: IntArray
    second: IntArray
    size: IntArray  # persons, or trips
    k: int  # atoms with fewer in all are no crowd
    passes: BoolArray  # whether the atom by itself is a crowd
    together: Callable[[Sequence[int]], bool] | None  # whether some atoms are a crowd together; None: sizes add up
    same: BoolArray  # whether both flows are between the same areas, at the same time and of the same group

    def around(self, flows: IntArray) -> Atoms:
        """Return the atoms of some flows of the first layer, and all others of the flows of the second in these."""
        others = self.second[np.isin(self.first, flows) & (self.second != NONE)]
        rows = np.flatnonzero(np.isin(self.first, flows) | np.isin(self.second, others))
        number, whole = rows.tolist(), self.together

        def together(chosen: Sequence[int]) -> bool:
            return whole is None or whole([number[atom] for atom in chosen])

        return replace(
            self,
            first=self.first[rows],
            second=self.second[rows],
            size=self.size[rows],
            passes=self.passes[rows],
            together=None if whole is None else together,
            same=self.same[rows],
        )

    def turned(self) -> Atoms:
        """Return the same with the layers exchanged."""
        return replace(self, first=self.second, second=self.first)


def make_atoms(
    first: IntArray,
    second: IntArray,
    flows: Flows,
    requirement: Requirement,
    same: Callable[[IntArray, IntArray], BoolArray] | None = None,
) -> Atoms:
    """Return the atoms of tile pairs, given by tile pair its flow in each layer.

    same: whether flows of the first layer are flows of the second, given both by number; by default none is.
    """
    people = flows.people
    inside = np.flatnonzero((first != NONE) | (second != NONE))
    width = int(second.max(initial=NONE)) + 2
    keys, place = np.unique((first[inside] + 1) * width + second[inside] + 1, return_inverse=True)
    atom = np.full(len(first), NONE, np.int64)
    atom[inside] = place
    order = np.argsort(place, kind="stable")
    pairs = inside[order]
    start = np.searchsorted(place[order], np.arange(len(keys) + 1))

    @cache
    def persons_of(atom: int) -> frozenset[int]:
        return _persons(people, pairs[start[atom] : start[atom + 1]]) if people else frozenset()

    def together(chosen: Sequence[int]) -> bool:
        if people is None:
            weight = None if measures.weight is None else measures.weight[chosen].sum(keepdims=True)
            return bool(requirement.is_crowd(Measures(measures.trips[chosen].sum(keepdims=True), None, weight))[0])
        who = frozenset[int]().union(*map(persons_of, chosen))
        weight = None if people.weight is None else people.weight[list(who)].sum(keepdims=True)
        return bool(requirement.is_crowd(Measures(np.zeros(1, np.int64), np.array([len(who)]), weight))[0])

    measures = flows.measure(atom, len(keys))
    size = measures.trips if measures.persons is None else measures.persons
    one, other = keys // width - 1, keys % width - 1
    equal = (one != NONE) & (other != NONE) & (False if same is None else same(one, other))
    adds_up = people is None and requirement.k_weight is None
    passes = requirement.is_crowd(measures)
    return Atoms(one, other, size, requirement.k, passes, None if adds_up else together, equal)


def _persons(people: People | Crowds, pairs: IntArray) -> frozenset[int]:
    """Return who travels on some tile pairs."""
    starts, ends = np.searchsorted(people.pair, pairs), np.searchsorted(people.pair, pairs + 1)
    spans = zip(starts.tolist(), ends.tolist(), strict=True)
    return frozenset(itertools.chain.from_iterable(people.person[start:end].tolist() for start, end in spans))
