"""What is asked of noise: budgets, cells, and what a person may contribute."""

from __future__ import annotations

from collections.abc import Iterable

from flowveil._errors import InputError
from flowveil._options.values import parse_number, parse_whole, shown

MOST_CELLS = 1_000_000  # along a side
MOST_TRIPS = 1_000_000  # of a person
LEAST_EPSILON = 1e-9  # below, noise drowns any count
MOST_EPSILON = 100  # exp(100) has 44 digits: beyond, a promise would be made that protects nobody
_WEAK_EPSILON = 10  # exp(10) is 22,026: such a release is still made, with a warning


def parse_epsilon(value: object) -> float:
    """Return a budget, or raise if it is none that protects anybody."""
    hint = (
        "whether one person (or trip) is in the data changes the probability of any release by a factor of at most "
        f"exp(epsilon): 1 is common, less protects more, and above {MOST_EPSILON} nobody is protected"
    )
    return float(parse_number(value, "epsilon", hint, LEAST_EPSILON, MOST_EPSILON))


def weak_epsilon(epsilon: float) -> str | None:
    """Return a warning where a budget protects little, None where there is nothing to say."""
    if epsilon <= _WEAK_EPSILON:
        return None
    return (
        f"whether one person (or trip) is in the data may change the probability of a release by a factor of "
        f"exp({epsilon:g}): that is hardly any protection; an epsilon of 1 is common"
    )


def parse_epsilons(value: object) -> list[float]:
    """Return budgets: numbers, or a text with commas between them."""
    parts = value.split(",") if isinstance(value, str) else value
    if not isinstance(parts, Iterable):
        raise InputError(f"epsilon is {shown(value)}", "write numbers, e.g. --epsilon 0.1,0.5,1")
    return [parse_epsilon(part) for part in parts]


def parse_cells(value: object) -> int:
    """Return how many cells a side of the grid has."""
    return parse_whole(value, "cells", f"the cells a side are a whole number from 1 to {MOST_CELLS:,}", 1, MOST_CELLS)


def parse_bound(value: object) -> int:
    """Return how many trips of a person count."""
    hint = "it is a whole number, 1 or more; noise grows with it"
    return parse_whole(value, "max_trips_per_person", hint, 1, MOST_TRIPS)
