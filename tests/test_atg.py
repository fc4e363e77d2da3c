"""atg-dual and atg-soft do what the paper's algorithms do."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from flowveil._errors import InputError, PromiseError
from flowveil._methods import atg
from flowveil._methods.cuts import solution_of
from flowveil._methods.treecut import best_cut
from flowveil._places import ROOT
from tests.trees import Oracle, add_up, hierarchies, prices, problems


@pytest.mark.slow
@settings(max_examples=150, deadline=None)
@given(hierarchies(9), st.data())
def test_best_cut_of_one_tree(tree, data):
    """Algorithm 1 against all cuts there are; of equals the one with the most areas."""
    cost = np.array(data.draw(st.lists(st.integers(0, 4), min_size=len(tree), max_size=len(tree))), float)

    def cuts(node):
        found = [(node,)]
        children = range(int(tree.first_child[node]), int(tree.end_child[node]))
        if children:
            parts = [()]
            for child in children:
                parts = [(*left, *right) for left in parts for right in cuts(child)]
            found += parts
        return found

    inside, above = best_cut(tree, cost)

    every = [(cost[list(cut)].sum(), -len(cut)) for cut in cuts(ROOT)]
    assert (cost[inside].sum(), -int(inside.sum())) == min(every)
    assert set(np.flatnonzero(above)) == {int(n) for n in _ancestors(tree, np.flatnonzero(inside))}


def _ancestors(tree, nodes):
    for node in nodes:
        while (node := tree.parent[node]) >= 0:
            yield node


@pytest.mark.slow
@settings(max_examples=150, deadline=None)
@given(problems(), prices, st.integers(1, 20))
def test_destinations_are_best_for_the_origins(problem, lam, target):
    """Origins are the cut nearest to the target; the value is the least over all destination cuts of each."""
    oracle, tree = Oracle(problem), problem.flows.origins
    outflow = np.array([int(problem.flows.trips[oracle.inside(node, ROOT)].sum()) for node in range(len(tree))])
    inside, _ = best_cut(tree, (target - outflow) ** 2.0)
    cut = np.flatnonzero(inside).tolist()

    least = min(cost + lam * lost for cost, lost in add_up([oracle.second(0, area, ROOT) for area in cut]))

    best = atg._splits(problem, target).best(lam)
    cost, lost = oracle.outcome(solution_of(problem, best))
    assert (best.loss, best.suppressed) == (pytest.approx(cost), lost)
    assert best.value(lam) == pytest.approx(least, rel=1e-9, abs=1e-3)


@pytest.mark.slow
@settings(max_examples=80, deadline=None)
@given(problems(loss="tiles"), st.sampled_from(["auto", 3.0, 8.0]))
def test_dual_keeps_the_budget(problem, v_target):
    """No more is suppressed than allowed, or it raises."""
    try:
        solution = atg.solve_dual(problem, v_target=v_target)
    except PromiseError:
        return

    assert Oracle(problem).outcome(solution)[1] <= problem.budget


@pytest.mark.slow
@settings(max_examples=100, deadline=None)
@given(problems(loss="tiles"), st.sampled_from(["auto", 2.0, 4.0, 7.5]), st.sampled_from(["auto", 3.0, 8.0]))
def test_soft_guarantee(problem, lam, v_target):
    """No published flow whose destination can be split is larger than lambda (paper, appendix E)."""
    flows = problem.flows
    solution = atg.solve_soft(problem, v_target=v_target, lam=lam)

    Oracle(problem).outcome(solution)
    bound = 0.1 * (flows.origins.tiles[ROOT] + flows.destinations.tiles[ROOT]) if lam == "auto" else lam
    tiles = flows.origins.tiles[solution.origin] + flows.destinations.tiles[solution.destination]
    assert not ((tiles > bound + 1e-9) & ~flows.destinations.is_leaf[solution.destination]).any()


@settings(max_examples=40, deadline=None)
@given(problems(loss="tiles"))
def test_frontier_and_precision(problem):
    """The frontier falls in suppression, and a precision that is found is met."""
    rows = atg.frontier(problem, 6)
    assert [row.suppressed for row in rows] == sorted({row.suppressed for row in rows}, reverse=True)
    asked = max((row.gbar for row in rows if row.flows), default=0)

    if asked:
        solution = atg.solve_dual(replace(problem, max_gbar=asked * (1 + 1e-9)))
        Oracle(problem).outcome(solution)
        tiles = problem.flows.origins.tiles[solution.origin] + problem.flows.destinations.tiles[solution.destination]
        kept = solution.group >= 0
        trips = problem.flows.trips[kept]
        assert (tiles[solution.group[kept]] * trips).sum() <= asked * trips.sum() * (1 + 1e-6)


@settings(max_examples=5, deadline=None)
@given(problems(), st.sampled_from(["none", "-3", 0, "nan"]))
def test_target_must_be_a_number(problem, value):
    """What is neither auto nor a positive number is refused."""
    with pytest.raises(InputError, match="v_target"):
        atg.solve_dual(problem, v_target=value)
    with pytest.raises(InputError, match="lam"):
        atg.solve_soft(problem, lam=value)
