"""Checking a written release of trajectories: reads it and the samples it was made from again.

It compares raw longitudes, latitudes and moments with the published boxes, without the grid that samples are merged on.
"""

from __future__ import annotations

from math import asin, degrees, radians
from typing import TYPE_CHECKING, cast

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from flowveil._arrays import filled
from flowveil._folder import find_release, remembered
from flowveil._report import CHECKED_REPORT, check_report, trajectories_content
from flowveil._trips import open_samples
from flowveil._verify.broken import broken
from flowveil._verify.complete_support import check_everybody_seen, check_means
from flowveil._verify.forest import NONE
from flowveil._verify.results import TrajectoryVerification
from flowveil._verify.shared_points import check_shared_points
from flowveil._verify.trajectory_tables import Boxes, read_trajectory_tables
from flowveil._verify.written import check_written, load_manifest

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from flowveil._arrays import BoolArray, IntArray
    from flowveil._engine import Readable, ReadingOptions, Samples
    from flowveil._places import ZonesLike
    from flowveil._verify.trajectory_tables import TrajectoryTables

_FUZZ = 1e-9  # degrees, a tenth of a millimeter: points on an edge may be rounded to either side
_RADIUS = 6_371_007.181  # of the sphere with the area of the Earth, in meters
_MINUTE = 60_000_000  # microseconds
_DAY = 1440 * _MINUTE


def verify_trajectories(
    path: str | Path,
    against: Readable,
    *,
    columns: str | Mapping[str, str] | None = None,
    where: str | None = None,
    towers: Readable | None = None,
    context: ZonesLike | None = None,
) -> TrajectoryVerification:
    """Check every promise of a release on the samples it was made from; raise VerificationError if one is broken.

    path: the folder; against: the samples.
    columns, where and towers are taken from the private audit file unless they are given.
    context: what the report shows beside the release.

    >>> len(fv.trajectories.verify("paths", "samples.parquet").checks)
    8
    """
    tables = read_trajectory_tables(path)
    story = remembered(tables.audit)
    source = open_samples(
        against,
        columns or story.columns,
        where or story.where,
        towers=story.towers if towers is None else towers,
        reading=cast("ReadingOptions", story.reading),
    )
    boxes = Boxes(tables.samples)
    _check_groups(tables, boxes)
    _check_edges(tables, boxes)
    _check_thresholds(tables, boxes)
    if tables.known_points is not None:
        check_shared_points(boxes, tables.k, tables.known_points)
    unsupported = _check_samples(tables, boxes, source.read())
    load_manifest(find_release(path))
    return TrajectoryVerification(
        checks=(
            "the folder holds the listed files, columns and keys, and nothing else",
            _crowds_in_words(tables),
            "the samples of a group are "
            + ("" if tables.overlapping else "disjoint, ")
            + "in order, and on the edges of the grid",
            "every input row of a member is kept in a sample or counted as suppressed",
            f"every sample holds a kept row of {_support_in_words(tables)}",
            "every sample has the support that it says",
            "no sample is over a threshold",
            *((CHECKED_REPORT,) if check_report(path, trajectories_content, context) else ()),
            *check_written(find_release(path), tables.audit),
        ),
        groups=len(boxes.sizes),
        users=int(boxes.sizes.sum()),
        unsupported=unsupported,
        where=source.where,
        columns=source.mapping,
    )


def _crowds_in_words(release: TrajectoryTables) -> str:
    alone = "nobody is in two groups" + ("" if release.period is None else f" of one {release.period}, or twice in one")
    if release.known_points is None:
        return f"every group has rows of at least {release.k} users, and {alone}"
    return (
        f"every set of at most {release.known_points} samples is in the trajectories of at least {release.k} users, "
        f"different samples do not overlap, and {alone}"
    )


def _support_in_words(release: TrajectoryTables) -> str:
    if release.known_points is not None or release.complete:
        return "every member"
    return "a member" if release.min_support == 1 else f"at least {release.min_support} members"


def _check_groups(release: TrajectoryTables, boxes: Boxes) -> None:
    """Check that groups have one size, k or more, and as many members; and that nobody is in two."""
    if (boxes.size != boxes.sizes[boxes.group]).any():
        raise broken("a group has several sizes")
    if (boxes.sizes < release.least_users).any():
        raise broken(f"a group has fewer than {release.least_users} users")
    users = release.members["user_id"].to_pylist()
    if None in users or len(set(listed := _listed(release))) != len(listed):
        raise broken("a user is listed twice")
    inside = [pair for pair in zip(users, release.members["group"].to_pylist(), strict=True) if pair[1] is not None]
    if len(set(inside)) != len(inside):
        raise broken("a group counts a user twice")
    groups = release.members["group"].drop_null().to_numpy()
    if len(groups) and not (groups.min() >= 0 and groups.max() < len(boxes.sizes)):
        raise broken("a user is in a group that was not published")
    if (np.bincount(groups, minlength=len(boxes.sizes)) != boxes.sizes).any():
        raise broken("a group does not have as many members as it says")


