"""Compiled gains of pairs of users: those who were near each other, and the best partners of everybody."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from flowveil._compiled import compiled
from flowveil._trajectories.inner import SCALE, Paths, Room, Terms, gain, make_room

if TYPE_CHECKING:
    from collections.abc import Sequence

    from flowveil._arrays import BoolArray, IntArray
    from flowveil._trajectories.neighbors import Workers

PARTNERS = 96  # kept of each user
_BLOCK_BYTES = 2**25  # of pair gains that are computed before the best of them are kept
_FAR = 2**20  # blocks of time and space along an axis, so that three numbers fit into one


class Visits(NamedTuple):
    """Which users were in which block of time and space, sorted by block; blocks are as large as a box may be."""

    block: IntArray
    user: IntArray
    first: IntArray  # of each user, in `own`
    own: IntArray  # blocks of each user
    period: IntArray  # by user: only users of one period may be partners


class Partners(NamedTuple):
    """The best partners of each user, by gain, then by rank."""

    gains: IntArray  # 0 where there are fewer
    users: IntArray


class Stripe(NamedTuple):
    """The pairs of some users with everybody."""

    rows: IntArray  # these users
    gains: IntArray  # by row, then by other user


class Ties(NamedTuple):
    """Who is a partner of whom, either way round: the same for both."""

    first: IntArray  # of each user, and the end
    user: IntArray
    gain: IntArray


def find_visits(paths: Paths, terms: Terms, free: BoolArray, period: IntArray) -> Visits:
    """Return the blocks of users who are free: two samples in one box are in the same or in adjoining blocks."""
    edge = min(1 + terms.price // max(1, SCALE * terms.by_space), terms.max_extent)
    span = min(1 + terms.price // max(1, SCALE * terms.by_time), terms.max_duration)
    owner = np.repeat(np.arange(len(free)), np.diff(paths.start))
    block = np.zeros(len(owner), np.int64)
    for values, size in ((paths.t, span), (paths.x, edge), (paths.y, edge)):
        step = (values - values.min()) // size + 1
        block = block * _FAR + np.minimum(step, _FAR - 2)
    both = np.unique(np.stack([owner, block])[:, free[owner]], axis=1)
    order = np.lexsort((both[0], both[1]))
    first = np.searchsorted(both[0], np.arange(len(free) + 1))
    return Visits(both[1][order], both[0][order], first, both[1].copy(), period)


@compiled
def mark_near(visits: Visits, user: int, near: BoolArray) -> None:
    """Mark the users of the same period who were in a block of a user, or in one that adjoins it."""
    block, other, first, own, period = visits
    near[:] = False
    for place in range(first[user], first[user + 1]):
        for late in range(-1, 2):
            for east in range(-1, 2):
                low = own[place] + (late * _FAR + east) * _FAR - 1
                spot = np.searchsorted(block, low)
                while spot < len(block) and block[spot] <= low + 2:
                    near[other[spot]] = period[other[spot]] == period[user]
                    spot += 1


@compiled
def fill_rows(paths: Paths, terms: Terms, visits: Visits, stripe: Stripe, share: IntArray, room: Room) -> None:
    """Write the gains of pairs of the rows' users with users of larger rank; share: the first row, and the step."""
    rows, table = stripe
    near = np.zeros(table.shape[1], np.bool_)
    members = np.empty(2, np.int64)
    for row in range(share[0], len(rows), share[1]):
        members[0] = rows[row]
        mark_near(visits, rows[row], near)
        for other in range(table.shape[1]):
            table[row, other] = 0
            if near[other] and other > rows[row]:
                members[1] = other
                table[row, other] = gain(paths, members, terms, room)


@compiled
def _offer(partners: Partners, user: int, other: int, value: int) -> None:
    """Put a partner into a user's list if it is among the best."""
    gains, users = partners
    place = gains.shape[1]
    while place > 0 and (
        value > gains[user, place - 1] or (value == gains[user, place - 1] and other < users[user, place - 1])
    ):
        place -= 1
    if place == gains.shape[1]:
        return
    for later in range(gains.shape[1] - 1, place, -1):
        gains[user, later], users[user, later] = gains[user, later - 1], users[user, later - 1]
    gains[user, place], users[user, place] = value, other


@compiled
def offer_all(partners: Partners, stripe: Stripe) -> None:
    """Offer both users of every pair to each other."""
    rows, table = stripe
    for row in range(len(rows)):
        for other in range(table.shape[1]):
            if table[row, other] > 0:
                _offer(partners, rows[row], other, table[row, other])
                _offer(partners, other, rows[row], table[row, other])


def find_partners(
    paths: Paths,
    terms: Terms,
    free: BoolArray,
    workers: Workers,
    period: IntArray | None = None,
    length: int = PARTNERS,
) -> Partners:
    """Return the best partners of users who are free; period: by user, where only those of one may be partners."""
    users = len(free)
    partners = Partners(np.zeros((users, length), np.int64), np.full((users, length), users, np.int64))
    visits = find_visits(paths, terms, free, np.zeros(users, np.int64) if period is None else period)
    left = np.flatnonzero(free)
    at_once = max(1, _BLOCK_BYTES // (8 * users))
    for begin in range(0, len(left), at_once):
        rows = left[begin : begin + at_once]
        stripe = Stripe(rows, np.zeros((len(rows), users), np.int64))

        def fill(first: int, step: int, stripe: Stripe = stripe) -> None:
            fill_rows(paths, terms, visits, stripe, np.array([first, step]), make_room(paths, 2))

        workers.run(fill, len(rows), 4)
        offer_all(partners, stripe)
    return partners


@compiled
def _reprice_rows(paths: Paths, terms: Terms, partners: Partners, share: IntArray, room: Room, gains: IntArray) -> None:
    members = np.empty(2, np.int64)
    for user in range(share[0], len(gains), share[1]):
        for place in range(gains.shape[1]):
            other = partners.users[user, place]
            if partners.gains[user, place] > 0:
                members[0], members[1] = min(user, other), max(user, other)
                gains[user, place] = gain(paths, members, terms, room)


def reprice(paths: Paths, terms: Terms, partners: Partners, workers: Workers) -> Partners:
    """Return the same partners with their gains at another price, in their old order."""
    gains = np.zeros_like(partners.gains)

    def fill(first: int, step: int) -> None:
        _reprice_rows(paths, terms, partners, np.array([first, step]), make_room(paths, 2), gains)

    workers.run(fill, len(gains), 4)
    return Partners(gains, partners.users)


def tie(lists: Sequence[Partners]) -> Ties:
    """Return partners either way round; of several lists, the first that has a pair counts."""
    parts = []
    for partners in lists:
        user, place = np.nonzero(partners.gains)
        other = partners.users[user, place]
        parts.append(np.stack([np.minimum(user, other), np.maximum(user, other), partners.gains[user, place]]))
    pairs = np.concatenate(parts, axis=1)
    _, index = np.unique(pairs[:2], axis=1, return_index=True)
    low, high, value = pairs[:, index]
    one, two = np.concatenate([low, high]), np.concatenate([high, low])
    order = np.lexsort((two, one))
    first = np.searchsorted(one[order], np.arange(len(lists[0].gains) + 1))
    return Ties(first, two[order], np.concatenate([value, value])[order])
