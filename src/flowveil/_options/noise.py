"""What is asked of noise: budgets, cells, and what a person may contribute."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from flowveil._errors import InputError
from flowveil._options.crowds import AUTO
from flowveil._options.values import parse_number, parse_whole, shown

MOST_CELLS = 1_000_000  # along a side
MOST_TRIPS = 1_000_000  # of a person
LEAST_EPSILON = 1e-9  # below, noise drowns any count
MOST_EPSILON = 100  # exp(100) has 44 digits: beyond, a promise would be made that protects nobody
MOST_WINDOW = 100_000  # steps
TRIP, PERSON, WINDOW = "trip", "person", "window"
PERIODS = ("person-day", "person-week", "person-month")
_CANDIDATES = (1, 2, 3, 5, 7, 10, 15, 20, 30, 50, 100)  # of auto: known without looking at trips
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


@dataclass(frozen=True)
class Protection:
    """Whom a release with noise protects: what two inputs differ by that it can hardly tell apart."""

    name: str  # TRIP, PERSON, one of PERIODS, or WINDOW
    window: int | None = None  # steps in a row, of WINDOW

    @property
    def text(self) -> str:
        """As a user types it."""
        return self.name if self.window is None else f"{self.name}:{self.window}"


def parse_protection(value: object, *, has_unit: bool) -> Protection:
    """Return whom to protect: by default a person where there is a unit, else one trip."""
    if value is None:
        return Protection(PERSON if has_unit else TRIP)
    hint = f"give one of {TRIP}, {PERSON}, {', '.join(PERIODS)}, or {WINDOW}:N for N steps of time in a row"
    name, colon, steps = value.partition(":") if isinstance(value, str) else ("", "", "")
    if name not in (TRIP, PERSON, *PERIODS, WINDOW) or bool(colon) != (name == WINDOW):
        raise InputError(f"protect is {shown(value)}", hint)
    if (name != TRIP) != has_unit:
        raise InputError(
            f"--protect {value} does not go {'with' if has_unit else 'without'} a column of persons",
            "leave out --unit and --max-trips-per-person" if has_unit else "name the column with --unit",
        )
    return Protection(name, parse_whole(steps, "the window of protect", hint, 1, MOST_WINDOW) if colon else None)


def parse_bound(value: object) -> int | tuple[int, ...]:
    """Return how many trips of a person count, or from which numbers that is to be chosen: "auto", "auto:1,2,5"."""
    if isinstance(value, str) and value.partition(":")[0] == AUTO:
        _, colon, text = value.partition(":")
        typed = [_whole_bound(part) for part in text.split(",")] if colon else list(_CANDIDATES)
        if typed != sorted(set(typed)):
            raise InputError(f"the numbers of max_trips_per_person {value!r} do not rise", "e.g. auto:1,2,5,10")
        return tuple(typed)
    return _whole_bound(value)


def _whole_bound(value: object) -> int:
    hint = "it is a whole number, 1 or more, or auto; noise grows with it"
    return parse_whole(value, "max_trips_per_person", hint, 1, MOST_TRIPS)


def parse_groups(value: object) -> dict[str, tuple[str | None, ...]]:
    """Return the values that count of columns of groups; texts are written COLUMN=VALUE,VALUE; "" is for no value."""
    hint = "write the values of each column of --by, e.g. --groups sex=f,m; none of them may come from the trips"
    if isinstance(value, Mapping):
        typed = {str(column): values for column, values in value.items()}
    else:
        texts = [value] if isinstance(value, str) else value
        if not isinstance(texts, Iterable):
            raise InputError(f"groups are {shown(value)}", hint)
        typed = {}
        for text in texts:
            column, sign, values = text.partition("=") if isinstance(text, str) else ("", "", "")
            if not sign or not column or column in typed:
                raise InputError(f"groups are {shown(text)}", hint)
            typed[column] = values.split(",")
    groups = {}
    for column, values in typed.items():
        if isinstance(values, str) or not isinstance(values, Iterable):
            raise InputError(f"the groups of {column!r} are {shown(values)}", hint)
        listed = tuple(None if each is None or not str(each).strip() else str(each).strip() for each in values)
        if not listed or len(set(listed)) < len(listed):
            raise InputError(f"the groups of {column!r} are empty or name a value twice", hint)
        groups[column] = listed
    return groups
