"""The frontier: a table, a chart, and picking a point on it."""

from __future__ import annotations

import json
from xml.etree import ElementTree as ET

import pyarrow as pa
import pytest

import flowveil as fv
from flowveil._charts import areas_svg, frontier_svg, frontier_text
from flowveil._cli.commands import run
from flowveil._methods.frontier import FrontierPoint, thinned
from flowveil._problem import LOSSES
from flowveil.synthetic import CITY_BBOX

ABLE = [method.name for method in fv.methods() if method.frontier]


@pytest.fixture(scope="module")
def flows(city_trips):
    """Flows of the city by person."""
    return fv.build_flows(city_trips, "h3:8", hierarchy="h3", bbox=CITY_BBOX, unit="person_id")


@pytest.mark.parametrize("method", ABLE)
def test_frontier_trades_precision_for_trips(flows, method):
    """Points are distinct, and whoever leaves out fewer trips is coarser."""
    table = fv.frontier(flows, method, k=8, points=12)

    assert table.column_names == ["lambda", "gbar", "suppressed", "flows", "origin_areas", "destination_areas"]
    assert 3 <= table.num_rows <= 12
    suppressed, gbar = table["suppressed"].to_pylist(), table["gbar"].to_pylist()
    assert suppressed == sorted(suppressed, reverse=True)
    assert gbar == sorted(gbar)


def test_the_frontier_of_crosscut_begins_where_trips_cost_nothing(flows):
    """Its finest point is found at the price 0."""
    assert fv.frontier(flows, "crosscut", k=8)["lambda"][0].as_py() == 0.0


def test_points_that_stand_close_are_left_out():
    """The ends stay; of the others those with the nearest neighbors go first, one by one."""
    points = [FrontierPoint(0.0, gbar, 0.5, 9, 3, 3) for gbar in (2.0, 20.0, 21.0, 40.0, 90.0)]

    assert [point.gbar for point in thinned(points, 4)] == [2.0, 20.0, 40.0, 90.0]
    assert [point.gbar for point in thinned(points, 3)] == [2.0, 20.0, 90.0]
    assert thinned(points, 5) == points


@pytest.mark.parametrize("method", ["mosaic", "nested", "crosscut"])
def test_answers_lie_on_the_frontier(flows, method):
    """An answer is not beaten by a point of its own frontier that leaves out no more."""
    answer = fv.anonymize(flows, method, k=8, max_suppression=0.10).metrics()

    for row in fv.frontier(flows, method, k=8).to_pylist():
        if row["suppressed"] <= answer["suppressed"]:
            assert row["gbar"] >= answer["gbar"] * 0.999


@pytest.mark.slow
@pytest.mark.parametrize("method", ["mosaic", "nested", "crosscut", "atg-dual"])
def test_precision_in_place_of_a_budget(flows, method):
    """max_gbar is met, and asking for more precision never leaves out fewer trips."""
    last = -1.0
    for max_gbar in (40, 20, 10):
        metrics = fv.anonymize(flows, method, k=8, max_gbar=max_gbar).metrics()

        assert metrics["gbar"] <= max_gbar
        assert metrics["suppressed"] >= last
        last = metrics["suppressed"]


def test_precision_that_cannot_be_reached(flows):
    """A precision below that of single tiles is refused."""
    with pytest.raises(fv.PromiseError):
        fv.anonymize(flows, "mosaic", k=8, max_gbar=1.5)
    with pytest.raises(fv.InputError):
        fv.anonymize(flows, "mosaic", k=8, max_gbar=20, max_suppression=0.1)
    with pytest.raises(fv.InputError):
        fv.anonymize(flows, "odkanon", k=8, max_gbar=20)
    with pytest.raises(fv.InputError):
        fv.frontier(flows, "odkanon")


def test_losses_lower_what_they_name(flows):
    """At the same budget each loss has the lowest figure of its own kind."""
    releases = {loss: fv.anonymize(flows, "mosaic", k=8, loss=loss) for loss in LOSSES}
    found = {loss: release.metrics() for loss, release in releases.items()}

    assert min(found, key=lambda loss: found[loss]["gbar"]) == "tiles"
    assert min(found, key=lambda loss: releases[loss].metrics(tiles="all")["gbar"]) == "area"
    assert min(found, key=lambda loss: found[loss]["gdm"]["mean"]) == "metres"
    assert min(found, key=lambda loss: found[loss]["e"]) == "reconstruction"


def test_command_prints_and_draws(city_trips, tmp_path, capsys):
    """`flowveil frontier` prints the table and a chart, and draws an SVG; --json prints the rows alone."""
    command = ["frontier", str(city_trips), "--grid", "h3:6", "--unit", "person_id", "--points", "6"]

    assert run([*command, "-o", str(tmp_path / "frontier.svg")]) == 0
    printed = capsys.readouterr().out
    assert "suppressed" in printed
    assert "●" in printed
    circles = ET.parse(tmp_path / "frontier.svg").getroot().iter("{http://www.w3.org/2000/svg}circle")  # noqa: S314
    assert run([*command, "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)
    assert len(list(circles)) == len(rows) == 6


def test_charts_of_little():
    """A frontier of one point or none can be drawn."""
    columns = ["lambda", "gbar", "suppressed", "flows", "origin_areas", "destination_areas"]
    one = pa.table({name: [2.0] if name == "gbar" else [0] for name in columns})

    for table in (one, one.slice(0, 0)):
        assert frontier_text(table)
        ET.fromstring(frontier_svg(table, "a<b"))  # noqa: S314


def test_areas_can_be_drawn(flows):
    """The picture of a release is well-formed and shows the flows of the marked place."""
    release = fv.anonymize(flows, "nested", k=8, options={"side": "origin"})

    picture = areas_svg(release.flows, release.areas, "nested & co")

    ET.fromstring(picture)  # noqa: S314
    assert "leave from 1 area that" in picture
