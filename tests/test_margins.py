"""Departures and arrivals that others know: what is left of an area without its flows is nobody or a crowd."""

from __future__ import annotations

import itertools
import json

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings

import flowveil as fv
from flowveil._methods import mosaic
from flowveil._release.margins import protect
from flowveil._release.totals import keep_flows
from tests.test_time_and_groups import many_matrices
from tests.test_verify import AS_PROMISED, write_manifest

SIDES = (0, 1)


def tiles_of(tree, node):
    """Return the leaves under a node."""
    first, end = tree.spans()
    return {leaf for leaf in np.flatnonzero(tree.is_leaf).tolist() if first[node] <= first[leaf] < end[node]}


def is_safe(problem, solution):
    """Whether unions of areas, less all flows that begin (or end) inside them, leave nobody or a crowd.

    By the definition: every union of published areas of one side and matrix is looked at.
    """
    flows = problem.flows
    for side in SIDES:
        tree, leaf = ((flows.origins, flows.origin), (flows.destinations, flows.destination))[side]
        nodes = (solution.origin, solution.destination)[side]
        for matrix in range(flows.matrix_count):
            own = np.flatnonzero(solution.matrix == matrix).tolist()
            areas = {node: tiles_of(tree, node) for node in {int(nodes[flow]) for flow in own}}
            for size in range(1, len(areas) + 1):
                for some in itertools.combinations(areas, size):
                    union = set().union(*(areas[node] for node in some))
                    taken = {
                        flow for flow in own if areas[int(nodes[flow])] <= union and _below(tree, nodes[flow], some)
                    }
                    rest = [
                        pair
                        for pair in np.flatnonzero(flows.matrix == matrix).tolist()
                        if leaf[pair] in union and solution.group[pair] not in taken
                    ]
                    group = np.full(len(flows), -1)
                    group[rest] = 0
                    if rest and not problem.requirement.is_crowd(flows.measure(group, 1))[0]:
                        return False
    return True


def _below(tree, node, some):
    """Whether a node is one of some, or lies under one of them."""
    while node >= 0:
        if node in some:
            return True
        node = tree.parent[node]
    return False


def without(solution, flows):
    """Return a solution less some flows, its numbers as they were."""
    return keep_flows(solution, np.where(np.isin(solution.group, list(flows)), -1, solution.group))


@pytest.mark.slow
@settings(max_examples=50, deadline=None)
@given(many_matrices())
def test_nothing_is_left_that_is_no_crowd(problem):
    """After flows are withheld, no union of areas leaves a few, with persons, weights and several matrices."""
    try:
        solution = mosaic.solve(problem)
    except fv.PromiseError:
        return

    kept = protect(problem, solution)

    assert is_safe(problem, kept)
    assert set(np.unique(kept.group).tolist()) - {-1} == set(range(len(kept.origin)))


@settings(max_examples=30, deadline=None)
@given(many_matrices())
def test_the_fewest_trips_are_withheld(problem):
    """No other set of flows that makes margins safe has fewer trips."""
    try:
        solution = mosaic.solve(problem)
    except fv.PromiseError:
        return
    count = len(solution.origin)
    if count > 7:
        return
    trips = problem.flows.measure(solution.group, count).trips
    sets = itertools.chain.from_iterable(itertools.combinations(range(count), size) for size in range(count + 1))
    least = min(sum(trips[list(some)]) for some in sets if is_safe(problem, without(solution, some)))

    kept = protect(problem, solution)

    assert trips.sum() - problem.flows.trips[kept.group >= 0].sum() == least


ZONES = pa.table({"zone_id": ["a", "b", "c"], "lon": [1.0, 2.0, 3.0], "lat": [1.0] * 3})


def trips(counts):
    """Return trips by pair of zones, one person each."""
    rows = [pair for pair, number in counts.items() for _ in range(number)]
    people = [f"p{number}" for number in range(len(rows))]
    return pa.table({"origin": [row[0] for row in rows], "destination": [row[1] for row in rows], "person": people})


