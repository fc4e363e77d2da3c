"""Trips and stops of some users: arrays in, arrays out."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING

import numpy as np

from flowveil._fixes.kernels import GOES_ON, KEPT, NEW_RUN, REPEATED, TOO_FAST, distances, judge, middles, visits
from flowveil._fixes.rules import OCCUPIED, RUNS, SIGHTINGS

if TYPE_CHECKING:
    from flowveil._arrays import BoolArray, FloatArray, IntArray
    from flowveil._engine import UserSamples
    from flowveil._fixes.rules import Rules

_NEVER = np.iinfo(np.int64).max  # microseconds: a gap that no silence reaches


@dataclass(frozen=True, eq=False)
class Fixes:
    """Fixes that are kept, by user and time."""

    user: IntArray
    start: IntArray  # first fix of each user, and the end
    time: IntArray
    lon: FloatArray
    lat: FloatArray
    occupied: BoolArray


@dataclass(frozen=True, eq=False)
class Visits:
    """All fixes, cut into visits: fixes in a row at one place."""

    first: IntArray  # fix
    end: IntArray  # fix after the last
    run: IntArray  # visits of one run have no gap between them


@dataclass(frozen=True, eq=False)
class Places:
    """Where users were, when they came, and when they were last seen there: stops, or ends of trips."""

    user: IntArray
    lon: FloatArray
    lat: FloatArray
    came: IntArray
    left: IntArray

    def some(self, which: IntArray | BoolArray) -> Places:
        """Return some of these."""
        return Places(*(getattr(self, column.name)[which] for column in fields(self)))

    def __len__(self) -> int:
        return len(self.user)


@dataclass(frozen=True, eq=False)
class UserTrips:
    """Trips and stops of some users, and what was not used."""

    starts: Places
    ends: Places
    way: FloatArray  # a row a trip: lon and lat of short stops in turn, NaN for none
    stops: Places | None
    repeated: int  # fixes that say what the one before says
    too_fast: int  # fixes
    too_short: int  # trips
    more_stops: int  # trips that have more short stops than are wanted


def find_trips(samples: UserSamples, rules: Rules) -> UserTrips:
    """Return the trips of users, by user and time."""
    verdict = judge(samples.start, samples.time, samples.lon, samples.lat, rules.max_speed, rules.max_gap)
    fixes = _keep(samples, verdict == KEPT)
    stops = None
    if rules.rule == SIGHTINGS:
        first = _pairs(fixes, rules)
        starts, ends = _seen(fixes, first), _seen(fixes, first + 1)
        way, more = np.empty((len(first), 0)), np.zeros(len(first), np.bool_)
    elif rules.rule in (OCCUPIED, RUNS):
        all_visits, first, end, inside = _runs(fixes, rules)
        starts, ends = _seen(fixes, first), _seen(fixes, end - 1)
        way, more = _short_stops(fixes, all_visits, inside, rules)
    else:
        all_visits = _visits(fixes, fixes.start, rules.stop_radius, rules.max_gap)
        where, first, end, run = _stops(fixes, all_visits, rules)
        stops = where
        to = np.flatnonzero(run[1:] == run[:-1]) + 1
        starts, ends = stops.some(to - 1), stops.some(to)
        way, more = _short_stops(fixes, all_visits, (end[to - 1], first[to]), rules)
    long = distances(starts.lon, starts.lat, ends.lon, ends.lat) >= rules.min_length
    return UserTrips(
        starts=starts.some(long),
        ends=ends.some(long),
        way=way[long],
        stops=stops,
        repeated=int((verdict == REPEATED).sum()),
        too_fast=int((verdict == TOO_FAST).sum()),
        too_short=int((~long).sum()),
        more_stops=int(more[long].sum()),
    )


def _keep(samples: UserSamples, kept: BoolArray) -> Fixes:
    user = np.repeat(np.arange(len(samples.users)), np.diff(samples.start))[kept]
    start = np.searchsorted(user, np.arange(len(samples.users) + 1)).astype(np.int64)
    return Fixes(user, start, samples.time[kept], samples.lon[kept], samples.lat[kept], samples.occupied[kept])


def _seen(fixes: Fixes, which: IntArray) -> Places:
    """Return single fixes as places."""
    return Places(fixes.user[which], fixes.lon[which], fixes.lat[which], fixes.time[which], fixes.time[which])


def _pairs(fixes: Fixes, rules: Rules) -> IntArray:
    """Return the first of each two fixes in a row that are apart, and not too long after one another."""
    apart = distances(fixes.lon[:-1], fixes.lat[:-1], fixes.lon[1:], fixes.lat[1:]) > rules.stop_radius
    soon = np.diff(fixes.time) <= rules.max_gap
    return np.flatnonzero(apart & soon & (fixes.user[1:] == fixes.user[:-1]))


def _visits(fixes: Fixes, start: IntArray, radius: float, max_gap: int) -> Visits:
    """Return visits of stretches of fixes, of which `start` holds the first of each, and the end."""
    begins = visits(start, fixes.time, fixes.lon, fixes.lat, radius, max_gap)
    first = np.flatnonzero(begins != GOES_ON)
    return Visits(first, np.append(first[1:], len(begins)), np.cumsum(begins[first] == NEW_RUN))


def _runs(fixes: Fixes, rules: Rules) -> tuple[Visits, IntArray, IntArray, tuple[IntArray, IntArray]]:
    """Return visits, first fix and end of each run between gaps, and the fixes of it that are at neither end.

    With the rule for cabs, a run also ends where somebody gets in or out, and only those with somebody count.
    """
    new = np.ones(len(fixes.time), np.bool_)
    new[1:] = (np.diff(fixes.time) > rules.max_gap) | (fixes.user[1:] != fixes.user[:-1])
    if rules.rule == OCCUPIED:
        new[1:] |= fixes.occupied[1:] != fixes.occupied[:-1]
    first = np.flatnonzero(new)
    end = np.append(first[1:], len(new)).astype(np.int64)
    parts = _visits(fixes, np.append(first, len(new)), rules.stop_radius, _NEVER)
    opening = np.searchsorted(parts.first, first)
    closing = np.searchsorted(parts.end, end)
    counts = fixes.occupied[first] if rules.rule == OCCUPIED else np.ones(len(first), np.bool_)
    inside = (parts.end[opening][counts], parts.first[closing][counts])
    return parts, first[counts], end[counts], inside


def _stops(fixes: Fixes, parts: Visits, rules: Rules) -> tuple[Places, IntArray, IntArray, IntArray]:
    """Return stops, their first fix, their end and their run: visits that last, joined where they are as good as one.

    One that follows another with no fix between, not farther than the radius, goes on with it: fixes scatter.
    """
    lasts = fixes.time[parts.end - 1] - fixes.time[parts.first] >= rules.stop_time
    first, end, run = parts.first[lasts], parts.end[lasts], parts.run[lasts]
    lon, lat = _middle(fixes, first, end)
    goes_on = np.zeros(len(first), np.bool_)
    goes_on[1:] = (run[1:] == run[:-1]) & (first[1:] == end[:-1])
    goes_on[1:] &= distances(lon[:-1], lat[:-1], lon[1:], lat[1:]) <= rules.stop_radius
    opening = np.flatnonzero(~goes_on)
    closing = np.append(opening[1:], len(first))[: len(opening)] - 1
    first, end, run = first[opening], end[closing], run[opening]
    lon, lat = _middle(fixes, first, end)
    return Places(fixes.user[first], lon, lat, fixes.time[first], fixes.time[end - 1]), first, end, run


def _middle(fixes: Fixes, first: IntArray, end: IntArray) -> tuple[FloatArray, FloatArray]:
    """Return the median longitude and latitude of stretches of fixes; some may lie on both sides of 180 degrees."""
    anchor = np.zeros(len(fixes.lon))
    inside = np.repeat(first - np.append(0, np.cumsum(end - first)[:-1]), end - first) + np.arange((end - first).sum())
    anchor[inside] = np.repeat(fixes.lon[first], end - first)
    lon = middles(first, end, fixes.lon - 360 * np.round((fixes.lon - anchor) / 360))
    return lon - 360 * np.round(lon / 360) * (np.abs(lon) > 180), middles(first, end, fixes.lat)


def _short_stops(
    fixes: Fixes, parts: Visits, inside: tuple[IntArray, IntArray], rules: Rules
) -> tuple[FloatArray, BoolArray]:
    """Return where each trip stopped on its way (NaN: nowhere), and which trips stopped more often than is wanted.

    inside: first fix and end of what lies between both ends of each trip. The longest stops count.
    """
    low, high = inside
    way = np.full((len(low), 2 * rules.short_stops), np.nan)
    more = np.zeros(len(low), np.bool_)
    if not rules.short_stops or not len(low):
        return way, more
    lasted = fixes.time[parts.end - 1] - fixes.time[parts.first]
    trip = np.searchsorted(low, parts.first, "right") - 1
    on_trip = (trip >= 0) & (parts.end <= high[trip]) & (lasted >= rules.short_stop_time)
    visit = np.flatnonzero(on_trip)
    order = np.lexsort((visit, -lasted[visit], trip[visit]))
    rank = np.arange(len(visit)) - np.searchsorted(trip[visit], trip[visit])
    more[trip[visit][rank >= rules.short_stops]] = True
    visit = np.sort(visit[order][rank < rules.short_stops])
    slot = np.arange(len(visit)) - np.searchsorted(trip[visit], trip[visit])
    lon, lat = _middle(fixes, parts.first[visit], parts.end[visit])
    way[trip[visit], 2 * slot], way[trip[visit], 2 * slot + 1] = lon, lat
    return way, more
