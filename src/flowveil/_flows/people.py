"""Who travels, and how many they are."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from flowveil._engine import WEIGHT_UNIT
from flowveil._errors import InputError
from flowveil._options import parse_k_weight

if TYPE_CHECKING:
    from flowveil._arrays import BoolArray, CountArray, IntArray
    from flowveil._flows.crowds import Crowds


@dataclass(frozen=True, eq=False)
class Measures:
    """Size of groups of trips: one entry a group."""

    trips: IntArray
    persons: IntArray | None  # distinct persons; None without a unit
    weight: IntArray | None  # weights of distinct persons (of trips without a unit), in millionths
    most: IntArray | None = None  # trips of the one person who makes most of them, where that was asked for

    def take(self, rows: IntArray | slice) -> Measures:
        """Return the entries of some groups."""
        persons, weight, most = (
            None if column is None else column[rows] for column in (self.persons, self.weight, self.most)
        )
        return Measures(self.trips[rows], persons, weight, most)


@dataclass(frozen=True, eq=False)
class People:
    """Who travels on which tile pair: distinct persons do not add up, so they are kept one by one."""

    pair: IntArray  # tile pair, ascending
    person: IntArray  # person, numbered from 0; each (pair, person) occurs once
    weight: IntArray | None  # by person, in millionths
    trips: CountArray | None = None  # how many the person makes there; None where that is not known

    def on(self, order: IntArray) -> People:
        """Return the same people where tile pairs come in another order: by place, the tile pair that it was."""
        place = np.empty(len(order), np.int64)
        place[order] = np.arange(len(order))
        pair = place[self.pair]
        sorting = np.argsort(pair, kind="stable")
        return self._at(pair[sorting], sorting)

    def part(self, start: int, stop: int) -> People:
        """Return who travels on the tile pairs from `start` to `stop` - 1; these are then numbered from 0."""
        visits = slice(*np.searchsorted(self.pair, [start, stop]).tolist())
        return self._at(self.pair[visits] - start, visits)

    def _at(self, pair: IntArray, visits: IntArray | slice) -> People:
        trips = None if self.trips is None else self.trips[visits]
        return People(pair, self.person[visits], self.weight, trips)

    @property
    def mean_weight(self) -> Fraction | None:
        """The people that a person stands for on average; None without weights."""
        return None if self.weight is None else Fraction(int(self.weight.sum()), len(self.weight) * WEIGHT_UNIT)


def visits_by_group(people: People | Crowds, group: IntArray) -> tuple[IntArray, IntArray]:
    """Return the distinct (group, person), sorted, for a grouping of tile pairs (-1 for none)."""
    key, persons, _ = _keys(people, group)
    key.sort()
    return np.divmod(key[np.append(True, key[1:] != key[:-1])] if len(key) else key, persons)


def joined(people: People | Crowds, group: IntArray) -> People:
    """Return who travels on groups of tile pairs, in place of these."""
    if people.trips is None:
        return People(*visits_by_group(people, group), people.weight)
    of_group, person, trips = _trips_by_group(people, group)
    return People(of_group, person, people.weight, trips.astype(np.int32))


def most_of_one(people: People | Crowds, group: IntArray, count: int) -> IntArray:
    """Return by group of tile pairs the trips of the one person who makes most of them."""
    of_group, _, trips = _trips_by_group(people, group)
    most = np.zeros(count, np.int64)
    np.maximum.at(most, of_group, trips)
    return most


def _trips_by_group(people: People | Crowds, group: IntArray) -> tuple[IntArray, IntArray, IntArray]:
    """Return the distinct (group, person), sorted, and how many trips the person makes there."""
    if people.trips is None:
        raise InputError("how many trips each person makes is not known", "build the flows from trips with a unit")
    key, persons, inside = _keys(people, group)
    order = np.argsort(key, kind="stable")
    key = key[order]
    first = np.flatnonzero(np.append(True, key[1:] != key[:-1])) if len(key) else np.zeros(0, np.int64)
    trips = people.trips[inside][order].astype(np.int64)
    return *np.divmod(key[first], persons), np.add.reduceat(trips, first) if len(first) else trips


def _keys(people: People | Crowds, group: IntArray) -> tuple[IntArray, int, BoolArray]:
    """Return a number for the group and person of each visit in a group, what parts the two, and which visits are."""
    key = group[people.pair]
    inside = key >= 0
    persons = int(people.person.max(initial=0)) + 1
    key = key[inside]
    key *= persons  # in place: visits are what there is most of
    key += people.person[inside]
    return key, persons, inside


def least_weight(k_weight: float | Fraction | None) -> int:
    """Return the weight that is enough for so many people, in millionths; 0 where none is asked for."""
    if k_weight is None:
        return 0
    parse_k_weight(k_weight)
    return int(-(-k_weight * WEIGHT_UNIT // 1))
