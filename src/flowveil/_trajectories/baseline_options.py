"""Options of the older methods, and which method takes which."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from flowveil._errors import InputError
from flowveil._options import Keywords, parse_choice, parse_meters, parse_minutes, parse_number, parse_whole

if TYPE_CHECKING:
    from collections.abc import Callable

# Which options a method has, in the order of their papers.
_OPTIONS = {
    "w4m": ("delta", "radius", "max_trash", "chunk"),
    "nwa": ("delta", "radius", "max_trash", "granularity"),
    "tga": ("seed",),
}
BASELINES = tuple(_OPTIONS)


class BaselineOptions(NamedTuple):
    """What was asked of an older method; defaults: as in the GLOVE paper, or what papers leave open."""

    delta: float = 2_000.0  # meters across: the disc that members are moved into
    radius: float = 1_000.0  # meters: the first radius of clusters
    max_trash: float = 0.10  # share of trajectories
    chunk: int = 2_000  # trajectories that are clustered at once
    granularity: float = 1440.0  # minutes: trajectories begin and end at multiples of it
    seed: int = 0


def parse_baseline(value: object) -> str:
    """Return the name of an older method."""
    return parse_choice(value, "baseline", BASELINES)


def parse_baseline_options(
    method: str,
    *,
    delta: str | None = None,
    radius: str | None = None,
    max_trash: float | None = None,
    chunk: int | None = None,
    granularity: str | None = None,
    seed: int | None = None,
) -> BaselineOptions:
    """Return what is asked of a method, or raise on an option that it does not have."""
    parse_baseline(method)
    given = {"delta": delta, "radius": radius, "max_trash": max_trash, "chunk": chunk, "granularity": granularity}
    given["seed"] = seed
    typed = {name: value for name, value in given.items() if value is not None}
    if strange := [name for name in typed if name not in _OPTIONS[method]]:
        raise InputError(
            f"{method} has no option {strange[0]!r}", f"its options are {', '.join(_OPTIONS[method])}; leave it out"
        )
    share = "it is a share of trajectories from 0 to 1, e.g. 0.1"
    parsers: dict[str, Callable[[object], float]] = {
        "delta": parse_meters,
        "radius": parse_meters,
        "max_trash": lambda value: parse_number(value, "max_trash", share, 0.0, 1.0),
        "chunk": lambda value: parse_whole(value, "chunk", "it is a number of trajectories, 2 or more", 2),
        "granularity": parse_minutes,
        "seed": lambda value: parse_whole(value, "seed", "a seed is a whole number, 0 or more", 0),
    }
    numbers: Keywords = {name: parsers[name](value) for name, value in typed.items()}
    asked = BaselineOptions(**numbers)
    if not asked.radius > 0 or not asked.granularity > 0:
        raise InputError("a radius or a granularity of nothing leaves no clusters", "give more than 0")
    return asked
