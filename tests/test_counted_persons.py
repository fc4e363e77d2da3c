"""Tables of counted persons: k counts persons, the promise says so, and nothing else is taken for a count of them."""

from __future__ import annotations

import json

import pyarrow as pa
import pytest

import flowveil as fv
from flowveil._cli.commands import run

ZONES = pa.table({"zone_id": ["a", "b", "c"], "lon": [4.35, 4.40, 4.30], "lat": [50.85, 50.90, 50.80]})
TABLE = pa.table({"origin": ["a", "a", "b", "c"], "destination": ["b", "c", "c", "a"], "count": [30, 12, 15, 4]})
PROMISE = "Every flow counts at least 11 persons, each of whom is counted once, as one trip."


def flows(**options):
    """Return the flows of the table."""
    return fv.build_flows(TABLE, zones=ZONES, hierarchy="ward", **options)


@pytest.fixture
def files(tmp_path):
    """Write table and zones as CSV; return their paths."""
    paths = tmp_path / "table.csv", tmp_path / "zones.csv"
    for path, table in zip(paths, (TABLE, ZONES), strict=True):
        table.to_pandas().to_csv(path, index=False)
    return [str(path) for path in paths]


def test_release(tmp_path):
    """The promise is about persons, as data and in words; a preset takes it; the verifier and evaluate agree."""
    release = fv.anonymize(flows(counts="persons"), preset="insee-11")
    folder = release.write(tmp_path / "out", report=True)

    assert release.manifest["promise"]["unit"] == "counted person"
    assert release.manifest["promise_text"].startswith(PROMISE)
    assert "persons" not in release.flows.column_names
    assert "every flow has at least 11 persons" in fv.verify(folder, TABLE, zones=ZONES).checks
    assert fv.evaluate(folder, TABLE, zones=ZONES)["suppressed"] == pytest.approx(4 / 61)
    assert "--counts persons" in (folder / "report.html").read_text()
    assert "one person may have made all trips" not in (folder / "report.html").read_text()


def test_too_few_persons():
    """A flow of fewer persons is not published, and a k above all of them says how many there are."""
    release = fv.anonymize(flows(counts="persons"), k=13, max_suppression=0.5)
    with pytest.raises(fv.PromiseError, match="k is 62, but the data has 61 persons"):
        fv.anonymize(flows(counts="persons"), k=62)

    assert min(release.flows["trips"].to_pylist()) >= 13


def test_without_it_k_counts_trips():
    """Nobody is promised by a table that may count trips: the words and the preset stay as they are."""
    assert fv.anonymize(flows(), k=11).manifest["promise"]["unit"] == "trip"
    assert fv.anonymize(flows(counts="trips"), k=11).manifest["promise"]["unit"] == "trip"
    with pytest.raises(fv.InputError, match="insee-11 counts persons") as caught:
        fv.anonymize(flows(), preset="insee-11")
    assert "counts=" in str(caught.value)


def test_what_does_not_go_with_it():
    """Single trips are no counts; shares of a person need to know who travels; other words are refused."""
    with pytest.raises(fv.InputError, match="no column of counts"):
        fv.build_flows(TABLE.drop_columns("count"), zones=ZONES, counts="persons")
    with pytest.raises(fv.UnknownNameError, match="kind of counts"):
        flows(counts="people")
    with pytest.raises(fv.InputError, match="max_share is about persons"):
        fv.anonymize(flows(counts="persons"), max_share=0.5)
    with pytest.raises(fv.InputError, match="cannot be called 'counted person'"):
        fv.build_flows(
            TABLE.rename_columns(["origin", "destination", "counted person"]), zones=ZONES, unit="counted person"
        )


def test_a_release_that_only_says_so(tmp_path):
    """A release of trips that claims persons is refused, and so is one of persons against single trips."""
    folder = fv.anonymize(flows(), k=11).write(tmp_path / "out")
    manifest = json.loads((folder / "manifest.json").read_text())
    manifest["promise"]["unit"] = "counted person"
    (folder / "manifest.json").write_text(json.dumps(manifest))
    with pytest.raises(fv.VerificationError):
        fv.verify(folder, TABLE, zones=ZONES)

    counted = fv.anonymize(flows(counts="persons"), k=11).write(tmp_path / "counted")
    with pytest.raises(fv.InputError, match="no column of counts"):
        fv.verify(counted, TABLE.drop_columns("count"), zones=ZONES)


def test_terminal(files, tmp_path, capsys):
    """The terminal offers the option where a table is counted, and is silent about trips once it was given."""
    table, zones = files
    command = ["anonymize", table, "--zones", zones, "--hierarchy", "ward", "-k", "11"]

    assert run([*command, "-o", str(tmp_path / "one")]) == 0
    assert "say --counts persons" in capsys.readouterr().err
    assert run([*command, "-o", str(tmp_path / "two"), "--counts", "persons"]) == 0
    said = capsys.readouterr()
    assert "k counts trips" not in said.err
    assert PROMISE in said.out
    assert run(["verify", str(tmp_path / "two"), "--against", table]) == 0
