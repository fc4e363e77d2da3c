"""What a user's path has of each part: usual places at night and at work, favorite ones, steps, stays; private."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from flowveil._synthesis.clock import MINUTES_PER_DAY, is_weekend, local_minutes
from flowveil._synthesis.parts import (
    FAVORITE,
    GAPS,
    HOME,
    PASSING,
    RANKS,
    STAYS,
    WORK,
    distance_class,
    gap_class,
    octave,
    part_shapes,
    size_class,
    slot_of,
)

if TYPE_CHECKING:
    from flowveil._arrays import BoolArray, IntArray
    from flowveil._synthesis.clock import Days
    from flowveil._synthesis.divided import Places

_NIGHT_FROM, _NIGHT_TO = 22, 6  # as in evaluate
_WORK_FROM, _WORK_TO = 9, 17
_NONE = -1
_LONGEST_GAP = 240  # minutes between two samples of one stay
_SHORTEST_STAY = 30  # minutes in all


@dataclass(frozen=True, eq=False)
class Samples:
    """Samples in the order of users and of time; private."""

    user: IntArray  # 0, 1, ...; ascending
    minute: IntArray  # of UTC
    day: IntArray  # local, since 1970
    hour: IntArray  # local

    @property
    def users(self) -> int:
        """How many users there are."""
        return int(self.user[-1]) + 1 if len(self.user) else 0


def make_samples(user: IntArray, minute: IntArray, days: Days) -> Samples:
    """Return samples with local days and hours."""
    local = local_minutes(minute, days.timezone)
    return Samples(user, minute, local // MINUTES_PER_DAY, local % MINUTES_PER_DAY // 60)


class Records:
    """By part, the things that are counted: a user and a cell each. `of` gives them."""

    def __init__(self, samples: Samples, places: Places, place: IntArray, days: Days) -> None:
        self._samples, self._days = samples, days
        self._place, self._many = place, len(places)
        self._weekend = is_weekend(samples.day)
        self._size = np.bincount(samples.user, minlength=samples.users)
        self._classes = distance_class(places.distances())
        self._home = self._usual_home()
        self._work = self._usual_work()
        self._role, self._others = self._roles()
        self._next = np.flatnonzero(np.diff(samples.user) == 0)  # samples that the same user has one after

    @property
    def users(self) -> int:
        """How many users there are."""
        return len(self._size)

    def of(self, part: str, block: IntArray | None = None) -> tuple[IntArray, IntArray]:
        """Return user and cell of each thing that a part counts; block: of each place, for parts that need it."""
        if block is not None:
            return {"pairs": self._of_pairs, "moves": self._of_moves}[part](block)
        what: tuple[IntArray, IntArray] = getattr(self, f"_of_{part}")()
        return what

    def _of_users(self) -> tuple[IntArray, IntArray]:
        return self._everyone, np.zeros(len(self._size), np.int64)

    def _of_sizes(self) -> tuple[IntArray, IntArray]:
        return self._everyone, size_class(self._size)

    def _of_active(self) -> tuple[IntArray, IntArray]:
        pairs = np.unique(self._samples.user * self._days.many + self._samples.day - self._days.first)
        active = np.bincount(pairs // self._days.many, minlength=len(self._size))
        return self._everyone, octave(self._size) * self._columns("active") + octave(active)

    def _of_days(self) -> tuple[IntArray, IntArray]:
        return self._samples.user, self._samples.day - self._days.first

    def _of_hours(self) -> tuple[IntArray, IntArray]:
        return self._samples.user, self._weekend * 24 + self._samples.hour

    def _of_homes(self) -> tuple[IntArray, IntArray]:
        return self._everyone, self._home

    def _of_works(self) -> tuple[IntArray, IntArray]:
        return self._everyone, np.where(self._work == _NONE, self._many, self._work)

    def _of_visits(self) -> tuple[IntArray, IntArray]:
        user, place, _ = self._others
        return user, place

    def _of_reach(self) -> tuple[IntArray, IntArray]:
        user, place, _ = self._others
        return user, self._classes[self._home[user], place]

    def _of_distinct(self) -> tuple[IntArray, IntArray]:
        many = np.bincount(self._others[0], minlength=len(self._size))
        return self._everyone, octave(self._size) * self._columns("distinct") + np.minimum(many, RANKS + 1)

    def _of_ranks(self) -> tuple[IntArray, IntArray]:
        favorite = self._role == FAVORITE
        user, place, rank = self._others
        keys = user * self._many + place  # ascending
        row = np.searchsorted(keys, (self._samples.user * self._many + self._place)[favorite])
        return self._samples.user[favorite], rank[row]

    def _of_stays(self) -> tuple[IntArray, IntArray]:
        here = self._next[self._place[self._next] == self._place[self._next + 1]]
        gap = self._samples.minute[here + 1] - self._samples.minute[here]
        here, gap = here[gap <= _LONGEST_GAP], gap[gap <= _LONGEST_GAP]
        keys, row = np.unique(self._samples.user[here] * self._many + self._place[here], return_inverse=True)
        long = np.bincount(row.ravel(), gap, minlength=len(keys))
        keys, long = keys[long >= _SHORTEST_STAY], long[long >= _SHORTEST_STAY]
        rank = _ranks_within(keys // self._many, long)
        return keys[rank < STAYS] // self._many, keys[rank < STAYS] % self._many

    def _of_roles(self) -> tuple[IntArray, IntArray]:
        return self._samples.user, slot_of(self._samples.hour, self._weekend) * self._columns("roles") + self._role

    def _of_steps(self) -> tuple[IntArray, IntArray]:
        here, then = self._next, self._next + 1
        gap = gap_class(self._samples.minute[then] - self._samples.minute[here])
        choice = np.where(self._place[here] == self._place[then], 0, 1 + self._role[then])
        row = self._role[here] * GAPS + gap
        return self._samples.user[here], row * self._columns("steps") + choice

    def _of_commutes(self) -> tuple[IntArray, IntArray]:
        known = self._work != _NONE
        return self._everyone[known], self._classes[self._home[known], self._work[known]]

    def _of_jumps(self) -> tuple[IntArray, IntArray]:
        here = self._moved
        return self._samples.user[here], self._classes[self._place[here], self._place[here + 1]]

    def _of_pairs(self, block: IntArray) -> tuple[IntArray, IntArray]:
        known = self._work != _NONE
        blocks = int(block.max()) + 1
        return self._everyone[known], block[self._home[known]] * blocks + block[self._work[known]]

    def _of_moves(self, block: IntArray) -> tuple[IntArray, IntArray]:
        here, blocks = self._moved, int(block.max()) + 1
        return self._samples.user[here], block[self._place[here]] * blocks + block[self._place[here + 1]]

    @property
    def _everyone(self) -> IntArray:
        return np.arange(len(self._size))

    @property
    def _moved(self) -> IntArray:
        return np.asarray(self._next[self._place[self._next] != self._place[self._next + 1]])

    def _columns(self, part: str) -> int:
        return part_shapes(self._many, 1, self._days.many)[part][1]

    def _usual_home(self) -> IntArray:
        """Return where each user is most often at night, else at any time."""
        hour = self._samples.hour
        night = self._most_often((hour >= _NIGHT_FROM) | (hour < _NIGHT_TO))
        return np.asarray(np.where(night == _NONE, self._most_often(np.ones(len(hour), bool)), night))

    def _usual_work(self) -> IntArray:
        """Return where each user is most often in working hours, -1 without a sample then."""
        hour = self._samples.hour
        return self._most_often((hour >= _WORK_FROM) & (hour < _WORK_TO) & (self._weekend == 0))

    def _most_often(self, chosen: BoolArray) -> IntArray:
        keys, many = np.unique(self._samples.user[chosen] * self._many + self._place[chosen], return_counts=True)
        first = _ranks_within(keys // self._many, many) == 0
        usual = np.full(self._samples.users, _NONE, np.int64)
        usual[keys[first] // self._many] = keys[first] % self._many
        return usual

    def _roles(self) -> tuple[IntArray, tuple[IntArray, IntArray, IntArray]]:
        """Return the role of each sample's place, and the other places of users: user, place, rank by visits."""
        user, place = self._samples.user, self._place
        other = (place != self._home[user]) & (place != self._work[user])
        keys, row, many = np.unique((user * self._many + place)[other], return_inverse=True, return_counts=True)
        rank = _ranks_within(keys // self._many, many)
        role = np.where(place == self._home[user], HOME, WORK)
        role[other] = np.where(rank[row.ravel()] < RANKS, FAVORITE, PASSING)
        return role, (keys // self._many, keys % self._many, rank)


def _ranks_within(group: IntArray, amount: IntArray) -> IntArray:
    """Return the rank of each amount in its group, 0 for the largest; of equal ones the first comes first."""
    order = np.lexsort((np.arange(len(group)), -amount, group))
    sorted_group = group[order]
    first = np.flatnonzero(np.diff(sorted_group, prepend=-1))
    run = np.arange(len(group)) - np.repeat(first, np.diff(np.append(first, len(group))))
    rank = np.empty(len(group), np.int64)
    rank[order] = run
    return rank
