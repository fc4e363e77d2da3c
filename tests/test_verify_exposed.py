"""The verifier's own search for differences, and what it catches when the maker's search has a mistake."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import flowveil as fv
from flowveil._difference import exposed as makers_search
from flowveil._difference import find_exposed, make_atoms
from flowveil._problem import Requirement
from flowveil._verify import exposed
from flowveil._verify.exposed import Atoms, exposed_flows
from tests.test_difference import flows_of, plainly_exposed, two_layers

ZONES = pa.table({"zone_id": ["a", "b", "c"], "lon": [1.0, 2.0, 3.0], "lat": [1.0, 2.0, 3.0]})


def atoms_of(persons: list[set[int]], k: int, one: np.ndarray, other: np.ndarray, same: set[int]) -> Atoms:
    """Return the atoms of two layers over tile pairs, each pair with its persons: counted without the maker's code."""
    keys = sorted({pair for pair in zip(one.tolist(), other.tolist(), strict=True) if pair != (-1, -1)})
    who = [
        set().union(*(persons[row] for row in np.flatnonzero((one == first) & (other == second))))
        for first, second in keys
    ]
    first, second = (np.array([key[end] for key in keys], np.int64) for end in (0, 1))
    return Atoms(
        first,
        second,
        size=np.array([len(there) for there in who], np.int64),
        same=(first == second) & np.isin(first, list(same)),
        is_crowd=lambda atoms: len(set().union(*(who[atom] for atom in atoms))) >= k,
    )


def flows_of_both(chosen: set[int], one: np.ndarray, other: np.ndarray) -> set[int]:
    """Return the chosen flows that are the same tile pairs in both layers."""
    return {flow for flow in chosen if (one == flow).any() and ((one == flow) == (other == flow)).all()}


@pytest.mark.slow
@settings(max_examples=400, deadline=None)
@given(two_layers(), st.sets(st.integers(0, 3)))
def test_the_search_is_brute_force(case, chosen):
    """On tiny cases it yields what trying all unions and all that can be taken away finds, in order."""
    persons, k, one, other = case
    same = flows_of_both(chosen, one, other)
    atoms = atoms_of(persons, k, one, other, same)

    assert list(exposed_flows(atoms)) == plainly_exposed(persons, k, one, other, same)
    assert list(exposed_flows(atoms.turned())) == plainly_exposed(persons, k, other, one, same)


@st.composite
def larger_layers(draw):
    """Draw who travels on which of up to 40 tile pairs, k, and two partitions into up to 12 flows that are crowds."""
    random = np.random.default_rng(draw(st.integers(0, 2**32)))
    pairs, flows, k = (int(random.integers(1, top)) for top in (40, 12, 7))
    crowd = int(random.choice([10, 30, 300]))
    persons = [set(random.integers(0, crowd, random.integers(1, 9)).tolist()) for _ in range(pairs)]
    layers = []
    for _ in range(2):
        layer = random.integers(-1, flows, pairs)
        for flow in range(flows):
            if len(set().union(*(persons[pair] for pair in np.flatnonzero(layer == flow)))) < k:
                layer[layer == flow] = -1
        layers.append(layer)
    return persons, k, *layers


@pytest.mark.slow
@settings(max_examples=200, deadline=None)
@given(larger_layers())
def test_both_searches_agree(case):
    """The maker's search, another one, exposes the same flows; what it gives up on counts as exposed there."""
    persons, k, one, other = case
    same = flows_of_both(set(range(12)), one, other)
    is_same = lambda here, there: (here == there) & np.isin(here, list(same))  # noqa: E731
    makers = make_atoms(one, other, flows_of(persons), Requirement(k), is_same)
    atoms = atoms_of(persons, k, one, other, same)

    for own, oracle in ((atoms, makers), (atoms.turned(), makers.turned())):
        assert list(exposed_flows(own)) == find_exposed(oracle).tolist()


def test_a_search_that_is_too_long_counts_as_exposed(monkeypatch):
    """Rather a release is refused than a difference overlooked."""
    persons = [{1, 2, 3, 4}, {5}, {6}, {7, 8}]
    atoms = atoms_of(persons, 2, np.array([1, 0, 1, 0]), np.array([0, -1, -1, 0]), set())

    safe = list(exposed_flows(atoms))
    monkeypatch.setattr(exposed, "_MOST_STEPS", 1)

    assert safe == []
    assert list(exposed_flows(atoms)) == [0, 1]


def trips(sexes: dict[tuple[str, str], list[str]]) -> pa.Table:
    """Return trips by sex and destination; a name is a person."""
    rows = [(sex, to, person) for (sex, to), persons in sexes.items() for person in persons]
    sex, destination, person = zip(*rows, strict=True)
    return pa.table({"origin": ["a"] * len(rows), "destination": destination, "sex": sex, "person": person})


def names(prefix: str, count: int) -> list[str]:
    """Return persons."""
    return [f"{prefix}{number}" for number in range(count)]


FEW_WOMEN = {("male", "b"): names("m", 15), ("female", "b"): names("f", 3)}
NO_WOMAN = {("male", "b"): names("m", 15)}


def never(*_: object) -> bool:
    """Find nothing exposed."""
    return False


def nobody_is_a_crowd(self: makers_search._Search, state: makers_search._State | None) -> bool:
    """Take a difference of nobody for a safe one."""
    return state is None or not state.rest or RIGHT(self, state)


RIGHT = makers_search._Search._leaves_crowd

# Mistakes that the maker's search may have, each with trips on which it publishes too much.
MUTANTS = {
    "nothing is exposed": ("is_exposed", never, FEW_WOMEN),
    "nobody is a crowd": ("_leaves_crowd", nobody_is_a_crowd, NO_WOMAN),
}


@pytest.mark.slow
@pytest.mark.parametrize("mutant", MUTANTS)
def test_a_mistake_of_the_makers_search_is_caught(mutant, monkeypatch, tmp_path):
    """Totals that a broken search lets through do not verify, since the verifier searches by itself."""
    name, wrong, sexes = MUTANTS[mutant]
    table = trips(sexes)
    flows = fv.build_flows(table, zones=ZONES, unit="person", by="sex")
    honest = fv.anonymize(flows, "suppression", k=10, max_suppression=1, totals=True)
    monkeypatch.setattr(makers_search._Search, name, wrong)
    careless = fv.anonymize(flows, "suppression", k=10, max_suppression=1, totals=True)

    assert "total" not in honest.flows["sex"].to_pylist()
    assert "total" in careless.flows["sex"].to_pylist()
    with pytest.raises(fv.VerificationError, match="fewer than a crowd"):
        fv.verify(careless.write(tmp_path / "out"), table, zones=ZONES)
