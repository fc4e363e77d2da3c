"""Options of `flowveil anonymize` with noise: each works or is refused, so that none is ignored."""

import inspect
import json

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import flowveil as fv
from flowveil._cli.anonymize import anonymize
from flowveil._cli.commands import run

BOX = "--bbox=4,50,5,51"
CELLS = ["--method", "eug", "--cells", "8"]
FRAMES = [*CELLS, "--max-trips-per-person", "1", "--frames", "morning=7-8"]
TILES = ["--grid", "h3:5"]
WAYS = {"cells": CELLS, "frames": FRAMES, "tiles": TILES, "laplace": ["--method", "laplace", *TILES]}
DESCRIPTION = {"title", "period", "publisher", "license", "contact", "unit_label"}
WRITTEN = {"layout", "encoding", "decimal", "time_format", "input_crs", "matrices"}
EVERYWHERE = {
    "query",
    "columns",
    "where",
    "memory",
    "report",
    "ground",
    "context",
    "overwrite",
    "option",
    "register",
} | DESCRIPTION
NEEDED = {"source", "output", "bbox", "epsilon", "method"}
OF_TILES = {"grid", "hierarchy", "unit", "max_trips_per_person", "places", "zones", "zone_name", "protect"} | {
    "time",
    "time_hierarchy",
    "timezone",
    "by",
    "groups",
    "persons",
}
USED = {
    "cells": EVERYWHERE
    | WRITTEN
    | {"cells", "ends", "stops", "unit", "max_trips_per_person", "frames", "protect", "timezone"},
    "frames": EVERYWHERE | {"cells", "timezone", "max_trips_per_person", "frames"},
    "tiles": EVERYWHERE | WRITTEN | OF_TILES,
    "laplace": EVERYWHERE | WRITTEN | OF_TILES,
}
VALUES = {  # of every option that may be refused; a flag has none
    "layout": "skmob",
    "encoding": "cp1252",
    "decimal": ",",
    "time_format": "unix",
    "input_crs": "EPSG:2154",
    "matrices": "am",
    "k": "5",
    "preset": "mds-10",
    "k_weight": "auto",
    "min_tiles": "2",
    "max_share": "0.5",
    "max_unusable": "0.5",
    "counts": "persons",
    "same_areas": None,
    "sensitive": "clinics.csv",
    "sensitive_tiles": "7",
    "hide_choice": "0.5",
    "loss": "metres",
    "max_suppression": "0",
    "max_gbar": "3",
    "elsewhere": None,
    "totals": None,
    "remainders": None,
    "protect_margins": None,
    "rounding": "5",
    "cell_key": "2",
    "secret": "FILE",
    "strict": None,
    "beside": "DIR",
    "areas_from": "DIR",
    "unit": "user_id",
    "weight": "n",
    "trip_weight": "n",
    "time": "1h",
    "time_hierarchy": "1h<day",
    "timezone": "Europe/Paris",
    "by": "n",
    "groups": "n=1,2",
    "protect": "person-day",
    "persons": None,
    "grid": "h3:5",
    "hierarchy": "h3",
    "zones": "zones.csv",
    "zone_name": "label",
    "places": "places.csv",
    "crs": "EPSG:32631",
    "engine": "spark",
    "master": "local",
    "cells": "9",
    "ends": "origin",
    "stops": "end_lon,end_lat",
    "frames": "6-9",
}
SAMPLES = 300


@pytest.fixture(scope="module")
def source(tmp_path_factory):
    """Write trips of as many persons, which can also be read as samples at 06:30 UTC."""
    numbers = range(SAMPLES)
    columns = {name: [4.5] * SAMPLES for name in ("lon", "start_lon", "end_lon")}
    columns |= {name: [50.5] * SAMPLES for name in ("lat", "start_lat", "end_lat")}
    columns |= {"user_id": [f"p{number}" for number in numbers], "code": [f"{number}" for number in numbers]}
    columns |= {"n": list(numbers), "time": ["2024-01-15 06:30:00"] * SAMPLES}
    path = tmp_path_factory.mktemp("noise") / "trips.parquet"
    pq.write_table(pa.table(columns), path)
    return str(path)


def noisy(source, way, folder, *more):
    """Run the command and return its exit code."""
    return run(["anonymize", source, BOX, "--epsilon", "5", *WAYS[way], *more, "-o", str(folder)])


def test_every_option_is_known_here():
    """A new option of the command must be put to use with noise, or be refused."""
    assert set(inspect.signature(anonymize).parameters) == NEEDED | set.union(*USED.values()) | VALUES.keys()


