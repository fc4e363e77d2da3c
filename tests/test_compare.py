"""compare: every method is a row, whatever becomes of it."""

from __future__ import annotations

import stat
import xml.etree.ElementTree as ET

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import flowveil as fv
from flowveil._charts import comparison_svg
from flowveil._cli.commands import run
from flowveil._study import markdown
from flowveil.synthetic import CITY_BBOX


@pytest.fixture(scope="module")
def flows(city_trips):
    """Return flows of persons on a quadtree, the kind of places that holds threads and projections."""
    return fv.build_flows(city_trips, "quadtree:2000", hierarchy="quadtree", bbox=CITY_BBOX, unit="person_id")


@pytest.mark.slow
def test_rows_are_those_of_single_runs(flows):
    """A row has the metrics of the method run by itself, was verified, and knows whether areas are one map."""
    table = fv.compare(flows, ["mosaic", "crosscut"], k=8, verify=True)

    rows = {row["method"]: row for row in table.to_pylist()}
    for name, row in rows.items():
        figures = fv.anonymize(flows, name, k=8).metrics()
        assert {key: row[key] for key in ("gbar", "suppressed", "flows", "e")} == {
            key: figures[key] for key in ("gbar", "suppressed", "flows", "e")
        }
        assert row["status"] == "done"
        assert row["verified"] is True
        assert row["seconds"] > 0
        assert row["memory_mb"] > 10
        assert row["promise"].startswith("k-anonymity, k 8, by person_id")
    assert rows["crosscut"]["homogeneous"] is True
    assert rows["mosaic"]["homogeneous"] is False


@pytest.mark.slow
@pytest.mark.usefixtures("cells_here")
def test_remainders_are_for_methods_that_have_them(flows):
    """Mosaic publishes them, and is no coarser; a method without them is as it was."""
    more = fv.compare(flows, ["mosaic", "oigh"], k=8, remainders=True).to_pylist()

    plain = [fv.anonymize(flows, name, k=8).metrics()["gbar"] for name in ("mosaic", "oigh")]
    assert more[0]["gbar"] == fv.anonymize(flows, k=8, remainders=True).metrics()["gbar"] <= plain[0]
    assert more[1]["gbar"] == plain[1]


@pytest.mark.slow
def test_failures_and_limits_are_rows(flows):
    """A method that cannot keep its promise, and one beyond its time, are rows with a reason; others go on."""
    options = {"atg-dual": {"v_target": 1}}  # origins of single tiles, some with fewer than k persons
    failed = fv.compare(flows, ["atg-dual", "suppression"], k=8, max_suppression=0, options=options)
    slow = fv.compare(flows, ["mosaic"], time_limit=0.01)
    large = fv.compare(flows, ["mosaic"], memory_limit=1_000_000)

    status = [table.to_pylist()[0]["status"] for table in (failed, slow, large)]
    assert status == ["failed", "time limit", "memory limit"]
    assert failed.to_pylist()[1]["status"] == "done"
    for table in (failed, slow, large):
        assert table.to_pylist()[0]["note"] in markdown(table)
        assert table.to_pylist()[0]["gbar"] is None
        ET.fromstring(comparison_svg(table, "a & b"))  # noqa: S314  our own document


@pytest.mark.slow
@pytest.mark.usefixtures("cells_here")
def test_demands_of_anonymize(city_trips):
    """Weights, tiles and elsewhere are asked of every method; laplace is a row where a budget of noise is given."""
    flows = fv.build_flows(city_trips, "h3:6", bbox=CITY_BBOX, weight="weight")
    asked = {"k_weight": 900, "min_tiles": 2, "elsewhere": True}

    rows = fv.compare(flows, ["glove-od", "mosaic", "laplace"], **asked, epsilon=1, verify=True).to_pylist()

    for row in rows[:2]:
        release = fv.anonymize(flows, row["method"], **asked)
        assert release.metrics()["elsewhere"]["flows"] >= 0
        assert row["gbar"] == release.metrics()["gbar"]
    assert [row["verified"] for row in rows] == [True] * 3
    assert 0 < rows[0]["e"] <= 2
    assert rows[0]["promise"] == "k-anonymity, k 10, by trip, overlapping areas"
    assert rows[2]["promise"] == "differential-privacy, epsilon 1, by trip"
    assert rows[2]["suppressed"] < 0 < rows[2]["e"]
    assert [row["method"] for row in rows] == ["glove-od", "mosaic", "laplace"]