def test_three_from_a_are_hidden_by_twelve_more(tmp_path):
    """From a 20 go to b, 12 to a and 3 to c: who knows that 35 leave a sees the 3, unless the 12 are withheld too."""
    table = trips({"ab": 20, "aa": 12, "ac": 3, "bc": 30, "cc": 30})
    flows = fv.build_flows(table, zones=ZONES, hierarchy="ward", unit="person")
    plain = fv.anonymize(flows, "suppression", k=10)
    safe = fv.anonymize(flows, "suppression", k=10, protect_margins=True)
    folder = safe.write(tmp_path / "safe")

    pairs = [
        {(row["origin"], row["destination"]): row["trips"] for row in release.flows.to_pylist()}
        for release in (plain, safe)
    ]

    assert set(pairs[0]) - set(pairs[1]) == {("ward:0", "ward:0"), ("ward:1", "ward:2")}
    assert any("nobody or a crowd" in check for check in fv.verify(folder, table, zones=ZONES).checks)
    assert safe.manifest["promise"]["protect_margins"] is True


def test_verify_refuses_a_promise_that_does_not_hold(tmp_path):
    """A release that was made without it and says otherwise does not verify, and the message has no small number."""
    table = trips({"ab": 20, "aa": 12, "ac": 3, "bc": 30, "cc": 30})
    flows = fv.build_flows(table, zones=ZONES, hierarchy="ward", unit="person")
    folder = fv.anonymize(flows, "suppression", k=10).write(tmp_path / "out")
    manifest = json.loads((folder / "manifest.json").read_text())
    manifest["promise"]["protect_margins"] = True
    write_manifest(manifest | {"promise_text": AS_PROMISED}, folder)

    with pytest.raises(fv.VerificationError, match="fewer than a crowd are in none of its flows") as raised:
        fv.verify(folder, table, zones=ZONES)

    assert "3" not in str(raised.value)


@pytest.mark.slow
@pytest.mark.parametrize("build", [{}, {"unit": "person_id"}, {"by": "sex"}])
def test_a_city_verifies_within_its_budget(tmp_path, build):
    """Releases of the synthetic city keep the budget, and verify; rounding goes with it."""
    path = tmp_path / "trips.parquet"
    fv.synthetic.write_city(path, trips=4_000, persons=400)
    flows = fv.build_flows(path, "h3:8", hierarchy="h3", **build)

    release = fv.anonymize(flows, k=10, protect_margins=True, max_suppression=0.15, rounding=5)

    assert release.metrics()["suppressed"] <= 0.15
    fv.verify(release.write(tmp_path / "out"), path)


@pytest.mark.parametrize(
    "keywords",
    [
        {"elsewhere": True},
        {"remainders": True},
        {"method": "odkanon", "options": {"reinstate": False}},
        {"beside": "x"},
    ],
)
def test_what_does_not_go_with_margins(keywords):
    """Flows that are not one layer on areas of a tree are refused."""
    flows = fv.build_flows(trips({"ab": 20, "aa": 12}), zones=ZONES, hierarchy="ward")

    with pytest.raises(fv.InputError, match="margins"):
        fv.anonymize(flows, k=10, protect_margins=True, **keywords)


def test_the_exact_attacker_agrees(tmp_path):
    """With departures and arrivals given to it, the exact attack breaks the plain release and not the protected one."""
    counts = {"ab": 20, "aa": 12, "ac": 3, "bc": 30, "cc": 30}
    flows = fv.build_flows(trips(counts), zones=ZONES, hierarchy="ward")
    known = [(end, side, sum(n for pair, n in counts.items() if pair[side] == end)) for end in "abc" for side in SIDES]
    margins = pa.table(
        {
            "origin": [end if side == 0 else None for end, side, _ in known],
            "destination": [end if side == 1 else None for end, side, _ in known],
            "trips": [number for _, _, number in known],
        }
    )
    verdicts = []
    for protected in (False, True):
        release = fv.anonymize(flows, "suppression", k=10, protect_margins=protected)
        rows = [row for row in margins.to_pylist() if row["trips"] > 0 and _is_named(row, release)]
        table = pa.Table.from_pylist(rows, margins.schema)
        folder = release.write(tmp_path / str(protected))
        verdicts.append(fv.risk(folder, margins=table, attacks="exact").worst)

    assert verdicts == ["breaks", "holds"]


def _is_named(row, release):
    """Whether a zone of a margin lies in an area of a release."""
    named = {zone for members in release.areas["members"].to_pylist() for zone in members or "abc"}
    return (row["origin"] or row["destination"]) in named
