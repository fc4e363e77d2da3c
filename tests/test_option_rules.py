"""Which options go together is a matter of the library: command line and Python refuse the same, in the same words."""

from __future__ import annotations

import re

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import flowveil as fv
from flowveil._cli.commands import run
from tests.test_bad_input import ROWS, TRIPS, ZONES

BOX = "4.4,50.2,4.9,50.6"
NOISE = {"epsilon": 1, "bbox": BOX}
CELLS = NOISE | {"method": "eug", "cells": 8}
TILES = NOISE | {"method": "noisy-mosaic", "grid": "h3:5"}

# Options that do not go together: those of trips and flows, and those of the release.
FLOWS = [
    ({"time": "1h", "time_hierarchy": "1h<day"}, {}),
    ({"timezone": "UTC"}, {}),
    ({"grid": "h3:5", "zones": "ZONES"}, {}),
    ({"bbox": BOX, "zones": "ZONES"}, {}),
    ({"grid": "h3:5", "crs": "EPSG:32631"}, {}),
    ({"grid": "quadtree:500"}, {}),
    ({"grid": "h3:5", "hierarchy": "ward"}, {}),
    ({"master": "local"}, {}),
    ({"by": "sex", "unit": "sex"}, {}),
    ({"by": "sex,Sex"}, {}),
    ({}, {"preset": "mds-10"}),
    ({"unit": "person_id"}, {"preset": "mds-10", "k": 9}),
    ({"unit": "person_id"}, {"preset": "mds-12"}),
    ({}, {"elsewhere": True, "totals": True}),
    ({}, {"elsewhere": True, "beside": "OUT"}),
    ({}, {"elsewhere": True, "remainders": True}),
    ({}, {"method": "nested", "remainders": True}),
    ({}, {"max_suppression": 0.1, "max_gbar": 3}),
    ({}, {"method": "odkanon", "max_gbar": 3}),
    ({}, {"method": "odkanon", "loss": "metres"}),
    ({}, {"method": "knapsack", "loss": "area"}),
    ({"zones": "ZONES", "unit": "person_id"}, {"loss": "area"}),
    ({}, {"method": "odkanon", "areas_from": "OUT"}),
    ({}, {"max_gbar": 4, "areas_from": "OUT"}),
    ({}, {"method": "odkanon", "options": "steps=1"}),
    ({}, {"totals": True}),
    ({}, {"rounding": 11}),
    ({}, {"cell_key": 10}),
    ({}, {"rounding": 5, "cell_key": 2}),
    ({}, {"rounding": 5, "beside": "OUT"}),
    ({}, {"secret": "OUT"}),
    ({}, {"rounding": 5, "secret": "OUT"}),
    ({}, {"protect_margins": True, "elsewhere": True}),
    ({}, {"protect_margins": True, "remainders": True}),
    ({}, {"protect_margins": True, "method": "mondrian"}),
    ({"time_hierarchy": "1h<day"}, {"method": "odkanon"}),
    ({}, {"k_weight": 5}),
    *(({}, {"hide_choice": 0.5, name: True}) for name in ("elsewhere", "totals", "remainders")),
    *(({}, {"hide_choice": 0.5, name: "OUT"}) for name in ("beside", "areas_from")),
    ({}, {"hide_choice": 0.5, "method": "nested"}),
    ({}, {"hide_choice": 0.5, "loss": "area"}),
    ({}, {"hide_choice": 0.5, "min_tiles": 2}),
    ({"hierarchy": "lattice"}, {"hide_choice": 0.5}),
]
NOISY = [
    *(CELLS | {name: True} for name in ("strict", "elsewhere", "totals", "remainders")),
    *(CELLS | {name: "1h"} for name in ("time", "by", "weight", "time_hierarchy", "crs", "beside", "areas_from")),
    *(CELLS | {name: 5} for name in ("k", "k_weight", "min_tiles", "max_gbar")),
    CELLS | {"max_suppression": 0.0},
    CELLS | {"hide_choice": 0.5},
    *(CELLS | {name: 5} for name in ("rounding", "cell_key")),
    CELLS | {"protect_margins": True},
    CELLS | {"secret": "OUT"},
    CELLS | {"loss": "metres"},
    CELLS | {"preset": "mds-10"},
    CELLS | {"engine": "spark"},
    CELLS | {"grid": "h3:5"},
    CELLS | {"zones": "ZONES"},
    CELLS | {"timezone": "UTC"},
    CELLS | {"frames": "6-9", "unit": "person_id"},
    CELLS | {"unit": "person_id"},
    CELLS | {"max_trips_per_person": 3},
    CELLS | {"options": "steps=1"},
    TILES | {"cells": 9},
    TILES | {"frames": "6-9"},
    TILES | {"zones": "ZONES"},
    TILES | {"method": "odkanon"},
    {"epsilon": 1, "method": "eug"},
]
COMPARED = [
    {"methods": "laplace"},
    {"methods": "eug"},
    {"methods": "suppression", "options": ["uniform-tiles.steps=1"]},
    {"methods": "suppression", "options": ["steps=1"]},
    {"methods": "suppression", "options": ["suppression.steps=1"]},
]


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """Return paths of trips and zones."""
    folder = tmp_path_factory.mktemp("rules")
    table = TRIPS.append_column("start_time", pa.array(["2024-05-01T08:00:00"] * ROWS))
    pq.write_table(table.append_column("sex", pa.array(["a"] * ROWS)), folder / "trips.parquet")
    pq.write_table(ZONES, folder / "zones.parquet")
    return {"trips": str(folder / "trips.parquet"), "ZONES": str(folder / "zones.parquet"), "OUT": str(folder / "out")}


