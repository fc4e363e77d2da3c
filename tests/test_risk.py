"""Attacks as a whole: which are run, what they come to, what is printed."""

from __future__ import annotations

import json

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import flowveil as fv
from flowveil._cli import commands
from flowveil._risk import ATTACKS


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Return a release of the synthetic city with persons."""
    work = tmp_path_factory.mktemp("risk")
    fv.synthetic.write_city(work / "trips.parquet", trips=3_000, persons=200)
    flows = fv.build_flows(work / "trips.parquet", "h3:7", hierarchy="h3", unit="person_id")
    return fv.anonymize(flows, k=5).write(work / "release")


def test_every_attack_is_documented(request):
    """Each attack stands in the table of docs/risk.md."""
    page = (request.config.rootpath / "docs" / "risk.md").read_text(encoding="utf-8")

    assert [attack.name for attack in ATTACKS if f"| `{attack.name}` |" not in page] == []


def test_names_are_checked(folder):
    """An attack that does not exist is an error that lists those that do."""
    with pytest.raises(fv.UnknownNameError, match="repeats"):
        fv.risk(folder, attacks="repaets")


def test_repeats_are_counted(folder):
    """Exactly the flows with one trip more than persons are counted."""
    table = pq.read_table(folder / "flows.parquet")
    trips, persons = (table[name].to_numpy() for name in ("trips", "persons"))

    (finding,) = fv.risk(folder, attacks="repeats").findings

    assert finding.figure == sum(trips == persons + 1)
    assert (finding.verdict == "holds") == (finding.figure == 0)


def test_repeats_hold_where_each_person_made_many(folder, tmp_path):
    """A release in which trips are twice the persons tells nothing."""
    other = tmp_path / "release"
    other.mkdir()
    for name in ("areas.parquet", "manifest.json"):
        (other / name).write_bytes((folder / name).read_bytes())
    table = pq.read_table(folder / "flows.parquet")
    trips = pa.array(table["persons"].to_numpy() * 2)
    pq.write_table(table.set_column(table.column_names.index("trips"), "trips", trips), other / "flows.parquet")

    assert fv.risk(other, attacks="repeats").worst == "holds"


def test_command_says_the_same(folder, capsys):
    """The command line prints what Python returns, and fails only if asked to."""
    expected = fv.risk(folder)

    assert commands.run(["risk", str(folder), "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == expected.to_dict()
    assert commands.run(["risk", str(folder), "--fail-on", "tells"]) == int(expected.reaches("tells"))
    assert commands.run(["risk", str(folder), "--fail-on", "holds"]) == 2


def test_what_was_asked_for_and_does_not_apply_is_said(folder, capsys):
    """An attack on trajectories cannot be made on flows: it is named, and has not held."""
    assert fv.risk(folder, attacks="support").inapplicable == ("support",)
    assert commands.run(["risk", str(folder), "--attacks", "support"]) == 0
    assert "support" in capsys.readouterr().out
    assert commands.run(["risk", str(folder), "--attacks", "support", "--fail-on", "breaks"]) == 1
