"""One meaning for one text: the command line, the app and Python read every option alike, or refuse it alike."""

from __future__ import annotations

import json
import re
from types import SimpleNamespace

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import flowveil as fv
from flowveil import _app, trajectories
from flowveil._app.settings import Settings
from flowveil._app.tasks import Tasks
from flowveil._cli.commands import run
from flowveil._engine import local
from flowveil._errors import FlowveilError
from flowveil._study.running import Run
from flowveil.synthetic import CITY_BBOX, phones
from tests.test_bad_input import ROWS, TRIPS

BOX = "4.4,50.2,4.9,50.6"
BASE = {"method": "suppression", "k": "2", "grid": "h3:5"}
OF_FLOWS = {"grid", "hierarchy", "bbox", "unit", "weight", "time", "timezone", "by"}
WEIGHTED = {"unit": "person_id", "weight": "weight"}

# Option: what else is given, and texts of which each must mean the same at every door.
GOOD = {
    "k": ({}, ["2", " 3 ", "+4"]),
    "k_weight": (WEIGHTED, ["auto", "3", "2.5", "1e1"]),
    "min_tiles": ({}, ["1", " 1 "]),
    "max_suppression": ({"method": "mosaic"}, ["1", "0.5", "1e-1", "10%"]),
    "bbox": ({}, [BOX, " 4.4 , 50.2,4.9,50.6", "4.40,50.20,4.90,50.60"]),
    "by": ({}, ["sex", "sex,age", "sex , age"]),
    "unit": ({}, ["person_id"]),
    "weight": ({}, ["weight"]),
    "time": ({}, ["1h", "1d", "hour-of-week"]),
    "timezone": ({"time": "1h"}, ["Europe/Rome", "UTC"]),
    "grid": ({}, ["h3:5", "h3:05"]),
    "hierarchy": ({}, ["h3", "h3-binary"]),
    "method": ({}, ["suppression", "uniform-tiles"]),
    "loss": ({"method": "mosaic"}, ["tiles", "metres", "area"]),
    "columns": ({}, ["start_lon=start_lon", "start_lon=start_lon, end_lon = end_lon"]),
    "options": ({"method": "uniform-tiles"}, ["steps=1", " steps = 3 "]),
}
# The same with texts that must be refused in the same words.
BAD = {
    "k": ({}, ["0", "-1", "2.5", "nan", "ten", "1e3", "True", "9" * 5_000, "1" + "0" * 30]),
    "k_weight": (WEIGHTED, ["0", "-1", "nan", "inf", "many", "1e30", "Auto"]),
    "min_tiles": ({}, ["0", "1.5", "nan", "few"]),
    "max_suppression": ({}, ["-0.1", "1.1", "nan", "110%", "some"]),
    "bbox": ({}, ["a", "1,2,3", "1,2,3,4,5", "4.9,50.2,4.4,50.6", "nan,50,5,51", "4,50,5,91"]),
    "by": ({}, ["color", "sex,sex", "sex,", "origin"]),
    "unit": ({}, ["person", "trip"]),
    "weight": ({}, ["mass"]),
    "time": ({}, ["1", "7h", "1month"]),
    "timezone": ({"time": "1h"}, ["Mars/Base", "+01:00", "europe/rome"]),
    "grid": ({}, ["h3", "h3:16", "h3:-1", "hex:5", "quadtree:200", "quadtree:x"]),
    "hierarchy": ({}, ["ward", "h4"]),
    "method": ({}, ["mosiac", "Suppression"]),
    "loss": ({"method": "mosaic"}, ["meters", "trips"]),
    "columns": ({}, ["start_lon", "=start_lon", "lon1=start_lon", "start_lon=x"]),
    "options": ({"method": "uniform-tiles"}, ["steps", "steps=few", "size=2", "steps=1e99"]),
}
# Values that are no text: Python and JSON have them.
VALUES = {
    "k": [True, 2.5, 0, -1, float("nan"), 10**30, [2], {"k": 2}],
    "k_weight": [True, 0, float("nan"), [2]],
    "min_tiles": [False, 1.5, [1]],
    "max_suppression": [True, 1.5, float("inf"), [0]],
}


@pytest.fixture(scope="module")
def trips(tmp_path_factory):
    """Write trips between two places, with times and groups."""
    path = tmp_path_factory.mktemp("doors") / "trips.parquet"
    table = TRIPS.append_column("start_time", pa.array(["2024-05-01T08:00:00"] * ROWS))
    table = table.append_column("sex", pa.array(["a"] * ROWS)).append_column("age", pa.array(["b"] * ROWS))
    pq.write_table(table, path)
    return path


def by_python(trips, options):
    """Make a release with functions of Python, and return its manifest."""
    flow = {name: value for name, value in options.items() if name in OF_FLOWS}
    demand = {name: value for name, value in options.items() if name not in OF_FLOWS | {"columns"}}
    flows = fv.build_flows(fv.read_trips(trips, options.get("columns")), **flow)
    return fv.anonymize(flows, **demand).manifest


def by_command(trips, folder, options, capsys):
    """Make one with the command, and return its manifest, or raise what it said."""
    words = []
    for name, value in options.items():
        spelled = {"k": "-k", "options": "--option"}.get(name, f"--{name.replace('_', '-')}")
        words.append(f"{spelled}{'' if len(name) == 1 else '='}{value}")
    capsys.readouterr()
    if run(["anonymize", str(trips), "-o", str(folder / "out"), *words]):
        *_, message, hint = capsys.readouterr().err.splitlines()
        message = re.sub("Invalid value for '[a-z-]+': ", "", message.removeprefix("error: "))
        raise FlowveilError(message, hint.removeprefix("hint: "))
    return json.loads((folder / "out" / "manifest.json").read_text())


