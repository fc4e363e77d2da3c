"""k^m: whoever knows m points fits no or k users. Brute force, the verifier's count, and what it refuses."""

from __future__ import annotations

from collections import Counter
from itertools import combinations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from flowveil._trajectories.known_points import keep_shared
from flowveil._verify.shared_points import fewest_users


def visits_of(draw_sets):
    """Return cells and owners of samples, one for each entry of each user's set."""
    pairs = [(cell, user) for user, cells in enumerate(draw_sets) for cell in sorted(cells)]
    table = np.array(pairs, np.int64).reshape(-1, 2)
    return table[:, 0], table[:, 1]


def supports(records, known):
    """Count by brute force who has each set of at most `known` cells."""
    count = Counter()
    for record in records:
        for size in range(1, known + 1):
            count.update(combinations(sorted(record), size))
    return count


def plain_rule(users, k, known):
    """Settle cells one by one, the most visited first: the largest part of its users with whom no set is rare."""
    crowd = Counter(cell for cells in users for cell in cells)
    records = [set() for _ in users]
    for cell in sorted(crowd, key=lambda one: (-crowd[one], one)):
        having = {user for user, cells in enumerate(users) if cell in cells}
        while True:
            count = supports([records[user] for user in having], known - 1)
            rare = {
                user
                for user in having
                if any(count[few] < k for size in range(1, known) for few in combinations(sorted(records[user]), size))
            }
            if not rare:
                break
            having -= rare
        if len(having) >= k:
            for user in having:
                records[user].add(cell)
    return records


user_sets = st.lists(st.sets(st.integers(0, 6), min_size=1, max_size=5), min_size=2, max_size=9)


@settings(max_examples=100, deadline=None)
@given(user_sets, st.integers(2, 3), st.integers(1, 4))
def test_no_set_is_rare_and_as_much_as_possible_is_kept(users, k, known):
    """Every set of at most so many cells is in no or k records; and cells are settled as the plain rule says."""
    cells, owner = visits_of(users)

    kept = keep_shared(cells, owner, k, known)

    records = [set(cells[(owner == user) & kept].tolist()) for user in range(len(users))]
    assert all(many >= k for many in supports(records, known).values())
    assert records == plain_rule(users, k, known)


@settings(max_examples=60, deadline=None)
@given(user_sets, st.lists(st.integers(1, 4), min_size=9, max_size=9), st.integers(1, 4))
def test_the_verifier_counts_every_set(users, sizes, known):
    """Products of matrices find the same least support as counting all sets."""
    cells, owner = visits_of(users)
    held = sparse.csr_array((np.ones(len(cells), np.int64), (owner, cells)))
    held.sort_indices()
    count = supports([cells_of for user, cells_of in enumerate(users) for _ in range(sizes[user])], known)

    assert fewest_users(held, np.array(sizes[: len(users)]), known) == min(count.values())
