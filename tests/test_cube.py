"""The cube holds exactly the publishable pairs, whatever the trees, tests and losses."""

from __future__ import annotations

import itertools
from dataclasses import dataclass, replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from flowveil._errors import InputError, UnknownNameError
from flowveil._flows import Flows
from flowveil._places import Hierarchy
from flowveil._problem import LOSSES, Axis, Problem, Requirement, kernels, search_kernels
from tests.plain import plain_loops
from tests.trees import (
    Oracle,
    family_problems,
    flows_between,
    hierarchies,
    matrices_apart,
    problems,
    requirements,
    side_by_side,
)


@pytest.mark.slow
@settings(max_examples=150, deadline=None)
@given(problems())
def test_cells_are_the_publishable_pairs(problem):
    """Nodes, trips and losses are those of the definition."""
    oracle, cube = Oracle(problem), problem.cube

    pairs = [(o, d) for o in range(len(oracle.trees[0])) for d in range(len(oracle.trees[1])) if oracle.cell(o, d)[1]]

    assert list(zip(*cube.node.tolist(), strict=True)) == pairs
    assert cube.trips.tolist() == [oracle.cell(*pair)[0] for pair in pairs]
    assert cube.loss.tolist() == pytest.approx([oracle.cell(*pair)[2] for pair in pairs])


@pytest.mark.slow
@settings(max_examples=100, deadline=None)
@given(problems())
def test_links_and_withheld_trips(problem):
    """A cell's parent is one step up; a split withholds what its publishable children do not hold."""
    oracle, cube = Oracle(problem), problem.cube
    pairs = list(zip(*cube.node.tolist(), strict=True))

    for axis, tree in enumerate(oracle.trees):
        for cell, pair in enumerate(pairs):
            above = list(pair)
            above[axis] = int(tree.parent[pair[axis]])
            assert cube.parent[axis, cell] == (pairs.index(tuple(above)) if above[axis] >= 0 else -1)
            children = [(*pair[:axis], child, *pair[axis + 1 :]) for child in oracle.children(axis, pair[axis])]
            lost = sum(oracle.cell(*child)[0] for child in children if not oracle.cell(*child)[1])
            if children:
                assert cube.withheld[axis, cell] == lost
            assert cube.splittable[axis, cell] == bool(children)


@pytest.mark.slow
@settings(max_examples=100, deadline=None)
@given(problems())
def test_cube_agrees_with_measure_pairs(problem):
    """The compiled tests of the cube and the requirement's own agree."""
    flows, cube = problem.flows, problem.cube
    here = set(zip(*cube.node.tolist(), strict=True))

    for depth in range(4):
        ends = [(flows.origins, flows.origin, depth), (flows.destinations, flows.destination, 3 - depth)]
        areas = [
            t.area_of(np.flatnonzero((t.depth == at) | (t.is_leaf & (t.depth < at))))[leaf] for t, leaf, at in ends
        ]
        pairs = problem.measure_pairs(*areas)
        for origin, destination, good in zip(pairs.origin, pairs.destination, pairs.publishable, strict=True):
            assert ((int(origin), int(destination)) in here) == bool(good)


@pytest.mark.slow
@pytest.mark.parametrize("loss", LOSSES)
@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_families(loss, data):
    """With several ways to split, cells are all publishable pairs of areas, and splits all ways of both."""
    problem = data.draw(family_problems(loss=loss))
    oracle, cube = Oracle(problem), problem.cube
    every = itertools.product(*(range(len(family)) for family in oracle.families))

    pairs = [pair for pair in every if oracle.cell(*pair)[1]]

    assert list(zip(*cube.node.tolist(), strict=True)) == pairs
    assert cube.trips.tolist() == [oracle.cell(*pair)[0] for pair in pairs]
    assert cube.tiles.tolist() == [len(oracle.leaves[0][o]) + len(oracle.leaves[1][d]) for o, d in pairs]
    assert cube.loss.tolist() == pytest.approx([oracle.cell(*pair)[2] for pair in pairs])
    assert splits_of(cube) == [sorted(splits_by_definition(oracle, pair)) for pair in pairs]


def splits_by_definition(oracle, pair):
    """Return the splits of a pair: axis, publishable parts, trips in the others; an end that is a tile has one more."""
    for axis in (0, 1):
        ways = oracle.ways(axis, pair[axis])
        for parts in ways or [()]:
            below = [(*pair[:axis], part, *pair[axis + 1 :]) for part in parts]
            good = tuple(part for part in below if oracle.cell(*part)[1])
            yield axis, bool(ways), good, oracle.cell(*pair)[0] - sum(oracle.cell(*part)[0] for part in good)


