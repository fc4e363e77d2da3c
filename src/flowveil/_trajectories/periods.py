"""Long trajectories cut into days or weeks: each is a trajectory of its own, grouped with others of the same period.

Groups are made within a period. A user has one trajectory there, so that no group can count a user twice.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING
from zoneinfo import ZoneInfo

import numpy as np

from flowveil._errors import InputError, PromiseError
from flowveil._options import parse_choice, parse_timezone
from flowveil._trajectories.glove import Grouping
from flowveil._trajectories.grid import MICROSECONDS_PER_MINUTE

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from flowveil._arrays import IntArray
    from flowveil._trajectories.read import Trajectories

PERIODS = ("day", "week")
_MINUTES_PER_DAY = 1440
_MONDAY = 3  # days from a Monday to the first of January 1970


def parse_periods(cut_into: object, timezone: object) -> tuple[str | None, str | None]:
    """Return how long periods are and where they begin, or raise; a time zone alone would change nothing."""
    if cut_into is None:
        if timezone is not None:
            raise InputError("a time zone was given, but trajectories are not cut", "add --cut-into day or week")
        return None, None
    zone = "UTC" if timezone is None else timezone
    return parse_choice(cut_into, "period", PERIODS), parse_timezone(zone)


def first_days(time: IntArray, cut_into: str, timezone: str) -> IntArray:
    """Return the first day of the period of each moment (microseconds since 1970), in days since 1970.

    Days begin at midnight in the time zone, weeks on Mondays.
    """
    minutes, row = np.unique(np.floor_divide(time, MICROSECONDS_PER_MINUTE), return_inverse=True)
    zone = ZoneInfo(timezone)
    shift = [datetime.fromtimestamp(minute * 60, UTC).astimezone(zone).utcoffset() for minute in minutes.tolist()]
    local = minutes * 60 + np.array([0 if part is None else int(part.total_seconds()) for part in shift], np.int64)
    days = np.floor_divide(local, _MINUTES_PER_DAY * 60)
    if cut_into == "week":
        days -= (days + _MONDAY) % 7
    found: IntArray = days[row.ravel()]
    return found


def check_steps(trajectories: Trajectories) -> None:
    """Raise if a step of time lies in two periods: boxes of one would overlap those of the other."""
    if trajectories.periods is None:
        return
    steps = np.stack([trajectories.t, np.repeat(trajectories.periods, np.diff(trajectories.start))])
    if len(np.unique(steps, axis=1)[0]) > len(np.unique(trajectories.t)):
        raise InputError(
            f"a step of {trajectories.grid.minutes} minutes lies in two {trajectories.cut_into}s",
            "give a shorter --step, by which midnight is a multiple in the time zone",
        )


def split(trajectories: Trajectories) -> Iterator[tuple[IntArray, Trajectories]]:
    """Return for each period the ranks of its trajectories, and these alone; all at once if they were not cut."""
    if trajectories.periods is None:
        yield np.arange(len(trajectories)), trajectories
        return
    lengths = np.diff(trajectories.start)
    for period in np.unique(trajectories.periods):
        ranks = np.flatnonzero(trajectories.periods == period)
        chosen = np.repeat(trajectories.periods == period, lengths)
        part = replace(
            trajectories,
            users=tuple(trajectories.users[rank] for rank in ranks.tolist()),
            periods=trajectories.periods[ranks],
            start=np.concatenate([[0], np.cumsum(lengths[ranks])]),
            **{name: getattr(trajectories, name)[chosen] for name in ("t", "x", "y", "rows")},
        )
        yield ranks, part


def group_each(trajectories: Trajectories, k: int, group: Callable[[Trajectories], Grouping]) -> Grouping:
    """Group the trajectories of each period by themselves; a period without k of them is suppressed.

    Raise PromiseError if no group is left.
    """
    if trajectories.periods is None:
        return group(trajectories)
    whole = Grouping()
    for ranks, part in split(trajectories):
        try:
            found = group(part) if len(part) >= k else None
        except PromiseError:
            found = None
        if found is None:
            whole.suppressed_users += ranks.tolist()
            continue
        whole.groups += [replace(one, members=ranks[one.members]) for one in found.groups]
        whole.suppressed_users += ranks[found.suppressed_users].tolist()
    whole.suppressed_users.sort()
    if not whole.groups:
        raise PromiseError(
            f"no {trajectories.cut_into} has a group of {k} users",
            "give more users, lower k, cut into longer periods or raise the suppression thresholds",
        )
    return whole
