"""Keeping what is safe: every pair of tiles that passes by itself is a flow, and the rest is generalized."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings

import flowveil as fv
from flowveil._methods import mosaic
from flowveil._places import ROOT
from flowveil._problem import find_safe
from flowveil.synthetic import City
from tests.trees import Oracle, family_problems, problems


class KeepingOracle(Oracle):
    """The definition: of a pair of areas that holds a pair of tiles which passes, only the parts may be published."""

    def cell(self, origin, destination):
        """Return trips, whether the tests pass, and loss of a pair of areas: infinite where it may only be split."""
        trips, good, loss = super().cell(origin, destination)
        if good and not self.is_tile(origin, destination) and self.holds_safe(origin, destination):
            loss = float("inf")
        return trips, good, loss

    def is_tile(self, origin, destination):
        """Whether neither area can be split."""
        return not list(self.ways(0, origin)) and not list(self.ways(1, destination))

    def holds_safe(self, origin, destination):
        """Whether some pair of tiles inside passes by itself and has a loss."""
        ends = [
            [int(family.number[0][leaf]) for leaf in leaves[area]]
            for family, leaves, area in zip(self.families, self.leaves, (origin, destination), strict=True)
        ]
        cells = [Oracle.cell(self, *pair) for pair in product(*ends)]
        return any(good and np.isfinite(loss) for _, good, loss in cells)


@settings(max_examples=40, deadline=None)
@given(problems() | family_problems(most_tiles=4))
def test_finest_of_those_that_keep(problem):
    """It succeeds wherever some cut keeps all pairs that pass, and none of these has a lower mean loss."""
    oracle = KeepingOracle(problem)
    least = oracle.least_mean(oracle.mosaics(ROOT, ROOT))
    if least is None:
        with pytest.raises(fv.PromiseError):
            mosaic.solve(problem, keep_safe=True)
        return

    solution = mosaic.solve(problem, keep_safe=True)

    outcome = oracle.outcome(solution)
    assert outcome[1] <= problem.budget
    assert oracle.mean(outcome) == pytest.approx(least, rel=1e-6, abs=1e-6)
    if problem.requirement.max_share is None:
        assert kept(problem, solution)


@settings(max_examples=40, deadline=None)
@given(problems(loss="tiles") | family_problems(most_tiles=4, loss="tiles"))
def test_remainders_count_all_others(problem):
    """With remainders too: every flow passes by what it counts, and each pair that is kept knows the flow around it."""
    problem = replace(problem, remainders=True, requirement=replace(problem.requirement, min_tiles=1, max_share=None))
    try:
        solution = mosaic.solve(problem, keep_safe=True)
    except fv.PromiseError:
        with pytest.raises(fv.PromiseError):  # nothing better is there without remainders
            mosaic.solve(replace(problem, remainders=False), keep_safe=True)
        return

    flows = problem.flows
    measures = problem.measure(solution.group, len(solution.origin))
    assert problem.requirement.is_crowd(measures).all()
    assert flows.total - measures.trips.sum() <= problem.budget
    assert kept(problem, solution)
    oracle = Oracle(problem)
    for flow, above in enumerate(solution.above.tolist()):
        inside = [
            other for other in range(len(solution.origin)) if other != flow and holds(oracle, solution, other, flow)
        ]
        assert above == (min(inside, key=lambda other: area(oracle, solution, other)) if inside else -1)


def kept(problem, solution):
    """Return whether all pairs of tiles that pass are the only ones of their flows."""
    safe = np.flatnonzero(find_safe(problem))
    counts = np.bincount(solution.group[solution.group >= 0], minlength=len(solution.origin))
    groups = solution.group[safe]
    return bool((groups >= 0).all() and (counts[groups] == 1).all())


def holds(oracle, solution, outer, inner):
    """Whether the areas of a flow hold those of another."""
    return all(
        leaves[int(ends[outer])] >= leaves[int(ends[inner])]
        for leaves, ends in zip(oracle.leaves, (solution.origin, solution.destination), strict=True)
    )


def area(oracle, solution, flow):
    """Return how many pairs of tiles a flow spans."""
    return len(oracle.leaves[0][int(solution.origin[flow])]) * len(oracle.leaves[1][int(solution.destination[flow])])


@pytest.fixture(scope="module")
def trips():
    """Return trips of the synthetic city."""
    return City(persons=300).trips(4_000)


@pytest.mark.slow
@pytest.mark.parametrize("remainders", [False, True])
@pytest.mark.parametrize(
    "building",
    [
        {"hierarchy": "h3-binary"},
        {"unit": "person_id"},
        {"by": "sex", "hierarchy": "h3-binary"},
        {"time_hierarchy": "1h<part-of-day<day", "hierarchy": "h3-binary"},
    ],
)
def test_release_verifies(trips, tmp_path, building, remainders):
    """Releases keep all pairs that pass, say so, and every promise holds on the trips."""
    flows = fv.build_flows(trips, "h3:6", **building)
    release = fv.anonymize(flows, k=5, max_suppression=0.6, remainders=remainders, options={"keep_safe": True})
    release.write(tmp_path / "out")

    assert fv.verify(tmp_path / "out", trips).checks
    safe = flows.trips[find_safe_of(flows)]
    assert f"all {len(safe):,} pairs of tiles that pass by themselves" in release.notes[-1] or building.get("by")
    single = release.areas.filter(np.asarray(release.areas["tiles"].to_numpy(zero_copy_only=False) == 1))
    tiles = {side: set() for side in ("origin", "destination")}
    for row in single.select(["area", "side"]).to_pylist():
        tiles[row["side"]].add(row["area"])
    rows = release.flows.to_pylist()
    found = [row["trips"] for row in rows if all(row[side] in tiles[side] for side in tiles) and single_step(row)]
    assert sorted(found) >= sorted(safe.tolist())
    assert release.manifest["options"]["method_options"] == {"keep_safe": True}


def find_safe_of(flows):
    """Return which pairs of tiles have five persons, or trips."""
    measures = flows.measure(np.arange(len(flows)), len(flows))
    return (measures.trips if measures.persons is None else measures.persons) >= 5


def single_step(row):
    """Whether a flow is of one hour, where time is an axis."""
    return "time_end" not in row or (row["time_end"] - row["time"]).total_seconds() == 3600


def test_what_does_not_go_together(trips):
    """Options that would make it void, or be void beside it, are refused with a reason."""
    flows = fv.build_flows(trips, "h3:6", hierarchy="h3")

    for option in ({"min_tiles": 2}, {"hide_choice": 0.5}):
        with pytest.raises(fv.InputError, match="does not go with keep_safe"):
            fv.anonymize(flows, k=5, options={"keep_safe": True}, **option)


def test_too_much_left_out(trips):
    """Where no cut keeps all within the budget, the hint says what helps."""
    flows = fv.build_flows(trips, "h3:7", hierarchy="h3")

    with pytest.raises(fv.PromiseError, match="would be left out") as error:
        fv.anonymize(flows, k=5, max_suppression=0.01, options={"keep_safe": True})

    assert "leave out keep_safe, or add --remainders" in error.value.hint


def test_the_attacker_makes_no_false_claims(trips, tmp_path):
    """What follows from areas that were not divided is still true; of remainders around kept pairs nothing is said."""
    flows = fv.build_flows(trips, "h3:6", hierarchy="h3")
    for name, remainders in (("plain", False), ("rest", True)):
        release = fv.anonymize(flows, k=5, max_suppression=0.6, remainders=remainders, options={"keep_safe": True})
        release.write(tmp_path / name)

    plain = fv.risk(tmp_path / "plain", trips, attacks="minimality")
    rest = fv.risk(tmp_path / "rest", trips, attacks="minimality")

    assert plain.findings[0].details["wrong"] == 0
    assert rest.inapplicable == ("minimality",) or not rest.findings
