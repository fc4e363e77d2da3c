"""Who travels, and how many they are."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from flowveil._engine import WEIGHT_UNIT
from flowveil._options import parse_k_weight

if TYPE_CHECKING:
    from flowveil._arrays import IntArray


@dataclass(frozen=True, eq=False)
class Measures:
    """Size of groups of trips: one entry a group."""

    trips: IntArray
    persons: IntArray | None  # distinct persons; None without a unit
    weight: IntArray | None  # weights of distinct persons (of trips without a unit), in millionths

    def take(self, rows: IntArray | slice) -> Measures:
        """Return the entries of some groups."""
        persons = None if self.persons is None else self.persons[rows]
        return Measures(self.trips[rows], persons, None if self.weight is None else self.weight[rows])


@dataclass(frozen=True, eq=False)
class People:
    """Who travels on which tile pair: distinct persons do not add up, so they are kept one by one."""

    pair: IntArray  # tile pair, ascending
    person: IntArray  # person, numbered from 0; each (pair, person) occurs once
    weight: IntArray | None  # by person, in millionths

    def on(self, order: IntArray) -> People:
        """Return the same people where tile pairs come in another order: by place, the tile pair that it was."""
        place = np.empty(len(order), np.int64)
        place[order] = np.arange(len(order))
        pair = place[self.pair]
        sorting = np.argsort(pair, kind="stable")
        return People(pair[sorting], self.person[sorting], self.weight)

    @property
    def mean_weight(self) -> Fraction | None:
        """The people that a person stands for on average; None without weights."""
        return None if self.weight is None else Fraction(int(self.weight.sum()), len(self.weight) * WEIGHT_UNIT)


def least_weight(k_weight: float | Fraction | None) -> int:
    """Return the weight that is enough for so many people, in millionths; 0 where none is asked for."""
    if k_weight is None:
        return 0
    parse_k_weight(k_weight)
    return int(-(-k_weight * WEIGHT_UNIT // 1))
