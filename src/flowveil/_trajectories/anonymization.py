"""From trajectories to a release."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Unpack

from flowveil._engine import DUCKDB, check_engine, choose_spread
from flowveil._errors import InputError
from flowveil._options import AUTO, parse_description
from flowveil._trajectories.blocks import glove_in_blocks
from flowveil._trajectories.grid import DEFAULT_CAPS, DEFAULT_STEP, DEFAULT_WEIGHTS
from flowveil._trajectories.known_points import protect_points
from flowveil._trajectories.options import GLOVE, KM, parse_grouping
from flowveil._trajectories.periods import check_steps, group_each
from flowveil._trajectories.read import Trajectories, read_trajectories
from flowveil._trajectories.registered import check_register
from flowveil._trajectories.release import TrajectoryRelease, make_release
from flowveil._trajectories.support import keep_supported

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from pathlib import Path

    from flowveil._engine import Readable
    from flowveil._options import DescriptionOptions, Keywords
    from flowveil._processes import Spread
    from flowveil._trajectories.glove import Grouping
    from flowveil._trajectories.options import GroupingOptions

LOOSE_WARNING = "loose groups tend to one giant group, which is nearly free to join: strict and absorb keep more detail"


def anonymize(
    source: Trajectories | Readable,
    k: int = 10,
    *,
    bbox: str | Iterable[float] | None = None,
    method: str = GLOVE,
    variant: str = "strict",
    max_extent: str | None = None,
    max_duration: str | None = None,
    min_support: int = 1,
    reshape: bool = True,
    known_points: int | None = None,
    max_suppression: float | None = None,
    blocks: int | str = AUTO,
    engine: str = DUCKDB,
    master: str | None = None,
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
    """Publish trajectories that at least k users share, or of which any few points fit at least k users.

    source: what `read_trajectories` takes or returns; bbox: a public box in degrees.
    method: glove merges whole trajectories until k users share each. km publishes every user's own, in which whoever
    knows `known_points` points (2 by default) finds k users or none. variant, of glove: strict, absorb or loose.
    max_extent, max_duration: suppress samples larger than this, e.g. "15km" and "6h"; by default none are.
    min_support: suppress samples in which fewer members of their group were seen; by default one is enough.
    reshape: cut samples of a group that overlap in time into disjoint ones, as the paper does; False: leave them, which
    keeps places finer and time spans longer.
    max_suppression, of km: the largest share of samples that may be left out, 0.5 by default.
    blocks, of glove: users of one region and time are merged with each other only, in so many blocks; auto takes one
    for up to 10,000 users, which is exact. engine, master: where blocks are merged, as for `anonymize` of flows.
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
        method=method,
        variant=variant,
        max_extent=max_extent,
        max_duration=max_duration,
        min_support=min_support,
        reshape=reshape,
        known_points=known_points,
        max_suppression=max_suppression,
        blocks=blocks,
        memory=memory,
    )
    check_engine(engine, master)
    if asked.method == KM and engine != DUCKDB:
        raise InputError("the method km counts all users together, on this machine", "leave out --engine")
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
    grouping = _make_groups(trajectories, asked, choose_spread(engine, master), tell)
    typed = asked.typed(max_extent, max_duration)
    release = make_release(trajectories, grouping, asked.method, typed, asked.k, said)
    if variant == "loose":
        release.audit["notes"].append(LOOSE_WARNING)
    return (
        release if entry is None else replace(release, entry=replace(entry, promise=dict(release.manifest["promise"])))
    )


def _make_groups(
    trajectories: Trajectories, asked: GroupingOptions, spread: Spread, tell: Callable[[str], None]
) -> Grouping:
    """Group users with the method that was asked for."""
    grid = trajectories.grid
    thresholds: Keywords = {
        "max_extent": None if asked.meters is None else int(asked.meters // grid.meters),
        "max_duration": None if asked.minutes is None else int(asked.minutes // grid.minutes),
    }
    if asked.known_points is not None and asked.max_suppression is not None:
        check_steps(trajectories)
        lost = asked.max_suppression
        return protect_points(trajectories, asked.k, asked.known_points, max_suppression=lost, **thresholds, tell=tell)

    def merge(part: Trajectories) -> Grouping:
        how: Keywords = {"reshape": asked.reshape, "memory": asked.memory, "tell": tell}
        return glove_in_blocks(part, asked.k, asked.variant, asked.blocks, spread, **thresholds, **how)

    grouping = group_each(trajectories, asked.k, merge)
    if asked.min_support > 1:
        tell("counting who was seen where")
        grouping = keep_supported(trajectories, grouping, asked.k, asked.min_support)
    return grouping
