"""glove against the plain algorithm: the same stretches, merges and samples, bit for bit."""

from __future__ import annotations

import numpy as np
import pytest
from benchmarks import plain_glove
from hypothesis import example, given, settings
from hypothesis import strategies as st

from flowveil import InputError, PromiseError, UnknownNameError
from flowveil._processes import core_count
from flowveil._trajectories import kernels, neighbors, read_trajectories
from flowveil._trajectories.glove import glove
from flowveil._trajectories.pool import Pool, whole_type
from flowveil.synthetic import phones
from tests.trajectories import BBOX, from_points, small_sets

CAPS = (200, 480)  # 20 km in cells of 100 m, 8 h in minutes
NO_LIMIT = 2**62
THRESHOLDS = [(NO_LIMIT, NO_LIMIT), (5, NO_LIMIT), (150, 360), (NO_LIMIT, 100), (3, 4)]


def readable(found):
    """Return members and samples of the groups of glove or of the plain algorithm."""
    if isinstance(found, list):
        return [(group.members, group.samples) for group in found]
    return [(group.members.tolist(), [tuple(s) for s in group.samples.T.tolist()]) for group in found.groups]


@pytest.mark.slow
@settings(max_examples=150, deadline=None)
@given(
    users=small_sets(),
    k=st.integers(2, 4),
    variant=st.sampled_from(["strict", "absorb", "loose"]),
    most=st.sampled_from(THRESHOLDS),
    memory=st.sampled_from([None, 10**9]),
    sweep=st.booleans(),
)
@example(
    users=[[(0, 0, 0)], [(0, 0, 0), (0, 0, -4)], [(0, 0, -3), (1, 0, 1)]],
    k=2,
    variant="strict",
    most=(5, NO_LIMIT),
    memory=None,
    sweep=True,
)
def test_same_merges(users, k, variant, most, memory, sweep):
    """Lists, matrix and both kernels make the merges of the double loop, with the same stretches and samples.

    In the example a user is left alone in a group by a threshold, with samples that were merged.
    """
    expected, suppressed, merges = plain_glove.glove(users, k, variant, CAPS, most) if len(users) >= k else ([], [], [])
    trajectories = from_points(users)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("flowveil._trajectories.glove.choose_kernel", lambda _: sweep)
        try:
            actual = glove(trajectories, k, variant, max_extent=most[0], max_duration=most[1], memory=memory)
        except PromiseError:
            assert expected == []
            return

    assert merges == actual.merges
    assert readable(expected) == readable(actual)
    assert suppressed == actual.suppressed_users


@pytest.mark.slow
@settings(max_examples=60, deadline=None)
@given(small_sets(most_users=9), st.integers(2, 4), st.sampled_from(["strict", "loose"]), st.booleans(), st.booleans())
def test_short_lists_and_wide_numbers(users, k, variant, sweep, wide):
    """Lists that run out, either kernel and 64-bit numbers change nothing."""
    if len(users) < k:
        return
    _, _, expected = plain_glove.glove(users, k, variant, CAPS)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(neighbors.ListNeighbors.__init__, "__defaults__", (2,))
        patch.setattr("flowveil._trajectories.glove.choose_kernel", lambda _: sweep)
        if wide:
            patch.setattr("flowveil._trajectories.pool.whole_type", lambda *_: np.int64)

        actual = glove(from_points(users), k, variant)

    assert expected == actual.merges


@pytest.mark.slow
@settings(max_examples=150, deadline=None)
@given(small_sets(most_users=4), st.booleans())
def test_stretch_of_merged_groups(users, wide):
    """Both kernels give the plain stretch of generalized trajectories, and stop early only above it."""
    groups, _, _ = plain_glove.glove(users, 2, "strict", CAPS)
    groups += plain_glove.glove(users, len(users) + 1, "strict", CAPS, (NO_LIMIT, NO_LIMIT))[0]
    single = plain_glove.Plain(99, [99], [(t, t + 1, x, x + 1, y, y + 1) for t, x, y in sorted(set(users[0]))], [])
    for group in groups:
        expected = plain_glove.stretch(group, single, *CAPS)
        pool = Pool(from_points(users), 12)
        samples = np.array([*group.samples, *single.samples]).T - np.repeat(pool.origin, 2)[:, None]
        samples = samples.astype(np.int64 if wide else pool.dtype)
        cut = len(group.samples)
        place = np.array([[0, cut], [cut, samples.shape[1]], [len(group.members), 1], [False, True]])
        boxes = np.empty((6, 2), samples.dtype)
        for column, part in enumerate((samples[:, :cut], samples[:, cut:])):
            boxes[::2, column], boxes[1::2, column] = part[::2].min(axis=1), part[1::2].max(axis=1)
        limits = pool.limits_whole.astype(samples.dtype)

        for sweep in (False, True):
            args = kernels.Groups(samples, place, boxes, limits, ordered=True), 0, 1
            assert expected == kernels.stretch(*args, np.inf, sweep)
            assert expected == kernels.stretch(*args, expected, sweep)
            assert kernels.stretch(*args, np.nextafter(expected, -1), sweep) == np.inf


