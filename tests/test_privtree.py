"""PrivTree: what a whole tree costs, computed exactly; what the ledger refuses; releases of any dimension."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import flowveil as fv
from flowveil import InputError, PromiseError
from flowveil._matrices.points import Points
from flowveil._matrices.privtree import privtree
from flowveil._noise import PARTS, Ledger, draws, growing


def nodes(*numbers):
    """Return node numbers as an array."""
    return np.array(numbers, np.int64)


def split_chance(biased, scale):
    """Return the logarithm of the chance that a biased count with discrete Laplace noise is above 0."""
    decay = math.exp(-1 / scale)
    if biased <= 0:
        return (biased - 1) / scale - math.log1p(decay)
    return math.log1p(-math.exp(-biased / scale) / (1 + decay))


def largest_loss(counts, scale, decay):
    """Return the largest loss of any tree for one trip more on a path with these counts (without that trip)."""
    losses, whole = [], 0.0
    for depth, count in enumerate(counts):
        with_trip, without = (max(-decay, c - depth * decay) for c in (count + 1, count))
        stop = split_chance(1 - with_trip, scale) - split_chance(1 - without, scale)  # noise is symmetric
        losses.append(whole + stop)  # a leaf here
        whole += split_chance(with_trip, scale) - split_chance(without, scale)
    return max(map(abs, [*losses, whole]))


@settings(max_examples=100, deadline=None)
@given(
    epsilon=st.floats(0.05, 5),
    fan_out=st.sampled_from([2, 4, 16, 64, 256]),
    start=st.integers(0, 400),
    falls=st.lists(st.integers(0, 60), max_size=12),
)
def test_no_path_loses_more_than_the_charge(epsilon, fan_out, start, falls):
    """Whatever the counts along a path, no tree is more than exp(epsilon) times as likely with a trip as without."""
    scale = draws.laplace_scale(growing.decision_epsilon(epsilon, fan_out))
    decay = growing.decay_of(scale, fan_out)
    counts = [max(start - sum(falls[:depth]), 0) for depth in range(len(falls) + 1)]

    assert largest_loss(counts, scale, decay) <= epsilon * (1 + 1e-9)


def test_the_charge_is_tight():
    """Some path loses nearly all that is charged: less noise would not do."""
    epsilon, fan_out = 0.01, 16
    scale = draws.laplace_scale(growing.decision_epsilon(epsilon, fan_out))
    decay = growing.decay_of(scale, fan_out)

    worst = max(largest_loss([start] * 6, scale, decay) for start in range(0, 5 * decay, 7))

    assert 0.9 * epsilon < worst <= epsilon


def test_bias_and_scale_are_as_published():
    """The scale is (2 b - 1) / (b - 1) / epsilon, and the decay the whole number above scale * ln(b)."""
    scale = draws.laplace_scale(growing.decision_epsilon(0.5, 16))

    assert scale == pytest.approx(31 / 15 / 0.5)
    assert growing.decay_of(scale, 16) == math.ceil(scale * math.log(16))


def test_growth_refuses_what_its_proof_does_not_cover():
    """A node is asked about once, after its parent was split, with no more trips than that one had."""
    ledger = Ledger(50.0)
    growth = ledger.grow("tree", PARTS // 2, 4)
    assert growth.splits(nodes(0), nodes(10_000)).tolist() == [True]
    first, second, _, _ = ledger.children(nodes(0, 0, 0, 0)).tolist()

    with pytest.raises(PromiseError, match="twice"):
        growth.splits(nodes(first, first), nodes(1, 1))
    with pytest.raises(PromiseError, match="more trips"):
        growth.splits(nodes(first), nodes(10_001))
    assert growth.splits(nodes(first), nodes(0)).tolist() == [False]
    with pytest.raises(PromiseError, match="twice"):
        growth.splits(nodes(first), nodes(0))
    with pytest.raises(PromiseError, match="not split"):
        growth.splits(ledger.children(nodes(second)), nodes(0))


def test_a_tree_is_charged_once_and_before_it_grows():
    """The charge is that of the whole tree, on every path; nothing is grown when it cannot be paid."""
    ledger = Ledger(1.0)
    ledger.grow("tree", PARTS // 4, 4)

    assert ledger.largest_path() == 0.25
    with pytest.raises(PromiseError, match="times the epsilon"):
        ledger.grow("another", PARTS, 4)


def test_a_part_of_a_ledger_adds_up():
    """A ledger of its own over the same trips spends what it was given, and the first one knows."""
    ledger = Ledger(1.0)
    part = ledger.part("marginal", PARTS // 4)
    part.publish("cells", part.roots, nodes(5))

    assert part.largest_path() == 0.25
    assert ledger.largest_path() == 0.25
    assert int(ledger.left(ledger.roots)[0]) == PARTS - PARTS // 4


@pytest.mark.parametrize("lengths", [(7,), (5, 9), (8, 8, 8, 3), (4,) * 6])
def test_boxes_tile_the_grid(lengths):
    """Every cell is in one box, whatever the sides are, and dense places are cut to single cells."""
    dense = np.array([[length // 2 for length in lengths]])
    points = Points(dense, np.array([100_000]), lengths)

    boxes = privtree(points, Ledger(20.0))

    volume = (boxes.high - boxes.low).prod(axis=1)
    holds = ((boxes.low <= dense[0]) & (dense[0] < boxes.high)).all(axis=1)
    assert volume.sum() == math.prod(lengths)
    assert holds.sum() == 1
    assert volume[holds] == 1
    assert abs(int(boxes.counts[holds][0]) - 100_000) < 100


def test_release_with_a_stop(tmp_path):
    """A release of three places is written, verified and asked."""
    city = fv.synthetic.City(persons=50).trips(2_000)
    box = fv.synthetic.CITY_BBOX
    release = fv.add_noise(
        city, "privtree", 2.0, bbox=box, cells=64, stops="start_lon,start_lat", options={"tree_share": 0.4}
    )
    folder = release.write(tmp_path / "out")

    assert [step["spend"] for step in release.manifest["promise"]["budget"]] == ["tree"]
    assert fv.verify(folder).flows == len(release.counts)
    assert fv.query(folder).inside == len(release.counts)


def test_shares_that_leave_nothing_are_refused():
    """A share of all or nothing is no share."""
    for share in (0.0, 1.0):
        with pytest.raises(InputError, match="tree_share"):
            privtree(Points(np.zeros((1, 2), np.int64), np.array([1]), (4, 4)), Ledger(1.0), tree_share=share)
