"""Many matrices are steered without all their cells, to what is found with all of them."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from flowveil._errors import PromiseError
from flowveil._methods import in_runs, mosaic, nested
from flowveil._methods.cuts import mosaic_splits, nested_splits
from flowveil._methods.narrow import cube_between
from flowveil._methods.steer import steer
from flowveil._places import Family, Hierarchy
from flowveil._problem import LOSSES, Problem, Requirement, sheets
from tests.trees import family_problems, make_flows, matrices_apart, prices, requirements, side_by_side


@pytest.fixture(scope="module", autouse=True)
def _small():
    """Let every matrix be a run of its own, and two be many."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sheets, "_RUN", 1)
        patch.setattr(in_runs, "_FEWEST_RUNS", 2)
        patch.setattr(in_runs, "_SAMPLE", 2)
        yield


@st.composite
def many_matrices(draw):
    """Draw a problem of several matrices whose areas may be split in several ways."""
    flows = side_by_side(draw(matrices_apart(5)))
    budget = draw(st.integers(0, flows.total // 2))
    return Problem(flows, draw(requirements), budget, loss=draw(st.sampled_from(LOSSES)), several=True)


@pytest.mark.slow
@settings(max_examples=150, deadline=None)
@given(many_matrices())
def test_as_good_as_with_all_cells(problem):
    """The budget is kept, and the mean is at most so much above that of all cells as the gap says."""
    try:
        expected = steer(problem, mosaic_splits(problem.cube))
    except PromiseError:
        with pytest.raises(PromiseError):
            in_runs.steer_in_runs(problem, mosaic_splits)
        return

    cut = in_runs.steer_in_runs(problem, mosaic_splits)

    assert cut.suppressed <= problem.budget
    assert expected.mean >= cut.mean * (1 - min(cut.gap, 1)) - 1e-6


@pytest.mark.parametrize("method", [mosaic, nested])
def test_all_cells_are_never_there(method):
    """Where the guess is good, only those around the price are kept: fewer than all, for the same answer."""
    random = np.random.default_rng(7)
    tree, other = (binary_tree(order) for order in (range(8), (0, 4, 2, 6, 1, 5, 3, 7)))
    family = Family.join([tree, other])
    leaves = np.flatnonzero(tree.is_leaf)
    apart = []
    for _ in range(40):
        ends = random.choice(leaves, (2, 300), p=random.dirichlet(np.ones(8)))
        trips = [(int(origin), int(destination), 0) for origin, destination in ends.T]
        apart.append(make_flows(tree, tree, trips, np.ones(6, np.int64), has_people=False))
        apart[-1].places.families.append(family)
    flows = side_by_side(apart)
    problem, full = (Problem(flows, Requirement(5), flows.total // 20, several=True) for _ in range(2))

    solution = method.solve(problem)

    assert "cube" not in vars(problem)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(in_runs, "_FEWEST_RUNS", 1_000)
        expected = method.solve(full)
    means = [mean_tiles(flows, family, found) for found in (solution, expected)]
    assert means[0] == pytest.approx(means[1], rel=1e-3)


def binary_tree(order):
    """Return a tree that halves eight tiles, given in some order, again and again; keys as `trees_over` has them."""
    order, parent, key = list(order), [-1], [0]
    for level in (1, 2, 3):
        size = 8 >> level
        for part in range(1 << level):
            parent.append((1 << level - 1) - 1 + part // 2)
            key.append(sum(1 << tile for tile in order[part * size : part * size + size]))
    return Hierarchy.from_parents(np.array(parent), np.array(key, np.uint64))[0]


def mean_tiles(flows, family, solution):
    """Return the mean tiles of both ends over published trips."""
    tiles = family.tiles[solution.origin] + family.tiles[solution.destination]
    published = solution.group >= 0
    return np.average(tiles[solution.group[published]], weights=flows.trips[published])


@pytest.mark.slow
@settings(max_examples=100, deadline=None)
@given(many_matrices(), st.sampled_from([mosaic, nested]))
def test_solutions_keep_the_promise(problem, method):
    """Flows are counted exactly, pass all tests, and mosaic is not above nested."""
    try:
        solution = method.solve(problem)
    except PromiseError:
        return

    flows, families = problem.flows, problem.families
    measures = flows.measure(solution.group, len(solution.origin))
    ends = families[0].tiles[solution.origin], families[1].tiles[solution.destination]
    assert problem.requirement.passes(measures, *ends).all()
    assert flows.trips[solution.group < 0].sum() <= problem.budget
    matrix = solution.matrix[solution.group]
    assert (matrix == flows.matrix)[solution.group >= 0].all()


@pytest.mark.slow
@settings(max_examples=150, deadline=None)
@given(family_problems(), prices, st.floats(1.01, 3), st.lists(st.floats(0, 1), max_size=3), st.sampled_from([0, 1, 2]))
def test_what_is_kept_between_prices_is_enough(problem, low, times, shares, kind):
    """Best cuts between two prices publish the same areas, and so does what they become with all splits below."""

    def splits_of(cube):
        return [mosaic_splits(cube), nested_splits(cube, (0, 1)), nested_splits(cube, (1, 0))][kind]

    if not len(problem.cube) or not low:
        return
    high = low * times
    less = cube_between(splits_of(problem.cube), low, high)

    for share in [0.0, *shares, 1.0]:
        lam = low + share * (high - low)
        cut, expected = splits_of(less).best(lam), splits_of(problem.cube).best(lam)
        assert less.node[:, cut.published].tolist() == problem.cube.node[:, expected.published].tolist()
        assert (cut.loss, cut.suppressed) == (pytest.approx(expected.loss), expected.suppressed)
        assert below(splits_of(less), cut.published) == below(splits_of(problem.cube), expected.published)


def below(splits, published):
    """Return all pairs of areas that published ones can be split into."""
    waiting, found = published.tolist(), set()
    cube, links = splits.cube, splits.cube.links
    while waiting:
        cell = waiting.pop()
        found.add(tuple(cube.node[:, cell].tolist()))
        for split in range(*links.first_split[[cell, cell + 1]].tolist()):
            if splits.allowed[split]:
                waiting += links.part[slice(*links.first_part[[split, split + 1]].tolist())].tolist()
    return found
