"""Remainders: what finer flows leave of a pair of areas is published by itself where it is a crowd."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from itertools import pairwise
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from flowveil._errors import InputError, PromiseError
from flowveil._methods import mosaic, remainder_kernels
from flowveil._methods.remainders import LeftOver
from flowveil._places import ROOT, Family, Hierarchy
from flowveil._places.lattice import Lattice
from flowveil._problem import Problem, Requirement
from tests.trees import PointPlaces, add_up, hierarchies, make_flows, prices


class SeveralPlaces(PointPlaces):
    """Places whose areas may be split in several ways."""

    def __init__(self, *families):
        super().__init__(root_has_center=True)
        self.families = families

    def family(self, hierarchy):
        """Return the family whose first tree this is."""
        return next(family for family in self.families if family.trees[0] is hierarchy)


@st.composite
def families(draw):
    """Draw a tree of any shape, or all rectangles over a few tiles."""
    if draw(st.booleans()):
        return Family.of(draw(hierarchies(6)))
    places = st.tuples(st.integers(0, 3), st.integers(0, 3))
    tiles = draw(st.lists(places, min_size=2, max_size=4, unique=True))
    x, y = np.array(tiles).T
    return Family.join(Lattice(2).trees(np.zeros(len(x), np.int64), x, y))


@st.composite
def problems(draw, *, people=False, most_k=5):
    """Draw a problem with remainders on small families."""
    first, second = draw(families()), draw(families())
    ends = [np.flatnonzero(family.trees[0].is_leaf).tolist() for family in (first, second)]
    trip = st.tuples(*map(st.sampled_from, ends), st.integers(0, 5))
    trips = draw(st.lists(trip, min_size=1, max_size=30))
    weight = np.array(draw(st.lists(st.integers(0, 3), min_size=6, max_size=6))) * 1_000_000
    places = SeveralPlaces(first, second)
    flows = make_flows(first.trees[0], second.trees[0], trips, weight, people and draw(st.booleans()), places)
    least = draw(st.none() | st.integers(1, 6)) if people else None
    requirement = Requirement(draw(st.integers(1, most_k)), least)
    loss = draw(st.sampled_from(["tiles", "area"]))
    return Problem(flows, requirement, draw(st.integers(0, flows.total)), loss, several=True, remainders=True)


class Judge:
    """Every way to publish with remainders, from the definition: areas are sets of tiles, and nothing is shared."""

    def __init__(self, problem):
        self.problem = problem
        self.flows = problem.flows
        self.sides = [self._areas(family) for family in problem.families]
        self.inside = cache(self.inside)
        self.outcomes = cache(self.outcomes)
        self.cuts = cache(self.cuts)

    def _areas(self, family):
        """Return by number of an area its leaves in the first tree, and the ways to split it."""
        areas = {}
        for tree, number in zip(family.trees, family.number, strict=True):
            held = {}
            for node in range(len(tree) - 1, -1, -1):
                children = [child for child in range(len(tree)) if tree.parent[child] == node]
                own = [] if children else [{int(family.nodes[0][number[node]])}]
                held[node] = frozenset().union(*own, *(held[child] for child in children))
                area = areas.setdefault(int(number[node]), SimpleNamespace(tiles=held[node], ways=set()))
                assert area.tiles == held[node]
                if children:
                    area.ways.add(frozenset(int(number[child]) for child in children))
        return areas

    def tiles(self, cell):
        """Return the tiles of both ends of a pair of areas."""
        return tuple(side[area].tiles for side, area in zip(self.sides, cell, strict=True))

    def inside(self, cell):
        """Return trips of a pair of areas, and what each costs in their flow."""
        first, second = self.tiles(cell)
        pairs = zip(self.flows.origin.tolist(), self.flows.destination.tolist(), self.flows.trips.tolist(), strict=True)
        trips = sum(count for origin, destination, count in pairs if origin in first and destination in second)
        if self.problem.loss == "tiles":
            return trips, float(len(first) + len(second))
        keys = [family.key[area] for family, area in zip(self.problem.families, cell, strict=True)]
        return trips, float(sum(0.25 + float(key) * 5 % 7 for key in keys))

    def splits(self, cell):
        """Return all ways to split a pair of areas."""
        for axis, side in enumerate(self.sides):
            for way in side[cell[axis]].ways:
                yield [tuple(part if place == axis else cell[place] for place in (0, 1)) for part in way]

    def outcomes(self, cell):
        """Return (loss, trips left over) of all flows in a pair of areas that leave over no crowd."""
        k, (trips, rate) = self.problem.requirement.k, self.inside(cell)
        if trips < k:
            return {(0.0, trips)}
        found = {(rate * trips, 0)}
        for parts in self.splits(cell):
            for loss, left in add_up([self.outcomes(part) for part in parts]):
                found.add((round(loss + rate * left, 6), 0) if left >= k else (loss, left))
        return found

    def cuts(self, cell):
        """Return (loss, withheld) of all ways to publish flows of a pair of areas."""
        if self.inside(cell)[0] < self.problem.requirement.k:
            return {(0.0, self.inside(cell)[0])}
        found = {(loss, left) for loss, left in self.outcomes(cell) if not left}
        for parts in self.splits(cell):
            found |= add_up([self.cuts(part) for part in parts])
        return found

    def recount(self, solution):
        """Check that every trip is in the smallest flow that holds it; return (loss, withheld)."""
        cells = list(zip(solution.origin.tolist(), solution.destination.tolist(), strict=True))
        assert len(set(cells)) == len(cells)
        flows = [self.tiles(cell) for cell in cells]
        records = zip(self.flows.origin, self.flows.destination, solution.group, self.flows.trips, strict=True)
        loss, withheld = 0.0, 0
        for first, second, group, trips in records:
            holding = [flow for flow in range(len(flows)) if first in flows[flow][0] and second in flows[flow][1]]
            holding.sort(key=lambda flow: len(flows[flow][0]) * len(flows[flow][1]))
            for small, large in pairwise(holding):
                assert flows[small][0] <= flows[large][0]
                assert flows[small][1] <= flows[large][1]
                assert flows[small] != flows[large]
                assert solution.above[small] == large
            assert group == (holding[0] if holding else -1)
            loss += 0 if group < 0 else trips * self.inside(cells[group])[1]
            withheld += trips if group < 0 else 0
            assert not holding or solution.above[holding[-1]] == -1
        return loss, withheld


@pytest.mark.slow
@settings(max_examples=100, deadline=None)
@given(problems(), prices)
def test_best_of_all_ways(problem, lam):
    """At every price of a withheld trip, no way to publish with remainders costs less than the flows found."""
    judge = Judge(problem)
    least = min(loss + lam * lost for loss, lost in judge.cuts((ROOT, ROOT)))

    left_over = LeftOver(problem, problem.requirement.k)
    cut = left_over.splits.best(lam)
    layers = left_over.layers(cut)

    origin, destination = problem.cube.node[:, layers.cell]
    flows = SimpleNamespace(origin=origin, destination=destination, group=layers.group, above=layers.above)
    loss, withheld = judge.recount(flows)
    assert (loss, withheld) == (pytest.approx(cut.loss), cut.suppressed)
    assert cut.value(lam) == pytest.approx(least, rel=1e-9, abs=1e-3)
    assert (layers.trips(problem) >= problem.requirement.k).all()


@pytest.mark.slow
@settings(max_examples=100, deadline=None)
@given(problems(people=True))
def test_every_flow_is_a_crowd(problem):
    """With persons and weights too every flow passes, trips are in the smallest flow, and mosaic is not finer."""
    plain = replace(problem, remainders=False)
    try:
        without = mosaic.solve(plain)
    except PromiseError:
        with pytest.raises(PromiseError):
            mosaic.solve(problem)
        return

    solution = mosaic.solve(problem)

    judge, flows = Judge(problem), problem.flows
    loss, withheld = judge.recount(solution)
    assert withheld <= problem.budget
    plain_loss, plain_withheld = judge.recount(replace(without, above=np.full(len(without.origin), -1)))
    assert problem.requirement.is_crowd(flows.measure(solution.group, len(solution.origin))).all()
    if plain_withheld < flows.total:
        assert loss / (flows.total - withheld) <= plain_loss / (flows.total - plain_withheld) + 1e-6


@settings(max_examples=40, deadline=None)
@given(problems())
def test_plain_loops_agree(problem):
    """The compiled loops return what their plain versions return."""
    left_over = LeftOver(problem, problem.requirement.k)
    for run, left in zip(problem.cube.runs, left_over.left, strict=True):
        plain = remainder_kernels._leave_over(run.cells.stop, left_over._given(run))
        np.testing.assert_array_equal(plain, left)
    cut = left_over.splits.best(1.0)
    for run, left in zip(problem.cube.runs, left_over.left, strict=True):
        tops = cut.published[(cut.published >= run.cells.start) & (cut.published < run.cells.stop)]
        both = [
            trace(tops, cut.choice[run.cells].copy(), left_over._given(run), left)
            for trace in (remainder_kernels._trace, remainder_kernels.trace)
        ]
        for first, second in zip(*both, strict=True):
            np.testing.assert_array_equal(first, second)


def test_memory_is_asked_for():
    """What is kept of each cell counts as memory: where it does not fit, nothing is begun."""
    tree = Hierarchy.from_parents(np.array([-1, 0, 0]), np.arange(3, dtype=np.uint64))[0]
    trips = [(origin, destination, 0) for origin in (1, 2) for destination in (1, 2) for _ in range(50)]
    flows = make_flows(tree, tree, trips, np.zeros(6, np.int64), has_people=False)
    k = 100
    problem = Problem(replace(flows, memory=16_100_000), Requirement(k), flows.total, remainders=True)
    assert len(problem.cube) == 5

    LeftOver(problem, k)
    with pytest.raises(InputError, match="memory"):
        LeftOver(problem, 10_000 * k)