@pytest.mark.slow
@pytest.mark.usefixtures("cells_here")
def test_laplace_by_hand(city_zone_trips):
    """Errors of laplace are those of its release, laid out as dense matrices; persons cannot be compared."""
    from flowveil._matrices import add_noise, matrix_of_flows
    from flowveil._study.noisy import _errors

    flows = fv.build_flows(city_zone_trips, zones=city_zone_trips.with_name("zones.parquet"))
    matrix = matrix_of_flows(flows)
    release = add_noise(matrix, "laplace", 1.0)
    true, noisy = np.zeros(matrix.points.lengths), np.zeros(matrix.points.lengths)
    names = [flows.places.ids(flows.origins, matrix.grid.ladder.leaf[[at]])[0] for at in range(len(true))]
    for row in release.tables["flows.parquet"].to_pylist():
        noisy[names.index(row["origin"]), names.index(row["destination"])] = row["trips"]
    ends = [flows.places.ids(flows.origins, nodes) for nodes in (flows.origin, flows.destination)]
    for origin, destination, trips in zip(*ends, flows.trips.tolist(), strict=True):
        true[names.index(origin), names.index(destination)] = trips

    figures = _errors(matrix, release.boxes)

    assert true.sum() == flows.total
    assert figures["e"] == pytest.approx(np.abs(noisy - true).sum() / true.sum())
    assert figures["d"] == pytest.approx(np.abs(noisy / noisy.sum() - true / true.sum()).sum())
    assert figures["suppressed"] == pytest.approx(1 - noisy.sum() / true.sum())
    zones = city_zone_trips.with_name("zones.parquet")
    people = fv.build_flows(city_zone_trips, zones=zones, unit="person_id")
    row = fv.compare(people, "laplace", epsilon=1).to_pylist()[0]
    assert row["status"] == "failed"
    assert "by trips" in row["note"]


@pytest.mark.slow
def test_trips_in_memory(city_trips):
    """Flows of a table in memory can be compared; verifying them by another process cannot be."""
    flows = fv.build_flows(pq.read_table(city_trips), "h3:6", bbox=CITY_BBOX)

    assert fv.compare(flows, "suppression").to_pylist()[0]["status"] == "done"
    with pytest.raises(fv.InputError, match="in memory"):
        fv.compare(flows, "suppression", verify=True)


@pytest.mark.parametrize(
    "arguments",
    [
        {"methods": "mosaik"},
        {"methods": "laplace"},
        {"methods": "identity"},
        {"epsilon": -1},
        {"time_limit": 0},
        {"memory_limit": 0},
        {"k": 0},
        {"options": {"nested": {"size": 1}}},
    ],
)
def test_bad_calls_are_refused_before_anything_runs(flows, arguments):
    """What no method could do is an error of the call."""
    with pytest.raises(fv.InputError):
        fv.compare(flows, **({"methods": ["nested"]} | arguments))


@pytest.mark.slow
def test_command_line(city_trips, tmp_path, capsys):
    """The command prints a Markdown table and writes three private files."""
    arguments = ["compare", str(city_trips), "--grid", "h3:6", "--methods", "suppression,uniform-tiles"]
    arguments += ["--option", "uniform-tiles.steps=1", "--memory-limit", "2GB", "-o", str(tmp_path / "out")]

    assert run(arguments) == 0

    out = capsys.readouterr().out
    assert out.startswith("| method | gbar, tiles |")
    assert "| uniform-tiles | " in out
    assert stat.S_IMODE((tmp_path / "out").stat().st_mode) == 0o700
    assert {item.name for item in (tmp_path / "out").iterdir()} == {"compare.parquet", "compare.md", "compare.svg"}
    assert pq.read_table(tmp_path / "out" / "compare.parquet").schema.field("seconds").type == pa.float64()
    assert run(arguments) == 2
    assert run([*arguments[:-4], "--memory-limit", "much"]) == 2
    assert run([*arguments[:6], "--option", "steps=1"]) == 2
