"""The verifier stands alone: what it takes from other rooms, and that what it knows a second time is the same."""

from __future__ import annotations

import ast
import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import flowveil as fv
from flowveil import trajectories
from flowveil._matrices.manifest import promise_text as noisy_promise_text
from flowveil._matrices.methods import TILE_METHODS
from flowveil._problem import LOSSES
from flowveil._release.manifest import promise_text
from flowveil._trajectories.manifest import promise_text as trajectories_promise_text
from flowveil._verify import method, words
from flowveil._verify.shape import SHAPES
from flowveil.synthetic import CITY_BBOX, PHONES_BBOX, phones

ROOM = Path(fv.__file__).parent / "_verify"

# All that the verifier may take from rooms that take part in making releases: the input, and the page.
READS = {
    "_engine": {"QuerySource", "Readable", "ReadingOptions", "Request", "Samples", "scan"},
    "_trips": {"Trips", "TripsLike", "find_ends", "open_samples", "reopen_trips"},
    "_places": {
        "Gazetteer",
        "NamedPlacesLike",
        "ZoneTable",
        "ZonesLike",
        "read_gazetteer",
        "read_sensitive",
        "read_zones",
        "world_gazetteer",
    },
    "_report": {
        "CHECKED_REPORT",
        "cells_content",
        "check_report",
        "flows_content",
        "noisy_flows_content",
        "synthetic_content",
        "trajectories_content",
    },
}
LOW = {"_arrays", "_errors", "_folder", "_processes"}  # know files, arrays and threads, and nothing of flows


def test_it_shares_nothing_with_the_makers():
    """No line of the room imports what counts, solves, withholds or writes; input is read by the rooms for that."""
    shared = []
    for file in sorted(ROOM.glob("*.py")):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("flowveil"):
                room = f"{node.module}.".split(".")[1]
                allowed = {alias.name for alias in node.names} <= READS.get(room, set())
                if room not in LOW | {"_verify"} and not allowed:
                    shared.append(f"{file.name}: {node.module}")

    assert shared == []


def test_methods_are_those_of_the_registry():
    """Names, options and their types are written down twice; here the two are compared."""
    by_promise = {promise: [one for one in fv.methods() if one.promise == promise] for promise in PROMISES}
    areas, noisy = (by_promise[promise] for promise in PROMISES)

    assert {one.name: {option.name: type(option.default) for option in one.options} for one in areas} == (
        method._AREA_METHODS
    )
    assert sorted(method._CHOOSE_LOSS) == sorted(one.name for one in areas if one.losses)
    assert {*method._LOSSES, "tiles"} == set(LOSSES)
    assert {one.name: {option.name: type(option.default) for option in one.options} for one in noisy} == (
        method._NOISY_METHODS
    )
    assert sorted(method.BETWEEN_AREAS) == sorted(TILE_METHODS)
    shapes = {one.name: (one.steers, one.remainders, one.times) for one in areas}
    assert {name: (shape.steers, shape.remainders, shape.times) for name, shape in SHAPES.items()} == shapes


PROMISES = ("k-anonymity", "differential privacy")


@given(
    st.fixed_dictionaries(
        {
            "k": st.integers(1, 3),
            "unit": st.sampled_from(["trip", "person"]),
            "volumes": st.sampled_from(["exact", "lower-bound"]),
            "areas": st.sampled_from(["disjoint", "overlapping"]),
        },
        optional={
            "k_weight": st.one_of(st.just("auto"), st.floats(0.5, 1e6)),
            "min_tiles": st.integers(2, 9),
            "max_suppression": st.floats(0, 1),
            "elsewhere": st.just(value=True),
            "shapes": st.just("rectangles"),
            "totals": st.just(value=True),
        },
    )
)
def test_promises_are_said_in_the_same_words(promise):
    """What the verifier expects to read is what releases of flows say."""
    for label in (None, "bikes"):
        assert words.promise_in_words(promise, label) == promise_text(promise, label)


