"""v_target by a rule: whatever some target can publish is published, and no cut is solved twice."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from flowveil import InputError, PromiseError, build_flows, frontier
from flowveil._methods import atg, find_method, knapsack
from flowveil._methods.targets import find_common_target, find_target
from flowveil._methods.volumes import distinct_targets, origin_cut
from flowveil._problem import Problem, Requirement
from flowveil.synthetic import CITY_BBOX, City
from tests.test_spread import everything, one_by_one, packed_one_by_one
from tests.test_time_and_groups import many_matrices
from tests.trees import problems

SOLVE = {"atg-dual": atg.solve_dual, "atg-soft": atg.solve_soft, "knapsack": knapsack.solve}
names = st.sampled_from(sorted(SOLVE))
rules = st.sampled_from(["auto", "balanced"])
MOST_SOLVED = 45


def dense(problem):
    """Return many targets of all sizes."""
    return [1e-15, *np.geomspace(0.03, 1.7 * problem.flows.total, 100).tolist()]


def areas(problem, target):
    """Return the origin areas at a target."""
    return tuple(np.flatnonzero(origin_cut(problem, target)[0]).tolist())


def attempt(name, problem, v_target):
    """Return a solution with flows, None if there is none."""
    try:
        solution = SOLVE[name](problem, v_target=v_target)
    except PromiseError:
        return None
    return solution if len(solution.origin) else None


def attempts(name, problem):
    """Return the solutions of many targets, one for each origin cut; some cuts take a target that is hard to meet."""
    targets = {areas(problem, target): target for target in [*dense(problem), *distinct_targets(problem)]}
    found = [attempt(name, problem, target) for target in targets.values()]
    return [solution for solution in found if solution]


def tiles(problem, solution):
    """Return the mean tiles of origins and of destinations over published trips."""
    kept = solution.group >= 0
    flow, trips = solution.group[kept], problem.flows.trips[kept]
    trees = (problem.flows.origins, solution.origin), (problem.flows.destinations, solution.destination)
    return [float(np.average(tree.tiles[node][flow], weights=trips)) for tree, node in trees]


def unlike(problem, solution):
    """Return how far the mean sizes of both ends are apart."""
    origin, destination = tiles(problem, solution)
    return abs(origin - destination)


def city(seed=3, trips=6_000, **options):
    """Return flows of a small city."""
    return build_flows(City(seed=seed, persons=400).trips(trips), "h3:8", bbox=CITY_BBOX, **options)


@pytest.mark.slow
@settings(max_examples=150, deadline=None)
@given(problems(most_nodes=14))
def test_distinct_targets_give_every_cut_once(problem):
    """Any target gives a cut that one of these gives, each of them another one, and larger ones only join areas."""
    cuts = [areas(problem, target) for target in distinct_targets(problem)]

    assert len(set(cuts)) == len(cuts)
    assert {areas(problem, target) for target in dense(problem)} <= set(cuts)
    sizes = [len(cut) for cut in cuts]
    assert sizes == sorted(set(sizes), reverse=True)


def test_distinct_targets_of_a_city():
    """The same on a tree of hundreds of nodes."""
    problem = Problem(city(), Requirement(5), 600)

    cuts = [areas(problem, target) for target in distinct_targets(problem)]

    assert len(set(cuts)) == len(cuts) > 50
    assert {areas(problem, target) for target in np.geomspace(0.1, 6_000, 1_000)} <= set(cuts)


@pytest.mark.slow
@settings(max_examples=200, deadline=None)
@given(problems(), names, rules, st.none() | st.integers(2, 14))
def test_what_some_target_publishes_is_published(problem, name, rule, max_gbar):
    """With any loss, persons, weights, budget or precision: a rule fails only where every target fails."""
    method = find_method(name)
    if not method.losses:
        problem = replace(problem, loss="tiles")
    elif max_gbar:
        problem = replace(problem, max_gbar=max_gbar)

    solution = attempt(name, problem, rule)

    assert bool(solution) == bool(attempts(name, problem))


@pytest.mark.slow
@pytest.mark.parametrize("rule", ["auto", "balanced"])
def test_a_single_target_that_works_is_found(rule):
    """Wherever it lies among a hundred that fail."""
    problem = Problem(city(trips=2_000), Requirement(5), 200)
    targets = distinct_targets(problem).tolist()

    def find(only):
        def outcome(problem, target):
            if areas(problem, target) != areas(problem, only):
                raise PromiseError("fails", "try another")
            return atg.soft_outcome(problem, target)

        return find_target(problem, rule, outcome)

    assert len(targets) > 50
    assert [find(target) for target in targets[::5]] == targets[::5]


@pytest.mark.slow
@settings(max_examples=100, deadline=None)
@given(problems(loss="tiles"), st.sampled_from(["atg-dual", "knapsack"]))
def test_auto_is_the_finest_of_all_targets(problem, name):
    """On trees so small that a few targets are all there are."""
    least = min((sum(tiles(problem, solution)) for solution in attempts(name, problem)), default=None)

    solution = attempt(name, problem, "auto")

    assert (solution is None) == (least is None)
    assert solution is None or sum(tiles(problem, solution)) <= least * (1 + 1e-9)


@pytest.mark.slow
@settings(max_examples=100, deadline=None)
@given(problems(loss="tiles"), names)
def test_balanced_areas_are_most_alike(problem, name):
    """No target has mean sizes of origins and destinations that are closer."""
    least = min((unlike(problem, solution) for solution in attempts(name, problem)), default=None)

    solution = attempt(name, problem, "balanced")

    assert (solution and unlike(problem, solution)) == (least if least is None else pytest.approx(least))


@pytest.mark.slow
@pytest.mark.parametrize("unit", [None, "person_id"])
@pytest.mark.parametrize("name", ["atg-dual", "knapsack"])
def test_auto_is_nearly_as_good_as_a_fine_scan(name, unit):
    """On a city, at most 2 % coarser than the best of 200 targets, with few of them solved and no cut twice."""
    flows = city(unit=unit)
    problem = Problem(flows, Requirement(5), flows.total // 10)
    solved = []

    def outcome(problem, target):
        solved.append(areas(problem, target))
        return find_method(name).outcome(problem, target)

    target = find_target(problem, "auto", outcome)

    found = sum(tiles(problem, SOLVE[name](problem, v_target=target)))
    scan = {areas(problem, target): target for target in np.geomspace(5, flows.total, 200)}
    solutions = [attempt(name, problem, target) for target in scan.values()]
    best = min(sum(tiles(problem, solution)) for solution in solutions if solution)
    assert found <= 1.02 * best
    assert len(solved) == len(set(solved)) <= MOST_SOLVED < len(scan)


@pytest.mark.slow
@pytest.mark.parametrize("options", [{}, {"v_target": "balanced"}, {"one_target": True}])
@pytest.mark.parametrize("name", ["atg-dual", "knapsack"])
def test_every_hour_that_can_be_is_published(name, options):
    """Matrices of few trips have targets that work: every one with k trips is published."""
    flows = city(trips=2_000, time="hour-of-week")
    problem = Problem(flows, Requirement(10), flows.total // 10)

    solution = find_method(name).run(problem, options)

    totals = np.add.reduceat(flows.trips, flows.edges[:-1])
    assert set(solution.matrix.tolist()) == set(np.flatnonzero(totals >= 10).tolist())
    assert (totals < 200).any()
    assert (totals >= 10).any()


@pytest.mark.slow
@settings(max_examples=40, deadline=None)
@given(many_matrices(), names, rules)
def test_one_target_for_all_matrices(problem, name, rule):
    """Every matrix is solved with the same number, which is found the same way wherever matrices are solved."""
    method = find_method(name)
    if not method.losses:
        problem = replace(problem, loss="tiles")
    options = {"v_target": rule, "one_target": True}

    solution, sent = (method.run(problem, options, way) for way in (one_by_one, packed_one_by_one))

    assert everything(solution) == everything(sent)
    if problem.flows.divided:
        target = find_common_target(problem, rule, method.outcome, one_by_one)
        expected = method.run(problem, {"v_target": target}, one_by_one)
        assert f"v_target {target:g} for all matrices" in solution.notes
        assert everything(replace(solution, notes=())) == everything(replace(expected, notes=()))


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(SOLVE))
def test_common_target_is_nearly_the_best(name):
    """Of targets from k to the largest matrix, it costs all matrices together at most 2 % more than the best.

    Only those count that keep the budget.
    """
    flows = city(trips=8_000, time="1d")
    problem = Problem(flows, Requirement(5), flows.total // 10 if find_method(name).steers else flows.total)
    parts = [problem.part(matrix) for matrix in range(flows.matrix_count)]
    outcome = find_method(name).outcome

    def cost(target):
        found = []
        for part in parts:
            try:
                found.append(outcome(part, target))
            except PromiseError:
                return float("inf")
        kept = sum(one.trips for one in found)
        within = flows.total - kept <= problem.budget
        return sum(one.cost for one in found) / sum(one.weight for one in found) if within else float("inf")

    target = find_common_target(problem, "auto", outcome, one_by_one)

    best = min(cost(target) for target in np.geomspace(5, 2_000, 40))
    assert cost(target) <= 1.02 * best < float("inf")


@pytest.mark.parametrize("name", sorted(SOLVE))
def test_a_number_stays_what_it_is(name):
    """A target that is given is taken, with one_target or without."""
    flows = city(trips=3_000, time="1d")
    problem = Problem(flows, Requirement(5), flows.total // 10)

    one, own = (find_method(name).run(problem, {"v_target": "400"} | more) for more in ({"one_target": True}, {}))

    assert everything(replace(one, notes=())) == everything(replace(own, notes=()))


def test_frontier_takes_no_rule_of_balance():
    """It has many answers, and says so; options about several matrices make no difference to it."""
    flows = city(trips=2_000)

    with pytest.raises(InputError, match="balanced"):
        frontier(flows, "atg-dual", options={"v_target": "balanced"})
    for method, option in (("atg-dual", {"one_target": True}), ("mosaic", {"budget": "each"})):
        with_option, without = (frontier(flows, method, points=3, options=one) for one in (option, {}))
        assert with_option.to_pylist() == without.to_pylist()


def test_outcomes_can_be_sent():
    """What measures a target is a function of a module: it can be sent to another process with its options."""
    problem = Problem(city(trips=1_000), Requirement(5), 100)
    outcome = partial(knapsack.outcome, delta=0.02)

    (found,) = packed_one_by_one(partial(outcome, target=300.0), [problem], [])

    assert found == knapsack.outcome(problem, 300.0, 0.02)
