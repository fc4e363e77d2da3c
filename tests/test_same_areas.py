"""One map for all steps of time and groups: the best that they can share, and every flow that passes is on it."""

from __future__ import annotations

import json
import shutil
from collections import Counter
from dataclasses import replace
from functools import cache

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import flowveil as fv
from flowveil._cli.commands import run
from flowveil._errors import InputError, PromiseError, VerificationError
from flowveil._methods import mosaic
from flowveil._methods.cuts import mosaic_splits
from flowveil._places import ROOT
from flowveil._problem import Problem, common_cube, join_matrices
from tests.trees import Oracle, add_up, matrices_apart, prices, requirements, side_by_side


@st.composite
def shared_problems(draw):
    """Draw a problem of up to three matrices, whose areas may be split in several ways, with any loss but metres."""
    apart = draw(matrices_apart())
    flows = replace(side_by_side(apart), matrices=pa.table({"time": np.arange(len(apart))}))
    loss = draw(st.sampled_from(["tiles", "reconstruction", "area"]))
    return Problem(
        flows, draw(requirements), draw(st.integers(0, flows.total)), loss=loss, several=True, same_areas=True
    )


class CommonOracle:
    """All maps that matrices can share, from the plain definitions for each matrix by itself."""

    def __init__(self, problem):
        self.steps = [Oracle(problem.part(matrix)) for matrix in range(problem.flows.matrix_count)]
        self.mosaics = cache(self.mosaics)

    def mosaics(self, origin, destination):
        """Return (loss, suppressed) of every guillotine cut of a pair of areas, summed over matrices."""
        cells = [step.cell(origin, destination) for step in self.steps]
        dropped = add_up([step.drop(trips) for step, (trips, _, _) in zip(self.steps, cells, strict=True)])
        if not any(good for _, good, _ in cells):
            return dropped
        here = [
            {(loss, 0)} if good else step.drop(trips)
            for step, (trips, good, loss) in zip(self.steps, cells, strict=True)
        ]
        found = add_up(here)
        for axis, area in enumerate((origin, destination)):
            for parts in self.steps[0].ways(axis, area):
                pairs = [(part, destination) if axis == 0 else (origin, part) for part in parts]
                found |= add_up([self.mosaics(*pair) for pair in pairs])
        return found

    def outcome(self, problem, solution):
        """Check every matrix of a solution by itself; return (loss, suppressed) of all."""
        parts = [step.outcome(solution.part(problem.flows, number)) for number, step in enumerate(self.steps)]
        return sum(cost for cost, _ in parts), sum(lost for _, lost in parts)


@pytest.mark.slow
@settings(max_examples=40, deadline=None)
@given(problem=shared_problems(), lam=prices)
def test_best_of_all_maps_in_common(problem, lam):
    """At every price, the value is the least of all maps that all matrices can share."""
    least = min(cost + lam * lost for cost, lost in CommonOracle(problem).mosaics(ROOT, ROOT))

    cut = mosaic_splits(common_cube(problem, join_matrices(problem)[0])).best(lam)

    assert cut.value(lam) == pytest.approx(least, rel=1e-9, abs=1e-3)


@pytest.mark.slow
@settings(max_examples=40, deadline=None)
@given(shared_problems())
def test_finest_within_the_budget(problem):
    """It succeeds wherever some common map does, no such map is finer, pairs are shared, and none that passes lacks."""
    oracle = CommonOracle(problem)
    plain = Oracle(problem)
    outcomes = oracle.mosaics(ROOT, ROOT)
    if not any(lost <= problem.budget for _, lost in outcomes):
        with pytest.raises(PromiseError):
            mosaic.solve(problem)
        return

    solution = mosaic.solve(problem)

    cost, lost = oracle.outcome(problem, solution)
    assert lost <= problem.budget
    assert plain.mean((cost, lost)) == pytest.approx(plain.least_mean(outcomes), rel=1e-6, abs=1e-6)
    assert "no other cut of its kind is better" in solution.notes
    published = set(zip(solution.matrix.tolist(), solution.origin.tolist(), solution.destination.tolist(), strict=True))
    pairs = {pair[1:] for pair in published}
    passing = {
        (matrix, *pair)
        for pair in pairs
        for matrix, step in enumerate(oracle.steps)
        if step.inside(*pair) and step.cell(*pair)[1]
    }
    assert published == passing


