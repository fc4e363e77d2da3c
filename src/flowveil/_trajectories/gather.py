"""gather: groups of users by what they could publish together, samples in which every member was seen."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from flowveil._trajectories.glove import check_users

if TYPE_CHECKING:
    from collections.abc import Callable

    from flowveil._arrays import BoolArray, IntArray
    from flowveil._trajectories.choice import Chooser, Outcome
    from flowveil._trajectories.inner import Terms
    from flowveil._trajectories.neighbors import Workers
    from flowveil._trajectories.pairs import Partners, Ties

# Groups start from partners at a price of at most 1: a box beyond GLOVE's caps says nothing of who belongs together.
_LARGEST_START = 1.0
_LADDER = 8  # users whom that leaves alone look for partners at a price so many times as high, and so on


class Former:
    """Forms groups at prices; partners that were found at one serve for others nearby."""

    def __init__(
        self, chooser: Chooser, k: int, *, absorb: bool = False, tell: Callable[[str], None] = lambda _: None
    ) -> None:
        """Form groups of k, or of more where absorb lets users who are left join those that earn more with them."""
        from flowveil._trajectories.neighbors import Workers  # noqa: PLC0415  numba is slow to import

        users = len(chooser.trajectories)
        check_users(chooser.trajectories, k)
        self.most_users = users if absorb else k
        self.chooser, self.k, self.absorb, self.tell = chooser, k, absorb, tell
        self.workers: Workers = Workers()
        self.known: dict[int, Partners] = {}  # by power of two

    def close(self) -> None:
        """Let the threads go."""
        self.workers.close()

    def form(self, price: int, *, improved: bool = True) -> Outcome:
        """Return what groups publish that are formed at a price; improved: by exchanges, which take the longest."""
        from flowveil._trajectories.forming import Crowds, Market, form_groups, improve  # noqa: PLC0415  numba is slow to import
        from flowveil._trajectories.pairs import tie  # noqa: PLC0415  numba is slow to import

        paths, terms = self.chooser.paths, self.chooser.terms(price)
        users = len(self.chooser.trajectories)
        free: BoolArray = np.ones(users, np.bool_)
        self.tell(f"grouping {users:,} users at a price of {price / self.chooser.unit:.3g}")
        step = min(price, round(_LARGEST_START * self.chooser.unit))
        found, partners = [], self._partners(step)
        ties: Ties = tie([partners])
        seen = [partners]
        while True:
            groups, _ = form_groups(Market(paths, self.chooser.terms(step), ties), free, self.k)
            found.append(groups)
            if free.sum() < self.k or (step == price and not len(groups)):
                break
            step = min(price, step * _LADDER) if not len(groups) else step
            seen.append(self._find(step, free))
            ties = tie(seen[-1:])
        members = np.concatenate(found)
        group = np.full(users, -1)
        group[members.ravel()] = np.repeat(np.arange(len(members)), self.k)
        crowds = Crowds(members, np.zeros(len(members), np.int64), group)
        ties = tie(seen)
        if improved:
            improve(Market(paths, terms, ties), crowds, self.workers)
        left = self._absorb(terms, ties, crowds.members, crowds.group) if self.absorb else list(crowds.members)
        return self.chooser.choose(left, price)

    def _partners(self, price: int) -> Partners:
        """Return the best partners at a price, of those that are the best at the next power of two."""
        from flowveil._trajectories.pairs import reprice  # noqa: PLC0415  numba is slow to import

        power, paths = (price - 1).bit_length(), self.chooser.paths
        if power not in self.known:
            everyone = np.ones(len(self.chooser.trajectories), np.bool_)
            self.known[power] = self._find(2**power, everyone)
        return reprice(paths, self.chooser.terms(price), self.known[power], self.workers)

    def _find(self, price: int, free: BoolArray) -> Partners:
        """Return the best partners of users who are free, of their own period."""
        from flowveil._trajectories.pairs import find_partners  # noqa: PLC0415  numba is slow to import

        periods = self.chooser.trajectories.periods
        return find_partners(self.chooser.paths, self.chooser.terms(price), free, self.workers, periods)

    def _absorb(self, terms: Terms, ties: Ties, members: IntArray, group: IntArray) -> list[IntArray]:
        """Return groups with users who were left and let them earn more; each joins where that rises the most."""
        from flowveil._trajectories.forming import nearest_groups  # noqa: PLC0415  numba is slow to import
        from flowveil._trajectories.inner import gain, make_room  # noqa: PLC0415  numba is slow to import

        paths, groups = self.chooser.paths, list(members)
        room = make_room(paths, len(group))
        score = np.zeros(len(groups), np.int64)
        earned = [int(gain(paths, one, terms, room)) for one in groups]
        for user in np.flatnonzero(group < 0).tolist():
            rises = []
            for one in nearest_groups(ties, user, group, score).tolist():
                more = int(gain(paths, np.append(groups[one], user), terms, room))
                rises.append((earned[one] - more, one, more))
            rise, one, more = min(rises, default=(0, -1, 0))
            if rise < 0:
                groups[one], earned[one], group[user] = np.append(groups[one], user), more, one
        return groups