@pytest.mark.parametrize(
    ("way", "option"), [(way, option) for way in WAYS for option in sorted(VALUES.keys() - USED[way])]
)
def test_what_would_change_nothing_is_refused(way, option, source, tmp_path, capsys):
    """The error names the option, whatever its value; nothing is written."""
    name = f"-{option}" if len(option) == 1 else f"--{option.replace('_', '-')}"
    words = [name] if VALUES[option] is None else [name, VALUES[option]]

    assert noisy(source, way, tmp_path / "out", *words) == 2

    err = capsys.readouterr().err
    assert f"error: {name} does not go with " in err
    assert "hint: leave it out" in err or "hint: give --method" in err
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("option", ["--ends", "--cells", "--stops", "--frames", "--max-trips-per-person", "--protect"])
def test_options_of_noise_need_a_budget(option, source, tmp_path, capsys):
    """Without --epsilon they are refused, too."""
    assert run(["anonymize", source, option, "1", "-o", str(tmp_path / "out")]) == 2
    assert f"error: {option} goes with noise" in capsys.readouterr().err


@pytest.mark.parametrize(("zone", "expected"), [("Europe/Paris", SAMPLES), ("UTC", 0), (None, 0)])
def test_frames_follow_the_time_zone(zone, expected, source, tmp_path):
    """06:30 in UTC is half past seven in Paris."""
    assert noisy(source, "frames", tmp_path / "out", *([] if zone is None else ["--timezone", zone])) == 0

    assert json.loads((tmp_path / "out.audit.json").read_text())["trips"] == expected
    assert fv.query(tmp_path / "out").estimate == pytest.approx(expected, abs=60)  # the noise of some boxes


def test_no_such_time_zone(source, tmp_path, capsys):
    """A zone that nobody knows is bad input."""
    assert noisy(source, "frames", tmp_path / "out", "--timezone", "Mars/Base") == 2
    assert "there is no time zone 'Mars/Base'" in capsys.readouterr().err


@pytest.mark.parametrize("way", ["cells", "frames", "tiles"])
@pytest.mark.parametrize("where", ["n < (SELECT 10)", "n > avg(n) OVER ()", "random() < 0.5"])
def test_a_filter_depends_on_one_row_only(where, way, source, tmp_path, capsys):
    """Rows of others must not decide whether a row counts: its owner would be protected less than promised."""
    assert noisy(source, way, tmp_path / "out", "--where", where) == 2
    assert "cannot be used" in capsys.readouterr().err


@pytest.mark.parametrize("way", ["cells", "frames", "tiles"])
def test_success_does_not_depend_on_one_row(way, source, tmp_path):
    """A row on which a condition fails is left out: a run that ends in an error would tell that it is there."""
    more = ["--timezone", "Europe/Paris"] if way == "frames" else []

    assert noisy(source, way, tmp_path / "out", *more, "--where", "CAST(code AS TINYINT) >= 100") == 0

    audit = json.loads((tmp_path / "out.audit.json").read_text())
    assert audit["trips"] == 28
    assert audit["input"]["where"] == "(CAST(code AS TINYINT) >= 100)"


@pytest.mark.parametrize("epsilon", ["100.1", "1e308", "inf", "nan", "0", "-1", "1e-10"])
def test_a_budget_that_protects_nobody(epsilon, source, tmp_path, capsys):
    """It is refused at every door with what epsilon means, and nothing is written."""
    assert run(["anonymize", source, BOX, *CELLS, "--epsilon", epsilon, "-o", str(tmp_path / "out")]) == 2
    assert "by a factor of at most exp(epsilon)" in capsys.readouterr().err
    assert run(["advise", "--epsilon", epsilon]) == 2
    with pytest.raises(fv.InputError, match="epsilon is"):
        fv.add_noise(source, epsilon=float(epsilon), bbox=(4, 50, 5, 51))
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(("epsilon", "warned"), [("10", False), ("10.5", True), ("100", True)])
def test_a_weak_budget_is_told(epsilon, warned, source, tmp_path, capsys):
    """Above 10 a release is made with a warning, which the audit file keeps; it verifies."""
    assert run(["anonymize", source, BOX, *CELLS, "--epsilon", epsilon, "-o", str(tmp_path / "out")]) == 0

    told = capsys.readouterr().err
    assert ("hardly any protection" in told) == warned
    assert len(json.loads((tmp_path / "out.audit.json").read_text())["notes"]) == warned
    assert fv.verify(tmp_path / "out").flows > 0


def test_the_verifier_refuses_a_budget_that_protects_nobody(source, tmp_path, monkeypatch):
    """A release that somebody made with one all the same does not pass."""
    monkeypatch.setattr("flowveil._options.noise.MOST_EPSILON", 1e6)
    folder = fv.add_noise(fv.build_matrix(source, (4, 50, 5, 51), 8), "uniform", 1e5).write(tmp_path / "out")

    with pytest.raises(fv.VerificationError, match="nobody is protected"):
        fv.verify(folder)