# Whole releases.


@pytest.fixture(scope="module")
def trips(tmp_path_factory):
    """Write a city as trips between zones, with times and attributes."""
    folder = tmp_path_factory.mktemp("city")
    city = fv.synthetic.write_city(folder / "trips.parquet", trips=4_000, persons=400, ends="zones")
    pq.write_table(city.zones(), folder / "zones.parquet")
    return folder / "trips.parquet"


@pytest.fixture(scope="module")
def flows(trips):
    """Return its flows by day and sex."""
    return fv.build_flows(trips, zones=trips.parent / "zones.parquet", hierarchy="ward", unit="person_id", by="sex")


@pytest.fixture(scope="module")
def folder(flows, trips, tmp_path_factory):
    """Write a release on areas in common, verified."""
    out = tmp_path_factory.mktemp("same") / "out"
    fv.anonymize(flows, k=5, same_areas=True).write(out)
    assert any("in common" in check for check in fv.verify(out, trips).checks)
    return out


def pairs_of(table, step):
    """Return pairs of areas by step."""
    rows = zip(*(table[name].to_pylist() for name in (step, "origin", "destination")), strict=True)
    found = {}
    for key, *pair in rows:
        found.setdefault(key, set()).add(tuple(pair))
    return found


@pytest.mark.slow
def test_a_missing_pair_has_fewer_than_k(folder, trips):
    """Every pair of areas is there in every group with k persons; in the others it has fewer."""
    areas = pq.read_table(folder / "areas.parquet").to_pylist()
    members = {(row["side"], row["area"]): set(row["members"]) for row in areas}
    listed = pairs_of(pq.read_table(folder / "flows.parquet"), "sex")
    pairs = set().union(*listed.values())
    rows = pq.read_table(trips, columns=["origin", "destination", "person_id", "sex"]).to_pylist()

    for origin, destination in pairs:
        here = [
            row
            for row in rows
            if row["origin"] in members["origin", origin] and row["destination"] in members["destination", destination]
        ]
        for group in listed:
            persons = {row["person_id"] for row in here if row["sex"] == group}
            assert ((origin, destination) in listed[group]) == (len(persons) >= 5)


def test_what_it_costs_is_told(flows):
    """The notes tell precision and trips left out, with areas in common and without, as metrics have them."""
    release, free = (fv.anonymize(flows, k=5, same_areas=same) for same in (True, False))
    said = f"{free.metrics()['gbar']:.2f} tiles, {free.metrics()['suppressed']:.2%} left out"

    assert any(f"{release.metrics()['gbar']:.2f} tiles" in note and said in note for note in release.told)
    assert release.metrics()["gbar"] >= free.metrics()["gbar"]


@pytest.mark.slow
@pytest.mark.parametrize(
    "options", [{"elsewhere": True}, {"protect_margins": True}, {"max_gbar": 40.0}, {"rounding": 5}, {"loss": "area"}]
)
def test_goes_with_other_options(options, flows, trips, tmp_path):
    """What else is asked of a release holds on areas in common too."""
    release = fv.anonymize(flows, k=5, same_areas=True, **options)
    release.write(tmp_path / "out")

    fv.verify(tmp_path / "out", trips)


@pytest.mark.parametrize("hierarchy", ["h3", pytest.param("lattice", marks=pytest.mark.slow)])
def test_every_hierarchy(hierarchy, city_trips, tmp_path):
    """Trees and families of areas can be shared; steps of time too."""
    made = fv.build_flows(city_trips, "h3:6", hierarchy=hierarchy, time="6h")
    release = fv.anonymize(made, k=5, same_areas=True, max_suppression=0.3)
    release.write(tmp_path / "out")

    assert fv.verify(tmp_path / "out", city_trips)


def rewritten(folder, target, change):
    """Copy a release with another manifest."""
    shutil.copytree(folder, target)
    manifest = json.loads((target / "manifest.json").read_text())
    change(manifest)
    (target / "manifest.json").write_text(json.dumps(manifest, indent=2, ensure_ascii=False) + "\n")
    return target


