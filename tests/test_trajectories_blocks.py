"""Users in blocks: nobody is lost at a border, and where blocks are merged does not matter."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from flowveil import InputError, PromiseError, trajectories
from flowveil._trajectories.blocks import divide_users, glove_in_blocks
from flowveil._trajectories.glove import glove
from flowveil.synthetic import PHONES_BBOX, phones
from tests.trajectories import from_points, scattered_sets, small_sets


def in_turn(function, parts, _):
    """Do parts one after the other, the last first, each packed and unpacked as for another machine."""
    from flowveil._processes import pack, unpack

    return [unpack(pack(function(unpack(pack(part))))) for part in reversed(parts)][::-1]


def content(grouping):
    """Return groups as what can be compared."""
    return sorted((group.members.tolist(), group.samples.T.tolist()) for group in grouping.groups)


@pytest.mark.slow
@settings(max_examples=60, deadline=None)
@given(small_sets(most_users=14), st.integers(2, 4), st.integers(1, 5), st.sampled_from(["strict", "absorb", "loose"]))
def test_nobody_is_lost_at_a_border(users, k, blocks, variant):
    """Everybody is in one group of k or more or counted as suppressed, fewer than k are, and one block is exact."""
    paths = from_points(users)
    if len(users) < k:
        return
    grouping = glove_in_blocks(paths, k, variant, blocks)

    members = [user for group in grouping.groups for user in group.members.tolist()]
    assert sorted(members + grouping.suppressed_users) == list(range(len(users)))
    assert all(len(group.members) >= k for group in grouping.groups)
    assert len(grouping.suppressed_users) < k
    if blocks == 1:
        assert content(grouping) == content(glove(paths, k, variant))


@settings(max_examples=40, deadline=None)
@given(scattered_sets(), st.integers(2, 3), st.integers(2, 3))
def test_with_thresholds_groups_hold_samples_of_their_users(users, k, blocks):
    """Where thresholds drop samples, every member has one in the group, and everybody is counted once."""
    paths = from_points(users)
    try:
        grouping = glove_in_blocks(paths, k, "strict", blocks, max_extent=30)
    except PromiseError:
        return
    members = [user for group in grouping.groups for user in group.members.tolist()]
    assert sorted(members + grouping.suppressed_users) == list(range(len(users)))
    for group in grouping.groups:
        for user in group.members.tolist():
            own = np.array(sorted(set(users[user])))
            t, x = own[:, :1], own[:, 1:2]
            inside = (group.samples[0] <= t) & (t < group.samples[1]) & (group.samples[2] <= x) & (x < group.samples[3])
            assert inside.any()


@settings(max_examples=40, deadline=None)
@given(small_sets(most_users=14), st.integers(1, 14))
def test_blocks_are_all_users_in_parts_of_one_size(users, count):
    """Every user is in one block, and sizes differ by at most one for each division."""
    blocks = divide_users(from_points(users), min(count, len(users)))

    assert sorted(np.concatenate(blocks).tolist()) == list(range(len(users)))
    sizes = [len(block) for block in blocks]
    assert max(sizes) - min(sizes) <= max(1, len(blocks).bit_length())


def test_where_blocks_are_merged_does_not_matter():
    """Blocks that travel to other machines, in another order, give the same groups."""
    data = trajectories.read_trajectories(phones(90, samples=20), PHONES_BBOX)

    assert content(glove_in_blocks(data, 2, "strict", 4, in_turn)) == content(glove_in_blocks(data, 2, "strict", 4))


def test_blocks_of_neighbors_lose_little():
    """Users are merged with those who live near: boxes are hardly larger than without blocks."""
    data = trajectories.read_trajectories(phones(240, samples=20, extent=20_000.0), PHONES_BBOX)

    def extent(blocks):
        groups = glove_in_blocks(data, 2, "strict", blocks).groups
        boxes = np.concatenate([group.samples for group in groups], axis=1)
        return float(np.maximum(boxes[3] - boxes[2], boxes[5] - boxes[4]).mean())

    assert extent(4) < 1.15 * extent(1)


@pytest.mark.slow
@pytest.mark.parametrize("blocks", [1, 3, "3", "auto"])
def test_a_release_in_blocks_is_verified(blocks, tmp_path):
    """The release passes the verifier, and its manifest says how many blocks were asked for."""
    records = phones(31, samples=15)
    folder = trajectories.anonymize(records, 2, bbox=PHONES_BBOX, blocks=blocks).write(tmp_path / "out")

    trajectories.verify(folder, records)
    options = trajectories.read_release(folder).manifest["options"]
    assert options.get("blocks", "auto") == (blocks if blocks == "auto" else int(blocks))


@pytest.mark.parametrize(
    ("options", "words"),
    [({"blocks": 11}, "into 11 blocks of at least 3"), ({"engine": "spark"}, "one block")],
)
def test_what_would_change_nothing_is_refused(options, words):
    """More blocks than have k users, and executors that would get none, are refused before anything is merged."""
    records = phones(31, samples=15)

    with pytest.raises(InputError, match=words):
        trajectories.anonymize(records, 3, bbox=PHONES_BBOX, **options)