def _check_edges(release: TrajectoryTables, boxes: Boxes) -> None:
    """Check that samples of a group follow each other, and that all edges are on the grid."""
    later = np.diff(boxes.group) == 0
    before = boxes.t0 if release.overlapping else boxes.t1
    if (boxes.t1 <= boxes.t0).any() or (boxes.t0[1:][later] < before[:-1][later]).any():
        raise broken("samples of a group overlap in time or are not in order")
    for (low, high), end in ((boxes.lon, 180), (boxes.lat, 90)):
        if not ((-end <= low) & (low < high) & (high <= end)).all():
            raise broken("a box is empty, or not on the globe")
    (meters, minutes), narrow = release.step, release.narrow
    step = minutes * _MINUTE
    if (boxes.t0 % step).any() or (boxes.t1 % step).any():
        raise broken("a time is not on the grid")
    for edges in boxes.lon:
        exact = [
            degrees(round(radians(edge) * _RADIUS * narrow / meters) * meters / (_RADIUS * narrow)) for edge in edges
        ]
        if not (np.isclose(edges, exact, rtol=0, atol=_FUZZ) | (np.abs(edges) == 180)).all():
            raise broken("a longitude is not on the grid")
    for edges in boxes.lat:
        rows = np.round(np.sin(np.radians(edges)) * _RADIUS / narrow / meters)
        exact = [degrees(asin(max(-1, min(1, row * meters * narrow / _RADIUS)))) for row in rows.tolist()]
        if not (np.isclose(edges, exact, rtol=0, atol=_FUZZ) | (np.abs(edges) == 90)).all():
            raise broken("a latitude is not on the grid")


def _check_thresholds(release: TrajectoryTables, boxes: Boxes) -> None:
    """Check the largest extent and duration of samples, and their means."""
    minutes = (boxes.t1 - boxes.t0) / _MINUTE
    if release.max_duration is not None and (minutes > release.max_duration).any():
        raise broken("a sample lasts longer than promised")
    wide = np.radians(boxes.lon[1] - boxes.lon[0]) * _RADIUS * release.narrow
    tall = (np.sin(np.radians(boxes.lat[1])) - np.sin(np.radians(boxes.lat[0]))) * _RADIUS / release.narrow
    meters = np.maximum(wide, tall)
    if release.max_extent is not None and (meters > release.max_extent + 1e-3).any():
        raise broken("a box is larger than promised")
    check_means(release.options, meters, minutes, boxes.size)


def _check_samples(release: TrajectoryTables, boxes: Boxes, samples: Samples) -> float:
    """Check input rows against boxes; return the share of (member, sample) pairs in which the member was not seen."""
    west, south, east, north = release.options["bbox"]
    usable = (west <= samples.lon) & (samples.lon <= east) & (south <= samples.lat) & (samples.lat <= north)
    member = _members_of(release, samples, usable)
    usable &= member != NONE
    user, person = member[usable], samples.user[usable]
    groups = filled(release.members["group"], NONE)
    row, spot = _locate(boxes, groups[user], samples.time[usable])  # every pair of a row and a sample of that time
    inside, surely = np.ones(len(row), bool), np.ones(len(row), bool)
    for edges, values in ((boxes.lon, samples.lon[usable][row]), (boxes.lat, samples.lat[usable][row])):
        low, high = values - edges[0][spot], edges[1][spot] - values
        inside &= (low >= -_FUZZ) & (high > -_FUZZ)
        surely &= (low > _FUZZ) & (high > _FUZZ)
    _check_kept(release, groups, user, np.unique(row[surely]), np.unique(row[inside]))
    _check_people(release, boxes, person[row[inside]], groups[user[row[inside]]])
    return _check_support(release, boxes, (user[row], spot), surely, inside)


def _check_support(
    release: TrajectoryTables, boxes: Boxes, seen: tuple[IntArray, IntArray], surely: BoolArray, inside: BoolArray
) -> float:
    """Check how many were seen in each sample, given pairs of a user and a sample (surely there, or on its edge).

    Return the share of (member, sample) pairs in which the member was not seen.
    """
    pairs = np.stack(seen)
    least, most = (
        np.bincount(np.unique(pairs[:, some], axis=1)[1], minlength=len(boxes.group)) for some in (surely, inside)
    )
    if not most.all():
        raise broken("nobody of its group was seen in a sample")
    if (most < release.min_support).any():
        raise broken(f"fewer than {release.min_support} users of its group were seen in a sample")
    if release.complete:
        check_everybody_seen(most, boxes.size)
    if release.known_points is not None and (most < boxes.size).any():
        raise broken("a user was not seen in a sample of the own trajectory")
    if (boxes.support < least).any() or (boxes.support > most).any():
        raise broken("the support of a sample is not the number of its users who were seen in it")
    return 1 - int(most.sum()) / int(boxes.size.sum())


