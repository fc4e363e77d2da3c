"""Differences of two layers: what is called safe leaves no small crowd, whichever flows a reader subtracts."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from flowveil._difference import find_exposed, make_atoms, withhold_exposing
from flowveil._flows import Flows, People
from flowveil._places import H3Grid, Hierarchy
from flowveil._problem import Requirement


def flows_of(persons):
    """Return flows in which tile pair number i is made by the persons of `persons[i]`, one trip each."""
    tree = Hierarchy.from_parents(np.array([-1, *[0] * len(persons)]), np.arange(len(persons) + 1, dtype=np.uint64))[0]
    pair = np.repeat(np.arange(len(persons)), [len(who) for who in persons])
    return Flows(
        places=H3Grid(9),
        origins=tree,
        destinations=tree,
        origin=np.arange(1, len(persons) + 1),
        destination=np.ones(len(persons), np.int64),
        trips=np.array([len(who) for who in persons]),
        edges=np.array([0, len(persons)]),
        people=People(pair, np.concatenate([sorted(who) for who in persons]).astype(np.int64), None),
    )


@st.composite
def two_layers(draw):
    """Draw who travels on which tile pair, k, and two partitions of the tile pairs whose flows are crowds."""
    pairs = draw(st.integers(1, 9))
    persons = [draw(st.sets(st.integers(0, 30), min_size=1, max_size=5)) for _ in range(pairs)]
    k = draw(st.integers(2, 5))
    layers = []
    for _ in range(2):
        layer = np.array([draw(st.integers(-1, 3)) for _ in range(pairs)])
        for flow in range(4):
            if len(set().union(*(persons[pair] for pair in np.flatnonzero(layer == flow)))) < k:
                layer[layer == flow] = -1
        layers.append(layer)
    return persons, k, *layers


def smallest_difference(persons, k, one, other):
    """Return whether some union of flows of a layer, less flows of the other inside it, leaves fewer than k persons."""
    flows = [set(np.flatnonzero(one == flow).tolist()) for flow in range(4)]
    taken = [set(np.flatnonzero(other == flow).tolist()) for flow in range(4)]
    for size in range(1, 5):
        for union in itertools.combinations([flow for flow in flows if flow], size):
            whole = set().union(*union)
            rest = whole - set().union(*(flow for flow in taken if flow and flow <= whole))
            if rest and len(set().union(*(persons[pair] for pair in rest))) < k:
                return True
    return False


@pytest.mark.slow
@settings(max_examples=400, deadline=None)
@given(two_layers())
def test_what_is_safe_is_safe(case):
    """Brute force over all unions finds no small difference where none is reported."""
    persons, k, one, other = case
    atoms = make_atoms(one, other, flows_of(persons), Requirement(k))

    reported = [len(find_exposed(here)) > 0 for here in (atoms, atoms.turned())]

    small = [smallest_difference(persons, k, one, other), smallest_difference(persons, k, other, one)]
    assert all(said or not true for said, true in zip(reported, small, strict=True))


def subsets(items):
    """Return all subsets, the empty one too."""
    return itertools.chain.from_iterable(itertools.combinations(items, size) for size in range(len(items) + 1))


def plainly_exposed(persons, k, one, other, same):
    """Return the flows of a layer in a union of which too few remain, or nobody, by trying everything.

    A flow of the other layer can be taken away unless k persons of it lie outside of the union. Flows that both layers
    have tell nothing new.
    """
    flows = {flow: set(np.flatnonzero(one == flow).tolist()) for flow in range(4) if (one == flow).any()}
    others = {flow: set(np.flatnonzero(other == flow).tolist()) for flow in range(4) if (other == flow).any()}

    def crowd(pairs):
        return len(set().union(*(persons[pair] for pair in pairs))) >= k

    exposed = set()
    for union in subsets(flows):
        whole = set().union(*(flows[flow] for flow in union))
        takable = [flow for flow, pairs in others.items() if not crowd(pairs - whole)]
        for taken in subsets(takable):
            rest = whole - set().union(*(others[flow] for flow in taken))
            if not crowd(rest):
                exposed |= set(union) - same
    return sorted(exposed)


@pytest.mark.slow
@settings(max_examples=400, deadline=None)
@given(two_layers(), st.sets(st.integers(0, 3)))
def test_all_that_is_exposed_is_found_and_nothing_else(case, chosen):
    """What the search finds is what trying all unions finds, whether flows of both layers are the same or not."""
    persons, k, one, other = case
    same = {flow for flow in chosen if (one == flow).any() and ((one == flow) == (other == flow)).all()}
    is_same = lambda here, there: (here == there) & np.isin(here, list(same))  # noqa: E731

    atoms = make_atoms(one, other, flows_of(persons), Requirement(k), is_same)

    assert find_exposed(atoms).tolist() == plainly_exposed(persons, k, one, other, same)
    assert find_exposed(atoms.turned()).tolist() == plainly_exposed(persons, k, other, one, same)


@pytest.mark.slow
@settings(max_examples=200, deadline=None)
@given(two_layers(), st.data())
def test_few_are_like_nobody(case, data):
    """Where a few persons of one tile pair are in one layer only, all stays as it is when they are not there."""
    persons, k, one, other = case
    hidden = [pair for pair in range(len(persons)) if other[pair] < 0 <= one[pair] and len(persons[pair]) < k]
    if not hidden:
        return
    pair = data.draw(st.sampled_from(hidden))
    alone = [flow for flow in range(4) if set(np.flatnonzero(one == flow).tolist()) <= {pair}]
    if alone or set(one[np.flatnonzero(other < 0)].tolist()) - {-1, one[pair]}:
        return  # the flow would be gone, or others hide there too: then the sum of both may be a crowd
    with_them = [number for number in range(len(persons)) if number == pair or other[number] >= 0]
    without = [number for number in with_them if number != pair]
    found = []
    for rows in (with_them, without):
        crowd = [len(set().union(*(persons[row] for row in rows if one[row] == flow))) >= k for flow in range(4)]
        layers = [np.where(crowd_of(one[rows], crowd), one[rows], -1), other[rows]]
        flows = flows_of([persons[row] for row in rows])
        kept, _ = withhold_exposing(
            lambda first, f=flows, s=layers[1]: make_atoms(first, s, f, Requirement(k)), layers[0]
        )
        found.append((crowd, set(kept.tolist()) - {-1}))

    if found[0][0] == found[1][0]:  # the same flows were crowds before
        assert found[0][1] == found[1][1]


def crowd_of(layer, crowd):
    """Return which tile pairs are in a flow that is a crowd."""
    return np.array([flow >= 0 and crowd[flow] for flow in layer.tolist()])


@pytest.mark.slow
@settings(max_examples=200, deadline=None)
@given(two_layers())
def test_withholding_mends(case):
    """What is left of the first layer gives nobody away, and is made of whole flows of it."""
    persons, k, one, other = case
    flows = flows_of(persons)

    kept, withheld = withhold_exposing(lambda first: make_atoms(first, other, flows, Requirement(k)), one)

    assert not smallest_difference(persons, k, kept, other)
    assert not smallest_difference(persons, k, other, kept)
    assert withheld == len(set(one[one >= 0].tolist()) - set(kept.tolist()))
    assert all((kept[one == flow] == flow).all() or (kept[one == flow] < 0).all() for flow in range(4))


def test_all_less_men_is_women():
    """The whole flow and the flow of men leave three women: the planted case."""
    men, women = {*range(12)}, {100, 101, 102}
    flows = flows_of([men, women])
    whole, of_men = np.array([0, 0]), np.array([0, -1])

    atoms = make_atoms(whole, of_men, flows, Requirement(10))

    assert find_exposed(atoms).tolist() == [0]
    assert withhold_exposing(lambda first: make_atoms(first, of_men, flows, Requirement(10)), whole)[1] == 1


def test_several_totals_less_one_group():
    """Neither total alone holds the men's flow, but both together do."""
    flows = flows_of([{*range(10)}, {100}, {*range(10, 20)}, {101}])
    totals, men = np.array([0, 0, 1, 1]), np.array([0, -1, 0, -1])

    atoms = make_atoms(totals, men, flows, Requirement(5))

    assert find_exposed(atoms).tolist() == [0, 1]


def test_same_person_in_two_atoms_counts_once():
    """Two remainders that belong to one person are no crowd of two."""
    flows = flows_of([{*range(10)}, {100}, {*range(10, 20)}, {100}])
    totals, men = np.array([0, 0, 1, 1]), np.array([0, -1, 1, -1])

    assert len(find_exposed(make_atoms(totals, men, flows, Requirement(2)))) == 2
