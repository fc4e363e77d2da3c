"""odkanon against the plain algorithm, and its own promises."""

from __future__ import annotations

import pytest
from benchmarks import plain_odkanon
from hypothesis import given, settings
from hypothesis import strategies as st

from flowveil import InputError, PromiseError, anonymize, build_flows
from flowveil._flows import add_by_group
from flowveil._methods import odkanon
from flowveil._problem import Problem, Requirement
from flowveil.synthetic import CITY_BBOX
from tests.strategies import small_flows


def cells(flows, solution):
    """Return {(origin, destination): trips} of a solution."""
    trips = add_by_group(solution.group, flows.trips, len(solution.origin))
    return dict(
        zip(zip(solution.origin.tolist(), solution.destination.tolist(), strict=True), trips.tolist(), strict=True)
    )


@pytest.mark.slow
@settings(max_examples=400, deadline=None)
@given(small_flows(), st.integers(1, 8), st.integers(0, 3), st.sampled_from([0.0, 0.1, 0.5, 1.0]))
def test_equals_stepping(flows, k, levels, filter_budget):
    """Bisection ends with the same areas and volumes as one merge at a time, or both fail."""
    problem = Problem(flows, Requirement(k), flows.total)
    try:
        expected, _ = plain_odkanon.solve(flows, k, levels, filter_budget)
    except ZeroDivisionError:  # everything was filtered
        expected = None

    try:
        actual = cells(flows, odkanon.solve(problem, levels, filter_budget, reinstate=False))
    except PromiseError:
        actual = None

    assert actual == expected


@pytest.mark.slow
@settings(max_examples=200, deadline=None)
@given(small_flows(), st.integers(1, 8))
def test_reinstate_counts_the_true_volume(flows, k):
    """With reinstate, areas stay the same and a volume is every trip of its area pair."""
    problem = Problem(flows, Requirement(k), flows.total)
    try:
        bare = odkanon.solve(problem, levels=0, filter_budget=0.5, reinstate=False)
    except PromiseError:
        return
    full = odkanon.solve(problem, levels=0, filter_budget=0.5)

    for (origin, destination), trips in cells(flows, full).items():
        true = sum(
            int(count)
            for o, d, count in zip(flows.origin, flows.destination, flows.trips, strict=True)
            if _below(flows.origins, int(o), origin) and _below(flows.destinations, int(d), destination)
        )
        assert trips == true >= cells(flows, bare)[origin, destination]
    assert cells(flows, full).keys() == cells(flows, bare).keys()


def _below(tree, node, area):
    while node > area:
        node = int(tree.parent[node])
    return node == area


@pytest.mark.slow
def test_city_equals_stepping(city_trips):
    """On the city with persons, areas and volumes are those of the plain algorithm."""
    flows = build_flows(city_trips, "h3:8", bbox=CITY_BBOX, unit="person_id")
    expected, _ = plain_odkanon.solve(flows, 10)

    solution = odkanon.solve(Problem(flows, Requirement(10), flows.total), reinstate=False)

    assert cells(flows, solution) == expected


def test_spent_filter_budget_never_publishes_unsafe_rows(city_trips):
    """Without a filter budget the merges carry on until even the hopeless rows are safe."""
    release = anonymize(build_flows(city_trips, "h3:8", bbox=CITY_BBOX), "odkanon", options={"filter_budget": 0.0})

    assert release.flows["trips"].to_numpy().min() >= 10
    assert release.metrics()["suppressed"] == 0


@pytest.mark.parametrize("options", [{"levels": -1}, {"filter_budget": 2}, {"balance": 1}, {"levels": "x"}])
def test_options_are_checked(city_trips, options):
    """Options out of range are refused."""
    flows = build_flows(city_trips, "h3:7", bbox=CITY_BBOX)

    with pytest.raises(InputError):
        anonymize(flows, "odkanon", options=options)
