"""Unicity of flows: figures against brute force, a release that it breaks and one that it does not."""

from __future__ import annotations

import json

import pytest

import flowveil as fv
from flowveil.synthetic import write_city


@pytest.fixture(scope="module")
def city(tmp_path_factory):
    """Write trips of 60 persons, and releases of them between areas and, for k = 1, between tiles."""
    work = tmp_path_factory.mktemp("unicity")
    write_city(work / "trips.parquet", trips=900, persons=60)
    flows = fv.build_flows(work / "trips.parquet", "h3:7", hierarchy="h3", unit="person_id")
    fv.anonymize(flows, k=5).write(work / "safe")
    fv.anonymize(flows, "suppression", k=1).write(work / "raw")
    return work, flows


def test_shares_are_those_of_brute_force(city):
    """Who is alone with one trip, between tiles and in the release, counted once more with sets."""
    work, flows = city
    (finding,) = fv.risk(work / "safe", work / "trips.parquet", attacks="unicity").findings
    persons_of = {}
    for pair, person in zip(flows.people.pair.tolist(), flows.people.person.tolist(), strict=True):
        persons_of.setdefault(pair, set()).add(person)
    alone = sum(len(persons) == 1 for persons in persons_of.values()) / len(flows.people.pair)

    assert finding.verdict == "holds"
    assert finding.figure == 0
    assert finding.details["flows_below_k"] == 0
    assert finding.details["before"]["1"] == pytest.approx(alone, abs=0.2)  # one pair of each person is drawn
    assert finding.details["before"]["4"] >= finding.details["before"]["1"]
    assert min(finding.details["smallest_crowd"].values()) >= 5
    assert finding.private


def test_raw_counts_that_claim_a_crowd_are_broken(city):
    """Flows of single persons under a promise of five are found, and persons alone in them are counted."""
    work, _ = city
    manifest = json.loads((work / "raw" / "manifest.json").read_text(encoding="utf-8"))
    manifest["promise"]["k"] = 5
    (work / "raw" / "manifest.json").write_text(json.dumps(manifest), encoding="utf-8")

    (finding,) = fv.risk(work / "raw", work / "trips.parquet", attacks="unicity").findings

    assert finding.verdict == "breaks"
    assert finding.figure > 0
    assert finding.details["after"]["1"] == finding.details["before"]["1"]
    assert finding.details["linked"] == finding.details["before"]
    assert finding.details["flows_below_k"] > 0


def test_it_needs_persons(city, tmp_path):
    """Where trips are counted nobody is known; without the trips it is not run."""
    work, _ = city
    flows = fv.build_flows(work / "trips.parquet", "h3:7", hierarchy="h3")
    folder = fv.anonymize(flows, k=5).write(tmp_path / "trips")

    assert fv.risk(folder, work / "trips.parquet", attacks="unicity").findings == ()
    assert fv.risk(work / "safe", attacks="unicity").skipped == ("unicity",)
