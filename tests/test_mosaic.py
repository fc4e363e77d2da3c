"""mosaic finds the best guillotine cut, and steers it to the budget or the precision asked for."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from flowveil._errors import InputError, PromiseError
from flowveil._methods import kernels, mosaic, narrow_kernels, nested, record_kernels
from flowveil._methods.cuts import mosaic_splits, solution_of
from flowveil._methods.narrow import between
from flowveil._methods.spend import spend
from flowveil._places import ROOT, Hierarchy
from flowveil._problem import LOSSES, Problem, Requirement
from tests.plain import plain_loops
from tests.trees import Oracle, family_problems, make_flows, prices, problems


@pytest.mark.slow
@pytest.mark.parametrize("loss", LOSSES)
@settings(max_examples=120, deadline=None)
@given(data=st.data(), lam=prices)
def test_best_of_all_guillotine_cuts(loss, data, lam):
    """The value is the least of all cuts there are, and the cut returned attains it."""
    problem = data.draw(problems(loss=loss))
    oracle = Oracle(problem)

    least = min(cost + lam * lost for cost, lost in oracle.mosaics(ROOT, ROOT))

    cut = mosaic_splits(problem.cube).best(lam)
    cost, lost = oracle.outcome(solution_of(problem, cut))
    assert (cut.loss, cut.suppressed) == (pytest.approx(cost), lost)
    assert cut.value(lam) == pytest.approx(least, rel=1e-9, abs=1e-3)


@pytest.mark.slow
@pytest.mark.parametrize("loss", LOSSES)
@settings(max_examples=60, deadline=None)
@given(data=st.data(), lam=prices)
def test_best_of_all_recursive_splits_of_families(loss, data, lam):
    """With several ways to split areas, too, and every tile pair is in the flow that holds it."""
    problem = data.draw(family_problems(loss=loss, most_tiles=4))
    oracle = Oracle(problem)

    least = min(cost + lam * lost for cost, lost in oracle.mosaics(ROOT, ROOT))

    cut = mosaic_splits(problem.cube).best(lam)
    cost, lost = oracle.outcome(solution_of(problem, cut))
    assert (cut.loss, cut.suppressed) == (pytest.approx(cost), lost)
    assert cut.value(lam) == pytest.approx(least, rel=1e-9, abs=1e-3)


@pytest.mark.slow
@settings(max_examples=200, deadline=None)
@given(problems() | family_problems(most_tiles=4))
def test_finest_within_the_budget(problem):
    """It succeeds wherever some cut does, no cut within the budget has a lower mean loss, and the notes say so."""
    oracle = Oracle(problem)
    least = oracle.least_mean(oracle.mosaics(ROOT, ROOT))
    if least is None:
        with pytest.raises(PromiseError):
            mosaic.solve(problem)
        return

    solution = mosaic.solve(problem)

    outcome = oracle.outcome(solution)
    assert outcome[1] <= problem.budget
    assert oracle.mean(outcome) == pytest.approx(least, rel=1e-6, abs=1e-6)
    assert "no other cut of its kind is better" in solution.notes


@pytest.mark.slow
@settings(max_examples=150, deadline=None)
@given(problems(), st.floats(1, 12))
def test_least_suppression_for_a_precision(problem, max_gbar):
    """The precision is met, with the loss tiles at the least suppression; the error comes where no cut meets it."""
    problem = replace(problem, max_gbar=max_gbar)
    oracle = Oracle(problem)
    total = problem.flows.total
    outcomes = oracle.mosaics(ROOT, ROOT) if problem.loss == "tiles" else ()
    fine = [lost for cost, lost in outcomes if lost < total and cost <= max_gbar * (total - lost) - 1e-6]
    try:
        solution = mosaic.solve(problem)
    except PromiseError:
        assert not fine
        return

    _, suppressed = oracle.outcome(solution)
    assert suppressed <= min(fine, default=total)
    published = problem.flows.trips[solution.group >= 0]
    tiles = problem.flows.origins.tiles[solution.origin] + problem.flows.destinations.tiles[solution.destination]
    assert (tiles[solution.group[solution.group >= 0]] * published).sum() <= max_gbar * published.sum() * (1 + 1e-9)


@pytest.mark.slow
@settings(max_examples=100, deadline=None)
@given(problems())
def test_no_suppression(problem):
    """With budget 0 nothing is suppressed if the whole may be published; else there is an error that helps."""
    problem = replace(problem, budget=0)
    oracle = Oracle(problem)
    _, good, loss = oracle.cell(ROOT, ROOT)

    if good and np.isfinite(loss):
        assert oracle.outcome(mosaic.solve(problem))[1] == 0
    elif not good:
        with pytest.raises(PromiseError, match="lower k"):
            mosaic.solve(problem)


@pytest.mark.slow
@settings(max_examples=100, deadline=None)
@given(problems())
def test_never_above_nested(problem):
    """A nested cut is a mosaic, so mosaic is not worse."""
    try:
        other = nested.solve(problem)
    except PromiseError:
        return
    oracle = Oracle(problem)

    least, mean = (oracle.mean(oracle.outcome(solution)) for solution in (mosaic.solve(problem), other))
    assert least <= mean * (1 + 1e-9)


def test_the_finer_of_equals_is_published():
    """A parent with one seen child costs the same as the child; the child is published."""
    chain, number = Hierarchy.from_parents(np.array([-1, 0, 1, 2]), np.arange(4, dtype=np.uint64))
    leaf = int(number[3])
    flows = make_flows(chain, chain, [(leaf, leaf, 0)] * 10, np.ones(6, np.int64), has_people=False)

    solution = mosaic.solve(Problem(flows, Requirement(10), 0))

    assert (solution.origin.tolist(), solution.destination.tolist()) == ([leaf], [leaf])


@pytest.mark.slow
@settings(max_examples=60, deadline=None)
@given(problems(), prices, st.randoms(use_true_random=False))
def test_names_do_not_matter(problem, lam, random):
    """Other keys of the same places give the same value."""
    renamed = []
    for tree, leaf in (
        (problem.flows.origins, problem.flows.origin),
        (problem.flows.destinations, problem.flows.destination),
    ):
        key = list(range(len(tree)))
        random.shuffle(key)
        other, number = Hierarchy.from_parents(tree.parent, np.array(key, np.uint64))
        renamed.append((other, number[leaf]))
    (origins, origin), (destinations, destination) = renamed
    order = np.lexsort((destination, origin))
    place = np.argsort(order)
    people = problem.flows.people
    if people is not None:
        by_pair = np.lexsort((people.person, place[people.pair]))
        people = replace(people, pair=place[people.pair][by_pair], person=people.person[by_pair])
    flows = replace(
        problem.flows,
        origins=origins,
        destinations=destinations,
        origin=origin[order],
        destination=destination[order],
        trips=problem.flows.trips[order],
        weight=problem.flows.weight[order],
        people=people,
    )
    loss = "tiles" if problem.loss in ("metres", "area") else problem.loss  # centers and sizes follow from keys

    first, second = (
        mosaic_splits(Problem(f, problem.requirement, problem.budget, loss=loss).cube).best(lam)
        for f in (problem.flows, flows)
    )
    assert second.value(lam) == pytest.approx(first.value(lam))


@pytest.mark.slow
@settings(max_examples=60, deadline=None)
@given(problems(), st.integers(1, 8))
def test_frontier(problem, points):
    """Points run from the finest cut to the one that suppresses least, and each trades one for the other."""
    rows = mosaic.frontier(problem, points)

    assert 1 <= len(rows) <= points
    shares = [row.suppressed for row in rows]
    assert shares == sorted(set(shares), reverse=True)
    least = min(lost for _, lost in Oracle(problem).mosaics(ROOT, ROOT))
    assert shares[-1] == pytest.approx(least / problem.flows.total)
    if problem.loss == "tiles":
        costs = [row.gbar * (1 - row.suppressed) if row.flows else 0 for row in rows]
        assert costs == sorted(costs)


def test_wrong_questions():
    """A precision or a number of points that make no sense are refused."""
    tree, _ = Hierarchy.from_parents(np.array([-1, 0, 0]), np.arange(3, dtype=np.uint64))
    problem = Problem(make_flows(tree, tree, [(1, 1, 0)], np.ones(6, np.int64), has_people=False), Requirement(1), 0)

    with pytest.raises(InputError, match="max_gbar"):
        mosaic.solve(replace(problem, max_gbar=-1.0))
    with pytest.raises(InputError, match="points"):
        mosaic.frontier(problem, 0)


@pytest.mark.slow
@settings(max_examples=100, deadline=None)
@given(family_problems() | problems(), prices, prices, st.lists(st.floats(0, 1), max_size=3))
def test_what_is_left_out_between_two_prices_does_not_matter(problem, one, other, shares):
    """At every price between them the same cells are published."""
    low, high = sorted((float(one), float(other)))
    splits = mosaic_splits(problem.cube)
    if not len(problem.cube) or low == high:
        return

    near = between(splits, low, high)

    for share in [0.0, *sorted(shares), 1.0]:
        lam = low + share * (high - low)
        cut, expected = near.best(lam), splits.best(lam)
        assert cut.published.tolist() == expected.published.tolist()
        assert (cut.loss, cut.suppressed) == (expected.loss, expected.suppressed)
        assert splits.measure(cut.choice, lam).published.tolist() == expected.published.tolist()


def test_most_cells_are_left_out_between_close_prices():
    """Otherwise nothing would be gained: of a large flow between two tiles, only the tiles matter."""
    tree, number = Hierarchy.from_parents(np.array([-1, 0, 0, 1, 1, 2, 2]), np.arange(7, dtype=np.uint64))
    leaf = [int(number[node]) for node in (3, 4, 5, 6)]
    trips = [(origin, destination, 0) for origin in leaf for destination in leaf] * 10
    cube = Problem(make_flows(tree, tree, trips, np.ones(6, np.int64), has_people=False), Requirement(10), 0).cube

    narrow = between(mosaic_splits(cube), 50.0, 60.0)

    assert sum(len(run.split) for run in narrow.runs) < len(cube.links.axis)


@settings(max_examples=30, deadline=None)
@given(family_problems() | problems(), prices, prices)
def test_compiled_loops_equal_plain_ones(problem, one, other):
    """Numba changes the speed only."""
    splits = mosaic_splits(problem.cube)

    def everything():
        solved = [splits.best(float(lam)) for lam in (one, other)]
        near = between(splits, *sorted((one, other + 1)))
        lost = kernels.lose(kernels.choose(float(one), 0, len(splits.cube), splits.cells), splits.cells)
        return (
            [(cut.choice.tolist(), cut.published.tolist(), cut.loss) for cut in solved],
            [solution_of(problem, cut).group.tolist() for cut in solved],
            [(run.number.tolist(), run.split.tolist(), [part.tolist() for part in run.cells]) for run in near.runs],
            lost.tolist(),
            spend(splits, solved[0], problem.budget, float(one)).published.tolist(),
        )

    expected = everything()
    with plain_loops(kernels, narrow_kernels, record_kernels):
        assert everything() == expected
