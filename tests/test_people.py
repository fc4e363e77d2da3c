"""Persons and the people they stand for: no method publishes a flow that has too few of either."""

from __future__ import annotations

import json
import math
import tempfile
from fractions import Fraction
from pathlib import Path

import h3.api.basic_str as h3
import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import flowveil as fv
from flowveil._cli.commands import run
from flowveil._flows import WEIGHT_UNIT
from flowveil._methods import find_method
from flowveil._options import PRESETS
from flowveil._release.manifest import promise_text
from flowveil.synthetic import CITY_BBOX
from tests.cells import holds
from tests.test_promise import METHODS

# Some hundred meters to some kilometers from each other, so that the tree of cells is uneven.
LON = np.array([4.40, 4.41, 4.44, 4.50, 4.52, 4.60, 4.61, 4.75])
LAT = np.array([50.30, 50.31, 50.30, 50.36, 50.40, 50.45, 50.46, 50.50])
PLACE = st.integers(0, len(LON) - 1)
RESOLUTION = 7


def make_trips(rows):
    """Return a table of trips from (person, weight, place, place)."""
    person, weight, start, end = (list(column) for column in zip(*rows, strict=True))
    ends = {"start_lon": LON[start], "start_lat": LAT[start], "end_lon": LON[end], "end_lat": LAT[end]}
    return pa.table({"person_id": person, "w": weight, **ends})


@st.composite
def towns(draw):
    """Draw trips of some 40 persons, and of one with a weight of 5,000 who travels a lot, mostly alone."""
    weights = draw(st.lists(st.integers(0, 40), min_size=40, max_size=40))
    pairs = draw(st.lists(st.tuples(PLACE, PLACE), min_size=1, max_size=8))  # few, so that some have a crowd
    trips = draw(st.lists(st.tuples(st.integers(0, 39), st.sampled_from(pairs)), min_size=60, max_size=120))
    rows = [(f"p{person}", weights[person] / 4, *pair) for person, pair in trips]
    alone = draw(st.lists(st.tuples(PLACE, PLACE, st.integers(1, 25)), min_size=1, max_size=3))
    return make_trips(rows + [("hermit", 5_000.0, start, end) for start, end, often in alone for _ in range(often)])


def build(trips, **options):
    """Return the flows of trips in a town."""
    return fv.build_flows(trips, f"h3:{RESOLUTION}", bbox=CITY_BBOX, **options)


def publish(flows, method, **demand):
    """Return a release that may leave out much, None if there is none."""
    steering = {"max_suppression": 0.4} if find_method(method).steers else {}
    try:
        return fv.anonymize(flows, method, **steering, **demand)
    except fv.PromiseError:
        return None


@pytest.mark.slow
@pytest.mark.parametrize("method", METHODS)
@settings(max_examples=6, deadline=None)
@given(towns(), st.integers(1, 3))
def test_a_single_person_is_never_published(method, trips, min_tiles):
    """With `--unit person_id -k 10 --weight w --k-weight 10` a weight of 5,000 buys nobody a flow of fewer than 10.

    The verifier counts persons, weights and tiles its own way.
    """
    flows = build(trips, unit="person_id", weight="w")

    release = publish(flows, method, k=10, k_weight=10, min_tiles=min_tiles)

    if release is not None:
        assert min(release.flows["persons"].to_pylist()) >= 10
        with tempfile.TemporaryDirectory() as folder:
            fv.verify(release.write(Path(folder) / "out"), trips)


@pytest.mark.slow
@pytest.mark.parametrize("method", [name for name in METHODS if name not in ("oigh", "uniform-tiles")])
def test_without_k_the_single_person_would_be_published(method):
    """The property above can fail: protecting the population alone publishes the flow of one heavy traveler.

    (The methods that are not tried join all cells alike, here until the whole city is one area.)
    """
    crowd = [(f"p{person}", 10.0, place, place) for person in range(30) for place in (0, 5)]
    trips = make_trips(crowd + [("hermit", 5_000.0, 7, 7)] * 30)
    flows = build(trips, unit="person_id", weight="w")

    exposed = publish(flows, method, k=1, k_weight=10)
    safe = publish(flows, method, k=10, k_weight=10)

    assert exposed.metrics(k=10)["below_k"] > 0
    assert safe.metrics()["below_k"] == 0


