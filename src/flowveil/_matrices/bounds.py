"""A private choice of how many trips of a person count: a noisy quantile over a public list of numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from flowveil._noise import PARTS

if TYPE_CHECKING:
    from flowveil._arrays import IntArray
    from flowveil._noise import Ledger

BOUND = "max_trips_per_person"  # the name of the charge
_PARTS = PARTS // 20  # what the choice costs: few persons are enough to see a quantile
_ABOVE = 9  # of ten persons nine make at most so many trips: each above weighs as much as nine below


def choose_bound(ledger: Ledger, candidates: tuple[int, ...], trips: IntArray, persons: IntArray) -> int:
    """Return the number that nine of ten persons do not exceed, more or less, and charge a unit for it.

    trips, persons: how many persons (each in one span) made how many trips. A number is too small by 9 times the
    persons above it less those at or below, and too large by the reverse at the number before it. Both at once cannot
    be above zero, so a unit that is added or removed changes a score by at most 9.
    """
    few = np.array([0, *(int(persons[trips <= number].sum()) for number in candidates)], np.int64)
    lacking = _ABOVE * (int(persons.sum()) - few) - few  # above zero: fewer than nine of ten
    scores = np.maximum(np.maximum(lacking[1:], -lacking[:-1]), 0)
    return candidates[ledger.choose(BOUND, 0, scores, _ABOVE, _PARTS)]
