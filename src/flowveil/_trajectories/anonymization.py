"""From trajectories to a release."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from flowveil._errors import InputError
from flowveil._memory import parse_memory
from flowveil._trajectories.glove import glove
from flowveil._trajectories.grid import DEFAULT_STEP
from flowveil._trajectories.read import Trajectories, read_trajectories
from flowveil._trajectories.release import TrajectoryRelease, make_release

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from flowveil._engine import Readable

LOOSE_WARNING = "loose groups tend to one giant group, which is nearly free to join: strict and absorb keep more detail"

_LENGTH = re.compile(r"\s*(\d{1,9}(?:\.\d{1,9})?)\s*(m|km)\s*")
_DURATION = re.compile(r"\s*(\d{1,9}(?:\.\d{1,9})?)\s*(min|h|d)\s*")


def anonymize(
    source: Trajectories | Readable,
    k: int = 10,
    *,
    bbox: str | Iterable[float] | None = None,
    variant: str = "strict",
    max_extent: str | None = None,
    max_duration: str | None = None,
    step: str = DEFAULT_STEP,
    min_samples: int = 1,
    columns: Mapping[str, str] | None = None,
    where: str | None = None,
    memory: str | None = None,
    tell: Callable[[str], None] = lambda _: None,
) -> TrajectoryRelease:
    """Merge trajectories with GLOVE until at least k users share each of them.

    source: what `read_trajectories` takes or returns; bbox: a public box in degrees. variant: strict, absorb or loose.
    max_extent, max_duration: suppress samples larger than this, e.g. "15km" and "6h"; by default none are.
    memory: e.g. "2GB"; a matrix of stretches is kept if it fits, by default lists of neighbors.
    """
    tell("reading")
    if isinstance(source, Trajectories):
        trajectories = source
    else:
        trajectories = read_trajectories(
            source, bbox, columns=columns, where=where, step=step, min_samples=min_samples, memory=memory
        )
    grid = trajectories.grid
    found = glove(
        trajectories,
        k,
        variant,
        max_extent=None if max_extent is None else int(meters(max_extent) // grid.meters),
        max_duration=None if max_duration is None else int(minutes(max_duration) // grid.minutes),
        memory=None if memory is None else parse_memory(memory),
        tell=tell,
    )
    typed = {"variant": variant, "max_extent": max_extent, "max_duration": max_duration}
    release = make_release(trajectories, found, {name: value for name, value in typed.items() if value is not None}, k)
    if variant == "loose":
        release.audit["notes"].append(LOOSE_WARNING)
    return release


def meters(text: str) -> float:
    """Return a length like 15km in meters."""
    match = _LENGTH.fullmatch(text)
    if match is None:
        raise InputError(f"{text!r} is not a length", "write it like 500m or 15km")
    return float(match[1]) * (1000 if match[2] == "km" else 1)


def minutes(text: str) -> float:
    """Return a duration like 6h in minutes."""
    match = _DURATION.fullmatch(text)
    if match is None:
        raise InputError(f"{text!r} is not a duration", "write it like 30min, 6h or 1d")
    return float(match[1]) * {"min": 1, "h": 60, "d": 1440}[match[2]]