@pytest.mark.slow
@settings(max_examples=60, deadline=None)
@given(
    users=small_sets(most_users=6),
    k=st.integers(2, 4),
    variant=st.sampled_from(["strict", "absorb", "loose"]),
    most=st.sampled_from(THRESHOLDS),
    weights=st.sampled_from([(1, 1), (7, 3), (0, 1), (1, 0)]),
    caps=st.sampled_from([("20km", "8h"), ("3km", "1d"), ("100m", "10min")]),
    reshape=st.booleans(),
)
def test_caps_weights_and_samples_as_they_were_merged(users, k, variant, most, weights, caps, reshape):
    """Other caps and weights, and samples that may overlap, are those of the double loop as well."""
    meters = {"20km": 200, "3km": 30, "100m": 1}
    limits = (meters[caps[0]], {"8h": 480, "1d": 1440, "10min": 10}[caps[1]], *weights)
    plain = plain_glove.glove(users, k, variant, limits, most, reshaped=reshape) if len(users) >= k else ([], [], [])
    trajectories = from_points(users, caps=",".join(caps), weights=",".join(map(str, weights)))

    try:
        actual = glove(trajectories, k, variant, max_extent=most[0], max_duration=most[1], reshape=reshape)
    except PromiseError:
        assert plain[0] == []
        return

    assert plain[2] == actual.merges
    assert readable(plain[0]) == readable(actual)
    assert plain[1] == actual.suppressed_users


def test_sizes_and_leftover():
    """Strict groups have k to 2k-2 users and fewer than k are left; absorb leaves nobody."""
    trajectories = read_trajectories(phones(61, samples=20), BBOX)
    for k in (2, 3, 5):
        strict, absorb = glove(trajectories, k), glove(trajectories, k, "absorb")
        sizes = [len(group.members) for group in strict.groups]

        assert k <= min(sizes)
        assert max(sizes) <= 2 * k - 2
        assert len(strict.suppressed_users) < k
        assert absorb.suppressed_users == []
        members = [rank for group in absorb.groups for rank in group.members]
        assert sorted(members) == list(range(61))


@pytest.mark.slow
def test_many_samples():
    """One user with 50,000 samples among others is merged like anybody."""
    users = [[(t, t % 7, t % 5) for t in range(50_000)], [(10, 1, 1), (900, 2, 2)], [(20, 1, 1)]]

    found = glove(from_points(users), 2)

    assert len(found.groups) == 1
    assert [len(group.members) for group in found.groups] == [2]


def test_number_types():
    """A long time span or many users need 64 bits."""
    boxes = np.array([[0], [10**6], [0], [10], [0], [10]])
    limits = np.array([200, 480, 12, 5])

    assert whole_type(boxes, limits, 10) is np.int32
    assert whole_type(boxes, limits, 10_000) is np.int64


def test_refusals():
    """Too few users, a k below 2 and unknown variants are refused."""
    trajectories = from_points([[(0, 0, 0)], [(1, 1, 1)]])
    with pytest.raises(PromiseError, match="only 2 users"):
        glove(trajectories, 3)
    with pytest.raises(InputError, match="k is 1"):
        glove(trajectories, 1)
    with pytest.raises(UnknownNameError, match="no variant"):
        glove(trajectories, 2, "lose")
    with pytest.raises(InputError, match="threshold"):
        glove(trajectories, 2, max_extent=0)
    with pytest.raises(PromiseError, match="no group"):
        glove(from_points([[(0, 0, 0)], [(5, 50, 50)]]), 2, max_extent=2)


@pytest.mark.parametrize("variant", ["strict", "loose"])
def test_threads_change_nothing(variant, monkeypatch):
    """Lists and matrix on several threads make the merges of one thread, whatever is done first."""
    trajectories = read_trajectories(phones(150, samples=12), BBOX)
    monkeypatch.setattr(core_count.os, "sched_getaffinity", lambda _: {0, 1, 2}, raising=False)
    several = [glove(trajectories, 4, variant, memory=memory).merges for memory in (None, 10**8)]
    monkeypatch.setattr(core_count.os, "sched_getaffinity", lambda _: {0}, raising=False)

    one = glove(trajectories, 4, variant).merges

    assert several == [one, one]
    assert len(one) > 100


def test_packing_changes_nothing(monkeypatch):
    """When the array of samples is full, groups that are gone make room for new ones."""
    trajectories = read_trajectories(phones(100, samples=60), BBOX)
    expected = glove(trajectories, 10)
    monkeypatch.setattr("flowveil._trajectories.pool._SPARE", 1.0)
    packed = []
    pack = Pool._pack
    monkeypatch.setattr(Pool, "_pack", lambda self, more: packed.append(more) or pack(self, more))

    actual = glove(trajectories, 10)

    assert packed
    assert expected.merges == actual.merges
    assert readable(expected) == readable(actual)
