"""The verifier's search for boxes that overlap, against all pairs."""

from __future__ import annotations

import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from flowveil._verify import apart
from flowveil._verify.apart import find_overlap


def overlaps(low, high):
    """Return all pairs of boxes that share more than an edge."""
    meets = (low[:, None] < high[None]).all(axis=2) & (low[None] < high[:, None]).all(axis=2)
    return {(int(one), int(other)) for one, other in np.argwhere(meets) if one != other}


def cut_space(random, count):
    """Cut a box of four dimensions into so many, mostly those that have waited, anywhere."""
    boxes = [(np.zeros(4, np.int64), np.full(4, 10**9))]
    while len(boxes) < count:
        low, high = boxes.pop(int(random.integers(0, len(boxes) // 2 + 1)))
        axis = int(np.argmax((high - low) * random.random(4)))
        cut = int(random.integers(low[axis] + 1, high[axis]))
        boxes += [(low, np.where(np.arange(4) == axis, cut, high)), (np.where(np.arange(4) == axis, cut, low), high)]
    order = random.permutation(count)
    low, high = (np.array(side)[order] for side in zip(*boxes, strict=True))
    return low, high


@pytest.mark.slow
@settings(max_examples=200, deadline=None)
@given(st.data())
def test_equals_all_pairs(data):
    """Random boxes: a pair is found exactly if there is one."""
    count = data.draw(st.integers(1, 40))
    numbers = st.lists(st.integers(0, 8), min_size=4 * count, max_size=4 * count)
    low = np.array(data.draw(numbers)).reshape(count, 4)
    high = low + 1 + np.array(data.draw(numbers)).reshape(count, 4) // data.draw(st.sampled_from([1, 3, 9]))
    expected = overlaps(low, high)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(apart, "_FEW", 2)
        found = find_overlap(low, high)

    assert found in expected if expected else found is None


@pytest.mark.parametrize("seed", range(5))
def test_one_box_that_is_too_large(seed):
    """Boxes that fill the space are apart; one that grows by the smallest step is found."""
    random = np.random.default_rng(seed)
    low, high = cut_space(random, 2_000)
    assert find_overlap(low, high) is None

    chosen = int(random.choice(np.flatnonzero(high[:, 2] < 10**9)))
    high = high.copy()
    high[chosen, 2] += 1

    assert chosen in find_overlap(low, high)


@pytest.mark.slow
def test_time_grows_with_the_boxes_not_with_their_pairs():
    """Eight times the boxes take far less than 64 times as long."""
    seconds = []
    for count in (2_500, 20_000):
        low, high = cut_space(np.random.default_rng(1), count)
        start = time.process_time()
        assert find_overlap(low, high) is None
        seconds.append(time.process_time() - start)

    assert seconds[1] < 30 * seconds[0]
