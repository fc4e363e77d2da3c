"""uniform-tiles: squares of a fixed size, and nothing that fails the test."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from flowveil import InputError, anonymize, build_flows
from flowveil._methods import uniform_tiles
from flowveil.synthetic import CITY_BBOX
from tests.test_oigh import plain_cuts
from tests.trees import Oracle, problems


@pytest.mark.slow
@settings(max_examples=100, deadline=None)
@given(problems(loss="tiles"), st.integers(0, 6))
def test_equals_the_plain_grid(problem, steps):
    """Exactly the crossings of the two cuts that pass are published."""
    oracle = Oracle(problem)
    cuts = [plain_cuts(tree) for tree in oracle.trees]
    expected = oracle.grid(*(cut[min(steps, len(cut) - 1)] for cut in cuts))

    solution = uniform_tiles.solve(problem, steps)

    assert oracle.outcome(solution) == expected


@pytest.mark.parametrize(("steps", "tiles"), [(0, 1), (2, 16), (3, 64)])
def test_squares_of_a_quadtree(city_trips, steps, tiles):
    """Two steps up a quadtree are squares of 4x4 tiles, three of 8x8."""
    flows = build_flows(city_trips, "quadtree:1000", bbox=CITY_BBOX)

    release = anonymize(flows, "uniform-tiles", options={"steps": steps})

    assert set(release.areas["tiles"].to_pylist()) == {tiles}


def test_steps_are_checked(city_trips):
    """Steps down do not exist."""
    flows = build_flows(city_trips, "h3:6", bbox=CITY_BBOX)

    with pytest.raises(InputError, match="steps"):
        anonymize(flows, "uniform-tiles", options={"steps": -1})