def by_app(trips, options):
    """Make one as the worker of the app does, and return its manifest."""
    given = dict(options)
    for name in ("columns", "options"):
        if name in given:
            pairs = (part.split("=") for part in given[name].split(","))
            given[name] = {key.strip(): value.strip() for key, value in pairs}
    settings = Settings.model_validate_json(json.dumps({"trips": "id", **given}))
    files = {"id": SimpleNamespace(path=trips, name=trips.name)}
    flows = Tasks()._flows(lambda _: None, settings.places(files))
    return fv.anonymize(flows, **settings.demand(), **settings.steer()).manifest


def ending(make, *arguments):
    """Return a manifest, or message and hint of an error."""
    try:
        return make(*arguments)
    except FlowveilError as error:
        return error.message, error.hint


def at_every_door(trips, tmp_path, capsys, options):
    """Return how Python, the command line and the app end."""
    ends = [ending(by_python, trips, options), ending(by_command, trips, tmp_path, options, capsys)]
    pairs = options.get("columns", "a=b"), options.get("options", "a=b")  # which are objects in JSON, not text
    return [*ends, ending(by_app, trips, options)] if all("=" in text[1:] for text in pairs) else ends


CASES = [(option, text) for option, (_, texts) in GOOD.items() for text in texts]


@pytest.mark.slow
@pytest.mark.parametrize(("option", "text"), CASES)
def test_texts_mean_the_same(option, text, trips, tmp_path, capsys):
    """The manifest is the same, whoever was told."""
    first, *others = at_every_door(trips, tmp_path, capsys, BASE | GOOD[option][0] | {option: text})

    assert isinstance(first, dict), first
    assert others == [first] * len(others)
    assert len(others) == 2


WRONG = [(option, text) for option, (_, texts) in BAD.items() for text in texts]


@pytest.mark.slow
@pytest.mark.parametrize(("option", "text"), WRONG)
def test_texts_are_refused_in_the_same_words(option, text, trips, tmp_path, capsys):
    """Message and hint are the same, and short."""
    first, *others = at_every_door(trips, tmp_path, capsys, BASE | BAD[option][0] | {option: text})

    assert isinstance(first, tuple), first
    assert all(0 < len(text) < 300 for text in first)
    assert others == [first] * len(others)
    assert not list(tmp_path.rglob("manifest.json"))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("option", "value"), [(option, value) for option, values in VALUES.items() for value in values]
)
def test_values_are_refused_in_the_same_words(option, value, trips):
    """What is no number in Python is none in JSON; true is not 1."""
    options = BASE | WEIGHTED | {option: value}

    first = ending(by_python, trips, options)

    assert isinstance(first, tuple), first
    assert ending(by_app, trips, options) == first


class TestMemory:
    """Amounts of memory, wherever they are given."""

    @pytest.fixture
    def told(self, monkeypatch):
        """Return the amounts that the parts which keep to them were told."""
        told = []
        count = local.aggregate
        monkeypatch.setattr(local, "aggregate", lambda *given: told.append(given[2]) or count(*given))
        monkeypatch.setattr(_app, "serve", lambda _, limit, **__: told.append(limit))
        monkeypatch.setattr(Run, "run", lambda run, *_: told.append(run.limits.memory))
        return told

    def doors(self, trips, folder, amount):
        """Return calls that give an amount to one door each."""
        flows = fv.build_flows(trips, "h3:5")
        samples = phones(4, samples=3)
        compare = ["compare", str(trips), "--grid", "h3:5", "--methods", "suppression"]
        return {
            "build_flows": lambda: fv.build_flows(trips, "h3:5", memory=amount),
            "build_matrix": lambda: fv.build_matrix(trips, BOX, 4, memory=amount),
            "build_tile_matrix": lambda: fv.build_tile_matrix(trips, BOX, "h3:5", memory=amount),
            "compare": lambda: fv.compare(flows, "suppression", memory_limit=amount),
            "trajectories": lambda: trajectories.anonymize(samples, 2, bbox=CITY_BBOX, memory=amount),
            "--memory": lambda: run(["anonymize", str(trips), "--grid=h3:5", "-o", f"{folder}/o", "--memory", amount]),
            "--memory-limit": lambda: run([*compare, "--memory-limit", amount]),
            "--upload-limit": lambda: run(["serve", "--upload-limit", amount]),
        }

    @pytest.mark.slow
    @pytest.mark.parametrize(
        ("amount", "expected"), [("2GiB", 2_147_483_648), ("2GB", 2_000_000_000), ("512 MiB", 2**29)]
    )
    def test_good(self, amount, expected, trips, tmp_path, told):
        """GiB are powers of two, GB of ten."""
        for name, call in self.doors(trips, tmp_path, amount).items():
            told.clear()
            call()
            assert set(told) <= {expected, None}, name
            if name in {"build_flows", "compare"} or name.startswith("--"):
                assert expected in told, name

    @pytest.mark.slow
    @pytest.mark.parametrize("amount", ["2G", "2gb", "many", "2", "-2GB"])
    def test_bad(self, amount, trips, tmp_path, told, capsys):
        """The same words everywhere; the hint shows the door's own spelling."""
        for name, call in self.doors(trips, tmp_path, amount).items():
            told.clear()
            expected = f"{amount if amount == '2' else repr(amount)} is not an amount of memory"
            if name.startswith("--"):
                assert call() == 2
                *_, message, hint = capsys.readouterr().err.splitlines()
                assert (message, hint) == (f"error: {expected}", f"hint: write it like {name} 2GB")
            else:
                with pytest.raises(fv.InputError) as raised:
                    call()
                keyword = "memory_limit" if name == "compare" else "memory"
                assert str(raised.value) == f"{expected}\nhint: write it like {keyword}=2GB"
            assert not told, name