def filled(made, options):
    """Return options with paths in their places."""
    return {name: made.get(value, value) if isinstance(value, str) else value for name, value in options.items()}


def said(command, options, made, folder, capsys):
    """Run a command that refuses its options, and return message and hint."""
    words = ["-o", str(folder / "new")]
    for name, value in options.items():
        spelled = {"k": "-k", "options": "--option"}.get(name, f"--{name.replace('_', '-')}")
        values = value if isinstance(value, list) else [value]
        words += [spelled] if value is True else [word for one in values for word in (spelled, str(one))]
    capsys.readouterr()

    assert run([command, made["trips"], *words]) == 2
    assert list(folder.iterdir()) == []

    *_, message, hint = capsys.readouterr().err.splitlines()
    return message.removeprefix("error: "), hint.removeprefix("hint: ")


def check(raised, expected):
    """Compare an error of Python with what the command said."""
    assert (raised.value.message, raised.value.hint) == expected
    assert not re.search(r"(^|\s)--?[a-z]", re.sub("flowveil .*", "", str(raised.value))), "options of the command line"


@pytest.mark.slow
@pytest.mark.parametrize(("of_flows", "of_release"), FLOWS)
def test_flows_and_crowds(of_flows, of_release, made, tmp_path, capsys):
    """Wrong combinations of build_flows and anonymize."""
    of_flows, of_release = filled(made, of_flows), filled(made, of_release)
    expected = said("anonymize", of_flows | of_release, made, tmp_path, capsys)

    with pytest.raises(fv.InputError) as raised:
        fv.anonymize(fv.build_flows(made["trips"], **of_flows), **of_release)

    check(raised, expected)


@pytest.mark.parametrize("options", NOISY)
def test_noise(options, made, tmp_path, capsys):
    """Wrong combinations with noise: what would change nothing is refused, whoever asks."""
    options = filled(made, options)
    expected = said("anonymize", options, made, tmp_path, capsys)

    with pytest.raises(fv.InputError) as raised:
        fv.add_noise(made["trips"], **options)

    check(raised, expected)


@pytest.mark.parametrize("options", COMPARED)
def test_comparisons(options, made, tmp_path, capsys):
    """Wrong combinations of methods and their options."""
    expected = said("compare", options, made, tmp_path, capsys)

    with pytest.raises(fv.InputError) as raised:
        fv.compare(fv.build_flows(made["trips"], "h3:5"), **options)

    check(raised, expected)


