"""What the publisher says of a release: in the manifest, in the promise, on the report, and nothing else."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

import flowveil as fv
from flowveil._cli.commands import run
from flowveil._errors import VerificationError
from flowveil._folder.writing import _json
from flowveil._options import parse_description
from flowveil._verify.description import check_description
from flowveil.synthetic import CITY_BBOX, PHONES_BBOX

if TYPE_CHECKING:
    from pathlib import Path

SAID = {
    "title": "Rides in <Namur> & around",
    "period": "May 2024",
    "publisher": "The city",
    "license": "CC BY 4.0",
    "contact": "data@example.org",
    "unit_label": "bikes",
}


@pytest.fixture(scope="module")
def flows(city_trips: Path) -> fv.Flows:
    """Count the trips of the synthetic city."""
    return fv.build_flows(city_trips, "h3:6", unit="person_id", bbox=CITY_BBOX)


def change(folder: Path, description: object) -> None:
    """Write another description into a manifest."""
    manifest = json.loads((folder / "manifest.json").read_text())
    (folder / "manifest.json").write_text(_json(manifest | {"description": description}), encoding="utf-8")


def test_flows_tell_what_was_said(flows: fv.Flows, city_trips: Path, tmp_path: Path) -> None:
    """The manifest has it in the order of the format, the promise names bikes, and the report has the title."""
    release = fv.anonymize(flows, k=5, **SAID)
    assert list(release.manifest["description"].items()) == list(SAID.items())
    assert "at least 5 different bikes (person_id)." in release.manifest["promise_text"]
    folder = release.write(tmp_path / "out", report=True)
    fv.verify(folder, city_trips)
    page = (folder / "report.html").read_text()
    assert "<h1>Rides in &lt;Namur&gt; &amp; around</h1>" in page
    assert "different bikes (person_id)" in page
    assert "different persons" not in page


def test_a_release_without_a_description_has_none(flows: fv.Flows) -> None:
    """Nothing said, nothing written: not even an empty object."""
    assert "description" not in fv.anonymize(flows, k=5, title=None).manifest


@pytest.mark.slow
def test_noise_and_trajectories_tell_it_too(city_trips: Path, tmp_path: Path) -> None:
    """Releases of the other kinds carry the same object, and their verifiers check it."""
    pytest.importorskip("opendp")
    noisy = fv.add_noise(
        city_trips, "uniform", 1.0, bbox=CITY_BBOX, cells=8, unit="person_id", max_trips_per_person=2, **SAID
    )
    assert "any one of the bikes (a value of person_id)" in noisy.manifest["promise_text"]
    folder = noisy.write(tmp_path / "noisy", report=True)
    fv.verify(folder)
    change(folder, SAID | {"hours": "7"})
    with pytest.raises(VerificationError, match="no part of the format"):
        fv.verify(folder)

    samples = tmp_path / "samples.parquet"
    pq.write_table(fv.synthetic.phones(12), samples)
    paths = fv.trajectories.anonymize(samples, 2, bbox=PHONES_BBOX, step="1km,30min", **SAID)
    assert "at least 2 bikes, who" in paths.manifest["promise_text"]
    folder = paths.write(tmp_path / "paths", report=True)
    fv.verify(folder, samples)
    change(folder, {"title": 7})
    with pytest.raises(VerificationError, match="one line"):
        fv.verify(folder, samples)


WRONG = {
    "unknown": {"subtitle": "x"},
    "empty": {},
    "a list": ["x"],
    "a number": {"title": 12},
    "an object": {"title": {"a": "b"}},
    "two lines": {"title": "a\nb"},
    "a hidden sign": {"title": "a\u200bb"},
    "too long": {"title": "x" * 121},
    "spaces": {"title": " x"},
    "nothing": {"title": ""},
    "another order": {"period": "x", "title": "y"},
    "another label": {"unit_label": "cabs"},
}


@pytest.mark.parametrize("wrong", WRONG.values(), ids=WRONG)
def test_a_description_that_says_more_is_refused(
    flows: fv.Flows, city_trips: Path, tmp_path: Path, wrong: object
) -> None:
    """Only the known keys, each one short printable line, and a label that the promise has, too."""
    folder = fv.anonymize(flows, k=5, title="y").write(tmp_path / "out")
    change(folder, wrong)
    with pytest.raises(VerificationError, match=r"description|promise_text"):
        fv.verify(folder, city_trips)


@given(st.dictionaries(st.sampled_from(list(SAID)), st.text(max_size=130)))
def test_what_is_taken_verifies(typed: dict[str, str]) -> None:
    """Whatever a publisher types: it is refused at once, or what is written passes the verifier."""
    try:
        said = parse_description(typed, has_unit=True)
    except fv.FlowveilError:
        return
    if said:
        assert check_description({"description": said}, has_unit=True) == said.get("unit_label")
        assert {name: text.strip() for name, text in typed.items()} == said


def test_a_label_needs_a_unit(city_trips: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Trips are trips: there is nothing to label without a column, in Python and on the command line."""
    plain = fv.build_flows(city_trips, "h3:6")
    with pytest.raises(fv.FlowveilError, match="no unit"):
        fv.anonymize(plain, unit_label="bikes")
    with pytest.raises(TypeError, match="subtitle"):
        fv.anonymize(plain, subtitle="x")
    words = ["anonymize", str(city_trips), "--grid", "h3:6", "--unit-label", "bikes", "-o", str(tmp_path / "out")]
    assert run(words) == 2
    assert "no unit" in capsys.readouterr().err
