"""When a pair of areas may be published."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from flowveil._errors import InputError
from flowveil._flows import WEIGHT_UNIT, Crowds, least_weight
from flowveil._options import SHARE_UNIT, parse_k, parse_k_weight, parse_max_share, parse_min_tiles, times_mean_weight

if TYPE_CHECKING:
    from flowveil._arrays import BoolArray, IntArray
    from flowveil._flows import Flows, Measures


class Least(NamedTuple):
    """What a flow must have at least, in whole numbers: what compiled loops test."""

    crowd: int  # persons when the flows have a unit, else trips
    weight: int  # in millionths; 0 without a test of weight
    tiles: int  # at both ends


@dataclass(frozen=True)
class Requirement:
    """The tests a flow must pass, all of them.

    All but the share are monotone: what passes still passes in a larger area. The share is not: somebody may make few
    trips of a flow and most of those around it. But where flows that have no trip in common pass it, all of their trips
    together do too (decision 47).
    """

    k: int = 10  # persons when the flows have a unit, else trips
    k_weight: float | Fraction | None = None  # people represented: weights of distinct persons
    min_tiles: int = 1  # tiles seen on the axis, at both ends
    typed: str | None = None  # where k_weight comes from the data: what the promise says in place of the number
    max_share: float | None = None  # the largest share of the trips that one person may make

    def __post_init__(self) -> None:
        object.__setattr__(self, "k", parse_k(self.k))
        least_weight(self.k_weight)  # raises if it is no number of people
        object.__setattr__(self, "min_tiles", parse_min_tiles(self.min_tiles))
        parse_max_share(self.max_share)

    @property
    def least_weight(self) -> int:
        """The weight that is enough, in millionths; 0 without a test of weight."""
        return least_weight(self.k_weight)

    @property
    def least(self) -> Least:
        """The tests, as compiled loops take them."""
        return Least(self.k, self.least_weight, self.min_tiles)

    @property
    def share_parts(self) -> int:
        """The largest share of one person in millionths, rounded down; all of them without such a test."""
        return SHARE_UNIT if self.max_share is None else int(Fraction(repr(self.max_share)) * SHARE_UNIT)

    def passes(self, measures: Measures, origin_tiles: IntArray, destination_tiles: IntArray) -> BoolArray:
        """Which groups of trips may be published, given the tiles of their areas in the axes' trees."""
        good = self.is_crowd(measures) & self.is_shared(measures)
        return good & (origin_tiles >= self.min_tiles) & (destination_tiles >= self.min_tiles)

    def is_crowd(self, measures: Measures) -> BoolArray:
        """Which groups of trips have enough people."""
        crowd = measures.trips if measures.persons is None else measures.persons
        good: BoolArray = crowd >= self.k
        if self.k_weight is not None:
            if measures.weight is None:
                raise InputError("k_weight needs weights", "name the weight column with weight=")
            good &= measures.weight >= self.least_weight
        return good

    def is_shared(self, measures: Measures) -> BoolArray:
        """Which groups of trips have nobody who makes more than the largest share of them."""
        if self.max_share is None:
            return np.ones(len(measures.trips), bool)
        if measures.most is None:
            raise InputError("max_share needs persons", "name their column with unit=")
        shared: BoolArray = measures.most * SHARE_UNIT <= self.share_parts * measures.trips
        return shared


def make_requirement(
    flows: Flows, k: int, k_weight: float | str | None = None, min_tiles: int = 1, max_share: float | None = None
) -> Requirement:
    """Return what is asked of flows; a k_weight of "auto" is k times the mean weight, one like "10x" 10 times."""
    plain = Requirement(k, None, min_tiles, max_share=max_share)
    if max_share is not None:
        _check_people(flows)
    people = parse_k_weight(k_weight)
    if people is None:
        return plain
    if flows.weight is None:
        raise InputError("k_weight needs weights", "name the weight column when building flows (--weight COLUMN)")
    if flows.provenance.trip_weight is not None:
        raise InputError(
            "k_weight needs weights of persons, and these are weights of trips",
            "leave out --k-weight, or give --weight: how many people a person stands for",
        )
    if not isinstance(people, str):
        return replace(plain, k_weight=people)
    mean = mean_weight(flows)
    if not mean:
        raise InputError(f"k_weight cannot be {people}: all weights are 0", "give a number of people")
    return replace(plain, k_weight=times_mean_weight(people, plain.k) * mean, typed=people)


def _check_people(flows: Flows) -> None:
    """Raise unless it is known how many trips each person makes."""
    if flows.people is None:
        raise InputError("max_share needs persons", "name their column when building flows (--unit COLUMN)")
    if isinstance(flows.people, Crowds):
        raise InputError(
            "persons stayed on the cluster, which does not count the trips of each of them",
            "build the flows without k, or leave out --max-share",
        )


def mean_weight(flows: Flows) -> Fraction:
    """Return the people that a person (a trip, without a unit) stands for on average; flows must have weights."""
    if flows.people is not None and flows.people.mean_weight is not None:
        return flows.people.mean_weight
    return Fraction(0 if flows.weight is None else int(flows.weight.sum()), flows.total * WEIGHT_UNIT)