def test_frontier_of_one_answer(made, capsys):
    """A method without a frontier is refused before trips are read."""
    assert run(["frontier", made["trips"], "--method", "suppression", "--where", "no SQL"]) == 2
    *_, message, _ = capsys.readouterr().err.splitlines()

    with pytest.raises(fv.InputError) as raised:
        fv.frontier(fv.build_flows(made["trips"], "h3:5"), "suppression")

    assert message == f"error: {raised.value.message}"


@pytest.mark.parametrize(
    "words",
    [
        ["anonymize", "-k", "0"],
        ["compare", "--time-limit", "soon"],
        ["anonymize", "--method", "mosiac"],
        ["anonymize", "--loss", "meters"],
        ["anonymize", "--elsewhere", "--totals"],
        ["anonymize", "--remainders", "--min-tiles", "2"],
        ["anonymize", "--option", "size=1"],
        ["anonymize", "--preset", "mds-10"],
        ["anonymize", "--epsilon", "1", "--strict"],
        ["anonymize", "--epsilon", "1", "--option", "size=1"],
        ["compare", "--methods", "mosiac"],
        ["compare", "--memory-limit", "much"],
        ["compare", "--time-limit", "0"],
        ["frontier", "--points", "0"],
        ["trajectories", "anonymize", "--variant", "lose"],
        ["trajectories", "anonymize", "--max-extent", "far"],
        ["trajectories", "gap", "-k", "two"],
        ["trajectories", "baseline", "--method", "w5m"],
    ],
)
def test_options_are_checked_before_trips_are_looked_for(words, tmp_path, capsys):
    """What is wrong whatever the trips are is said first: reading them may take hours."""
    output = [] if words[0] == "frontier" or "gap" in words or "baseline" in words else ["-o", str(tmp_path / "out")]
    command = words[: 2 if words[0] == "trajectories" else 1]

    assert run([*command, str(tmp_path / "nowhere.csv"), *words[len(command) :], *output]) == 2
    assert "nowhere.csv" not in capsys.readouterr().err


def test_matrices_are_counted(made):
    """Options of counting go with trips, not with a matrix of them."""
    matrix = fv.build_matrix(made["trips"], BOX, 8)

    with pytest.raises(fv.InputError, match="bbox= was given, but the trips are counted"):
        fv.add_noise(matrix, "eug", bbox=BOX)
    with pytest.raises(TypeError, match="unexpected keyword argument 'cell'"):
        fv.add_noise(made["trips"], "eug", bbox=BOX, cell=8)


def test_noise_from_trips_is_that_from_a_matrix(made):
    """The promise is the same, whether trips or a matrix of them are given."""
    ways = [
        (fv.build_matrix(made["trips"], BOX, 8), "eug", {"cells": "8"}),
        (fv.build_tile_matrix(made["trips"], BOX, "h3:5"), "noisy-mosaic", {"grid": "h3:5"}),
    ]
    for matrix, method, options in ways:
        expected = fv.add_noise(matrix, method).manifest
        actual = fv.add_noise(made["trips"], method, bbox=BOX, **options).manifest
        assert (actual["method"], actual["options"]) == (expected["method"], expected["options"])
        assert actual["promise_text"] == expected["promise_text"]


@pytest.mark.parametrize(
    ("method", "asked", "expected"),
    [
        ("mosaic", {}, {"k": 9, "k_weight": None}),
        ("mosaic", {"k_weight": "auto"}, {"k": 9, "k_weight": None}),
        ("mosaic", {"loss": "metres"}, {}),
        ("mosaic", {"loss": "area"}, {"k": 9, "k_weight": None}),
        ("mosaic", {"time_hierarchy": "1h<day"}, {}),
        ("mosaic", {"elsewhere": True}, {}),
        ("mosaic", {"beside": "out"}, {}),
        ("mosaic", {"engine": "duckdb"}, {}),
        ("odkanon", {}, {}),
    ],
)
def test_when_crowds_suffice(method, asked, expected):
    """Persons stay on a cluster where all that is asked can be told from the sizes of crowds."""
    chosen = next(one for one in fv.methods() if one.name == method)

    assert chosen.cluster_options(9, **asked) == expected
