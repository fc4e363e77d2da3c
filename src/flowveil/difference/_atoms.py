"""Atoms: the trips that lie in the same flow of each of two layers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from flowveil.flows import Measures

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from flowveil._arrays import BoolArray, IntArray
    from flowveil.flows import Flows
    from flowveil.problem import Requirement

NONE = -1  # no flow of a layer


@dataclass(frozen=True, eq=False)
class Atoms:
    """Trips by the flow of a first and of a second layer that counts them (-1 for none; not both)."""

    first: IntArray
    second: IntArray
    passes: BoolArray  # whether the atom by itself is a crowd
    together: Callable[[Sequence[int]], bool]  # whether some atoms are a crowd together

    def turned(self) -> Atoms:
        """Return the same with the layers exchanged."""
        return Atoms(self.second, self.first, self.passes, self.together)


def make_atoms(first: IntArray, second: IntArray, flows: Flows, requirement: Requirement) -> Atoms:
    """Return the atoms of tile pairs, given by tile pair its flow in each layer."""
    inside = np.flatnonzero((first != NONE) | (second != NONE))
    width = int(second.max(initial=NONE)) + 2
    keys, place = np.unique((first[inside] + 1) * width + second[inside] + 1, return_inverse=True)
    atom = np.full(len(first), NONE, np.int64)
    atom[inside] = place
    order = np.argsort(place, kind="stable")
    pairs = inside[order]
    start = np.searchsorted(place[order], np.arange(len(keys) + 1))

    def together(chosen: Sequence[int]) -> bool:
        rows = np.concatenate([pairs[start[atom] : start[atom + 1]] for atom in chosen])
        return bool(requirement.is_crowd(_measure(flows, rows))[0])

    passes = requirement.is_crowd(flows.measure(atom, len(keys)))
    return Atoms(keys // width - 1, keys % width - 1, passes, together)


def _measure(flows: Flows, pairs: IntArray) -> Measures:
    """Return the size of some tile pairs together."""
    trips = flows.trips[pairs].sum(keepdims=True)
    people = flows.people
    if people is None:
        return Measures(trips, None, None if flows.weight is None else flows.weight[pairs].sum(keepdims=True))
    starts, ends = np.searchsorted(people.pair, pairs), np.searchsorted(people.pair, pairs + 1)
    spans = zip(starts.tolist(), ends.tolist(), strict=True)
    persons = np.unique(np.concatenate([people.person[start:end] for start, end in spans]))
    weight = None if people.weight is None else people.weight[persons].sum(keepdims=True)
    return Measures(trips, np.array([len(persons)], np.int64), weight)
