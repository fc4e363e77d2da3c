"""Values of the wrong type end as errors that help, whatever function of Python gets them."""

from __future__ import annotations

import inspect

import pyarrow.parquet as pq
import pytest

import flowveil as fv
from flowveil import synthetic, trajectories
from flowveil.synthetic import CITY_BBOX, phones
from tests.test_bad_input import TRIPS

BOX = "4.4,50.2,4.9,50.6"
HUGE = 10**5_000
WRONG = [7, -1, 2.5, float("nan"), True, "no such", b"7", ["no", 7], {"a": 7}, {7: "a"}, object(), None, HUGE]
LONGEST = 800  # characters of message and hint
CALLBACKS = {"progress", "tell", "watch"}


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """Return a good call of every public function: positional arguments and those by keyword."""
    folder = tmp_path_factory.mktemp("types")
    trips = str(folder / "trips.parquet")
    pq.write_table(TRIPS, trips)
    flows = fv.build_flows(trips, "h3:5", unit="person_id", weight="weight")
    plain = fv.anonymize(flows, "suppression", 2).write(folder / "flows")
    matrix = fv.build_matrix(trips, BOX, 8)
    noisy = fv.add_noise(matrix, "eug").write(folder / "noisy")
    samples = phones(6, samples=4)
    read = trajectories.read_trajectories(samples, CITY_BBOX)
    paths = trajectories.anonymize(read, 2).write(folder / "paths")
    city = synthetic.City(persons=10)
    register = folder / "releases.register"
    fv.register(register, epsilon_budget=3)
    return {
        fv.read_trips: {"source": trips},
        fv.layouts: {},
        fv.describe: {"trips": trips, "grid": "h3:5"},
        fv.make_trips: {"fixes": samples, "path": folder / "made.parquet", "max_gap": "12h", "overwrite": True},
        fv.register: {"path": register},
        fv.build_flows: {"trips": trips, "grid": "h3:5"},
        fv.anonymize: {"flows": flows, "method": "suppression", "k": 2},
        fv.frontier: {"flows": flows, "k": 2},
        fv.compare: {"flows": flows, "methods": []},
        fv.study: {"flows": flows, "path": folder / "study", "methods": "suppression", "overwrite": True},
        fv.reproduce: {"preset": "knapsack-fig1", "path": folder / "preset", "small": True, "overwrite": True},
        fv.build_matrix: {"trips": trips, "bbox": BOX, "cells": 8},
        fv.build_tile_matrix: {"trips": trips, "bbox": BOX, "grid": "h3:5"},
        fv.build_frame_matrix: {"samples": samples, "bbox": CITY_BBOX, "cells": 8, "max_trips_per_person": 1},
        fv.add_noise: {"matrix": matrix, "method": "eug"},
        fv.advise: {"epsilons": [], "trips": 100, "cells": 8},
        fv.query: {"release": noisy},
        fv.query_errors: {"release": noisy, "trips": trips, "queries": 5},
        fv.read_release: {"release": plain},
        fv.evaluate: {"release": plain, "trips": trips},
        fv.verify: {"release": plain, "trips": trips},
        fv.report: {"release": plain, "overwrite": True},
        fv.export: {"release": plain, "to": "flowmap-blue", "path": folder / "export", "overwrite": True},
        fv.reconstruct: {"release": plain, "zones": city.zones()},
        fv.sample: {"release": plain, "count": 5},
        fv.risk: {"release": plain, "attacks": "repeats"},
        trajectories.make_grid: {"bbox": CITY_BBOX},
        trajectories.read_trajectories: {"source": samples, "bbox": CITY_BBOX},
        trajectories.anonymize: {"source": read, "k": 2},
        trajectories.synthesize: {"source": read, "days": "2024-03-04,2024-03-05", "users": 2},
        trajectories.baseline: {"trajectories": read, "method": "w4m", "k": 2},
        trajectories.features: {"trajectories": read, "k": 2},
        trajectories.frontier: {"source": read, "k": 2, "points": 2},
        trajectories.gap: {"trajectories": read, "ks": [2], "generalize": False},
        trajectories.read_release: {"path": paths},
        trajectories.verify: {"path": paths, "against": samples},
        trajectories.evaluate: {"path": paths, "against": samples},
        synthetic.phones: {"users": 3, "samples": 2},
        synthetic.City: {"persons": 10},
        synthetic.fold_days: {"trips": city.trips(10)},
        synthetic.split_zones: {"trips": city.trips(10, ends="zones"), "zones": city.zones()},
        synthetic.write_city: {"path": folder / "city.parquet", "trips": 10, "persons": 10},
        synthetic.write_demo_city: {"path": folder / "demo.parquet"},
        fv.methods: {},
    }


