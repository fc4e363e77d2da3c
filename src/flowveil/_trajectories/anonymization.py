"""From trajectories to a release."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple, Unpack

from flowveil._options import (
    check_flag,
    parse_choice,
    parse_description,
    parse_memory,
    parse_meters,
    parse_minutes,
    parse_support,
    parse_users,
)
from flowveil._trajectories.glove import VARIANTS, glove
from flowveil._trajectories.grid import DEFAULT_CAPS, DEFAULT_STEP, DEFAULT_WEIGHTS
from flowveil._trajectories.periods import group_each
from flowveil._trajectories.read import Trajectories, read_trajectories
from flowveil._trajectories.registered import check_register
from flowveil._trajectories.release import TrajectoryRelease, make_release
from flowveil._trajectories.support import keep_supported

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from pathlib import Path

    from flowveil._engine import Readable
    from flowveil._options import DescriptionOptions

LOOSE_WARNING = "loose groups tend to one giant group, which is nearly free to join: strict and absorb keep more detail"


class GroupingOptions(NamedTuple):
    """What is asked of groups of users."""

    k: int
    variant: str
    meters: float | None
    minutes: float | None
    min_support: int
    reshape: bool
    memory: int | None  # bytes


def parse_grouping(
    k: int = 10,
    *,
    variant: str = "strict",
    max_extent: str | None = None,
    max_duration: str | None = None,
    min_support: int = 1,
    reshape: bool = True,
    memory: str | int | None = None,
) -> GroupingOptions:
    """Return what is asked of groups, or raise on what no samples could fulfill."""
    return GroupingOptions(
        parse_users(k),
        parse_choice(variant, "variant", VARIANTS),
        None if max_extent is None else parse_meters(max_extent),
        None if max_duration is None else parse_minutes(max_duration),
        parse_support(min_support),
        check_flag(reshape, "reshape"),
        None if memory is None else parse_memory(memory),
    )


def anonymize(
    source: Trajectories | Readable,
    k: int = 10,
    *,
    bbox: str | Iterable[float] | None = None,
    variant: str = "strict",
    max_extent: str | None = None,
    max_duration: str | None = None,
    min_support: int = 1,
    reshape: bool = True,
    step: str = DEFAULT_STEP,
    caps: str = DEFAULT_CAPS,
    weights: str = DEFAULT_WEIGHTS,
    min_samples: int = 1,
    cut_into: str | None = None,
    timezone: str | None = None,
    towers: Readable | None = None,
    columns: str | Mapping[str, str] | None = None,
    where: str | None = None,
    memory: str | int | None = None,
    register: str | Path | None = None,
    tell: Callable[[str], None] = lambda _: None,
    **description: Unpack[DescriptionOptions],
) -> TrajectoryRelease:
    """Merge trajectories with GLOVE until at least k users share each of them.

    source: what `read_trajectories` takes or returns; bbox: a public box in degrees. variant: strict, absorb or loose.
    max_extent, max_duration: suppress samples larger than this, e.g. "15km" and "6h"; by default none are.
    min_support: suppress samples in which fewer members of their group were seen; by default one is enough.
    reshape: cut samples of a group that overlap in time into disjoint ones, as the paper does; False: leave them, which
    keeps places finer and time spans longer.
    memory: e.g. "2GB"; a matrix of stretches is kept if it fits, by default lists of neighbors.
    register: a private file that knows all releases of a source, made if there is none: raises if one of them is of
    the same users and time; `write` enters the new one.
    step, caps, weights, min_samples, cut_into, timezone, towers, columns, where: as for `read_trajectories`.
    tell: hears what is being done.
    description: what is published with it: title, period, publisher, license, contact, and unit_label, what users are
    in the plural, e.g. "cabs".

    >>> box = fv.synthetic.PHONES_BBOX
    >>> release = fv.trajectories.anonymize("samples.parquet", k=2, bbox=box, step="1km,30min")
    >>> min(release.trajectories["size"].to_pylist())
    2
    """
    asked = parse_grouping(
        k,
        variant=variant,
        max_extent=max_extent,
        max_duration=max_duration,
        min_support=min_support,
        reshape=reshape,
        memory=memory,
    )
    said = parse_description(description, has_unit=True)
    tell("reading")
    if isinstance(source, Trajectories):
        trajectories = source
    else:
        trajectories = read_trajectories(
            source,
            bbox,
            columns=columns,
            where=where,
            step=step,
            caps=caps,
            weights=weights,
            min_samples=min_samples,
            cut_into=cut_into,
            timezone=timezone,
            towers=towers,
            memory=asked.memory,
        )
    entry = None if register is None else check_register(register, trajectories, said.get("period"))
    grid = trajectories.grid
    grouping = group_each(
        trajectories,
        asked.k,
        lambda part: glove(
            part,
            asked.k,
            variant,
            max_extent=None if asked.meters is None else int(asked.meters // grid.meters),
            max_duration=None if asked.minutes is None else int(asked.minutes // grid.minutes),
            reshape=asked.reshape,
            memory=asked.memory,
            tell=tell,
        ),
    )
    if asked.min_support > 1:
        tell("counting who was seen where")
        grouping = keep_supported(trajectories, grouping, asked.k, asked.min_support)
    least = asked.min_support if asked.min_support > 1 else None
    typed = {"variant": variant, "max_extent": max_extent, "max_duration": max_duration, "min_support": least}
    typed["reshape"] = None if asked.reshape else False
    given = {name: value for name, value in typed.items() if value is not None}
    release = make_release(trajectories, grouping, given, asked.k, said)
    if variant == "loose":
        release.audit["notes"].append(LOOSE_WARNING)
    return (
        release if entry is None else replace(release, entry=replace(entry, promise=dict(release.manifest["promise"])))
    )
