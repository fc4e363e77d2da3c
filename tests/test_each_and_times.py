"""A row of metrics for each step of time and group, and weights as times the mean."""

from __future__ import annotations

import pytest

import flowveil as fv
from flowveil._cli.commands import run
from flowveil._measure import METRIC_COLUMNS
from flowveil.synthetic import CITY_BBOX


@pytest.mark.slow
def test_each_matrix_is_measured_by_itself(city_trips, tmp_path, capsys):
    """The rows of a release by sex are the metrics of releases of each sex alone; all trips are in some row."""
    grid = {"grid": "h3:7", "bbox": CITY_BBOX, "hierarchy": "h3"}
    flows = fv.build_flows(city_trips, by="sex", **grid)
    folder = fv.anonymize(flows, "suppression", 5).write(tmp_path / "out")

    rows = fv.evaluate(folder, city_trips, each=True)["each"]

    assert sum(row["input_trips"] for row in rows) == flows.total
    for row in rows:
        alone = fv.read_trips(city_trips, where=f"sex = '{row['sex']}'")
        expected = fv.anonymize(fv.build_flows(alone, **grid), "suppression", 5).metrics()
        assert {name: row[name] for name in ("gbar", "e", "d", "suppressed", "c_dm", "flows", "mao")} == {
            name: pytest.approx(expected[name]) for name in ("gbar", "e", "d", "suppressed", "c_dm", "flows", "mao")
        }
        assert set(METRIC_COLUMNS) <= set(row)
    assert run(["evaluate", str(folder), "--against", str(city_trips), "--each"]) == 0
    assert "Each step of time and group" in capsys.readouterr().out


@pytest.mark.slow
def test_times_the_mean_weight(city_trips, tmp_path):
    """10x is ten times the mean whatever k is, is promised as typed, and holds; once the mean gets a warning."""
    flows = fv.build_flows(city_trips, "h3:7", bbox=CITY_BBOX, hierarchy="h3", unit="person_id", weight="weight")
    release = fv.anonymize(flows, "suppression", 1, k_weight="10x")
    folder = release.write(tmp_path / "out")
    figures = fv.evaluate(folder, city_trips)

    assert release.manifest["promise"]["k_weight"] == "10x"
    assert "10 times as many people" in release.manifest["promise_text"]
    assert figures["min_weight"] >= figures["k_weight"]
    assert figures["k_weight"] == pytest.approx(release.metrics(k=10, k_weight="auto")["k_weight"])
    assert (
        "every flow stands for at least 10 times the people of the mean weight" in fv.verify(folder, city_trips).checks
    )
    with pytest.warns(fv.LossWarning, match="once the mean"):
        fv.anonymize(flows, "suppression", 1, k_weight="auto")
    for wrong in ("x", "-1x", "0x", "tenx"):
        with pytest.raises(fv.InputError, match="k_weight"):
            fv.anonymize(flows, "suppression", 1, k_weight=wrong)