@pytest.mark.slow
@settings(max_examples=10, deadline=None)
@given(towns(), st.integers(2, 3), st.sampled_from(METHODS))
def test_both_ends_have_enough_tiles(trips, min_tiles, method):
    """Every published area of cells holds that many cells of the trips' own ends, counted with h3."""
    release = publish(build(trips), method, k=3, min_tiles=min_tiles)

    if release is None or "shapes" in release.manifest["promise"]:
        return
    for column, end in (("origin", "start"), ("destination", "end")):
        points = zip(trips[f"{end}_lat"].to_pylist(), trips[f"{end}_lon"].to_pylist(), strict=True)
        seen = {h3.latlng_to_cell(*point, RESOLUTION) for point in points}
        for area in set(release.flows[column].to_pylist()) - {"world"}:
            inside = [cell for cell in seen if holds(area, cell)]
            assert len(inside) >= min_tiles


class TestAuto:
    """`--k-weight auto` is k times the mean weight, and the release does not say how much that is."""

    @pytest.mark.slow
    @pytest.mark.parametrize("unit", ["person_id", None])
    @settings(max_examples=8, deadline=None)
    @given(trips=towns())
    def test_is_k_times_the_mean(self, unit, trips):
        """Every flow stands for k times the mean weight of all persons (of trips without a unit), exactly."""
        weights = [Fraction(weight) for weight in trips["w"].to_pylist()]
        if unit:
            weights = list(dict(zip(trips["person_id"].to_pylist(), weights, strict=True)).values())
        least = 4 * sum(weights) / len(weights)
        flows = build(trips, unit=unit, weight="w")

        release = publish(flows, "mosaic", k=4, k_weight="auto")
        same = publish(flows, "mosaic", k=4, k_weight=math.ceil(least * WEIGHT_UNIT) / WEIGHT_UNIT)

        assert (release is None) == (same is None)
        if release is None:
            return
        assert release.flows.equals(same.flows)
        assert release.metrics()["min_weight"] >= least
        assert release.metrics()["k_weight"] == pytest.approx(float(least))
        assert release.manifest["promise"]["k_weight"] == "auto"
        with tempfile.TemporaryDirectory() as folder:
            fv.verify(release.write(Path(folder) / "out"), trips)

    def test_equal_weights_ask_for_nothing_more(self, tmp_path):
        """Where all weights are 0.1, ten times the mean is what ten persons stand for: no rounding gets in the way."""
        trips = make_trips([(f"p{person}", 0.1, 0, 7) for person in range(10)])

        release = fv.anonymize(build(trips, unit="person_id", weight="w"), k=10, k_weight="auto")

        assert release.flows["persons"].to_pylist() == [10]
        assert release.metrics()["below_k_weight"] == 0
        fv.verify(release.write(tmp_path / "out"), trips)

    def test_no_number_of_the_data_is_written(self, city_trips, tmp_path, capsys):
        """The folder holds what was typed; the threshold is on the terminal and in the audit file."""
        words = ["--grid", "h3:6", "--unit", "person_id", "--weight", "weight", "--k-weight", "auto"]
        assert run(["anonymize", str(city_trips), "-o", str(tmp_path / "out"), *words]) == 0

        manifest = json.loads((tmp_path / "out" / "manifest.json").read_text())
        audit = json.loads((tmp_path / "out.audit.json").read_text())

        assert manifest["promise"]["k_weight"] == "auto"
        assert "10 times as many people of the population as one value of person_id" in manifest["promise_text"]
        least = audit["metrics"]["k_weight"]
        assert f"--k-weight auto is {least:,.0f} people here (private)" in capsys.readouterr().out
        assert run(["verify", str(tmp_path / "out"), "--against", str(city_trips)]) == 0
        assert "10 times the people of the mean weight" in capsys.readouterr().out

    @pytest.mark.slow
    def test_a_broken_promise_is_found(self, city_trips, tmp_path, capsys):
        """A release that protects participants only does not pass as one that protects the population."""
        flows = fv.build_flows(city_trips, "h3:8", hierarchy="h3", bbox=CITY_BBOX, unit="person_id", weight="weight")
        folder = fv.anonymize(flows, k=5).write(tmp_path / "out")
        manifest = json.loads((folder / "manifest.json").read_text())
        promise = {name: manifest["promise"][name] for name in ("kind", "k", "unit", "volumes", "areas", "weight")}
        promise |= {"k_weight": "auto", "max_suppression": 0.1}
        manifest |= {"promise": promise, "promise_text": promise_text(promise)}
        (folder / "manifest.json").write_text(json.dumps(manifest, indent=2, ensure_ascii=False) + "\n")

        assert run(["verify", str(folder), "--against", str(city_trips)]) == 1
        assert "stands for fewer people than 5 times the mean weight" in capsys.readouterr().err

    @pytest.mark.parametrize("k_weight", ["automatic", "", "10 people"])
    def test_other_words_are_refused(self, city_trips, tmp_path, capsys, k_weight):
        """A word that is not auto is an error with a hint, in Python and on the command line."""
        flows = fv.build_flows(city_trips, "h3:6", unit="person_id", weight="weight")

        with pytest.raises(fv.InputError, match="k_weight is"):
            fv.anonymize(flows, k_weight=k_weight)
        words = ["--unit", "person_id", "--weight", "weight", "--k-weight", k_weight]
        assert run(["anonymize", str(city_trips), "-o", str(tmp_path / "out"), *words]) == 2
        assert "or auto" in capsys.readouterr().err

    def test_weights_of_nothing_are_refused(self):
        """Ten times a mean of 0 would ask for nothing."""
        flows = build(make_trips([("p", 0.0, 0, 1)]), weight="w")

        with pytest.raises(fv.InputError, match="all weights are 0"):
            fv.anonymize(flows, k=1, k_weight="auto")


