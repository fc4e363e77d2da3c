"""Samples of trajectories in which few of those were seen who are said to share them."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

import numpy as np
import pyarrow as pa

from flowveil._errors import InputError
from flowveil._folder import KNOWN_POINTS, remembered
from flowveil._risk.finding import BREAKS, HOLDS, TELLS, Finding
from flowveil._trajectories import first_days, read_release
from flowveil._trips import Trips, open_samples

if TYPE_CHECKING:
    from flowveil._arrays import BoolArray, IntArray
    from flowveil._engine import ReadingOptions, Samples
    from flowveil._risk.case import Case
    from flowveil._trajectories import TrajectoryRelease

_FUZZ = 1e-9  # degrees: points on an edge may be rounded to either side


def find_support(case: Case) -> Finding | None:
    """Count the samples in which fewer than k of their users were seen, from raw rows and the members file."""
    release = read_release(case.folder)
    promise = release.manifest["promise"]
    if promise["kind"] == KNOWN_POINTS:  # trajectories of single users: what they share is in the attack on points
        return None
    k, least = promise["k"], promise.get("min_support", 1)
    support = count_support(case, release)
    sizes = release.trajectories["size"].to_numpy()
    few, one = int((support < k).sum()), int((support == 1).sum())
    belief = float(support.sum() / sizes.sum())
    broken = int((support < least).sum())
    told = (
        f"In {few:,} of {len(support):,} samples fewer than {k} of their users were seen, in {one:,} only one. "
        f"Whoever knows that somebody is in a group may believe of each of its samples that they were there: "
        f"that is right in {belief:.0%} of cases."
    )
    return Finding(
        "support",
        one,
        "samples in which exactly one user was seen",
        BREAKS if broken else TELLS if few else HOLDS,
        f"{broken:,} samples have less support than promised. {told}" if broken else told,
        "A sample of one user is where that one was, though a reader cannot tell which of the group it is. "
        f"Publish only samples that several support: --min-support {k} (or fewer)."
        if few
        else "",
        {"k": k, "min_support": least},
        {"samples": len(support), "fewer_than_k": few, "one": one, "belief": belief},
        private=True,
    )


def count_support(case: Case, release: TrajectoryRelease) -> IntArray:
    """Return by published sample how many of its users have a raw row in its box and time span."""
    samples = read_samples(case, release)
    west, south, east, north = release.manifest["options"]["bbox"]
    inside = (west <= samples.lon) & (samples.lon <= east) & (south <= samples.lat) & (samples.lat <= north)
    table = release.trajectories
    group = table["group"].to_numpy()
    low = [table[name].to_numpy() for name in ("lon0", "lat0")]
    high = [table[name].to_numpy() for name in ("lon1", "lat1")]
    begin, end = (table[name].cast(pa.int64()).to_numpy() for name in ("t0", "t1"))
    owner, listed = find_owners(samples, release)
    support = np.zeros(len(group), np.int64)
    order = np.argsort(owner, kind="stable")
    order = order[inside[order]]
    edges = np.searchsorted(owner[order], np.arange(len(listed) + 1))
    first = np.searchsorted(group, np.arange(int(group.max(initial=-1)) + 2))
    for user in np.flatnonzero(listed >= 0).tolist():
        rows = order[edges[user] : edges[user + 1]]
        spots = np.arange(first[listed[user]], first[listed[user] + 1])
        there: BoolArray = (begin[spots, None] <= samples.time[rows]) & (samples.time[rows] < end[spots, None])
        for axis, values in enumerate((samples.lon[rows], samples.lat[rows])):
            there &= (low[axis][spots, None] - _FUZZ <= values) & (values < high[axis][spots, None] + _FUZZ)
        support[spots[there.any(axis=1)]] += 1
    return support


def read_samples(case: Case, release: TrajectoryRelease) -> Samples:
    """Read the samples that a release was made from, or raise if they were not given."""
    if case.trips is None or isinstance(case.trips, Trips):
        raise InputError("this attack needs the samples of the release", "give them with --against INPUT")
    story = remembered(release.audit)
    where = case.where or story.where
    reading = cast("ReadingOptions", story.reading)
    return open_samples(case.trips, case.columns or story.columns, where, towers=story.towers, reading=reading).read()


def find_owners(samples: Samples, release: TrajectoryRelease) -> tuple[IntArray, IntArray]:
    """Return whose each row is, a user's or a user's period's, and by these the group, -1 for none."""
    members, options = release.members, release.manifest["options"]
    days = np.zeros(len(samples.user), np.int64)
    listed: list[int | None] = [0] * len(members)
    if "cut_into" in options:
        days = first_days(samples.time, options["cut_into"], options["timezone"])
        listed = members["period"].cast(pa.int32()).to_pylist()
    pairs, owner = np.unique(np.stack([samples.user, days]), axis=1, return_inverse=True)
    keys = zip(members["user_id"].to_pylist(), listed, strict=True)
    of_member = dict(zip(keys, members["group"].to_pylist(), strict=True))
    groups = [of_member.get((samples.users[user], day)) for user, day in pairs.T.tolist()]
    return owner.ravel(), np.array([-1 if group is None else group for group in groups], np.int64)
