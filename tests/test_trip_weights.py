"""Weights of trips: sums are published, and crowds are still of persons."""

from __future__ import annotations

import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import flowveil as fv
from flowveil._cli.commands import run

ZONES = pa.table({"zone_id": list("abcd"), "lon": [4.0, 4.1, 4.0, 4.1], "lat": [50.0, 50.0, 50.1, 50.1]})
ASKED = {"zones": ZONES, "hierarchy": "ward", "unit": "who"}


def survey(rows=400, seed=3):
    """Return trips whose weights differ from trip to trip of the same person."""
    draw = np.random.default_rng(seed)
    ends = {name: draw.choice(list("abcd"), rows) for name in ("origin", "destination")}
    weights = {"expansion": draw.integers(1, 4000, rows) / 8}
    return pa.table({**ends, "who": draw.integers(0, 40, rows), "day": draw.choice(["mo", "tu"], rows), **weights})


@pytest.mark.slow
@pytest.mark.parametrize("asked", [{}, {"by": "day"}])
def test_sums_of_weights_are_published_and_verified(tmp_path, asked):
    """Every flow has k persons, and its weight is the sum over its trips, rounded; the verifier finds the same."""
    trips = survey()
    flows = fv.build_flows(trips, trip_weight="expansion", **ASKED, **asked)
    release = fv.anonymize(flows, k=5, totals=bool(asked))
    folder = release.write(tmp_path / "out")
    promise = release.manifest["promise"]

    assert (promise["trip_weight"], "weight" in promise) == ("expansion", False)
    assert min(release.flows["persons"].to_pylist()) >= 5
    if not asked and release.metrics()["suppressed"] == 0:
        assert sum(release.flows["weight"].to_pylist()) == pytest.approx(sum(trips["expansion"].to_pylist()), abs=20)
    assert fv.verify(folder, trips, zones=ZONES).flows == release.flows.num_rows
    assert fv.evaluate(folder, trips, zones=ZONES)["min_persons"] >= 5


def test_weight_of_a_flow_that_was_changed_is_found(tmp_path):
    """A sum that is not that of the trips does not verify."""
    folder = fv.anonymize(fv.build_flows(survey(), trip_weight="expansion", **ASKED), k=5).write(tmp_path / "out")
    other = survey().set_column(4, "expansion", pa.array(np.full(400, 1.0)))

    with pytest.raises(fv.VerificationError, match="weight"):
        fv.verify(folder, other, zones=ZONES)


def test_a_person_of_many_weights_is_one(tmp_path):
    """Somebody with many trips of different weights is no crowd, for the maker and for the verifier."""
    many = pa.table({"origin": ["a"] * 50, "destination": ["b"] * 50, "who": [7] * 50, "day": ["mo"] * 50})
    many = many.append_column("expansion", pa.array(np.arange(50.0)))
    trips = pa.concat_tables([survey().filter(pa.array(survey()["who"].to_numpy() != 7)), many])
    whole = fv.build_flows(trips, trip_weight="expansion", **ASKED)
    release = fv.anonymize(whole, k=5)

    assert whole.measure(np.zeros(len(whole), np.int64), 1).persons.tolist() == [40]
    one = release.write(tmp_path / "one")
    parts = fv.build_flows(trips, trip_weight="expansion", by="day", **ASKED)
    two = fv.anonymize(parts, k=5, beside=one, max_suppression=0.9).write(tmp_path / "two")
    assert fv.verify(two, trips, zones=ZONES, beside=one).checks


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        ({"trip_weight": "expansion", "weight": "expansion", "unit": "who"}, "both weight and trip_weight"),
        ({"trip_weight": "expansion"}, "no unit"),
        ({"weight": "expansion", "unit": "who"}, "several values of 'expansion'"),
        ({"trip_weight": "mass", "unit": "who"}, "no column 'mass'"),
    ],
)
def test_what_does_not_go_together(asked, words):
    """Weights of trips and of persons exclude each other, and the hint of one leads to the other."""
    with pytest.raises(fv.InputError, match=words):
        fv.build_flows(survey(), zones=ZONES, **asked)


def test_people_represented_are_not_known():
    """A number of people cannot be asked of weights of trips."""
    flows = fv.build_flows(survey(), trip_weight="expansion", **ASKED)

    with pytest.raises(fv.InputError, match="weights of trips"):
        fv.anonymize(flows, k=5, k_weight=20)


def test_command_line(tmp_path):
    """Made and verified by what the manifest and the audit file say."""
    pq.write_table(survey(), tmp_path / "trips.parquet")
    pq.write_table(ZONES, tmp_path / "zones.parquet")
    trips, zones, out = (str(tmp_path / name) for name in ("trips.parquet", "zones.parquet", "out"))
    asked = ["--zones", zones, "--hierarchy", "ward", "--unit", "who", "--trip-weight", "expansion", "-k", "5"]

    assert run(["anonymize", trips, "-o", out, *asked]) == 0
    assert run(["verify", out, "--against", trips]) == 0
    manifest = json.loads((tmp_path / "out" / "manifest.json").read_text())
    assert manifest["promise"]["trip_weight"] == "expansion"