def splits_of(cube):
    """Return the splits of each cell, sorted: axis, whether it is possible, publishable parts, trips in the others."""
    links, pairs = cube.links, list(zip(*cube.node.tolist(), strict=True))
    bounds = list(itertools.pairwise(links.first_part.tolist()))
    splits = [
        (axis, possible, tuple(pairs[part] for part in links.part[start:stop].tolist()), withheld)
        for axis, possible, withheld, (start, stop) in zip(
            links.axis.tolist(), links.splittable.tolist(), links.withheld.tolist(), bounds, strict=True
        )
    ]
    return [sorted(splits[start:stop]) for start, stop in itertools.pairwise(links.first_split.tolist())]


@pytest.mark.slow
@settings(max_examples=60, deadline=None)
@given(matrices_apart(), requirements)
def test_matrices_are_apart(apart, requirement):
    """The cells of several matrices are those of each by itself, one after the other; persons may travel in several."""
    cube = Problem(side_by_side(apart), requirement, 0, several=True).cube

    assert len(cube.edges) == len(apart) + 1
    for flows, (start, stop) in zip(apart, itertools.pairwise(cube.edges.tolist()), strict=True):
        alone = Problem(flows, requirement, 0, several=True).cube
        assert np.array_equal(cube.node[:, start:stop], alone.node)
        assert cube.loss[start:stop].tolist() == alone.loss.tolist()
        assert splits_of(cube)[start:stop] == splits_of(alone)


@dataclass(frozen=True, eq=False)
class _Timed(Problem):
    """A problem with a third axis, as time will be."""

    times: Axis | None = None

    @property
    def axes(self):
        return (*super().axes, self.times)


@st.composite
def timed_problems(draw):
    """Draw tile pairs that each have a time."""
    flows = draw(flows_between(draw(hierarchies(5)), draw(hierarchies(5)), people=False))
    tree = draw(hierarchies(5))
    leaves = st.sampled_from(np.flatnonzero(tree.is_leaf).tolist())
    times = Axis(tree, np.array([draw(leaves) for _ in range(len(flows))], np.int64))
    return _Timed(flows, Requirement(draw(st.integers(1, 4))), 0, times=times)


@pytest.mark.slow
@settings(max_examples=60, deadline=None)
@given(timed_problems())
def test_three_axes(problem):
    """Cells of three axes hold the trips whose leaves lie under all three nodes."""
    flows, cube, axes = problem.flows, problem.cube, problem.axes
    oracle = Oracle(Problem(flows, problem.requirement, 0))
    under = [*oracle.leaves, [oracle._leaves(axes[2].hierarchy, node) for node in range(len(axes[2].hierarchy))]]

    expected = {}
    for cell in np.ndindex(*(len(axis.hierarchy) for axis in axes)):
        inside = [all(axis.leaf[row] in under[a][cell[a]] for a, axis in enumerate(axes)) for row in range(len(flows))]
        if (trips := int(flows.trips[inside].sum())) >= problem.requirement.k:
            expected[cell] = (trips, trips * sum(len(under[a][node]) for a, node in enumerate(cell)))

    found = zip(zip(*cube.node.tolist(), strict=True), zip(cube.trips, cube.loss, strict=True), strict=True)
    assert {cell: (int(trips), int(loss)) for cell, (trips, loss) in found} == expected


def test_keys_do_not_overflow():
    """Axes whose node numbers do not fit 64 bits together are refused, not mixed up."""
    tree, _ = Hierarchy.from_parents(np.array([-1, 0, 0]), np.arange(3, dtype=np.uint64))

    class Many(Problem):
        @property
        def axes(self):
            return (super().axes[0],) * 41

    one = np.array([1])
    with pytest.raises(InputError, match="too large"):
        _ = Many(Flows(None, tree, tree, one, one, one, np.array([0, 1])), Requirement(1), 0).cube


def test_unknown_loss_and_missing_weights():
    """A loss that does not exist and a weight test without weights are refused with a hint."""
    tree, _ = Hierarchy.from_parents(np.array([-1, 0, 0]), np.arange(3, dtype=np.uint64))
    one = np.array([1])
    flows = Flows(None, tree, tree, one, one, one, np.array([0, 1]))

    with pytest.raises(UnknownNameError, match="metres"):
        _ = Problem(flows, Requirement(1), 0, loss="meter").cube
    with pytest.raises(InputError, match="weight"):
        _ = Problem(flows, Requirement(1, k_weight=2), 0).cube


@settings(max_examples=30, deadline=None)
@given(problems() | family_problems())
def test_compiled_loops_equal_plain_ones(problem):
    """Numba changes the speed only."""
    expected = problem.cube

    with plain_loops(kernels, search_kernels):
        plain = replace(problem).cube

    assert np.array_equal(plain.node, expected.node)
    assert plain.trips.tolist() == expected.trips.tolist()
    assert plain.loss.tolist() == pytest.approx(expected.loss.tolist())
    assert all(np.array_equal(one, other) for one, other in zip(plain.links, expected.links, strict=True))
