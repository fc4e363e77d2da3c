"""The largest share of one person: the promise, how it composes, and that the best cut is still found."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import flowveil as fv
from flowveil._flows import Measures
from flowveil._methods import find_method
from flowveil._places import Hierarchy
from flowveil._problem import Problem, Requirement, share_kernels
from tests import trees

SHARES = st.sampled_from([0.2, 0.25, 1 / 3, 0.4, 0.5, 0.6, 0.75, 0.9])


@st.composite
def shared_problems(draw, *, several=False, loss=None):
    """Draw a problem with persons, of whom none may make more than a share of the trips of a flow."""
    if several:
        problem = draw(trees.family_problems(most_tiles=4, most_trips=20, loss=loss, people=True))
    else:
        ends = draw(trees.hierarchies(6)), draw(trees.hierarchies(6))
        flows = draw(trees.flows_between(*ends, most_trips=20, people=True))
        budget = draw(st.integers(0, flows.total))
        chosen = loss or draw(st.sampled_from(["tiles", "metres", "reconstruction", "area"]))
        problem = Problem(flows, draw(trees.requirements), budget, loss=chosen)
    return replace(problem, requirement=replace(problem.requirement, max_share=draw(SHARES)))


def solved(method, problem, **options):
    """Return what a method answers, None if it says that the promise cannot be kept."""
    try:
        return find_method(method).solve(problem, **options)
    except fv.PromiseError:
        return None


@pytest.mark.slow
@settings(max_examples=40, deadline=None)
@given(shared_problems() | shared_problems(several=True))
def test_mosaic_is_best_of_all_cuts_that_keep_the_share(problem):
    """Brute force over all cuts whose flows pass, split ones that fail: none has a lower mean within the budget."""
    oracle = trees.Oracle(problem)
    least = oracle.least_mean(oracle.mosaics(0, 0))

    solution = solved("mosaic", problem)

    assert (solution is None) == (least is None)
    if solution is not None and least < math.inf:
        outcome = oracle.outcome(solution)
        assert outcome[1] <= problem.budget
        assert math.isclose(oracle.mean(outcome), least, rel_tol=1e-6)


@settings(max_examples=20, deadline=None)
@given(shared_problems())
def test_nested_is_best_of_all_nested_cuts_that_keep_the_share(problem):
    """The same for one map of one end."""
    oracle = trees.Oracle(problem)
    found = [oracle.least_mean(oracle.nested(side)) for side in (0, 1)]
    least = min((mean for mean in found if mean is not None), default=None)

    solution = solved("nested", problem)

    assert (solution is None) == (None in found) or least is not None
    if solution is not None and least is not None and least < math.inf:
        assert math.isclose(oracle.mean(oracle.outcome(solution)), least, rel_tol=1e-6)


@settings(max_examples=40, deadline=None)
@given(
    shared_problems(loss="tiles"), st.sampled_from([m.name for m in fv.methods() if m.shares and m.name != "mondrian"])
)
def test_no_method_publishes_a_flow_that_one_person_makes(problem, method):
    """Whatever a method that can keep the share publishes, does."""
    solution = solved(method, problem)

    if solution is not None:
        oracle = trees.Oracle(problem)
        for flow in range(len(solution.origin)):
            rows = np.flatnonzero(solution.group == flow).tolist()
            assert oracle.share(rows) <= Fraction(str(problem.requirement.max_share))


@settings(max_examples=25, deadline=None)
@given(shared_problems(loss="tiles"))
def test_remainders_keep_the_share(problem):
    """What finer flows leave is tested by itself, and mended or withheld where one person makes too much of it."""
    solution = solved("mosaic", replace(problem, remainders=True))

    if solution is not None:
        measures = problem.measure(solution.group, len(solution.origin))
        assert problem.requirement.is_crowd(measures).all()
        assert problem.requirement.is_shared(measures).all()
        assert int(problem.flows.trips[solution.group < 0].sum()) <= problem.budget


def small_problem(trips, **asked):
    """Return a problem of trips (origin, person) from the leaves 1, 2, 3 below a root to one destination."""
    origins = Hierarchy.from_parents(np.array([-1, 0, 0, 0]), np.arange(4, dtype=np.uint64))[0]
    destinations = Hierarchy.from_parents(np.array([-1]), np.zeros(1, np.uint64))[0]
    rows = [(origin, 0, person) for origin, person in trips]
    flows = trees.make_flows(origins, destinations, rows, np.zeros(10, np.int64), has_people=True)
    return Problem(flows, Requirement(**asked), 0)


def test_remainder_of_one_person_is_mended():
    """Finer flows would leave a crowd of which one person makes 6 of 7 trips: so all is one flow."""
    shared = [(1, person) for person in (0, 1)] * 5
    problem = small_problem([*shared, *[(2, 2)] * 6, (3, 3)], k=2, max_share=0.5)

    solution = find_method("mosaic").solve(replace(problem, remainders=True))

    assert solution.origin.tolist() == [0]
    without = replace(problem, requirement=Requirement(2), remainders=True)
    assert len(find_method("mosaic").solve(without).origin) == 2


def test_odkanon_leaves_out_a_flow_that_filtered_trips_break():
    """Person 9 makes 1 of 8 trips of the flow; with two that were filtered before, 3 of 10: more than a quarter."""
    trips = [(1, 0), (1, 1), (1, 2), (1, 9), (2, 4), (2, 5), (2, 6), (2, 7), (3, 9), (3, 9)]
    options = {"levels": 0, "filter_budget": 0.34}

    kept = find_method("odkanon").solve(small_problem(trips, k=5, max_share=0.3), **options)
    left_out = find_method("odkanon").solve(small_problem(trips, k=5, max_share=0.25), **options)

    assert (len(kept.origin), len(left_out.origin)) == (1, 0)


@given(st.lists(st.lists(st.integers(0, 9), min_size=3, max_size=3), min_size=1, max_size=5), SHARES)
def test_flows_that_keep_the_share_keep_it_together(parts, share):
    """Trips of three persons in flows apart: if each flow passes, so do all together; odkanon rests on it."""
    made = np.array([part for part in parts if sum(part)], np.int64).reshape(-1, 3)
    requirement = Requirement(1, max_share=share)

    def shared(trips):
        return requirement.is_shared(Measures(trips.sum(axis=1), None, None, trips.max(axis=1)))

    if shared(made).all() and len(made):
        assert shared(made.sum(axis=0, keepdims=True)).all()


def test_share_is_not_monotone():
    """A flow that passes may lie in a larger one that fails: why cells are masked, not cut off."""
    requirement = Requirement(2, max_share=0.5)
    small, large = (
        Measures(np.array([4]), None, None, np.array([2])),
        Measures(np.array([9]), None, None, np.array([7])),
    )

    assert requirement.is_shared(small).all()
    assert not requirement.is_shared(large).any()


@given(
    st.lists(st.lists(st.tuples(st.integers(0, 3), st.integers(1, 5)), max_size=4), min_size=1, max_size=5),
    st.integers(1, 999_999),
)
def test_compiled_loop_and_plain_one_find_the_same(records, parts):
    """Cells of adjacent records: compiled, plain, and by a table of who makes what."""
    records = [list(dict(visits).items()) for visits in records]
    start = np.cumsum([0, *map(len, records)])
    flat = [visit for visits in records for visit in visits]
    visits = share_kernels.Visits(
        start, np.array([who for who, _ in flat], np.int64), np.array([trips for _, trips in flat], np.int32)
    )
    every = range(len(records))
    cells = [(0, len(records)), *((low, high) for low in every for high in range(low + 1, len(records) + 1))]
    made = [
        {who: sum(t for visits in records[low:high] for person, t in visits if person == who) for who in range(4)}
        for low, high in cells
    ]
    expected = [max(one.values()) * 1_000_000 > parts * sum(one.values()) for one in made]
    spans = share_kernels.Spans(
        np.array([low for low, _ in cells]),
        np.array([high for _, high in cells]),
        np.arange(len(records)),
        np.array([sum(one.values()) for one in made]),
        np.arange(len(cells)) == 0,
    )

    for find in (share_kernels.find_dominated, share_kernels._find_dominated):
        assert find(spans, visits, parts, np.zeros(4, np.int64)).tolist() == expected
