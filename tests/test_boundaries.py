"""Boundaries of what keeps the promise, one by one: just enough passes, one less does not."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings

from flowveil import InputError, VerificationError
from flowveil._flows import Measures
from flowveil._problem import Requirement
from flowveil._release.coverage import Coverage
from flowveil._release.demand import parse_demand
from flowveil._release.hidden import pins_down
from flowveil._trajectories.blocks import check_blocks
from flowveil._trajectories.glove import Group, Grouping
from flowveil._trajectories.support import keep_supported
from flowveil._verify.marginals import check_columns, check_marginals
from flowveil._verify.tiling import check_tiling
from tests.trajectories import from_points
from tests.trees import family_problems


def measures(*trips, persons=None, weight=None):
    """Return groups of trips, with persons and weights in millionths."""
    return Measures(np.array(trips), *(None if values is None else np.array(values) for values in (persons, weight)))


def test_a_sum_that_tells_of_a_part():
    """Parts below a crowd of 5 have 4 trips at most, and 2 of them 8: 9 trips in at least 3 say that none is empty."""
    requirement, fewest = Requirement(5), np.array([3, 3, 1, 0])

    assert pins_down(requirement, measures(8, 9, 1, 1), fewest).tolist() == [False, True, True, True]
    assert pins_down(requirement, measures(9, 9, 0, 0), fewest, np.array([2, 3, 4, 4])).tolist() == [
        False,
        True,
        False,
        False,
    ]
    persons = measures(90, 90, 90, 90, persons=[8, 9, 0, 1])
    assert pins_down(requirement, persons, fewest).tolist() == [False, True, False, True]


def test_a_weight_that_tells_of_a_part():
    """Parts that stand for less than 2 people have 1,999,999 millionths at most."""
    sums = measures(1, 1, persons=[1, 1], weight=[1_999_999, 2_000_000])

    assert pins_down(Requirement(5, 2.0), sums, np.array([2, 2])).tolist() == [False, True]
    assert pins_down(Requirement(5, 2.0), sums, np.array([2, 2]), np.array([1, 1])).tolist() == [False, True]


@pytest.mark.parametrize(("crowd", "good"), [(4, False), (5, True), (6, True)])
def test_just_enough(crowd, good):
    """No more than k are needed; so are the tiles that are asked for, and the weight."""
    tiles = np.array([crowd])

    assert Requirement(5).is_crowd(measures(crowd)).tolist() == [good]
    assert Requirement(5).is_crowd(measures(9, persons=[crowd])).tolist() == [good]
    assert Requirement(1, 5.0).is_crowd(measures(9, weight=[crowd * 1_000_000])).tolist() == [good]
    for ends in ((tiles, np.array([9])), (np.array([9]), tiles)):
        assert Requirement(1, min_tiles=5).passes(measures(9), *ends).tolist() == [good]


@pytest.mark.parametrize(("most", "good"), [(4, True), (5, True), (6, False)])
def test_the_largest_share(most, good):
    """One person may make half of ten trips, and no trip more."""
    shared = Measures(np.array([10]), np.array([9]), None, np.array([most]))

    assert Requirement(2, max_share=0.5).passes(shared, np.array([1]), np.array([1])).tolist() == [good]


@pytest.mark.parametrize("more", [{"method": "oigh"}, {"options": {"time_weight": 2.0}}, {"max_gbar": 5.0}])
def test_areas_that_are_there_leave_nothing_to_choose(more):
    """With the areas of an earlier release, each thing that would choose areas is refused."""
    assert parse_demand(areas_from="earlier").method.name == "mosaic"
    with pytest.raises(InputError, match="nothing to choose"):
        parse_demand(areas_from="earlier", **more)


def test_groups_that_lose_far_more():
    """A group is doubted above twice what all lose and a tenth more, not at it; totals below three quarters."""
    even = Coverage(100, 10, 0, 9, 0, 100, 25, {"sex": {"f": 0.5, "m": 0.1}}, totals=0.75)

    assert even.doubts() == ()
    assert even.figures()["unusable_rows"] == 0.1
    assert not even.lacks_rows
    assert len(replace(even, parts={"sex": {"f": 0.51, "m": 0.1}}).doubts()) == 1
    assert len(replace(even, totals=0.74).doubts()) == 1
    assert replace(even, unusable=11).lacks_rows
    few = replace(even, left_out=5, parts={"sex": {"f": 0.15, "m": 0.1}})
    assert few.doubts() == ()
    assert len(replace(few, parts={"sex": {"f": 0.16, "m": 0.1}}).doubts()) == 1


def marginals(**changes):
    """Return the marginals of two places, each of two boxes on a grid of 4 by 4 cells."""
    columns = {
        "place": ["origin"] * 2 + ["destination"] * 2,
        "low_0": [0, 2] * 2,
        "high_0": [2, 4] * 2,
        "low_1": [0] * 4,
        "high_1": [4] * 4,
        "count": [5, -1] * 2,
        "nonnegative": [4, 0] * 2,
        "scale": [20.0] * 4,
    }
    return pa.table(columns | changes)


@pytest.mark.parametrize(
    "changes",
    [
        {"place": ["destination"] * 2 + ["origin"] * 2},
        {"place": ["origin", "destination"] * 2},
        {"place": ["origin"] * 4},
        {"count": [5.0, -1.0] * 2},
        {"count": [5, None] * 2},
        {"note": [0] * 4},
        {"high_0": [1, 4] * 2},
        {"high_1": [5] * 4},
        {"nonnegative": [5, 0] * 2},
        {"nonnegative": [4, 0, 3, 0]},
        {"nonnegative": [5, -1] * 2},
        {"scale": [20.0, 20.0, 20.0, 20.1]},
        {"scale": [20.0, 20.0, 0.0, 20.0]},
        {"scale": [20.0, np.inf, 20.0, 20.0]},
    ],
    ids=str,
)
def test_marginals_that_are_changed(changes):
    """Columns, places, boxes, sums and noise of marginals are as the budget and the grid say, or refused."""

    def check(table):
        check_columns(table, ["origin", "destination"])
        check_marginals(table, 4, {"marginal 1": 0.1, "marginal 2": 0.1}, 1)

    check(marginals())
    with pytest.raises(VerificationError):
        check(marginals(**changes))


@pytest.mark.parametrize(
    ("low", "high"),
    [
        ([], []),
        ([[0, 0]], [[4, 3]]),
        ([[0, 0]], [[4, 5]]),
        ([[-1, 0]], [[4, 4]]),
        ([[0, 0], [2, 0]], [[2, 4], [2, 4]]),
        ([[0, 0], [2, 0], [2, 0]], [[2, 4], [2, 4], [4, 4]]),
        ([[0, 0], [3, 0], [1, 0]], [[3, 4], [1, 4], [4, 4]]),
        ([[0, 0], [1, 0]], [[2, 4], [4, 4]]),
        ([[0, 0], [3, 0]], [[2, 4], [4, 4]]),
        ([[0, 0], [0, 0]], [[4, 4], [4, 4]]),
        ([[0, 0], [0, 2], [2, 0], [1, 3]], [[2, 2], [1, 4], [4, 4], [2, 4]]),
    ],
)
def test_boxes_that_do_not_tile(low, high):
    """Boxes that leave a cell out, hold one twice or reach beyond the grid are refused."""
    check_tiling(np.array([[0, 0], [2, 0], [2, 3]]), np.array([[2, 4], [4, 3], [4, 4]]), 4)
    pinwheel = [[0, 0], [0, 1], [3, 0], [1, 3], [1, 1]], [[3, 1], [1, 4], [4, 3], [4, 4], [3, 3]]
    check_tiling(*map(np.array, pinwheel), 4)
    with pytest.raises(VerificationError):
        check_tiling(np.array(low, np.int64).reshape(-1, 2), np.array(high, np.int64).reshape(-1, 2), 4)


@settings(max_examples=60, deadline=None)
@given(family_problems(most_tiles=4))
def test_records_are_in_every_tree(problem):
    """A dimension has an axis for each tree of its family, however many there are, with the same tiles as leaves."""
    for dimension in problem.dimensions[:2]:
        first = dimension.first

        assert [axis.hierarchy for axis in dimension.axes] == list(dimension.family.trees)
        for axis in dimension.axes:
            assert axis.hierarchy.key[axis.leaf].tolist() == first.hierarchy.key[first.leaf].tolist()


def test_blocks_of_enough_users():
    """Four users are two blocks of two at most; executors are of no use to one block."""
    paths = from_points([[(0, 0, 0)]] * 4)

    check_blocks(paths, 2, 2, remote=True)
    check_blocks(paths, 2, "auto", remote=False)
    check_blocks(paths, 5, 2, remote=False)  # too few users are told of elsewhere
    for k, blocks, remote in ((2, 3, False), (2, "auto", True), (2, 1, True), (3, 2, False)):
        with pytest.raises(InputError):
            check_blocks(paths, k, blocks, remote=remote)


def test_who_was_elsewhere_is_suppressed():
    """Of three users of a group, the one who was in no sample that two support leaves, and is counted as left out."""
    paths = from_points([[(0, 0, 0)], [(0, 0, 0)], [(0, 50, 50)]])
    group = Group(np.arange(3), np.array([[0, 1, -1, 1, -1, 1]]).T)

    kept = keep_supported(paths, Grouping([group]), 2, 2)

    assert [group.members.tolist() for group in kept.groups] == [[0, 1]]
    assert kept.suppressed_users == [2]
