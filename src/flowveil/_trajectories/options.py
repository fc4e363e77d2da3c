"""What is asked of a release of trajectories, and which options go together."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, NamedTuple

from flowveil._errors import InputError
from flowveil._options import (
    AUTO,
    check_flag,
    parse_choice,
    parse_max_suppression,
    parse_memory,
    parse_meters,
    parse_minutes,
    parse_support,
    parse_users,
    parse_whole,
)
from flowveil._trajectories.glove import VARIANTS
from flowveil._trajectories.steering import Steering, parse_steering

if TYPE_CHECKING:
    from flowveil._trajectories.grid import Grid

GLOVE, GATHER, KM = "glove", "gather", "km"
METHODS = (GLOVE, GATHER, KM)
DEFAULT_KNOWN_POINTS = 2
DEFAULT_SUPPRESSION = 0.5  # of km: sparse samples do not have more in common
_MOST_KNOWN_POINTS = 6  # all sets of so many points are counted


class GroupingOptions(NamedTuple):
    """What is asked of groups of users."""

    method: str
    k: int
    variant: str
    meters: float | None
    minutes: float | None
    min_support: int
    reshape: bool
    known_points: int | None  # None: whole trajectories are shared
    max_suppression: float | None
    blocks: int | Literal["auto"]
    memory: int | None  # bytes
    steering: Steering | None  # None: samples need not hold every member

    def most_in(self, grid: Grid) -> tuple[int | None, int | None]:
        """Return the largest edge in cells and length in steps of time that a sample may have."""
        limits = [
            None if most is None else int(most // step)
            for most, step in ((self.meters, grid.meters), (self.minutes, grid.minutes))
        ]
        if any(limit is not None and limit < 1 for limit in limits):
            raise InputError("a suppression threshold is smaller than the grid's step", "give a larger threshold")
        return limits[0], limits[1]

    def typed(self, **written: str | None) -> dict[str, str | int | float | bool]:
        """Return what the manifest says of these options; written: lengths and durations as they were."""
        steering = self.steering
        options: dict[str, str | int | float | bool | None] = {
            "variant": None if self.method == KM else self.variant,
            "max_extent": written["max_extent"],
            "max_duration": written["max_duration"],
            "min_support": self.min_support if self.min_support > 1 else None,
            "reshape": None if self.reshape else False,
            "blocks": None if self.blocks == AUTO else self.blocks,
            "known_points": self.known_points,
            "max_suppression": self.max_suppression if steering is None else steering.max_suppression,
            "complete_support": True if steering is not None and self.method == GLOVE else None,
            "price": None if steering is None else steering.price,
            "max_mean_extent": written["max_mean_extent"],
            "max_mean_duration": written["max_mean_duration"],
        }
        return {name: value for name, value in options.items() if value is not None}


def parse_grouping(
    k: int = 10,
    *,
    method: str = GLOVE,
    variant: str = "strict",
    max_extent: str | None = None,
    max_duration: str | None = None,
    min_support: int = 1,
    reshape: bool = True,
    known_points: int | None = None,
    max_suppression: float | None = None,
    complete_support: bool = False,
    price: float | None = None,
    max_mean_extent: str | None = None,
    max_mean_duration: str | None = None,
    blocks: int | str = AUTO,
    memory: str | int | None = None,
) -> GroupingOptions:
    """Return what is asked of groups, or raise on what no samples could fulfill."""
    complete = check_flag(complete_support, "complete_support")
    asked = GroupingOptions(
        parse_choice(method, "method", METHODS),
        parse_users(k),
        parse_choice(variant, "variant", VARIANTS),
        None if max_extent is None else parse_meters(max_extent),
        None if max_duration is None else parse_minutes(max_duration),
        parse_support(min_support),
        check_flag(reshape, "reshape"),
        None if known_points is None else parse_known_points(known_points),
        parse_max_suppression(max_suppression),
        parse_blocks(blocks),
        None if memory is None else parse_memory(memory),
        None,
    )
    in_blocks = asked.blocks != AUTO
    if asked.method != KM:
        _refuse("km", known_points=asked.known_points is not None)
        if asked.method == GATHER:
            _refuse("glove", variant=variant == "loose", reshape=not reshape, blocks=in_blocks)
        elif complete:
            _refuse("glove without complete_support", "leave out one of them", reshape=not reshape)
        steering = parse_steering(price, max_suppression, max_mean_extent, max_mean_duration)
        if asked.method == GATHER or complete:
            return asked._replace(steering=steering.or_default())
        if steering.typed():
            typed = {"price": price, "max_suppression": max_suppression, "max_mean_extent": max_mean_extent}
            name = next((name for name, value in typed.items() if value is not None), "max_mean_duration")
            raise InputError(
                f"{name} was given, but it steers samples in which every member was seen",
                "add --method gather, or --complete-support for groups of glove",
            )
        return asked
    _refuse("glove", variant=variant != "strict", min_support=min_support > 1, reshape=not reshape, blocks=in_blocks)
    means = max_mean_extent is not None or max_mean_duration is not None
    _refuse("gather", complete_support=complete, price=price is not None, max_mean_extent=means)
    return asked._replace(
        known_points=asked.known_points or DEFAULT_KNOWN_POINTS,
        max_suppression=DEFAULT_SUPPRESSION if asked.max_suppression is None else asked.max_suppression,
    )


def parse_frontier(
    k: int = 10,
    *,
    method: str = GATHER,
    variant: str = "strict",
    max_extent: str | None = None,
    max_duration: str | None = None,
    min_support: int = 1,
    memory: str | int | None = None,
) -> GroupingOptions:
    """Return what is asked of groups whose frontier is followed, or raise."""
    if parse_choice(method, "method", METHODS) == KM:
        raise InputError("the method km has no price, so it has no frontier", "take --method gather or --method glove")
    return parse_grouping(
        k,
        method=method,
        variant=variant,
        max_extent=max_extent,
        max_duration=max_duration,
        min_support=min_support,
        complete_support=True,
        memory=memory,
    )


def parse_known_points(value: object) -> int:
    """Return how many points of a user an attacker is assumed to know."""
    return parse_whole(value, "known_points", "it is a number of points, 1 to 6; 2 is usual", 1, _MOST_KNOWN_POINTS)


def parse_blocks(value: object) -> int | Literal["auto"]:
    """Return in how many blocks users are merged, or auto."""
    if isinstance(value, str) and value.strip() == AUTO:
        return AUTO
    return parse_whole(value, "blocks", "it is auto, or a whole number of blocks; 1 merges all users together")


def _refuse(method: str, hint: str | None = None, **given: bool) -> None:
    for name, is_given in given.items():
        if is_given:
            raise InputError(
                f"{name} was given, but it is an option of the method {method}", hint or f"add --method {method}"
            )