FUNCTIONS = [
    name
    for module in (fv, trajectories, synthetic)
    for name in (f"{module.__name__}.{name}" for name in module.__all__)
    if inspect.isfunction(getattr(module, name.rpartition(".")[2])) or name.endswith(".City")
]


def find(name):
    """Return a function of a module by its full name."""
    module, _, own = name.rpartition(".")
    return getattr(
        {"flowveil": fv, "flowveil.trajectories": trajectories, "flowveil.synthetic": synthetic}[module], own
    )


def parameters(function):
    """Return the names of options, in order."""
    kinds = inspect.signature(function).parameters.values()
    return [one.name for one in kinds if one.name not in CALLBACKS and one.kind is not one.VAR_KEYWORD]


def complaint(call):
    """Return what is wrong with the way a call ends, None if it works or ends with an error that helps."""
    try:
        call()
    except fv.FlowveilError as error:
        helps = error.message and error.hint and len(str(error)) < LONGEST
        return None if helps else f"says {error}"
    except OSError as error:  # of a path that cannot be used
        return None if error.filename else f"raises {error!r}"
    except Exception as error:  # noqa: BLE001  what must not happen
        return f"raises {error!r}"
    return None


@pytest.mark.slow
@pytest.mark.usefixtures("cells_here")
@pytest.mark.parametrize("name", FUNCTIONS)
def test_wrong_types(name, made, tmp_path, monkeypatch):
    """Every option of every function with a part of the values: the call works, or ends with a message and a hint."""
    monkeypatch.chdir(tmp_path)
    function = find(name)
    good = made[function]
    assert complaint(lambda: function(**good)) is None
    every = 6 if function in {fv.study, fv.reproduce} else 2  # of good values these take long
    for turn, option in enumerate(parameters(function), FUNCTIONS.index(name)):
        for value in WRONG[turn % every :: every]:
            wrong = complaint(lambda option=option, value=value: function(**(good | {option: value})))
            assert wrong is None, f"{option}={'HUGE' if value is HUGE else repr(value)} {wrong}"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "option", "value", "words"),
    [
        ("build_flows", "grid", 7, "grid is 7"),
        ("build_flows", "bbox", "a", "the bbox 'a' is not four numbers"),
        ("build_flows", "by", 7, "by is 7"),
        ("build_flows", "memory", True, "memory is True"),
        ("build_flows", "strict", "yes", "strict is 'yes'"),
        ("build_flows", "unit", ["person_id"], "there is no column"),
        ("anonymize", "k", True, "k is True"),
        ("anonymize", "k", 2.5, "k is 2.5"),
        ("anonymize", "k", float("nan"), "k is nan"),
        ("anonymize", "flows", 7, "flows were expected, and this is 7"),
        ("anonymize", "options", ["steps"], "options= got 'steps'"),
        ("anonymize", "beside", 7, "beside is 7"),
        ("read_trips", "columns", ["start_lon"], "columns= got 'start_lon'"),
        ("read_trips", "columns", {"start_lon": 7}, "columns= got 7"),
        ("read_trips", "where", 7, "the condition 7 cannot be used"),
        ("build_matrix", "cells", 2.5, "cells is 2.5"),
        ("add_noise", "epsilon", True, "epsilon is True"),
        ("query", "origin", 7, "the bbox 7 is not four numbers"),
        ("export", "to", 7, "there is no format"),
        ("evaluate", "k", "many", "k is 'many'"),
    ],
)
def test_words(name, option, value, words, made):
    """The message says which option it is, and what it was."""
    function = getattr(fv, name)

    with pytest.raises(fv.InputError) as raised:
        function(**(made[function] | {option: value}))

    assert str(raised.value).startswith(words)


def test_by_is_names():
    """A text is names with commas between them; a list is names as they are."""
    trips = TRIPS.append_column("a,b", TRIPS["person_id"])

    assert fv.build_flows(trips, "h3:5", by="person_id").provenance.by == ("person_id",)
    assert fv.build_flows(trips, "h3:5", by=["a,b"]).provenance.by == ("a,b",)
    with pytest.raises(fv.InputError, match="there is no column 'a'"):
        fv.build_flows(trips, "h3:5", by="a,b")
