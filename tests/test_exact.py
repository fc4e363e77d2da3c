"""The search of all cuts near the best one: exact on families and several matrices, honest where it has to stop."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from benchmarks.claims import measure, random_problem
from hypothesis import given, settings
from hypothesis import strategies as st

from flowveil._errors import PromiseError
from flowveil._methods import front_kernels, mosaic, near, nested, open_kernels
from flowveil._methods.cuts import mosaic_splits
from flowveil._methods.exact import finest
from flowveil._methods.lagrange import bracket
from tests.plain import plain_loops
from tests.trees import add_up, prices, problems


class Plain:
    """All outcomes (loss, suppressed) of cuts of areas that are split as any tree splits them, from single trips."""

    def __init__(self, problem):
        self.problem = problem
        self.axes = [(tree.key[leaf], trees) for tree, leaf, trees in self._ends()]
        self.outcomes = cache(self.outcomes)

    def _ends(self):
        flows, trees = self.problem.flows, self.problem.flows.places.trees
        yield flows.origins, flows.origin, trees[0]
        yield flows.destinations, flows.destination, trees[1]

    def all(self, order=None):
        """Return those of all matrices; with an order of the axes, of cuts that are nested so."""
        tops = [int(trees[0].key[0]) for _, trees in self.axes]
        return add_up([self.outcomes(matrix, *tops, order) for matrix in range(self.problem.flows.matrix_count)])

    def outcomes(self, matrix, origin, destination, order):
        """Return those of a pair of areas, each the tiles that are the bits of a number."""
        flows, area = self.problem.flows, (origin, destination)
        inside = [
            bool(a & origin) and bool(b & destination) for a, b in zip(*(k.tolist() for k, _ in self.axes), strict=True)
        ]
        rows = np.flatnonzero(np.array(inside) & (flows.matrix == matrix))
        trips = int(flows.trips[rows].sum())
        crowd = trips
        if flows.people is not None:
            crowd = len(set(flows.people.person[np.isin(flows.people.pair, rows)].tolist()))
        if crowd < self.problem.requirement.k:
            return {(0.0, trips)}
        found = {(float(trips * (origin.bit_count() + destination.bit_count())), 0)}
        for axis in (0, 1) if order is None else order:
            if order is None or axis == order[1] or area[order[1]] == int(self.axes[order[1]][1][0].key[0]):
                for parts in self.partitions(axis, area[axis]):
                    ends = [(part, destination) if axis == 0 else (origin, part) for part in parts]
                    found |= add_up([self.outcomes(matrix, *end, order) for end in ends])
        return found

    def partitions(self, axis, area):
        """Return the ways to split an area."""
        for tree in self.axes[axis][1]:
            for node in np.flatnonzero(tree.key == area).tolist():
                if tree.first_child[node] < tree.end_child[node]:
                    yield tree.key[tree.first_child[node] : tree.end_child[node]].tolist()


def least(problem, outcomes):
    """Return the least mean tiles within the budget."""
    total = problem.flows.total
    return min(cost / (total - lost) for cost, lost in outcomes if lost <= problem.budget and lost < total)


def small(seed, **options):
    """Return a random problem with few tiles."""
    return random_problem(seed, most_tiles=4, most_trips=60, **options)


@pytest.mark.slow
@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10**6), st.booleans(), st.integers(1, 3))
def test_finest_of_all_cuts_of_families_and_matrices(seed, several, matrices):
    """No mosaic of the same trees and matrices is finer within the budget, and no nested cut is finer than nested."""
    problem = small(seed, several=several, matrices=matrices)
    plain = Plain(problem)
    sides = {"origin": (0, 1), "destination": (1, 0)}
    try:
        found = measure(problem, mosaic.solve(problem))
    except PromiseError:
        assert all(lost > problem.budget for _, lost in plain.all())
        return

    assert found[1] <= problem.budget
    assert found[0] == pytest.approx(least(problem, plain.all()))
    for side, order in sides.items():
        assert measure(problem, nested.solve(problem, side=side))[0] == pytest.approx(least(problem, plain.all(order)))


@pytest.mark.slow
@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10**6), st.integers(0, 300), st.sampled_from(["WORK", "POINTS"]))
def test_stopped_search_tells_what_it_missed(seed, limit, name):
    """Where there is too much to look at, the cut keeps the budget and is no farther from the best than its gap."""
    problem = random_problem(seed)
    splits = mosaic_splits(problem.cube)
    if splits.least_suppressed > problem.budget:
        return
    fine, coarse = bracket(splits, lambda cut: cut.suppressed <= problem.budget)
    best = finest(splits, fine, coarse, problem.budget)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(near, name, limit)
        cut = finest(splits, fine, coarse, problem.budget)
        stopped, other = mosaic.solve(problem), nested.solve(problem)

    assert best.gap == 0
    assert cut.suppressed <= problem.budget
    assert best.mean <= cut.mean * (1 + 1e-9)
    assert best.mean >= cut.mean * (1 - cut.gap) * (1 - 1e-9)
    assert measure(problem, stopped)[0] <= measure(problem, other)[0] * (1 + 1e-9)
    if limit == 0 and cut.gap > 0:
        assert "no other cut of its kind is better" not in stopped.notes


@pytest.mark.slow
@settings(max_examples=30, deadline=None)
@given(problems(), prices, st.floats(0, 500))
def test_compiled_loops_equal_plain_ones(problem, lam, gap):
    """Numba changes the speed only."""
    splits = mosaic_splits(problem.cube)
    terms = front_kernels.Terms(float(lam), 1e-9, 10**6, 10**6)

    def everything():
        results = []
        for run in problem.cube.runs:
            opened = near.open_run(splits, run, near.decide(splits, run, float(lam)), (gap, 1e-9)).opened
            points, start, stop, finished = front_kernels.find_front(opened, gap, problem.flows.total, terms)
            results.append([column.tolist() for column in opened])
            results.append([column[:stop].tolist() for column in points])
            results.append([start, stop, finished])
        return results

    expected = everything()
    with plain_loops(open_kernels, front_kernels):
        assert everything() == expected


def test_fewer_are_withheld_where_that_is_finer():
    """With a budget of all trips, what is published is as fine as can be, and not nothing."""
    problem = random_problem(7)
    everything = replace(problem, budget=problem.flows.total)

    mean, suppressed = measure(everything, mosaic.solve(everything))

    assert suppressed < problem.flows.total
    assert mean == pytest.approx(min(mean, *(measure(q, mosaic.solve(q))[0] for q in _budgets(problem))))


def _budgets(problem):
    least = mosaic_splits(problem.cube).least_suppressed
    return [replace(problem, budget=budget) for budget in range(least, problem.flows.total, 20)]
