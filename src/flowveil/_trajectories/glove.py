"""GLOVE: merge the two nearest groups until every group has k users (paper, algorithm 1), exactly."""

from __future__ import annotations

from dataclasses import dataclass, field
from time import perf_counter
from typing import TYPE_CHECKING

import numpy as np

from flowveil._errors import InputError, PromiseError
from flowveil._options import parse_choice, parse_users
from flowveil._trajectories.pool import Pool

if TYPE_CHECKING:
    from collections.abc import Callable

    from flowveil._arrays import IntArray
    from flowveil._trajectories.neighbors import Neighbors, Workers
    from flowveil._trajectories.read import Trajectories

VARIANTS = ("strict", "absorb", "loose")
NO_LIMIT = 2**62
# Pairs that are tried out to choose a kernel; the least time of several tries is hardly disturbed by other work.
_TRIED_PAIRS = 50
_TRIED_LOOKS = 10**6
_TRIES = 4


@dataclass(frozen=True, eq=False)
class Group:
    """Users who share one trajectory."""

    members: IntArray  # ranks, ascending; each has a kept sample
    samples: IntArray  # t0, t1, x0, x1, y0, y1 in steps and cells; in the order of time, disjoint if reshaped


@dataclass(eq=False)
class Grouping:
    """The groups that a method makes, and what it left out."""

    groups: list[Group] = field(default_factory=list)
    suppressed_users: list[int] = field(default_factory=list)  # ranks
    left_users: list[int] = field(default_factory=list)  # those of them whom nobody was left for
    merges: list[tuple[float, int, int]] = field(default_factory=list)  # stretch and ids, in the order they were made
    price: float | None = None  # of a sample, where samples were chosen by what they earn


@dataclass(eq=False)
class _Crowd:
    """What a group holds besides its samples: members, and which original sample is in which of them."""

    members: IntArray  # the owners of what is held
    held: IntArray  # original samples that are kept
    home: IntArray  # for each, the group's sample it is in


def glove(
    trajectories: Trajectories,
    k: int,
    variant: str = "strict",
    *,
    max_extent: int | None = None,
    max_duration: int | None = None,
    reshape: bool = True,
    memory: int | None = None,
    tell: Callable[[str], None] = lambda _: None,
) -> Grouping:
    """Group users so that at least k share each trajectory.

    variant: strict (finished groups rest; fewer than k users may be left and are suppressed), absorb (those join
    their nearest finished group) or loose (finished groups may take in others).
    max_extent, max_duration: largest box edge in cells and length in steps of time of a sample; larger are suppressed,
    and so is a user without a sample that is not.
    reshape: cut samples of a group that overlap in time into disjoint ones; else they stay as they were merged.
    memory: bytes for a triangular matrix of stretches; if it does not fit, or by default, lists of neighbors are kept,
    which are mostly faster. The result is the same.
    """
    grouping = merge_users(
        trajectories,
        k,
        variant,
        max_extent=max_extent,
        max_duration=max_duration,
        reshape=reshape,
        memory=memory,
        tell=tell,
    )
    check_any(grouping)
    return grouping


def check_users(trajectories: Trajectories, k: int) -> None:
    """Raise unless there are k users."""
    if (users := len(trajectories)) < k:
        counted = "is only one user" if users == 1 else f"are only {users:,} users"
        raise PromiseError(f"there {counted}, fewer than k = {k}", "give more users or a lower k")


def check_any(grouping: Grouping) -> None:
    """Raise unless there is a group."""
    if not grouping.groups:
        raise PromiseError("no group of k users has a sample left", "raise the suppression thresholds or lower k")


def merge_users(
    trajectories: Trajectories,
    k: int,
    variant: str = "strict",
    *,
    max_extent: int | None = None,
    max_duration: int | None = None,
    reshape: bool = True,
    memory: int | None = None,
    tell: Callable[[str], None] = lambda _: None,
) -> Grouping:
    """Group users as `glove` does; there may be no group."""
    parse_choice(variant, "variant", VARIANTS)
    k = parse_users(k)
    check_users(trajectories, k)
    from flowveil._trajectories.neighbors import Workers  # noqa: PLC0415  numba is slow to import

    workers = Workers()
    try:
        run = _Run(trajectories, k, variant, _most(max_extent, max_duration), workers, reshape=reshape)
        run.merge_all(memory, tell)
    finally:
        workers.close()
    return run.grouping


def _most(max_extent: int | None, max_duration: int | None) -> IntArray:
    given = [NO_LIMIT if limit is None else limit for limit in (max_extent, max_duration)]
    if min(given) < 1:
        raise InputError("a suppression threshold is smaller than the grid's step", "give a larger threshold")
    return np.array(given, np.int64)


