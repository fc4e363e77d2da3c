"""crosscut only ever improves a grid, each axis at best, until nothing changes."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from flowveil._errors import PromiseError
from flowveil._methods import crosscut
from flowveil._methods.grids import Grids
from flowveil._places import ROOT, Hierarchy
from flowveil._problem import Problem, Requirement
from tests.test_nested import is_one_cut
from tests.trees import Oracle, make_flows, prices, problems


def masks(oracle, data):
    """Draw a cut of each axis."""
    cuts = [data.draw(st.sampled_from(oracle.cuts(axis, ROOT))) for axis in (0, 1)]
    return cuts, tuple(np.isin(np.arange(len(tree)), cut) for tree, cut in zip(oracle.trees, cuts, strict=True))


@pytest.mark.slow
@settings(max_examples=200, deadline=None)
@given(problems(), prices, st.data())
def test_never_above_its_start_and_fixed(problem, lam, data):
    """A grid is measured right, its improvement is no worse, and no cut of one axis alone improves that further."""
    oracle = Oracle(problem)
    cuts, areas = masks(oracle, data)
    grids = Grids(problem.cube, problem.axes)
    start = grids.measure(areas)
    assert (start.loss, start.suppressed) == pytest.approx(oracle.grid(*cuts))

    end = grids.improve(start, lam)

    assert end.value(lam) <= start.value(lam) * (1 + 1e-9)
    origins, destinations = (np.flatnonzero(cut).tolist() for cut in end.areas)
    others = [oracle.grid(cut, destinations) for cut in oracle.cuts(0, ROOT)]
    others += [oracle.grid(origins, cut) for cut in oracle.cuts(1, ROOT)]
    least = min(cost + lam * lost for cost, lost in others)
    assert end.value(lam) == pytest.approx(least, rel=1e-9, abs=1e-6)
    again = grids.improve(end, lam)
    assert all(np.array_equal(a, b) for a, b in zip(again.areas, end.areas, strict=True))


@pytest.mark.slow
@settings(max_examples=100, deadline=None)
@given(problems())
def test_keeps_the_budget(problem):
    """One cut an end, every flow passes, and no more is suppressed than allowed; or no such grid was found."""
    oracle = Oracle(problem)
    _, good, loss = oracle.cell(ROOT, ROOT)
    try:
        solution = crosscut.solve(problem)
    except PromiseError:
        assert not (good and np.isfinite(loss))
        return

    cost, lost = oracle.outcome(solution)
    assert lost <= problem.budget
    assert is_one_cut(oracle.trees[0], solution.origin)
    assert is_one_cut(oracle.trees[1], solution.destination)
    if good:
        assert oracle.mean((cost, lost)) <= oracle.mean((loss, 0)) * (1 + 1e-9)


@pytest.mark.slow
@settings(max_examples=60, deadline=None)
@given(problems(), st.floats(1, 12))
def test_precision_is_met(problem, max_gbar):
    """With max_gbar the published flows are that fine on average."""
    problem = replace(problem, max_gbar=max_gbar)
    try:
        solution = crosscut.solve(problem)
    except PromiseError:
        return

    Oracle(problem).outcome(solution)
    trips = problem.flows.trips[solution.group >= 0]
    tiles = problem.flows.origins.tiles[solution.origin] + problem.flows.destinations.tiles[solution.destination]
    assert (tiles[solution.group[solution.group >= 0]] * trips).sum() <= max_gbar * trips.sum() * (1 + 1e-9)


@pytest.mark.slow
@settings(max_examples=60, deadline=None)
@given(problems(), st.integers(1, 8))
def test_frontier(problem, points):
    """No point of a frontier is beaten by another in both precision and suppression."""
    rows = crosscut.frontier(problem, points)

    assert 1 <= len(rows) <= points
    assert [row.suppressed for row in rows] == sorted({row.suppressed for row in rows}, reverse=True)
    precise = [row.gbar for row in rows if row.flows]
    assert precise == sorted(precise)


def test_the_finer_of_equals_is_published():
    """A parent with one seen child costs the same as the child; the child is published."""
    chain, number = Hierarchy.from_parents(np.array([-1, 0, 1, 2]), np.arange(4, dtype=np.uint64))
    leaf = int(number[3])
    flows = make_flows(chain, chain, [(leaf, leaf, 0)] * 10, np.ones(6, np.int64), has_people=False)

    solution = crosscut.solve(Problem(flows, Requirement(10), 0))

    assert (solution.origin.tolist(), solution.destination.tolist()) == ([leaf], [leaf])
