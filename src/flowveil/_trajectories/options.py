"""What is asked of a release of trajectories, and which options go together."""

from __future__ import annotations

from typing import Literal, NamedTuple

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

GLOVE, KM = "glove", "km"
METHODS = (GLOVE, KM)
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

    def typed(self, max_extent: str | None, max_duration: str | None) -> dict[str, str | int | float | bool]:
        """Return what the manifest says of these options; thresholds are as they were written."""
        options: dict[str, str | int | float | bool | None] = {"max_extent": max_extent, "max_duration": max_duration}
        if self.method == KM:
            options |= {"known_points": self.known_points, "max_suppression": self.max_suppression}
        else:
            options |= {
                "variant": self.variant,
                "min_support": self.min_support if self.min_support > 1 else None,
                "reshape": None if self.reshape else False,
                "blocks": None if self.blocks == AUTO else self.blocks,
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
    blocks: int | str = AUTO,
    memory: str | int | None = None,
) -> GroupingOptions:
    """Return what is asked of groups, or raise on what no samples could fulfill."""
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
    )
    if asked.method != KM:
        _refuse("km", known_points=asked.known_points is not None, max_suppression=asked.max_suppression is not None)
        return asked
    in_blocks = asked.blocks != AUTO
    _refuse("glove", variant=variant != "strict", min_support=min_support > 1, reshape=not reshape, blocks=in_blocks)
    return asked._replace(
        known_points=asked.known_points or DEFAULT_KNOWN_POINTS,
        max_suppression=DEFAULT_SUPPRESSION if asked.max_suppression is None else asked.max_suppression,
    )


def parse_known_points(value: object) -> int:
    """Return how many points of a user an attacker is assumed to know."""
    return parse_whole(value, "known_points", "it is a number of points, 1 to 6; 2 is usual", 1, _MOST_KNOWN_POINTS)


def parse_blocks(value: object) -> int | Literal["auto"]:
    """Return in how many blocks users are merged, or auto."""
    if isinstance(value, str) and value.strip() == AUTO:
        return AUTO
    return parse_whole(value, "blocks", "it is auto, or a whole number of blocks; 1 merges all users together")


def _refuse(method: str, **given: bool) -> None:
    for name, is_given in given.items():
        if is_given:
            raise InputError(f"{name} was given, but it is an option of the method {method}", f"add --method {method}")