class _Run:
    """One run: the pool of groups, their crowds, and what is finished."""

    def __init__(
        self, trajectories: Trajectories, k: int, variant: str, most: IntArray, workers: Workers, *, reshape: bool
    ) -> None:
        self.k, self.variant, self.most, self.workers, self.reshape = k, variant, most, workers, reshape
        self.pool = Pool(trajectories, len(trajectories) if variant == "loose" else 3 * k)
        self.pool.ordered = reshape
        self.moments, self.owner = trajectories.t - self.pool.origin[0], trajectories.owner
        self.crowds: dict[int, _Crowd] = {}
        for rank, (first, last) in enumerate(zip(trajectories.start[:-1], trajectories.start[1:], strict=True)):
            held = np.arange(first, last)
            self.crowds[rank] = _Crowd(np.array([rank]), held, held - first)
        self.grouping = Grouping()

    def merge_all(self, memory: int | None, tell: Callable[[str], None]) -> None:
        """Merge until nobody unfinished has anybody to go to."""
        from flowveil._trajectories.neighbors import watch  # noqa: PLC0415  numba is slow to import

        tell(f"comparing {len(self.pool):,} trajectories")
        self.pool.sweep = choose_kernel(self.pool)
        neighbors = watch(self.pool, self.workers, memory or 0)
        while True:
            row = int(neighbors.fronts.value.argmin())
            if neighbors.fronts.value[row] == np.inf:
                break
            if neighbors.fronts.group[row] < 0:
                neighbors.refresh(row)
                continue
            self._step(neighbors, row, tell)
        self._finish()

    def _step(self, neighbors: Neighbors, row: int, tell: Callable[[str], None]) -> None:
        other = int(neighbors.fronts.group[row])
        self.grouping.merges.append((float(neighbors.fronts.value[row]), row, other))
        self._merge(row, other)
        done = len(self.crowds[row].members) >= self.k if row in self.crowds else False
        if done and self.variant != "loose":
            self.pool.rest(row)
        neighbors.replace(row, other)
        if len(self.grouping.merges) % 100 == 0:
            tell(f"merged {len(self.grouping.merges):,} times, {int(self.pool.alive.sum()):,} groups are left")

    def _merge(self, one: int, other: int, least: int = 0) -> bool:
        """Merge two groups into the one with the smaller id, unless fewer than `least` users would be left in it.

        Users none of whose samples is kept do not share its trajectory: they are not counted, but suppressed.
        """
        crowd, samples = self._join(one, other)
        if len(crowd.members) < least:
            return False
        pool, (keep, gone) = self.pool, (min(one, other), max(one, other))
        before = np.concatenate([self.crowds.pop(group).members for group in (keep, gone)])
        self.grouping.suppressed_users += np.setdiff1d(before, crowd.members).tolist()
        pool.remove(gone)
        if len(crowd.members):
            self.crowds[keep] = crowd
            pool.put(keep, samples, len(crowd.members), done=len(crowd.members) >= self.k)
        else:
            pool.remove(keep)
        return True

    def _join(self, one: int, other: int) -> tuple[_Crowd, IntArray]:
        """Return what two groups would become: users with a kept sample, and the samples."""
        from flowveil._trajectories.merge import arrange, merge, reshape  # noqa: PLC0415  numba is slow to import

        pool, (keep, gone) = self.pool, (min(one, other), max(one, other))
        a, b = (keep, gone) if pool.get(keep).shape[1] >= pool.get(gone).shape[1] else (gone, keep)
        crowds = self.crowds[a], self.crowds[b]
        sizes = len(crowds[0].members), len(crowds[1].members)
        merged, *went = merge(pool.get(a), pool.get(b), sizes, pool.limits_whole, self.most)
        held = np.concatenate([crowd.held[to[crowd.home] >= 0] for crowd, to in zip(crowds, went, strict=True)])
        if self.reshape:
            samples, home = reshape(merged, self.moments[held], self.most)
        else:
            spots = np.concatenate([to[crowd.home] for crowd, to in zip(crowds, went, strict=True)])
            samples, home = arrange(merged, spots[spots >= 0], self.most)
        held, home = held[home >= 0], home[home >= 0]
        return _Crowd(np.unique(self.owner[held]), held, home), samples

    def _finish(self) -> None:
        finished = [group for group, crowd in self.crowds.items() if len(crowd.members) >= self.k]
        left = [group for group, crowd in self.crowds.items() if len(crowd.members) < self.k]
        if self.variant == "absorb" and left and self._absorb(left[0], finished):
            left = []
        for group in left:
            self.grouping.left_users += self.crowds.pop(group).members.tolist()
        self.grouping.suppressed_users += self.grouping.left_users
        offset = np.repeat(self.pool.origin, 2)[:, None]
        for group, crowd in sorted(self.crowds.items()):
            self.grouping.groups.append(Group(crowd.members, self.pool.get(group) + offset))
        self.grouping.suppressed_users.sort()

    def _absorb(self, left: int, finished: list[int]) -> bool:
        """Merge a group with the nearest finished one that does not lose users by it; whether there is one."""
        from flowveil._trajectories.kernels import stretch  # noqa: PLC0415  numba is slow to import

        pool = self.pool
        values = [float(stretch(pool.groups(), left, group, np.inf, pool.sweep)) for group in finished]
        pairs = [(value, min(left, group), max(left, group)) for value, group in zip(values, finished, strict=True)]
        sizes = [len(self.crowds[group].members) for group in finished]
        for pair, size in sorted(zip(pairs, sizes, strict=True)):
            if self._merge(*pair[1:], least=size):
                self.grouping.merges.append(pair)
                return True
        return False


def choose_kernel(pool: Pool) -> bool:
    """Whether to sweep in time or to scan: both are tried on the same pairs, and give the same values."""
    from flowveil._trajectories.kernels import stretch  # noqa: PLC0415  numba is slow to import

    random = np.random.default_rng(0)
    one = random.integers(len(pool), size=_TRIED_PAIRS)
    other = (one + random.integers(1, len(pool), size=_TRIED_PAIRS)) % len(pool)
    length = pool.place[1] - pool.place[0]
    light = length[one] * length[other] < _TRIED_LOOKS
    pairs = list(zip(one[light].tolist(), other[light].tolist(), strict=True))
    groups, least = pool.groups(), [np.inf, np.inf]
    for _ in range(_TRIES):
        for sweep in (False, True):
            start = perf_counter()
            for a, b in pairs:
                stretch(groups, a, b, np.inf, sweep)
            least[sweep] = min(least[sweep], perf_counter() - start)
    return least[1] <= least[0]
