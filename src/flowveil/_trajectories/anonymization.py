"""From trajectories to a release."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Unpack, cast

from flowveil._engine import DUCKDB, check_engine, choose_spread, one_session
from flowveil._errors import InputError, LossWarning, warn
from flowveil._options import AUTO, parse_description
from flowveil._processes import over_cores
from flowveil._trajectories.blocks import check_blocks, glove_in_blocks
from flowveil._trajectories.complete import follow_frontier, group_completely
from flowveil._trajectories.frontiers import DEFAULT_POINTS, parse_path_points
from flowveil._trajectories.grid import DEFAULT_CAPS, DEFAULT_STEP, DEFAULT_WEIGHTS
from flowveil._trajectories.known_points import protect_points
from flowveil._trajectories.options import GATHER, GLOVE, KM, parse_frontier, parse_grouping
from flowveil._trajectories.periods import check_steps, group_each
from flowveil._trajectories.read import as_trajectories
from flowveil._trajectories.registered import check_register
from flowveil._trajectories.release import TrajectoryRelease, make_release
from flowveil._trajectories.support import keep_supported

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from pathlib import Path

    from flowveil._engine import Readable
    from flowveil._options import DescriptionOptions
    from flowveil._processes import Spread
    from flowveil._trajectories.frontiers import TrajectoryFrontier
    from flowveil._trajectories.glove import Grouping
    from flowveil._trajectories.options import GroupingOptions
    from flowveil._trajectories.read import Trajectories

LOOSE_WARNING = "loose groups tend to one giant group, which is nearly free to join: strict and absorb keep more detail"

_MUCH = 0.5  # of the samples left out: what remains says little of how people move


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
    complete_support: bool = False,
    price: float | None = None,
    max_mean_extent: str | None = None,
    max_mean_duration: str | None = None,
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
    method: glove merges whole trajectories until k users share each. gather groups users by what they could publish
    together, and publishes only boxes in which every member was seen. km publishes every user's own, in which whoever
    knows `known_points` points (2 by default) finds k users or none.
    variant: of glove strict, absorb or loose, of gather strict or absorb.
    max_extent, max_duration: suppress samples larger than this, e.g. "15km" and "6h"; by default none are.
    min_support: suppress samples in which fewer members of their group were seen; by default one is enough.
    reshape: cut samples of a group that overlap in time into disjoint ones, as the paper does; False: leave them, which
    keeps places finer and time spans longer.
    max_suppression, of gather and km: the largest share of samples that may be left out, by default 0.1 and 0.5.
    complete_support: publish for groups of glove, too, only boxes in which every member was seen.
    price: of a sample that is kept, in place of a budget: boxes cost half their width and height over 20 km and half
    their duration over 8 h, and are published where the price of their samples is higher. max_mean_extent,
    max_mean_duration: keep as many samples as means allow, e.g. "2km" and "90min", in place of a budget.
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
        complete_support=complete_support,
        price=price,
        max_mean_extent=max_mean_extent,
        max_mean_duration=max_mean_duration,
        blocks=blocks,
        memory=memory,
    )
    check_engine(engine, master)
    if asked.method != GLOVE and engine != DUCKDB:
        raise InputError(
            f"the method {asked.method} works on all users together, on this machine", "leave out --engine"
        )
    said = parse_description(description, has_unit=True)
    tell("reading")
    trajectories = as_trajectories(
        source,
        bbox,
        asked.memory,
        columns=columns,
        where=where,
        step=step,
        caps=caps,
        weights=weights,
        min_samples=min_samples,
        cut_into=cut_into,
        timezone=timezone,
        towers=towers,
    )
    if asked.method == GLOVE:
        check_blocks(trajectories, asked.k, asked.blocks, remote=engine != DUCKDB)
    entry = None if register is None else check_register(register, trajectories, said.get("period"))
    with one_session():  # for the blocks of all days
        grouping = _make_groups(trajectories, asked, choose_spread(engine, master), tell)
    typed = asked.typed(
        max_extent=max_extent,
        max_duration=max_duration,
        max_mean_extent=max_mean_extent,
        max_mean_duration=max_mean_duration,
    )
    release = make_release(trajectories, grouping, asked.method, typed, asked.k, said)
    if variant == "loose":
        release.audit["notes"].append(LOOSE_WARNING)
    if (lost := release.audit["suppressed_rows"]) > _MUCH * release.audit["rows"]:
        text = (
            f"WARNING: {lost / release.audit['rows']:.1%} of the samples are left out: {_remedy(asked)}, "
            "or ask for a smaller k"
        )
        release.audit["notes"].append(text)
        warn(text.removeprefix("WARNING: "), LossWarning)
    return (
        release if entry is None else replace(release, entry=replace(entry, promise=dict(release.manifest["promise"])))
    )


def frontier(
    source: Trajectories | Readable,
    k: int = 10,
    *,
    bbox: str | Iterable[float] | None = None,
    method: str = GATHER,
    points: int = DEFAULT_POINTS,
    variant: str = "strict",
    max_extent: str | None = None,
    max_duration: str | None = None,
    min_support: int = 1,
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
    tell: Callable[[str], None] = lambda _: None,
) -> TrajectoryFrontier:
    """Return what is published at different prices of a sample, from the finest to the most complete.

    Columns: price, suppressed (share of samples), extent (mean, in meters), duration (mean, in minutes), users, groups
    and samples. It can be used as a pyarrow table and draws itself in a notebook. Private: it is computed from true
    samples. points: how many prices. method: gather, or glove, for groups of glove with complete support.
    source, k, bbox, variant, max_extent, max_duration, min_support, step, caps, weights, min_samples, cut_into,
    timezone, towers, columns, where, memory, tell: as for `anonymize`.

    >>> box = fv.synthetic.PHONES_BBOX
    >>> for row in fv.trajectories.frontier("samples.parquet", 2, bbox=box, step="1km,30min", points=3).to_pylist():
    ...     print(f"{row['suppressed']:.0%} left out, {row['extent']:,.0f} m, {row['duration']:.0f} min")
    21% left out, 2,343 m, 85 min
    0% left out, 2,509 m, 145 min
    """
    asked = parse_frontier(
        k,
        method=method,
        variant=variant,
        max_extent=max_extent,
        max_duration=max_duration,
        min_support=min_support,
        memory=memory,
    )
    points = parse_path_points(points)
    tell("reading")
    trajectories = as_trajectories(
        source,
        bbox,
        asked.memory,
        columns=columns,
        where=where,
        step=step,
        caps=caps,
        weights=weights,
        min_samples=min_samples,
        cut_into=cut_into,
        timezone=timezone,
        towers=towers,
    )
    return follow_frontier(
        trajectories, asked, points, lambda: _merge_each(trajectories, asked, over_cores, tell), tell
    )


def _remedy(asked: GroupingOptions) -> str:
    """Return which option would keep more samples."""
    steering = asked.steering
    if asked.method == KM or (steering is not None and steering.max_suppression is not None):
        return "lower --max-suppression"
    if steering is None:
        return "allow larger boxes or longer times with --max-extent and --max-duration"
    return "raise --price" if steering.price is not None else "raise --max-mean-extent and --max-mean-duration"


def _make_groups(
    trajectories: Trajectories, asked: GroupingOptions, spread: Spread, tell: Callable[[str], None]
) -> Grouping:
    """Group users with the method that was asked for, in each period by itself."""
    if asked.steering is not None:
        merge = partial(_merge_each, trajectories, asked, spread, tell)
        return group_completely(trajectories, asked, asked.steering, merge, tell)
    if asked.method == KM:
        check_steps(trajectories)
        return _protect(trajectories, asked, tell)
    grouping = _merge_each(trajectories, asked, spread, tell)
    if asked.min_support > 1:
        tell("counting who was seen where")
        grouping = keep_supported(trajectories, grouping, asked.k, asked.min_support)
    return grouping


def _protect(trajectories: Trajectories, asked: GroupingOptions, tell: Callable[[str], None]) -> Grouping:
    """Return users with the points of theirs that others share; known_points and max_suppression are there for km."""
    max_extent, max_duration = asked.most_in(trajectories.grid)
    return protect_points(
        trajectories,
        asked.k,
        cast("int", asked.known_points),
        max_suppression=cast("float", asked.max_suppression),
        max_extent=max_extent,
        max_duration=max_duration,
        tell=tell,
    )


def _merge_each(
    trajectories: Trajectories, asked: GroupingOptions, spread: Spread, tell: Callable[[str], None]
) -> Grouping:
    """Return the groups of glove, in each period by itself."""
    max_extent, max_duration = asked.most_in(trajectories.grid)
    return group_each(
        trajectories,
        asked.k,
        lambda part: glove_in_blocks(
            part,
            asked.k,
            asked.variant,
            asked.blocks,
            spread,
            max_extent=max_extent,
            max_duration=max_duration,
            reshape=asked.reshape,
            memory=asked.memory,
            tell=tell,
        ),
    )
