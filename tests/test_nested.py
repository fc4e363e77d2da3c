"""nested finds the best cut of one axis with a cut of the other for each area, in both directions."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from flowveil._errors import PromiseError, UnknownNameError
from flowveil._methods import nested
from flowveil._methods.cuts import nested_splits, solution_of
from flowveil._problem import LOSSES
from tests.trees import Oracle, prices, problems


@pytest.mark.slow
@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("first", [0, 1])
@settings(max_examples=80, deadline=None)
@given(data=st.data(), lam=prices)
def test_best_of_all_nested_cuts(first, loss, data, lam):
    """The value is the least of all nested cuts there are, and the cut returned attains it and is nested."""
    problem = data.draw(problems(loss=loss))
    oracle = Oracle(problem)

    least = min(cost + lam * lost for cost, lost in oracle.nested(first))

    cut = nested_splits(problem.cube, (first, 1 - first)).best(lam)
    solution = solution_of(problem, cut)
    cost, lost = oracle.outcome(solution)
    assert (cut.loss, cut.suppressed) == (pytest.approx(cost), lost)
    assert cut.value(lam) == pytest.approx(least, rel=1e-9, abs=1e-3)
    assert is_one_cut(oracle.trees[first], (solution.origin, solution.destination)[first])


def is_one_cut(tree, areas):
    """Whether no area lies inside another."""
    above = tree.parent.copy()
    chosen = set(areas.tolist())
    for area in chosen:
        node = above[area]
        while node >= 0:
            if int(node) in chosen:
                return False
            node = above[node]
    return True


@pytest.mark.slow
@settings(max_examples=120, deadline=None)
@given(problems(), st.sampled_from(["either", "origin", "destination"]))
def test_finest_within_the_budget(problem, side):
    """It succeeds wherever some cut of that side does, and no such cut has a lower mean; the notes name the side."""
    oracle = Oracle(problem)
    sides = {"origin": [0], "destination": [1], "either": [0, 1]}[side]
    least = oracle.least_mean([outcome for first in sides for outcome in oracle.nested(first)])
    if least is None:
        with pytest.raises(PromiseError):
            nested.solve(problem, side=side)
        return

    solution = nested.solve(problem, side=side)

    outcome = oracle.outcome(solution)
    assert outcome[1] <= problem.budget
    assert oracle.mean(outcome) == pytest.approx(least, rel=1e-6, abs=1e-6)
    named = solution.notes[0].removeprefix("side ")
    assert side in ("either", named)
    areas = {"origin": solution.origin, "destination": solution.destination}[named]
    assert is_one_cut(oracle.trees[["origin", "destination"].index(named)], areas)


@pytest.mark.slow
@settings(max_examples=60, deadline=None)
@given(problems())
def test_either_side_is_the_better(problem):
    """Without a side the smaller mean is kept."""
    oracle = Oracle(problem)
    means = []
    for side in ("origin", "destination"):
        try:
            means.append(oracle.mean(oracle.outcome(nested.solve(problem, side=side))))
        except PromiseError:
            return

    assert oracle.mean(oracle.outcome(nested.solve(problem))) == pytest.approx(min(means))


@settings(max_examples=30, deadline=None)
@given(problems(loss="tiles"))
def test_frontier(problem):
    """With either side, no point is worse than that of one side at the same suppression."""
    either, origin = nested.frontier(problem, 6), nested.frontier(problem, 6, side="origin")
    costs = {row.suppressed: np.nan_to_num(row.gbar) for row in either}

    assert all(costs.get(row.suppressed, 0) <= np.nan_to_num(row.gbar) + 1e-9 for row in origin)


def test_unknown_side():
    """A side that does not exist is refused with those that do."""
    with pytest.raises(UnknownNameError, match="destination"):
        nested.solve(None, side="destinatoin")
