"""The loss area: all tiles of an area, seen or not, or its square kilometers."""

from __future__ import annotations

import json
from contextlib import suppress

import numpy as np
import pyarrow.parquet as pq
import pytest
import shapely
from hypothesis import given, settings

import flowveil as fv
from flowveil._cli.commands import run
from flowveil._errors import PromiseError
from flowveil._methods import atg, mosaic
from flowveil._places import ROOT, square_kilometers
from flowveil.synthetic import CITY_BBOX
from tests.trees import Oracle, problems

METHODS = [method.name for method in fv.methods() if method.losses]
LEFT_OUT = 0.05


@pytest.fixture(scope="module")
def squares(city_trips):
    """Flows between squares, of which many were never seen."""
    return fv.build_flows(city_trips, "quadtree:500", hierarchy="quadtree", bbox=CITY_BBOX, unit="person_id")


@pytest.fixture(scope="module")
def zones(city_zone_trips):
    """Flows between zones that differ in size."""
    table = city_zone_trips.with_name("zones.parquet")
    return fv.build_flows(city_zone_trips, zones=table, hierarchy="ward", unit="person_id")


def mean_size(release, size_of):
    """Return the mean over published trips of the size of both ends, given the size of a row of the areas."""
    size = {(row["side"], row["area"]): size_of(row) for row in release.areas.to_pylist()}
    flows = release.flows.to_pylist()
    total = sum(row["trips"] * sum(size[side, row[side]] for side in ("origin", "destination")) for row in flows)
    return total / sum(row["trips"] for row in flows)


