"""Paths and flows of the same samples: `trips` makes trips of what `trajectories` takes, and all of it is published."""

from __future__ import annotations

import json
from collections import defaultdict

import pyarrow.parquet as pq
import pytest

from flowveil._cli.commands import run
from flowveil.synthetic import PHONES_BBOX, phones

BBOX = "--bbox=" + ",".join(map(str, PHONES_BBOX))
STOP = 0.2 / 111 * 2  # degrees: a place of a stop is the median of fixes within 200 m of its first
EAST = 0.6  # of a degree of longitude at this latitude, in degrees of latitude


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """Write samples of phones, and the trips from stop to stop that they hold, with one stop on the way."""
    home = tmp_path_factory.mktemp("phones")
    pq.write_table(phones(20, samples=200, days=2, seed=2), home / "samples.parquet")
    asked = ["--rule", "stops", "--short-stops", "1", "--max-gap", "3h"]
    assert run(["trips", str(home / "samples.parquet"), "-o", str(home / "trips.parquet"), *asked]) == 0
    return home


def test_trips_are_of_the_samples(place):
    """Each trip starts and ends when and where its user was seen."""
    seen = defaultdict(dict)
    for row in pq.read_table(place / "samples.parquet").to_pylist():
        seen[row["user_id"]].setdefault(row["time"], []).append((row["lon"], row["lat"]))

    trips = pq.read_table(place / "trips.parquet").to_pylist()

    assert len(trips) > 50
    for trip in trips:
        for end in ("start", "end"):
            near = [
                ((lon - trip[f"{end}_lon"]) * EAST) ** 2 + (lat - trip[f"{end}_lat"]) ** 2
                for lon, lat in seen[trip["user_id"]][trip[f"{end}_time"]]
            ]
            assert min(near) <= STOP**2


def test_both_halves(place):
    """Flows of crowds, paths, and noisy flows with stops come of one file; the first two are verified against it."""
    trips, samples = str(place / "trips.parquet"), str(place / "samples.parquet")
    unit = ["--unit", "user_id"]
    flows = [trips, "-o", str(place / "flows"), "-k", "3", *unit, "--grid", "h3:7", "--hierarchy", "h3"]
    assert run(["anonymize", *flows]) == 0
    assert run(["verify", str(place / "flows"), "--against", trips]) == 0
    assert run(["trajectories", "anonymize", samples, "-o", str(place / "paths"), "-k", "3", BBOX]) == 0
    assert run(["verify", str(place / "paths"), "--against", samples]) == 0
    stops = ["--stops", "stop_1_lon,stop_1_lat", "--method", "daf-entropy", "--cells", "3", "--epsilon", "2", BBOX]
    assert run(["anonymize", trips, "-o", str(place / "noisy"), *unit, "--max-trips-per-person", "4", *stops]) == 0

    members = pq.read_table(place / "paths.members.parquet")["user_id"].to_pylist()
    crowds = pq.read_table(place / "flows" / "flows.parquet")["persons"].to_pylist()
    noisy = json.loads((place / "noisy" / "manifest.json").read_bytes())

    assert min(crowds) >= 3
    assert set(members) == set(pq.read_table(trips)["user_id"].to_pylist())
    assert noisy["options"]["places"] == ["origin", "destination", "stop 1"]
