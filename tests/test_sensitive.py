"""Sensitive places: no small area of a release touches one, as a promise, in the verifier and as an attack."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import shapely
from hypothesis import given, settings
from hypothesis import strategies as st

import flowveil as fv
from flowveil._cli.commands import run
from flowveil._methods import find_method
from tests import trees


@dataclass(frozen=True)
class Barring:
    """In place of sensitive places: areas that may not be published, by the key of their node."""

    keys: frozenset[int]

    def barred(self, _, areas, numbers):
        """Return which areas are barred."""
        return np.isin(areas.key[numbers], list(self.keys))


class BarredOracle(trees.Oracle):
    """Brute force that may not publish barred areas."""

    def cell(self, origin, destination):
        """Return trips, whether the tests pass, and an infinite loss where an area is barred."""
        trips, good, loss = super().cell(origin, destination)
        keys = self.problem.sensitive.keys
        ends = zip(self.families, (origin, destination), strict=True)
        return trips, good, math.inf if any(int(family.key[node]) in keys for family, node in ends) else loss


@pytest.mark.slow
@settings(max_examples=25, deadline=None)
@given(trees.problems(most_nodes=6, most_trips=20), st.frozensets(st.integers(0, 6), max_size=3))
def test_mosaic_is_best_of_all_cuts_without_barred_areas(problem, keys):
    """Brute force over all cuts in which barred areas are split or left out: none is better within the budget."""
    problem = replace(problem, sensitive=Barring(keys))
    oracle = BarredOracle(problem)
    least = oracle.least_mean(oracle.mosaics(0, 0))
    try:
        solution = find_method("mosaic").solve(problem)
    except fv.PromiseError:
        assert least is None
        return

    if least is not None and least < math.inf:
        assert math.isclose(oracle.mean(oracle.outcome(solution)), least, rel_tol=1e-6)


@pytest.fixture(scope="module")
def places(city_trips, tmp_path_factory):
    """Write a file of two places in which many trips begin, and one polygon; return its path."""
    table = pq.read_table(city_trips).slice(0, 2)
    starts = zip(table["start_lon"].to_pylist(), table["start_lat"].to_pylist(), strict=True)
    shapes = [shapely.Point(*start) for start in starts]
    shapes.append(shapely.Point(table["end_lon"][0].as_py(), table["end_lat"][0].as_py()).buffer(0.0003))
    features = [{"type": "Feature", "properties": {}, "geometry": json.loads(shapely.to_geojson(s))} for s in shapes]
    path = tmp_path_factory.mktemp("places") / "shelters.geojson"
    path.write_text(json.dumps({"type": "FeatureCollection", "features": features}))
    return path


def touching(release, path):
    """Return the tiles of areas that touch a place, of those that have a number of tiles: from the written tables."""
    features = json.loads(path.read_text())["features"]
    shapes = [shapely.from_geojson(json.dumps(feature["geometry"])) for feature in features]
    return [
        row["tiles"]
        for row in release.areas.to_pylist()
        if row["geometry"] and shapely.intersects(shapely.from_wkb(row["geometry"]), shapes).any()
    ]


@pytest.mark.parametrize(
    ("hierarchy", "options"),
    [
        ("h3", {}),
        ("h3", {"elsewhere": True}),
        ("h3", {"method": "crosscut"}),
        ("h3", {"method": "suppression", "max_suppression": None, "elsewhere": True}),
        pytest.param("lattice", {}, marks=pytest.mark.slow),
    ],
    ids=str,
)
def test_small_areas_keep_away(city_trips, places, tmp_path, hierarchy, options):
    """Without the rule small areas touch the places; with it none does, and the verifier agrees."""
    flows = fv.build_flows(city_trips, "h3:6", unit="person_id", hierarchy=hierarchy)
    asked = {"k": 5, "max_suppression": 0.3} | options
    assert min(touching(fv.anonymize(flows, **asked), places)) < 7

    release = fv.anonymize(flows, **asked, sensitive=places)
    folder = release.write(tmp_path / "out")

    assert min(touching(release, places), default=7) >= 7
    assert release.manifest["promise"]["sensitive_tiles"] == 7
    checks = fv.verify(folder, city_trips).checks  # the audit file knows where the places are
    assert "every area that touches a sensitive place has at least 7 tiles" in checks
    for path in folder.iterdir():
        assert b"shelters" not in path.read_bytes()


@pytest.mark.slow
def test_verifier_needs_the_places_and_catches_a_small_area(city_trips, places, tmp_path):
    """Against other places than those that were kept apart, or without any, nothing is verified."""
    flows = fv.build_flows(city_trips, "h3:6", unit="person_id", hierarchy="h3")
    table = pa.table({"lon": [4.0], "lat": [50.0]})
    release = fv.anonymize(flows, k=5, sensitive=table, sensitive_tiles=3)
    folder = release.write(tmp_path / "out")
    fv.verify(folder, city_trips, sensitive=table)

    with pytest.raises(fv.InputError, match="no such places were given"):
        fv.verify(folder, city_trips)
    with pytest.raises(fv.VerificationError, match="touches a sensitive place and has too few tiles"):
        fv.verify(folder, city_trips, sensitive=places)
    plain = fv.anonymize(flows, k=5).write(tmp_path / "plain")
    with pytest.raises(fv.InputError, match="promises nothing about sensitive places"):
        fv.verify(plain, city_trips, sensitive=places)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"method": "odkanon"}, "odkanon cannot keep out"),
        ({"method": "mondrian"}, "mondrian cannot keep out"),
        ({"remainders": True}, "single tiles may remain"),
        ({"sensitive": None, "sensitive_tiles": 3}, "no sensitive places"),
        ({"sensitive_tiles": 1}, "sensitive_tiles is 1"),
        ({"sensitive": pa.table({"lon": [200.0], "lat": [0.0]})}, "on the globe"),
        (
            {"sensitive": pa.table({"lon": pa.array([], pa.float64()), "lat": pa.array([], pa.float64())})},
            "no sensitive",
        ),
    ],
)
def test_what_does_not_go_together_is_refused(city_trips, options, reason):
    """A method or list that could not keep the promise is an error before any work."""
    flows = fv.build_flows(city_trips, "h3:5", unit="person_id", hierarchy="h3")

    with pytest.raises(fv.InputError, match=reason):
        fv.anonymize(flows, k=5, **({"sensitive": pa.table({"lon": [4.0], "lat": [50.0]})} | options))


def test_attack_counts_flows_at_small_areas(city_trips, places, tmp_path, capsys):
    """A plain release pins the places down; one that keeps them apart holds; one that only claims to breaks."""
    flows = fv.build_flows(city_trips, "h3:6", unit="person_id", hierarchy="h3")
    plain = fv.anonymize(flows, k=5, max_suppression=0.3)
    folder = plain.write(tmp_path / "plain")
    apart = fv.anonymize(flows, k=5, max_suppression=0.3, sensitive=places).write(tmp_path / "apart")

    (told,) = fv.risk(folder, attacks="sensitive", sensitive=places).findings
    (held,) = fv.risk(apart, attacks="sensitive", sensitive=str(places)).findings

    assert (told.verdict, held.verdict, held.figure) == ("tells", "holds", 0)
    assert told.figure == sum(1 for _ in flows_at_small(plain, places))
    assert told.details["persons"] == sum(row["persons"] for row in flows_at_small(plain, places))
    manifest = json.loads((folder / "manifest.json").read_text())
    manifest["promise"]["sensitive_tiles"] = 7
    (folder / "manifest.json").write_text(json.dumps(manifest))
    assert run(["risk", str(folder), "--sensitive", str(places), "--attacks", "sensitive", "--fail-on", "breaks"]) == 1
    assert "--sensitive" in capsys.readouterr().out
    assert fv.risk(apart, attacks="sensitive").findings == ()


def flows_at_small(release, path):
    """Yield the flows that begin or end in an area of fewer than seven tiles that touches a place."""
    features = json.loads(path.read_text())["features"]
    shapes = [shapely.from_geojson(json.dumps(feature["geometry"])) for feature in features]
    small = {
        (row["side"], row["area"])
        for row in release.areas.to_pylist()
        if row["tiles"] and row["tiles"] < 7 and shapely.intersects(shapely.from_wkb(row["geometry"]), shapes).any()
    }
    for row in release.flows.to_pylist():
        if ("origin", row["origin"]) in small or ("destination", row["destination"]) in small:
            yield row


def test_polygon_that_fills_an_area_is_found(tmp_path):
    """A zone whose half is a clinic's ground pins it down however many tiles its area has."""
    boxes = [shapely.box(0.01 * place, 0, 0.01 * place + 0.01, 0.01) for place in range(8)]
    zones = pa.table({"zone": list("abcdefgh"), "town": ["x"] * 8, "geometry": [shapely.to_wkb(box) for box in boxes]})
    rows = [(o, d, f"p{n}") for n, (o, d) in enumerate([(o, d) for o in "abcdefgh" for d in "abcdefgh"])]
    trips = pa.table(dict(zip(("origin", "destination", "person"), map(list, zip(*rows, strict=True)), strict=True)))
    flows = fv.build_flows(trips, zones=zones, hierarchy=["zone", "town"], unit="person")
    folder = fv.anonymize(flows, k=60).write(tmp_path / "out")  # one flow of all zones

    def look(size):
        ground = shapely.to_wkb(shapely.box(0, 0, size, 0.01))
        (finding,) = fv.risk(folder, attacks="sensitive", sensitive=pa.table({"geometry": [ground]})).findings
        return finding.figure

    assert (look(0.001), look(0.05)) == (0, 1)
