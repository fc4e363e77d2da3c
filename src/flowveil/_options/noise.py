"""What is asked of noise: budgets, cells, and what a person may contribute."""

from __future__ import annotations

from collections.abc import Iterable

from flowveil._errors import InputError
from flowveil._options.values import parse_number, parse_whole, shown

MOST_CELLS = 1_000_000  # along a side
MOST_TRIPS = 1_000_000  # of a person
_LEAST, _MOST = 1e-9, 1e9  # beyond, noise drowns any count, or nothing is protected, and floats run out


def parse_epsilon(value: object) -> float:
    """Return a budget."""
    hint = "epsilon is a positive number; 1 is common, less protects more"
    return float(parse_number(value, "epsilon", hint, _LEAST, _MOST))


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
