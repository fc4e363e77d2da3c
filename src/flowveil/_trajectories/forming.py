"""Compiled forming of groups: the best pairs grow to k users, then users change places while that earns more."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from flowveil._compiled import Whole, compiled
from flowveil._trajectories.inner import Paths, Room, Terms, gain, make_room

if TYPE_CHECKING:
    from flowveil._arrays import BoolArray, IntArray
    from flowveil._trajectories.neighbors import Workers
    from flowveil._trajectories.pairs import Ties

# Chosen on synthetic phones (docs/decisions/0050-gather.md).
CANDIDATES = 40  # users who are tried as the next member of a group
TRIES = 4  # pairs of a user that grow to no group before the user is left
NEAR_GROUPS = 8  # groups whose members a user may change places with
ROUNDS = 30  # of exchanges, if there is still one that earns more


class Market(NamedTuple):
    """Users, what boxes earn and cost, and who could publish with whom."""

    paths: Paths
    terms: Terms
    ties: Ties


class Crowds(NamedTuple):
    """Groups of one size."""

    members: IntArray  # by group, then place
    gain: IntArray  # by group
    group: IntArray  # by user, -1 for none


@compiled
def _best_candidates(ties: Ties, members: IntArray, free: BoolArray, score: IntArray, most: int) -> IntArray:
    """Return the free users with the largest sum of gains with the members, at most `most`; leave score at 0."""
    first, user, value = ties
    found = 0
    for member in members:
        found += first[member + 1] - first[member]
    seen = np.empty(found, np.int64)
    found = 0
    for member in members:
        for place in range(first[member], first[member + 1]):
            if free[user[place]]:
                if score[user[place]] == 0:
                    seen[found] = user[place]
                    found += 1
                score[user[place]] += value[place]
    seen = np.sort(seen[:found])
    order = np.argsort(-score[seen], kind="mergesort")[:most]
    for other in seen:
        score[other] = 0
    return seen[order]


@compiled
def _grow(market: Market, members: IntArray, free: BoolArray, score: IntArray, room: Room) -> Whole:
    """Fill the places of a group after the first two, each with the user who earns the most; return what it earns."""
    paths, terms, ties = market
    total = np.int64(0)
    for place in range(2, len(members)):
        trial = members[: place + 1].copy()
        total, chosen = np.int64(0), np.int64(-1)
        for other in _best_candidates(ties, members[:place], free, score, CANDIDATES):
            trial[place] = other
            value = gain(paths, trial, terms, room)
            if value > total:
                total, chosen = value, other
        if chosen < 0:
            return 0
        members[place] = chosen
        free[chosen] = False
    return total


@compiled
def grow_groups(market: Market, pairs: IntArray, free: BoolArray, k: int, room: Room) -> tuple[IntArray, IntArray]:
    """Return groups of k users and what each earns; pairs: users and gain, from the best one down.

    Whoever is in a group is no longer free.
    """
    groups = np.empty((len(free) // k, k), np.int64)
    gains = np.empty(len(groups), np.int64)
    score, tries = np.zeros(len(free), np.int64), np.zeros(len(free), np.int64)
    members = np.empty(k, np.int64)
    found = 0
    for pair in range(pairs.shape[1]):
        one, other, value = pairs[0, pair], pairs[1, pair], pairs[2, pair]
        if not (free[one] and free[other]) or max(tries[one], tries[other]) >= TRIES:
            continue
        members[:] = -1
        members[0], members[1] = one, other
        free[one], free[other] = False, False
        total = value if k == 2 else _grow(market, members, free, score, room)
        if total == 0:
            for member in members:
                if member >= 0:
                    free[member] = True
            tries[one] += 1
            tries[other] += 1
            continue
        for place in range(k):
            groups[found, place] = members[place]
        gains[found] = total
        found += 1
    return groups[:found].copy(), gains[:found].copy()


@compiled
def nearest_groups(ties: Ties, user: int, group: IntArray, score: IntArray) -> IntArray:
    """Return the groups with the largest sum of gains with a user, but their own; leave score at 0."""
    first, other, value = ties
    seen = np.empty(first[user + 1] - first[user], np.int64)
    found = 0
    for place in range(first[user], first[user + 1]):
        one = group[other[place]]
        if one >= 0 and one != group[user]:
            if score[one] == 0:
                seen[found] = one
                found += 1
            score[one] += value[place]
    seen = np.sort(seen[:found])
    order = np.argsort(-score[seen], kind="mergesort")[:NEAR_GROUPS]
    for one in seen:
        score[one] = 0
    return seen[order]


@compiled
def _try_group(market: Market, crowds: Crowds, user: int, one: int, room: Room, best: IntArray) -> None:
    """Write the best exchange of a user with a member of a group, if it is better than what is there."""
    paths, terms, _ = market
    members, earned, group = crowds
    own, k = group[user], members.shape[1]
    trial = np.empty(k, np.int64)
    for place in range(k):
        other = members[one, place]
        for spot in range(k):
            trial[spot] = user if spot == place else members[one, spot]
        rise = gain(paths, trial, terms, room) - earned[one]
        if own >= 0:
            for spot in range(k):
                trial[spot] = other if members[own, spot] == user else members[own, spot]
            rise += gain(paths, trial, terms, room) - earned[own]
        if rise > best[0, user]:
            best[0, user], best[1, user] = rise, other


@compiled
def find_exchanges(
    market: Market, crowds: Crowds, changed: BoolArray, share: IntArray, room: Room, best: IntArray
) -> None:
    """Write for each user the best exchange with a member of a near group: what it earns, and the other user.

    changed: by group; what was found before stands where nothing has changed. At first all have.
    """
    group = crowds.group
    score = np.zeros(len(crowds.gain), np.int64)
    for user in range(share[0], len(group), share[1]):
        own, found = group[user], best[1, user]
        again = (own >= 0 and changed[own]) or (found >= 0 and (group[found] < 0 or changed[group[found]]))
        if again:
            best[0, user], best[1, user] = 0, -1
        for one in nearest_groups(market.ties, user, group, score):
            if again or changed[one]:
                _try_group(market, crowds, user, one, room, best)


@compiled
def weigh(market: Market, crowds: Crowds, room: Room) -> None:
    """Write what each group earns."""
    for group in range(len(crowds.gain)):
        crowds.gain[group] = gain(market.paths, crowds.members[group], market.terms, room)


@compiled
def exchange(market: Market, crowds: Crowds, order: IntArray, best: IntArray, changed: BoolArray, room: Room) -> Whole:
    """Let users change places in this order unless a group has changed already; return what all of it earns."""
    paths, terms, _ = market
    members, earned, group = crowds
    changed[:] = False
    total = np.int64(0)
    for user in order:
        other = best[1, user]
        if best[0, user] <= 0:
            continue
        own, one = group[user], group[other]
        if one < 0 or one == own or changed[one] or (own >= 0 and changed[own]):
            continue
        for place in range(members.shape[1]):
            if own >= 0 and members[own, place] == user:
                members[own, place] = other
            if members[one, place] == other:
                members[one, place] = user
        group[user], group[other] = one, own
        earned[one] = gain(paths, members[one], terms, room)
        changed[one] = True
        if own >= 0:
            earned[own] = gain(paths, members[own], terms, room)
            changed[own] = True
        total += best[0, user]
    return total


def form_groups(market: Market, free: BoolArray, k: int) -> tuple[IntArray, IntArray]:
    """Return groups of k free users and what each earns; whoever is in one is no longer free."""
    ties = market.ties
    low = np.repeat(np.arange(len(free)), np.diff(ties.first))
    once = low < ties.user
    pairs = np.stack([low[once], ties.user[once], ties.gain[once]])
    pairs = pairs[:, np.lexsort((pairs[1], pairs[0], -pairs[2]))].copy()
    return grow_groups(market, pairs, free, k, make_room(market.paths, k))


def improve(market: Market, crowds: Crowds, workers: Workers) -> None:
    """Weigh groups, and exchange users until none earns more."""
    paths, users, k = market.paths, len(crowds.group), crowds.members.shape[1]
    best, changed = np.stack([np.zeros(users, np.int64), np.full(users, -1)]), np.ones(len(crowds.gain), np.bool_)
    weigh(market, crowds, make_room(paths, k))
    for _ in range(ROUNDS):

        def search(first: int, step: int) -> None:
            find_exchanges(market, crowds, changed, np.array([first, step]), make_room(paths, k), best)

        workers.run(search, users, 4)
        order = np.lexsort((np.arange(users), -best[0]))
        if not exchange(market, crowds, order, best, changed, make_room(paths, k)):
            break
