"""The attack that finds flows which one person makes up."""

from __future__ import annotations

import json
from collections import Counter

import pyarrow as pa
import pytest

import flowveil as fv

ZONES = pa.table({"zone": ["a", "b", "c"], "town": ["x", "x", "y"], "lon": [0.0, 0.1, 1.0], "lat": [0.0, 0.0, 0.0]})
# From a to b one person makes 27 of 36 trips; from b to c ten persons make two each.
TRIPS = (
    [("a", "b", "commuter")] * 27
    + [("a", "b", f"p{n}") for n in range(9)]
    + [("b", "c", f"p{n}") for n in range(10)] * 2
)


def release(tmp_path, **asked):
    """Write a release of the trips above; return its folder and the trips."""
    columns = zip(*TRIPS, strict=True)
    table = pa.table(dict(zip(("origin", "destination", "person"), map(list, columns), strict=True)))
    flows = fv.build_flows(table, zones=ZONES, hierarchy=["zone", "town"], unit="person")
    return fv.anonymize(flows, k=5, max_suppression=0.7, **asked).write(tmp_path / "out"), table


def look(folder, table):
    """Return what the attack finds."""
    (finding,) = fv.risk(folder, table, zones=ZONES, attacks="dominance").findings
    return finding


def test_commuter_is_found(tmp_path):
    """The flow of the commuter is counted, with the share that the table of trips has."""
    finding = look(*release(tmp_path))

    made = Counter(person for origin, destination, person in TRIPS if (origin, destination) == ("a", "b"))
    assert (finding.figure, finding.verdict, finding.private) == (1, "tells", True)
    assert finding.details["worst_share"] == max(made.values()) / made.total()
    assert finding.details["breaks_p_percent_rule"] == 0
    assert "27 of 36" in finding.sentence
    assert "--max-share" in finding.advice


def test_share_that_is_bounded_holds(tmp_path):
    """The same trips with --max-share 0.2: the flow of the commuter is not there, and nothing is found."""
    finding = look(*release(tmp_path, max_share=0.2))

    assert (finding.figure, finding.verdict) == (0, "holds")
    assert finding.details["worst_share"] == pytest.approx(0.1)


def test_share_that_is_only_claimed_breaks(tmp_path):
    """A manifest that promises a share which a flow passes is caught."""
    folder, table = release(tmp_path)
    manifest = json.loads((folder / "manifest.json").read_text())
    manifest["promise"]["max_share"] = 0.5
    (folder / "manifest.json").write_text(json.dumps(manifest))

    assert look(folder, table).verdict == "breaks"


def test_two_who_make_nearly_all_break_rules_of_offices(tmp_path):
    """Two persons with 45 and 44 of 95 trips: nobody has half, but each knows what the other does."""
    rows = [("a", "b", "one")] * 45 + [("a", "b", "other")] * 44 + [("a", "b", f"p{n}") for n in range(4)]
    table = pa.table(dict(zip(("origin", "destination", "person"), map(list, zip(*rows, strict=True)), strict=True)))
    flows = fv.build_flows(table, zones=ZONES, hierarchy=["zone", "town"], unit="person")
    folder = fv.anonymize(flows, k=5).write(tmp_path / "out")

    finding = look(folder, table)

    assert (finding.figure, finding.verdict) == (0, "tells")
    assert finding.details["breaks_n_k_rule"] == finding.details["breaks_p_percent_rule"] == 1


def test_trips_are_needed(tmp_path):
    """Without the trips it is named as not run; where trips are counted it does not apply."""
    folder, table = release(tmp_path)
    assert fv.risk(folder, attacks="dominance").skipped == ("dominance",)

    plain = fv.anonymize(fv.build_flows(table, zones=ZONES, hierarchy=["zone", "town"]), k=5).write(tmp_path / "plain")
    assert fv.risk(plain, table, zones=ZONES, attacks="dominance").findings == ()