@pytest.mark.parametrize("most", [None, 5])
@pytest.mark.parametrize("positive_only", [False, True])
@pytest.mark.parametrize("clock", [{}, {"time": "1d"}, {"timezone": "Asia/Tokyo", "time": "15min"}])
@pytest.mark.parametrize("protects", ["person", "person-day", "person-week", "person-month", "window:3"])
def test_other_promises_are_said_in_the_same_words(most, positive_only, protects, clock):
    """What it expects of noise is what releases with noise say, too."""
    promise = {"epsilon": 0.5, "max_trips_per_person": most, "unit": "trip" if most is None else "person_id"}
    promise["protects"] = "trip" if most is None else protects
    spans = {"person-": ("timezone",), "window:": ("timezone", "time")}.get(promise["protects"][:7], ())
    cut = {name: value for name, value in clock.items() if name in spans}

    for label in (None, "bikes"):
        expected = noisy_promise_text(promise, label, positive_only=positive_only, clock=cut)
        assert words.noisy_promise_in_words(promise, label, positive_only=positive_only, options=clock) == expected


@pytest.mark.parametrize("cut_into", [{}, {"cut_into": "week"}])
@pytest.mark.parametrize("spans", [{}, {"spans": "overlapping"}])
@pytest.mark.parametrize(
    "special",
    [
        {},
        {"min_support": 2},
        {"support": "complete"},
        {"support": "complete", "max_suppression": 0.005, "min_support": 3},
        {"kind": "km-anonymity", "known_points": 1, "max_suppression": 0.005},
        {"kind": "km-anonymity", "known_points": 3, "max_suppression": 0.1},
    ],
)
def test_promises_of_trajectories_are_said_in_the_same_words(special, spans, cut_into):
    """What it expects of trajectories is what they say, and shares are not rounded to nothing."""
    promise = {"kind": "k-anonymity", "k": 4, **special, **spans, **cut_into}

    for label in ("users", "cabs"):
        said = words.trajectories_promise_in_words(promise, label)
        assert said == trajectories_promise_text(promise, label)
        assert " 0 %" not in said
        assert " 0%" not in said


@pytest.fixture(scope="module")
def noisy(city_trips, tmp_path_factory):
    """Write a release of boxes with noise."""
    matrix = fv.build_matrix(city_trips, CITY_BBOX, 20)
    return fv.add_noise(matrix, "uniform", 1.0).write(tmp_path_factory.mktemp("noisy") / "out")


@pytest.fixture(scope="module")
def paths(tmp_path_factory):
    """Write a release of trajectories, and return it with its samples."""
    samples = phones(20, samples=15)
    data = trajectories.read_trajectories(samples, PHONES_BBOX)
    return trajectories.anonymize(data, 2).write(tmp_path_factory.mktemp("paths") / "out"), samples


def edited(folder, tmp_path, key, value):
    """Return a copy of a release, and of the private files beside it, whose manifest says something else."""
    for file in (*folder.iterdir(), *folder.parent.glob("out.*")):
        copy = tmp_path / file.relative_to(folder.parent)
        copy.parent.mkdir(exist_ok=True)
        copy.write_bytes(file.read_bytes())
    manifest = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
    (tmp_path / "out" / "manifest.json").write_text(json.dumps(manifest | {key: value}), encoding="utf-8")
    return tmp_path / "out"


@pytest.mark.parametrize("key", ["promise_text", "absence", "method"])
def test_words_of_noise_that_are_not_its_own(key, noisy, tmp_path):
    """A manifest that promises the same as data, and something else in words, is refused."""
    assert fv.verify(noisy).trips_read == 0
    with pytest.raises(fv.VerificationError, match=key.partition("_")[0]):
        fv.verify(edited(noisy, tmp_path, key, "Trust us: 17 trips."))


@pytest.mark.parametrize("key", ["promise_text", "absence", "method"])
def test_words_of_trajectories_that_are_not_their_own(key, paths, tmp_path):
    """The same for trajectories; the right ones are verified by either name."""
    folder, samples = paths

    assert fv.verify(folder, samples) == trajectories.verify(folder, samples)
    with pytest.raises(fv.VerificationError, match=key.partition("_")[0]):
        fv.verify(edited(folder, tmp_path, key, "Trust us: 17 users."), samples)


@pytest.mark.slow
def test_a_budget_of_a_hundred_cuts_is_refused(noisy, tmp_path):
    """A hostile manifest does not keep the verifier busy with all paths that cuts may take."""
    manifest = json.loads((noisy / "manifest.json").read_text(encoding="utf-8"))
    spends = [{"spend": f"cuts {depth}", "epsilon": 2.0**-depth} for depth in range(100)]
    promise = manifest["promise"] | {"budget": [{"spend": "total", "epsilon": 0.5}, *spends]}
    folder = edited(edited(noisy, tmp_path, "promise", promise), tmp_path, "method", "daf-homogeneity")

    with pytest.raises(fv.VerificationError, match="too many spends"):
        fv.verify(folder)