class TestVerifier:
    """Areas that are not shared are found."""

    def test_other_areas(self, flows, folder, trips, tmp_path):
        """A release with areas of its own for each group does not pass for one that shares them."""
        fv.anonymize(flows, k=5).write(tmp_path / "free")
        honest = json.loads((folder / "manifest.json").read_text())
        false = rewritten(tmp_path / "free", tmp_path / "false", lambda manifest: manifest.update(honest))

        fv.verify(tmp_path / "free", trips)
        with pytest.raises(VerificationError, match="areas in common"):
            fv.verify(false, trips, zones=trips.parent / "zones.parquet")

    @pytest.mark.parametrize(("part", "value"), [("promise", None), ("options", None), ("options", False)])
    def test_half_a_promise(self, part, value, folder, trips, tmp_path):
        """Options and promise say the same, and nothing but true."""

        def change(manifest):
            if value is None:
                del manifest[part]["same_areas"]
            else:
                manifest[part]["same_areas"] = value

        with pytest.raises(VerificationError):
            fv.verify(rewritten(folder, tmp_path / "out", change), trips, zones=trips.parent / "zones.parquet")


def test_attacks_say_nothing_wrong(folder, trips):
    """What attacks claim for certain of a release with areas in common is true."""
    findings = {finding.attack: finding for finding in fv.risk(folder, trips, attacks=["minimality", "exact"]).findings}

    assert findings["minimality"].details.get("wrong", 0) == 0
    assert findings["exact"].figure == 0


@pytest.mark.parametrize(
    ("options", "word"),
    [
        ({"totals": True}, "totals"),
        ({"remainders": True}, "remainder"),
        ({"hide_choice": 0.5}, "draw"),
        ({"max_share": 0.5}, "one person"),
        ({"options": {"budget": "each"}}, "budget"),
        ({"method": "nested"}, "nested"),
        ({"areas_from": "somewhere"}, "earlier"),
    ],
)
def test_what_does_not_go_together(options, word, flows):
    """Each pair that does not go together is refused, with its reason."""
    with pytest.raises(InputError, match=word):
        fv.anonymize(flows, k=5, same_areas=True, **options)


def test_nothing_to_share(trips):
    """One matrix has nothing to share, and a hierarchy of time gives flows areas of their own."""
    zones = trips.parent / "zones.parquet"
    for build, word in (({}, "one matrix"), ({"time_hierarchy": "1h<day"}, "generalized")):
        made = fv.build_flows(trips, zones=zones, hierarchy="ward", **build)
        with pytest.raises(InputError, match=word):
            fv.anonymize(made, k=5, same_areas=True)


@pytest.mark.slow
def test_command(trips, tmp_path, capsys):
    """The command tells what it costs, and the report's command has the option."""
    out = str(tmp_path / "out")
    where = ["--zones", str(trips.parent / "zones.parquet"), "--hierarchy", "ward", "--by", "sex", "-k", "5"]

    assert run(["anonymize", str(trips), "-o", out, *where, "--same-areas", "--report"]) == 0
    said = capsys.readouterr()
    assert "note: areas in common: " in said.err
    assert "--same-areas" in (tmp_path / "out" / "report.html").read_text()
    assert run(["verify", out, "--against", str(trips)]) == 0


def test_areas_from_offers_to_choose_for_all(flows, tmp_path):
    """On areas of an earlier release, what is lost is told, and how to lose less."""
    fv.anonymize(flows, k=5).write(tmp_path / "first")
    release = fv.anonymize(flows, k=6, areas_from=tmp_path / "first", max_suppression=1)

    (told,) = release.told
    assert "--same-areas" in told
    assert f"{release.metrics()['suppressed']:.1%} of the trips are left out" in told


def test_shared_pairs_are_few(folder):
    """Groups do share pairs: most pairs of areas are there for both."""
    listed = pairs_of(pq.read_table(folder / "flows.parquet"), "sex")
    shared = Counter(pair for pairs in listed.values() for pair in pairs)

    assert sum(count == 2 for count in shared.values()) > len(shared) / 2
