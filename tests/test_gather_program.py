"""The inner program of gather, its pairs and its groups, against brute force."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from flowveil._trajectories.choice import Chooser
from flowveil._trajectories.forming import Crowds, Market, form_groups, improve
from flowveil._trajectories.gather import Former
from flowveil._trajectories.inner import SCALE, boxes_of, gain, line_up, line_up_two, make_room
from flowveil._trajectories.neighbors import Workers
from flowveil._trajectories.pairs import find_partners, reprice, tie
from flowveil._trajectories.steering import parse_steering, steer
from flowveil._trajectories.trimming import trim
from tests.trajectories import from_points

PRICES = st.sampled_from([0.002, 0.02, 0.1, 0.4, 3.0])


@st.composite
def crowds(draw, least=2, most=3, samples=4):
    """Users with few samples in few places and moments, so that some meet, at one moment too."""
    minutes = draw(st.sampled_from([3, 30, 400]))
    cells = draw(st.sampled_from([0, 2, 40]))
    point = st.tuples(st.integers(0, minutes), st.integers(-cells, cells), st.integers(-cells, cells))
    return draw(st.lists(st.lists(point, min_size=1, max_size=samples), min_size=least, max_size=most))


def best_of_all(chooser, users, price):
    """Return the most that any set of boxes with disjoint time spans earns: all sets of runs of moments are tried."""
    terms = chooser.terms(price)
    moments = sorted({t for own in users for t, _, _ in own})

    def earned(first, last):
        held = [{point for point in set(own) if moments[first] <= point[0] <= moments[last]} for own in users]
        if not all(held):
            return None
        points = [point for own in held for point in own]
        wide, tall = (max(p[axis] for p in points) - min(p[axis] for p in points) + 1 for axis in (1, 2))
        span = moments[last] - moments[first] + 1
        if max(wide, tall) > terms.max_extent or span > terms.max_duration:
            return None
        return len(points) * (price - SCALE * (terms.by_space * (wide + tall) + terms.by_time * span))

    def best(first):
        if first == len(moments):
            return 0
        ways = [(earned(first, last), last) for last in range(first, len(moments))]
        options = [best(first + 1), *(value + best(last + 1) for value, last in ways if value is not None)]
        return max(options)

    return best(0)


@settings(max_examples=50, deadline=None)
@given(crowds(), PRICES, st.sampled_from([(None, None), (10, 60), (1, 5)]))
def test_boxes_earn_the_most_of_all_sets(users, price, most):
    """No set of disjoint boxes with all members earns more; boxes earn that, hold everybody and are disjoint."""
    chooser = Chooser(from_points(users), *most)
    price = round(price * chooser.unit)
    members, room = np.arange(len(users)), make_room(chooser.paths, len(users))

    value = gain(chooser.paths, members, chooser.terms(price), room)
    boxes, kept = boxes_of(chooser.paths, members, chooser.terms(price), room)

    assert value == best_of_all(chooser, users, price)
    earned = rows = 0
    for t0, t1, x0, x1, y0, y1 in boxes.T.tolist():
        held = [{(t, x, y) for t, x, y in own if t0 <= t < t1 and x0 <= x < x1 and y0 <= y < y1} for own in users]
        assert all(held)
        count, cost = sum(map(len, held)), chooser.by_space * (x1 - x0 + y1 - y0) + chooser.by_time * (t1 - t0)
        earned, rows = earned + count * (price - SCALE * cost), rows + count
    assert (earned, rows) == (value, kept)
    assert (boxes[0, 1:] >= boxes[1, :-1]).all()


def worth(chooser, users, price, box):
    """Return the samples in a box (t, x, y and member), and what it earns by the definition."""
    t0, t1, x0, x1, y0, y1 = box
    held = {
        (*point, member)
        for member, own in enumerate(users)
        for point in own
        if t0 <= point[0] < t1 and x0 <= point[1] < x1 and y0 <= point[2] < y1
    }
    cost = chooser.by_space * (x1 - x0 + y1 - y0) + chooser.by_time * (t1 - t0)
    return held, len(held) * (price - SCALE * cost)


@pytest.mark.slow
@settings(max_examples=60, deadline=None)
@given(crowds(samples=8), st.floats(0.01, 0.6))
def test_nothing_more_can_be_trimmed(users, price):
    """Boxes shrink to samples of every member, earn no less by it, and no cut from one side would earn more."""
    chooser = Chooser(from_points(users))
    price = round(price * chooser.unit)
    members = np.arange(len(users))
    before, rows = boxes_of(chooser.paths, members, chooser.terms(price), make_room(chooser.paths, len(users)))
    after = before.copy()

    kept = trim(chooser.paths, members, chooser.terms(price), after)

    total = 0
    for old, new in zip(before.T.tolist(), after.T.tolist(), strict=True):
        held, earned = worth(chooser, users, price, new)
        total += len(held)
        assert all(new[side] >= old[side] and new[side + 1] <= old[side + 1] for side in (0, 2, 4))
        assert {member for *_, member in held} == set(range(len(users)))
        assert earned >= worth(chooser, users, price, old)[1]
        for side in range(6):
            for edge in range(new[side // 2 * 2] + 1, new[side // 2 * 2 + 1]):
                cut = [edge if place == side else value for place, value in enumerate(new)]
                inside, _ = worth(chooser, users, price, cut)
                if {member for *_, member in inside} == set(range(len(users))):
                    tight = [f(p[axis] for p in inside) + (f is max) for axis in range(3) for f in (min, max)]
                    assert worth(chooser, users, price, tight)[1] <= earned
    assert total == kept <= rows


@settings(max_examples=60, deadline=None)
@given(crowds(most=2, samples=7))
def test_two_members_line_up_as_several_do(users):
    """The quick way to line up two members writes what the plain one does."""
    paths = Chooser(from_points(users)).paths
    plain, quick = make_room(paths, 2), make_room(paths, 2)

    count = line_up(paths, np.array([0, 1]), plain)

    assert line_up_two(paths, 0, 1, quick) == count
    assert np.array_equal(plain.moments[:7, :count], quick.moments[:7, :count])
    assert plain.moments[5, count] == quick.moments[5, count]


@pytest.mark.slow
@settings(max_examples=25, deadline=None)
@given(crowds(least=3, most=9), PRICES, st.sampled_from([(None, None), (10, 60)]))
def test_no_pair_is_missed(users, price, most):
    """Partners are all pairs that earn something, with what they earn, best first; at another price too."""
    chooser = Chooser(from_points(users), *most)
    price = round(price * chooser.unit)
    paths, workers = chooser.paths, Workers()
    free = np.array([number % 4 != 3 for number in range(len(users))])
    room = make_room(paths, 2)

    found = find_partners(paths, chooser.terms(price), free, workers)
    dearer = reprice(paths, chooser.terms(2 * price), found, workers)
    workers.close()

    def pairs(partners):
        return {
            (user, other): value
            for user, (others, values) in enumerate(zip(partners.users.tolist(), partners.gains.tolist(), strict=True))
            for other, value in zip(others, values, strict=True)
            if value
        }

    expected = {}
    for pair in combinations(np.flatnonzero(free).tolist(), 2):
        if value := gain(paths, np.array(pair), chooser.terms(price), room):
            expected[pair] = expected[pair[::-1]] = value
    assert pairs(found) == expected
    assert (np.diff(found.gains, axis=1) <= 0).all()
    assert pairs(dearer) == {pair: gain(paths, np.array(pair), chooser.terms(2 * price), room) for pair in expected}
    ties = tie([found])
    told = np.repeat(np.arange(len(users)), np.diff(ties.first))
    assert dict(zip(zip(told.tolist(), ties.user.tolist(), strict=True), ties.gain.tolist(), strict=True)) == expected


def best_groups(chooser, users, k, price):
    """Return the most that groups of k earn: all ways to form them are tried."""
    room = make_room(chooser.paths, k)

    def best(left):
        if len(left) < k:
            return 0
        options = [best(left[1:])]
        for others in combinations(left[1:], k - 1):
            group = np.array([left[0], *others])
            rest = tuple(user for user in left if user not in group)
            options.append(int(gain(chooser.paths, group, chooser.terms(price), room)) + best(rest))
        return max(options)

    return best(tuple(range(users)))


@pytest.mark.slow
@settings(max_examples=12, deadline=None)
@given(crowds(least=4, most=7), PRICES, st.integers(2, 3))
def test_groups_are_near_the_best(users, price, k):
    """Exchanges never earn less, pairs at least half of the best matching, and nothing more than the best."""
    chooser = Chooser(from_points(users))
    price = round(price * chooser.unit)
    paths, terms, workers = chooser.paths, chooser.terms(price), Workers()
    free = np.ones(len(users), bool)
    ties = tie([find_partners(paths, terms, free, workers)])

    members, earned = form_groups(Market(paths, terms, ties), free, k)
    group = np.full(len(users), -1)
    group[members.ravel()] = np.repeat(np.arange(len(members)), k)
    after = Crowds(members.copy(), earned.copy(), group)
    improve(Market(paths, terms, ties), after, workers)
    workers.close()

    room = make_room(paths, k)
    assert after.gain.sum() >= earned.sum()
    assert after.gain.tolist() == [gain(paths, one, terms, room) for one in after.members]
    assert len(np.unique(after.members)) == after.members.size
    best = best_groups(chooser, len(users), k, price)
    assert after.gain.sum() <= best
    if k == 2:
        assert 2 * after.gain.sum() >= best


@settings(max_examples=25, deadline=None)
@given(crowds(least=4, most=8, samples=5), st.lists(st.integers(1, 10**6), min_size=2, max_size=4))
def test_a_higher_price_keeps_more(users, prices):
    """With the same groups a higher price never keeps fewer rows, and the highest keeps all that boxes can hold."""
    chooser = Chooser(from_points(users))
    groups = [np.arange(2), np.arange(2, len(users))]

    kept = [chooser.choose(groups, price).kept for price in sorted(prices)]

    assert kept == sorted(kept)
    assert chooser.choose(groups, chooser.most(len(users))).kept == chooser.rows
    assert chooser.choose(groups, chooser.least).kept == 0


@pytest.mark.parametrize("absorb", [False, True])
def test_everybody_finds_a_group_at_the_highest_price(absorb):
    """Users years apart are grouped where all samples are asked for; those who are left over only if they may join."""
    users = [[(10**6 * number, 0, 0), (10**6 * number + 5, 3, 3)] for number in range(5)]
    former = Former(Chooser(from_points(users)), 2, absorb=absorb)
    asked = parse_steering(max_suppression=0 if absorb else 0.2)

    outcome = steer(asked, former.chooser, former.form, 5)
    former.close()

    assert outcome.kept == (10 if absorb else 8)
    assert sorted(map(len, outcome.members)) == ([2, 3] if absorb else [2, 2])
