"""knapsack against brute force on small trees, compiled and plain."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from flowveil import InputError, PromiseError, anonymize, build_flows
from flowveil._methods import knapsack, tree_knapsack
from flowveil._methods.volumes import origin_cut
from flowveil._places import ROOT
from flowveil._problem import Problem, Requirement
from flowveil.synthetic import CITY_BBOX
from tests.trees import Oracle, flows_between, hierarchies, problems

deltas = st.sampled_from([0.0, 0.01, 0.1, 0.3, 1.0])


def brute_force(problem, target, delta):
    """Return the least cost of each origin area within its share of the budget, added up; None beyond the budget."""
    oracle = Oracle(problem)
    flows = problem.flows
    price = delta * (flows.origins.tiles[ROOT] + flows.destinations.tiles[ROOT])
    areas = np.flatnonzero(origin_cut(problem, target)[0]).tolist()
    whole = {area: oracle.cell(area, ROOT) for area in areas}
    lost = sum(trips for trips, good, _ in whole.values() if not good)
    if lost > problem.budget:
        return None
    cost = price * lost
    for area, (trips, good, _) in whole.items():
        if good:
            share = (problem.budget - lost) * trips // (flows.total - lost)
            outcomes = oracle.second(0, area, ROOT)
            cost += min(loss + price * out for loss, out in outcomes if out <= share)
    return cost


@pytest.mark.slow
@settings(max_examples=120, deadline=None)
@given(problems(loss="tiles", most_nodes=8), st.integers(1, 30), deltas)
def test_equals_brute_force(problem, target, delta):
    """Every origin area has the cheapest of all its destination maps within its share."""
    expected = brute_force(problem, target, delta)
    price = delta * (problem.flows.origins.tiles[ROOT] + problem.flows.destinations.tiles[ROOT])

    try:
        solution = knapsack.solve(problem, target, delta)
    except PromiseError:
        solution = None

    if solution is None:
        everything = price * problem.flows.total
        assert expected is None or expected == pytest.approx(everything)
    else:
        loss, suppressed = Oracle(problem).outcome(solution)
        assert suppressed <= problem.budget
        assert loss + price * suppressed == pytest.approx(expected)


@settings(max_examples=40, deadline=None)
@given(hierarchies(12).flatmap(lambda tree: flows_between(tree, tree, most_trips=60)), st.integers(1, 4), deltas)
def test_compiled_kernel_equals_plain(flows, k, delta):
    """The compiled loops choose the same cells as the Python functions they are made from."""
    cube = Problem(flows, Requirement(k), flows.total).cube
    assume(len(cube))
    rows = slice(0, int(np.searchsorted(cube.node[0], ROOT, side="right")))
    capacity = int(cube.trips[0]) // 3
    inputs = (
        capacity,
        10 * delta,
        tree_knapsack.Cells(
            cube.loss[rows],
            cube.parent[1, rows].astype(np.int64),
            cube.withheld[1, rows].astype(np.int64),
            np.ascontiguousarray(cube.splittable[1, rows]),
        ),
    )

    compiled = tree_knapsack.solve_tree(*inputs)

    plain = {name: getattr(tree_knapsack, f"_{name}") for name in ("combine", "finish", "grown", "fill")}
    with pytest.MonkeyPatch.context() as patch:
        for name, function in plain.items():
            patch.setattr(tree_knapsack, name, function)
        assert tree_knapsack._solve_tree(*inputs).tolist() == compiled.tolist()


def test_budget_holds_on_the_city(city_trips):
    """No more is suppressed than allowed, and a higher price suppresses no more."""
    flows = build_flows(city_trips, "quadtree:1000", bbox=CITY_BBOX, unit="person_id")

    cheap, dear = (anonymize(flows, "knapsack", options={"v_target": 2_000, "delta": delta}) for delta in (0.0, 0.5))

    assert cheap.metrics()["suppressed"] <= 0.10
    assert dear.metrics()["suppressed"] <= cheap.metrics()["suppressed"]
    assert cheap.metrics()["gbar"] <= dear.metrics()["gbar"]


@pytest.mark.parametrize("options", [{"delta": -1}, {"delta": "nan"}, {"v_target": 0}, {"v_target": "many"}])
def test_options_are_checked(city_trips, options):
    """Options out of range are refused."""
    flows = build_flows(city_trips, "h3:6", bbox=CITY_BBOX)

    with pytest.raises(InputError):
        anonymize(flows, "knapsack", options=options)