class TestPresets:
    """`--preset` is a k that needs persons."""

    @pytest.mark.slow
    @pytest.mark.parametrize("preset", PRESETS)
    def test_sets_k(self, city_trips, tmp_path, preset):
        """The release promises the k of the name, about persons, and does not name the preset."""
        words = ["--grid", "h3:6", "--unit", "person_id", "--preset", preset]

        assert run(["anonymize", str(city_trips), "-o", str(tmp_path / "out"), *words]) == 0

        text = (tmp_path / "out" / "manifest.json").read_text()
        assert json.loads(text)["promise"]["k"] == int(preset.rpartition("-")[2])
        assert preset not in text

    @pytest.mark.parametrize(
        ("words", "message"),
        [
            (["--preset", "ine-15"], "--unit"),
            (["--preset", "ine-15", "--unit", "person_id", "-k", "10"], "-k 10 is not the k of ine-15"),
            (["--preset", "ine", "--unit", "person_id"], "ine-15"),
            (["--preset", "ine-15", "--unit", "person_id", "--epsilon", "1", "--bbox", "4,50,5,51"], "noise"),
        ],
    )
    def test_errors(self, city_trips, tmp_path, capsys, words, message):
        """Without a unit, with another k, with an unknown name or with noise it is bad usage."""
        assert run(["anonymize", str(city_trips), "-o", str(tmp_path / "out"), *words]) == 2

        assert message in capsys.readouterr().err
        assert not (tmp_path / "out").exists()

    def test_the_same_k_twice_is_fine(self, city_trips, tmp_path):
        """A preset goes with its own k."""
        words = ["--grid", "h3:6", "--unit", "person_id", "--preset", "insee-11", "-k", "11"]

        assert run(["anonymize", str(city_trips), "-o", str(tmp_path / "out"), *words]) == 0
