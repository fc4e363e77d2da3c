"""What of the input is in a release is told: on the terminal, in Python, in the audit file and the private report."""

from __future__ import annotations

import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import flowveil as fv
from flowveil._cli.commands import run

ZONES = pa.table({"zone_id": ["a", "b", "c", "d"], "lon": [4.35, 4.40, 4.30, 4.45], "lat": [50.85, 50.9, 50.8, 50.7]})


def uneven():
    """Return trips of a large group, and of a small one that is spread over all pairs."""
    large = [("a", "b", "day")] * 400 + [("b", "a", "day")] * 400
    small = [(one, other, "night") for one in "abcd" for other in "abcd"] * 2
    origin, destination, when = zip(*(large + small), strict=True)
    return pa.table({"origin": origin, "destination": destination, "when": when})


def release_of(trips, **options):
    """Return a release on zones that leaves out what is below k, by itself."""
    return fv.anonymize(fv.build_flows(trips, zones=ZONES, hierarchy="ward", by="when"), "suppression", 10, **options)


def test_figures():
    """Pairs and shares are those that counting by hand gives."""
    with pytest.warns(fv.LossWarning, match=r"1 of 2 values of when lose far more .*'night' most \(100%\)"):
        release = release_of(uneven())
    coverage = release.coverage

    assert (coverage.pairs, coverage.pairs_left_out) == (18, 16)
    assert coverage.parts == {"when": {"day": 0.0, "night": 1.0}}
    assert coverage.left_out == 32
    assert "2 of 18 pairs of tiles are in a flow" in coverage.told()[0]


def test_even_groups_are_no_news(recwarn):
    """Groups that lose alike are told without a warning."""
    table = pa.concat_tables([uneven().filter(pa.array(np.arange(832) < 800))] * 2)
    when = np.repeat(["day", "night"], 800).tolist()
    release = release_of(table.set_column(2, "when", pa.array(when)))

    assert release.doubts == ()
    assert not [warning for warning in recwarn if issubclass(warning.category, fv.LossWarning)]


@pytest.mark.slow
def test_everywhere(tmp_path, capsys):
    """The terminal warns and takes back that a release is safe; audit file and private report have the figures."""
    pq.write_table(uneven(), tmp_path / "trips.parquet")
    pq.write_table(ZONES, tmp_path / "zones.parquet")
    source, out = str(tmp_path / "trips.parquet"), tmp_path / "out"
    zones = ["--zones", str(tmp_path / "zones.parquet")]
    command = ["anonymize", source, *zones, "--hierarchy", "ward", "--method", "suppression"]

    assert run([*command, "--by", "when", "-o", str(out)]) == 0
    said = capsys.readouterr()
    assert "warning: 1 of 2 values of when lose far more" in said.err
    assert "left out by when 0.0% to 100.0%" in said.out
    assert "safe to publish" not in said.out
    assert "mind the warnings" in said.out
    audit = json.loads((tmp_path / "out.audit.json").read_text())
    assert audit["coverage"]["left_out_by"] == {"when": {"day": 0.0, "night": 1.0}}
    assert run(["report", str(out), "--against", source]) == 0
    page = (tmp_path / "out.private.html").read_text()
    assert "Coverage" in page
    assert "pairs left out" in page
    assert "coverage" not in (out / "manifest.json").read_text()

    capsys.readouterr()
    assert run([*command, "-o", str(tmp_path / "plain")]) == 0
    assert "(safe to publish)" in capsys.readouterr().out


def test_rows_that_lack(tmp_path, capsys):
    """A release that lacks more than a tenth of the rows is not called safe to publish without more."""
    table = uneven().slice(0, 800)
    origin = ["x" if row % 8 == 0 else name for row, name in enumerate(table["origin"].to_pylist())]
    pq.write_table(table.set_column(0, "origin", pa.array(origin)), tmp_path / "trips.parquet")
    pq.write_table(ZONES, tmp_path / "zones.parquet")
    zones = ["--zones", str(tmp_path / "zones.parquet"), "--hierarchy", "ward"]

    assert run(["anonymize", str(tmp_path / "trips.parquet"), *zones, "-o", str(tmp_path / "out")]) == 0
    said = capsys.readouterr()
    assert "unknown zones: x" in said.err
    assert "87.5% of the rows are usable" in said.out
    assert "safe to publish" not in said.out


def test_thin_totals(city_trips):
    """Totals that hold few of the trips say so: those that would give groups away are withheld."""
    flows = fv.build_flows(city_trips, "h3:6", hierarchy="h3", unit="person_id", by="age_group")
    release = fv.anonymize(flows, k=20, totals=True)
    held = release.coverage.totals
    of_totals = [row["trips"] for row in release.flows.to_pylist() if row["age_group"] == "total"]

    assert held == sum(of_totals) / flows.total
    assert any("totals hold" in text for text in release.doubts) == (held < 0.75)