def _listed(release: TrajectoryTables) -> list[tuple[str, int]]:
    """Return who is listed: users, and of each the first day of a period (days since 1970), 0 where nothing is cut."""
    users = map(str, release.members["user_id"].to_pylist())
    if release.period is None:
        return [(user, 0) for user in users]
    return list(zip(users, filled(release.members["period"].cast(pa.int32()), NONE).tolist(), strict=True))


def _members_of(release: TrajectoryTables, samples: Samples, usable: BoolArray) -> IntArray:
    """Return for each input row whose it is, as the row of the list of members; -1 for those with too few samples."""
    day = np.zeros(len(samples.time), np.int64)
    if release.period is not None:
        zone: pa.DataType = pa.timestamp("us", tz=release.options["timezone"])
        local = pc.call_function("local_timestamp", [pa.array(samples.time, pa.timestamp("us", tz="UTC")).cast(zone)])
        floor = pc.RoundTemporalOptions(unit="week" if release.period == "week" else "day", week_starts_monday=True)
        day = pc.call_function("floor_temporal", [local], floor).cast(pa.int64()).to_numpy() // _DAY
    pairs, number, count = np.unique(
        np.stack([samples.user, day])[:, usable], axis=1, return_inverse=True, return_counts=True
    )
    keys = [(samples.users[user], first) for user, first in pairs.T.tolist()]
    row_of = {key: row for row, key in enumerate(_listed(release))}
    enough = (count >= release.options["min_samples"]).tolist()
    if {key for key, long in zip(keys, enough, strict=True) if long} != set(row_of):
        raise broken("the listed users are not the users of the input")
    member = np.full(len(samples.time), NONE, np.int64)
    member[usable] = np.array([row_of.get(key, NONE) for key in keys], np.int64)[number.ravel()]
    return member


def _check_kept(
    release: TrajectoryTables, groups: IntArray, user: IntArray, surely: IntArray, inside: IntArray
) -> None:
    """Check the rows that members keep, given the user of each row and which rows lie in a sample (surely, at all)."""
    rows, least, most = (np.bincount(some, minlength=len(groups)) for some in (user, user[surely], user[inside]))
    kept, suppressed = (release.members[name].to_numpy() for name in ("kept", "suppressed"))
    if (kept < least).any() or (kept > most).any():
        raise broken("a member's rows lie outside of the samples that should hold them")
    if (kept + suppressed != rows).any():
        raise broken("kept and suppressed rows of a user do not add up to the input")
    if suppressed.sum() > release.max_suppression * rows.sum() + 1e-6:
        raise broken(f"more than {release.max_suppression:.0%} of rows were left out")
    limited = release.max_extent is not None or release.max_duration is not None or release.min_support > 1
    limited |= release.known_points is not None or release.complete
    if not limited and (kept[groups != NONE] != rows[groups != NONE]).any():
        raise broken("rows of a member are missing though no threshold was promised")


def _check_people(release: TrajectoryTables, boxes: Boxes, person: IntArray, group: IntArray) -> None:
    """Count the users who are really there: user and group of each input row that lies in a sample of its group."""
    people = np.bincount(np.unique(np.stack([person, group]), axis=1)[1], minlength=len(boxes.sizes))
    if (people < release.least_users).any():
        raise broken(f"fewer than {release.least_users} users have a row in the samples of a group")
    if (people != boxes.sizes).any():
        raise broken("a group counts users who have no row in its samples")


def _locate(boxes: Boxes, group: IntArray, time: IntArray) -> tuple[IntArray, IntArray]:
    """Return every pair of a row and a sample of its group whose time span holds it.

    Rows of a group in the order of time: those of a sample are a run of them, whether samples overlap or not.
    """
    order = np.lexsort((time, group))
    begin = np.searchsorted(group[order], np.arange(len(boxes.first)))
    end = np.searchsorted(group[order], np.arange(len(boxes.first)), side="right")
    low, high = np.zeros(len(boxes.group), np.int64), np.zeros(len(boxes.group), np.int64)
    last = np.append(boxes.first[1:], len(boxes.group)).tolist()
    for number, first in enumerate(boxes.first.tolist()):
        samples = slice(first, last[number])
        moments = time[order[begin[number] : end[number]]]
        low[samples] = begin[number] + np.searchsorted(moments, boxes.t0[samples])
        high[samples] = begin[number] + np.searchsorted(moments, boxes.t1[samples])
    many = high - low
    spot = np.repeat(np.arange(len(many)), many)
    run = np.arange(int(many.sum())) - np.repeat(np.cumsum(many) - many, many)
    return order[low[spot] + run], spot
