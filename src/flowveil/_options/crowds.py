"""What is asked of crowds: k, people represented, tiles, and how much may be left out."""

from __future__ import annotations

from fractions import Fraction
from typing import Literal

from flowveil._errors import InputError, UnknownNameError
from flowveil._options.values import LARGEST_NUMBER, parse_number, parse_share, parse_whole, shown

AUTO: Literal["auto"] = "auto"
DEFAULT_K = 10
DEFAULT_LOSS = "tiles"
DEFAULT_UNUSABLE = 0.2  # of the rows: beyond, a column, a format or the zones are likely to be wrong
DEFAULT_SENSITIVE_TILES = 7  # a cell of H3 and its neighbors
# Values of k that organizations use for mobility data; docs/people.md says what is known of each.
PRESETS = {"ine-15": 15, "mds-10": 10, "insee-11": 11, "cnil-10": 10, "flowkit-15": 15}
_TIMES = "x"  # behind a number: so many times the mean weight of persons
_LEAST_PEOPLE = 1e-6  # weights are counted in millionths
SHARE_UNIT = 1_000_000  # shares of a person are compared in millionths
_LEAST_CHANCE, _LARGEST_CHANCE = 0.01, 0.95
LARGEST_CROWD = 10**12  # more people than ever lived; keeps sums within 64 bits


def parse_k(value: object) -> int:
    """Return a number of persons or trips."""
    return parse_whole(value, "k", "k is a whole number, 1 or more; 10 is usual", most=LARGEST_CROWD)


def parse_users(value: object) -> int:
    """Return the k of trajectories: one user alone is no crowd."""
    return parse_whole(value, "k", "a crowd needs 2 users or more: give -k 2 or more", 2, LARGEST_CROWD)


def parse_support(value: object) -> int:
    """Return how many members of a group must have been seen in a sample."""
    return parse_whole(value, "min_support", "it is a whole number of users, 1 or more", 1, LARGEST_CROWD)


def parse_k_weight(value: object) -> float | str | None:
    """Return a number of people; or how many times the mean weight, as auto (k times) or like 10x; or None."""
    if value is None or (isinstance(value, str) and value == AUTO):
        return value
    hint = "k_weight is a positive number of people, or auto, or times the mean weight, e.g. 10x"
    if isinstance(value, str) and value.endswith(_TIMES):
        number = parse_number(value.removesuffix(_TIMES), "k_weight", hint, _LEAST_PEOPLE, LARGEST_CROWD)
        return f"{int(number) if number == int(number) else number}{_TIMES}"
    return parse_number(value, "k_weight", hint, _LEAST_PEOPLE, LARGEST_CROWD)


def times_mean_weight(k_weight: str, k: int) -> Fraction:
    """Return how many times the mean weight of persons a k_weight is that is no number of people."""
    return Fraction(k) if k_weight == AUTO else Fraction(k_weight.removesuffix(_TIMES))


def parse_min_tiles(value: object) -> int:
    """Return the fewest tiles of an area."""
    return parse_whole(value, "min_tiles", "min_tiles is a whole number of tiles, 1 or more; 1 is usual")


def parse_sensitive_tiles(value: object) -> int:
    """Return the fewest tiles of an area that touches a sensitive place; one would ask for nothing."""
    hint = "it is a whole number of tiles, 2 or more; 7 is a cell of H3 with its neighbors"
    return DEFAULT_SENSITIVE_TILES if value is None else parse_whole(value, "sensitive_tiles", hint, 2)


def parse_max_share(value: object) -> float | None:
    """Return the largest share of a flow's trips that one person may make, or None."""
    hint = "it is a share of trips above 0 and below 1, e.g. 0.5"
    if value is None:
        return None
    return float(parse_share(value, "max_share", hint, 1 / SHARE_UNIT, 1 - 1 / SHARE_UNIT))


def parse_max_suppression(value: object) -> float | None:
    """Return a share of trips, or None."""
    hint = "it is a share of trips, from 0 to 1, e.g. 0.1 or 10%"
    return None if value is None else parse_share(value, "max_suppression", hint)


def parse_max_unusable(value: object) -> float:
    """Return the largest share of rows that may be dropped because they cannot be used."""
    hint = "it is a share of rows, from 0 to 1, e.g. 0.5 or 50%"
    return DEFAULT_UNUSABLE if value is None else float(parse_share(value, "max_unusable", hint))


def parse_max_gbar(value: object) -> float | None:
    """Return a mean number of tiles, or None."""
    hint = "it is a mean number of tiles of both ends; 2 is the finest"
    return None if value is None else parse_number(value, "max_gbar", hint, 0, LARGEST_NUMBER)


def parse_rounding(value: object) -> int | None:
    """Return the base that numbers are rounded to, or None."""
    hint = "it is a whole number, 2 or more, and at most k; 5 is usual"
    return None if value is None else parse_whole(value, "rounding", hint, 2, LARGEST_CROWD)


def parse_cell_key(value: object) -> int | None:
    """Return by how much numbers may be changed, or None."""
    hint = "it is a whole number, 1 or more, and less than k; 2 to 5 are usual"
    return None if value is None else parse_whole(value, "cell_key", hint, 1, LARGEST_CROWD)


def parse_hide_choice(value: object) -> float | None:
    """Return the chance that an area is not divided though it could be, or None."""
    hint = "it is a chance from 0.01 to 0.95; 0.5 is usual"
    return None if value is None else parse_share(value, "hide_choice", hint, _LEAST_CHANCE, _LARGEST_CHANCE)


def choose_k(k: object, preset: object, *, persons: bool) -> int:
    """Return the k that was given or that a preset stands for; a preset is about persons, so they must be known."""
    if preset is None:
        return DEFAULT_K if k is None else parse_k(k)
    if not isinstance(preset, str) or preset not in PRESETS:
        raise UnknownNameError("preset", preset if isinstance(preset, str) else shown(preset), PRESETS)
    if k is not None and parse_k(k) != PRESETS[preset]:
        raise InputError(f"-k {k} is not the k of {preset}", f"leave out one of them; {preset} is -k {PRESETS[preset]}")
    if not persons:
        raise InputError(
            f"{preset} counts persons, and no column of persons was named",
            "name it with --unit COLUMN; for a table of counted persons, say --counts persons",
        )
    return PRESETS[preset]