@pytest.mark.slow
@settings(max_examples=60, deadline=None)
@given(problems(loss="area"))
def test_least_of_all_cuts_within_the_budget(problem):
    """No cut within the budget has a lower mean; the promise holds."""
    oracle = Oracle(problem)
    least = oracle.least_mean(oracle.mosaics(ROOT, ROOT))
    if least is None:
        with pytest.raises(PromiseError):
            mosaic.solve(problem)
        return

    cost, lost = oracle.outcome(mosaic.solve(problem))

    assert lost <= problem.budget
    assert oracle.mean((cost, lost)) == pytest.approx(least, abs=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize("method", METHODS)
def test_smaller_areas_on_a_grid(squares, method):
    """At the same budget fewer tiles of the ground are named, and the table of areas tells how many."""
    least, seen = (fv.anonymize(squares, method, k=8, loss=loss) for loss in ("area", "tiles"))

    figures = least.metrics(tiles="all")
    assert figures["gbar"] < seen.metrics(tiles="all")["gbar"]
    assert mean_size(least, lambda row: row["tiles"]) == pytest.approx(figures["gbar"])
    assert "the loss area counts all tiles of an area, seen or not" in least.notes
    assert not any("loss" in note for note in seen.notes)


@pytest.mark.slow
@pytest.mark.parametrize("method", METHODS)
def test_smaller_areas_of_zones(zones, city_zone_trips, method):
    """At the same budget areas have fewer square kilometers: mao and mad together are what is counted."""
    outlines = shapely.from_wkb(pq.read_table(city_zone_trips.with_name("zones.parquet"))["geometry"].to_pylist())
    size = dict(zip(zones.places.table.ids, square_kilometers(outlines).tolist(), strict=True))

    least, fewest = (
        fv.anonymize(zones, method, k=20, max_suppression=LEFT_OUT, loss=loss) for loss in ("area", "tiles")
    )

    found, other = (
        mean_size(release, lambda row: sum(size[zone] for zone in row["members"] or size))
        for release in (least, fewest)
    )
    assert found < other
    assert "the loss area counts square kilometers" in least.notes
    metrics = least.metrics()
    assert metrics["suppressed"] <= LEFT_OUT
    if metrics["mad"] is not None:
        assert metrics["mao"] + metrics["mad"] == pytest.approx(found, rel=1e-3)


def test_sizes_do_not_depend_on_what_was_asked_before(zones):
    """Each area has the size of its outline, in whatever order areas are asked for, and again; the top has none."""
    tree = zones.origins
    nodes = np.random.default_rng(0).permutation(len(tree))
    shapes = zones.places.describe(tree, nodes).geometry

    for part in (nodes[::7], nodes, nodes[::-1]):
        expected = dict(zip(nodes.tolist(), square_kilometers(shapes).tolist(), strict=True))
        sizes = zones.places.square_kilometers(tree, part)
        assert sizes.tolist() == pytest.approx([expected[node] for node in part.tolist()], nan_ok=True)
        assert np.isnan(sizes[part == ROOT]).all()


def test_nothing_left_out_without_a_bbox(city_trips):
    """The world is as large as the globe where no bbox says more: it can be published, and is the last resort."""
    flows = fv.build_flows(city_trips, "h3:8", hierarchy="h3", unit="person_id")

    release = fv.anonymize(flows, k=8, loss="area", max_suppression=0)

    assert release.metrics()["suppressed"] == 0
    assert fv.anonymize(flows, k=8, loss="area").metrics()["mao"] is not None


def test_precision_stays_in_tiles_seen(squares):
    """max_gbar and the frontier speak of tiles seen in the data, whatever the loss counts."""
    release = fv.anonymize(squares, k=8, loss="area", max_gbar=20)

    assert release.metrics()["gbar"] <= 20
    assert release.metrics(tiles="all")["gbar"] > release.metrics()["gbar"]
    points = fv.frontier(squares, k=8, loss="area", points=6).to_pylist()
    assert [point["suppressed"] for point in points] == sorted({point["suppressed"] for point in points}, reverse=True)
    assert points[-1]["suppressed"] == 0
    assert [point["lambda"] for point in points] == sorted(point["lambda"] for point in points)


@pytest.mark.slow
@settings(max_examples=50, deadline=None)
@given(problems(loss="area"))
def test_atg_dual_takes_the_target_of_least_loss(problem):
    """No target loses less for a published trip than the one that is taken, by the loss that was asked for."""
    oracle, means = Oracle(problem), []
    for target in ("auto", 1.0, 4.0, 9.0, 30.0):
        means.append(np.inf)
        with suppress(PromiseError):
            cost, lost = oracle.outcome(atg.solve_dual(problem, target))
            means[-1] = cost / (problem.flows.total - lost) if lost < problem.flows.total else np.inf

    assert means[0] <= min(means[1:]) * (1 + 1e-9)


@pytest.mark.slow
def test_command_line(city_trips, city_zone_trips, tmp_path, capsys):
    """A release is made, says what was asked for, and verifies; a file of zones without outlines is refused."""
    out = tmp_path / "out"
    command = ["anonymize", str(city_trips), "-o", str(out), "--grid", "h3:6", "--unit", "person_id", "--loss", "area"]
    assert run(command) == 0
    assert json.loads((out / "manifest.json").read_text())["options"]["method_options"] == {"loss": "area"}
    assert run(["verify", str(out), "--against", str(city_trips)]) == 0
    assert "tiles of an area" in (tmp_path / "out.audit.json").read_text()

    table = pq.read_table(city_zone_trips.with_name("zones.parquet"))
    pq.write_table(table.drop_columns(["geometry"]), tmp_path / "points.parquet")
    command = ["anonymize", str(city_zone_trips), "-o", str(tmp_path / "none"), "--unit", "person_id", "--loss", "area"]
    assert run([*command, "--zones", str(tmp_path / "points.parquet")]) == 2
    printed = capsys.readouterr().err
    assert "zones have no outline" in printed
    assert "use the loss tiles" in printed
    assert not (tmp_path / "none").exists()


def test_zones_verify(zones, city_zone_trips, tmp_path):
    """A release of zones keeps its promise to the verifier."""
    release = fv.anonymize(zones, "nested", k=8, loss="area")

    folder = release.write(tmp_path / "out")

    assert fv.verify(folder, city_zone_trips).flows == release.flows.num_rows
    assert release.flows["persons"].to_numpy().min() >= 8


def test_time_beside_area(city_trips):
    """Where time is an axis a step costs as much as a tile, or as often as time_weight says."""
    flows = fv.build_flows(city_trips, "h3:6", hierarchy="h3", unit="person_id", time_hierarchy="1h<part-of-day<day")

    cheap, dear = (
        fv.anonymize(flows, k=8, loss="area", options={"time_weight": weight}).metrics(tiles="all")
        for weight in (0.0, 1000.0)
    )

    assert cheap["gbar"] < dear["gbar"]
