"""GLOVE for many users: those of one region and time are merged with each other only."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from flowveil._errors import InputError
from flowveil._options import AUTO
from flowveil._processes import over_cores
from flowveil._trajectories.glove import Group, Grouping, check_any, glove, merge_users

if TYPE_CHECKING:
    from collections.abc import Callable

    from flowveil._arrays import FloatArray, IntArray
    from flowveil._processes import Spread
    from flowveil._trajectories.read import Trajectories

# Up to so many users are merged exactly, in some minutes. More are merged in blocks: time grows with the square of the
# users of a block, and what blocks of some hundred users lose is half a percent (docs/trajectories-measured.md).
_MOST_EXACT = 10_000
_LARGEST_BLOCK = 2_500


class _Part(NamedTuple):
    """A block, and how it is merged."""

    trajectories: Trajectories
    k: int
    variant: str
    max_extent: int | None
    max_duration: int | None
    reshape: bool
    memory: int | None


def glove_in_blocks(
    trajectories: Trajectories,
    k: int,
    variant: str = "strict",
    blocks: int | str = AUTO,
    spread: Spread = over_cores,
    *,
    max_extent: int | None = None,
    max_duration: int | None = None,
    reshape: bool = True,
    memory: int | None = None,
    tell: Callable[[str], None] = lambda _: None,
) -> Grouping:
    """Group users as `glove` does, within each of so many blocks; auto: one for up to 10,000 users, else of 2,500.

    Users whom nobody in their block was left for are merged with those of other blocks: no more than k - 1 remain. The
    result depends on the number of blocks, but not on where they are merged.
    """
    count = _choose_count(len(trajectories), k, blocks)
    if count == 1:
        return glove(
            trajectories,
            k,
            variant,
            max_extent=max_extent,
            max_duration=max_duration,
            reshape=reshape,
            memory=memory,
            tell=tell,
        )
    tell(f"merging {len(trajectories):,} trajectories in {count:,} blocks")
    how = (k, variant, max_extent, max_duration, reshape, memory)
    members = divide_users(trajectories, count)
    grouping = Grouping()
    parts = [_Part(_select(trajectories, ranks), *how) for ranks in members]
    for ranks, found in zip(members, spread(merge_part, parts, ()), strict=True):
        _add(grouping, found, ranks)
    over_borders = np.sort(np.array(grouping.left_users, np.int64))
    if len(over_borders) >= k:
        tell(f"merging {len(over_borders):,} trajectories over the borders of blocks")
        grouping.suppressed_users = np.setdiff1d(grouping.suppressed_users, over_borders).tolist()
        grouping.left_users = []
        _add(grouping, merge_part(_Part(_select(trajectories, over_borders), *how)), over_borders)
    grouping.suppressed_users.sort()
    check_any(grouping)
    return grouping


def check_blocks(trajectories: Trajectories, k: int, blocks: int | str, *, remote: bool) -> None:
    """Raise if what was typed would change nothing: more blocks than have k users, executors that have one block."""
    periods = trajectories.periods
    users = len(trajectories) if periods is None else int(np.unique(periods, return_counts=True)[1].max())
    if isinstance(blocks, int) and users >= k and blocks > users // k:
        raise InputError(
            f"{users:,} users cannot be divided into {blocks:,} blocks of at least {k}",
            f"give --blocks {users // k} or fewer, or leave it out",
        )
    if remote and _choose_count(users, k, blocks) == 1:
        raise InputError(
            f"the {users:,} users are one block, which is merged on this machine",
            "give --blocks N, in how many regions they are merged apart, or leave out --engine",
        )


def _choose_count(users: int, k: int, blocks: int | str) -> int:
    """Return a number of blocks, each of which has k users or more."""
    count = 1
    if isinstance(blocks, str):
        while users > _MOST_EXACT and users > count * _LARGEST_BLOCK:
            count *= 2
    else:
        count = blocks
    return max(min(count, users // k), 1)


def divide_users(trajectories: Trajectories, count: int) -> list[IntArray]:
    """Return the ranks of users in so many blocks of about the same size, ascending.

    Users are divided at the middle of one of three means, of their columns, rows and times: the one by which users
    differ most from each other, against how much the samples of one user differ from that user's mean.
    """
    samples = np.diff(trajectories.start)
    means = []
    for values in (trajectories.x, trajectories.y, trajectories.t):
        mean = np.add.reduceat(values.astype(np.float64), trajectories.start[:-1]) / samples
        apart = np.sqrt(np.mean((values - np.repeat(mean, samples)) ** 2))
        means.append(mean / apart if apart > 0 else mean)
    return _halve(np.column_stack(means), np.arange(len(samples)), count)


def _halve(means: FloatArray, ranks: IntArray, count: int) -> list[IntArray]:
    if count == 1:
        return [np.sort(ranks)]
    axis = int(means[ranks].std(axis=0).argmax())
    order = ranks[np.lexsort((ranks, means[ranks, axis]))]
    first = count // 2
    middle = len(order) * first // count
    return _halve(means, order[:middle], first) + _halve(means, order[middle:], count - first)


def _select(trajectories: Trajectories, ranks: IntArray) -> Trajectories:
    """Return the trajectories of some users, who are called by their ranks: names do not leave this machine."""
    samples = trajectories.start[ranks + 1] - trajectories.start[ranks]
    start = np.concatenate([[0], np.cumsum(samples)])
    rows = np.repeat(trajectories.start[ranks] - start[:-1], samples) + np.arange(start[-1])
    return replace(
        trajectories,
        users=tuple(map(str, ranks.tolist())),
        start=start,
        t=trajectories.t[rows],
        x=trajectories.x[rows],
        y=trajectories.y[rows],
        rows=trajectories.rows[rows],
        periods=None,
        provenance=None,
    )


def merge_part(part: _Part) -> Grouping:
    """Merge the users of a block; another process may do this."""
    found = merge_users(
        part.trajectories,
        part.k,
        part.variant,
        max_extent=part.max_extent,
        max_duration=part.max_duration,
        reshape=part.reshape,
        memory=part.memory,
    )
    found.merges = []  # ids of a block mean nothing outside
    return found


def _add(grouping: Grouping, found: Grouping, ranks: IntArray) -> None:
    """Take in the groups of a block, whose users have these ranks among all."""
    grouping.groups += [Group(ranks[group.members], group.samples) for group in found.groups]
    grouping.suppressed_users += ranks[np.array(found.suppressed_users, np.int64)].tolist()
    grouping.left_users += ranks[np.array(found.left_users, np.int64)].tolist()
