"""The words of a report are those of its release: crowds, what can be chosen, what is not protected."""

from __future__ import annotations

import re
from dataclasses import replace

import pyarrow.parquet as pq
import pytest

from flowveil import trajectories
from flowveil._folder import Kind, read_files
from flowveil._report.reading import reading
from flowveil._report.words import not_protected
from flowveil.synthetic import PHONES_BBOX, phones
from tests.test_report import draw_page

PATHS = {"format": Kind.TRAJECTORIES.format, "promise": {"kind": "k-anonymity", "k": 4, "unit": "user"}, "options": {}}


def crowds(method="mosaic", promise=None, **options):
    """Return what matters here of a manifest of flows."""
    demand = {"kind": "k-anonymity", "k": 5, "unit": "trip"} | (promise or {})
    return {"format": Kind.FLOWS.format, "method": method, "promise": demand, "options": options}


def told(page):
    """Return the text of a page, without programs and data."""
    return re.sub(r"(?s)<(script|style)[^>]*>.*?</\1>|<[^>]+>", " ", page)


@pytest.fixture(scope="module")
def paths(tmp_path_factory):
    """Return the files of a release of trajectories."""
    folder = tmp_path_factory.mktemp("paths")
    pq.write_table(phones(12), folder / "samples.parquet")
    release = trajectories.anonymize(str(folder / "samples.parquet"), 4, bbox=PHONES_BBOX, unit_label="cabs")
    return read_files(release.write(folder / "out"))


def test_groups_are_made_of_what_the_publisher_says(paths):
    """A page of trajectories of cabs says cabs wherever it would say users, and speaks of samples and not of trips."""
    text = told(draw_page(paths))

    assert "cabs in all groups" in text
    assert "INPUT stands for the samples" in text
    assert "choose a group beside the map to see its path" in text
    assert re.findall(r"\busers?\b|\btrips\b", text) == []
    manifest = {name: value for name, value in paths.manifest.items() if name != "description"}
    assert "users in all groups" in told(draw_page(replace(paths, manifest=manifest)))


@pytest.mark.parametrize(
    ("times", "said"),
    [
        ([], []),
        ([True], ["at every single time;"]),
        ([False], ["in every single group;"]),
        ([True, False], ["at every single time and in every single group;"]),
    ],
)
def test_colors_of_times_and_groups_only_where_there_are_some(times, said):
    """What a color means at single times is told where there are times, and of groups where there are groups."""
    scene = {"sides": ["origin", "destination"], "keys": [{"time": time} for time in times]}

    text = " ".join(reading({"promise": {"kind": "k-anonymity"}}, {"counted": "trips", "amount": "trips"}, scene))

    assert re.findall(r"A color means the same (.*?;)", text) == said


@pytest.mark.parametrize(
    ("manifest", "divided", "drawn"),
    [
        (crowds(hierarchy="h3"), True, False),
        (crowds(hierarchy="lattice:1"), True, True),
        (crowds(hierarchy="lattice"), True, True),
        (crowds("oigh", hierarchy="h3"), False, False),
        (crowds(promise={"hidden_choice": 0.5}, hierarchy="h3"), False, False),
        (crowds(hierarchy="lattice", areas_from=True), False, False),
        (PATHS, False, False),
    ],
)
def test_what_the_choice_of_areas_tells(manifest, divided, drawn):
    """An area that was not divided tells why, unless that is hidden; rectangles were drawn around all trips."""
    said = " ".join(not_protected(manifest))

    assert ("not divided" in said) == divided
    assert ("rectangles drawn around all trips" in said) == drawn


def test_what_is_not_sure_of_paths():
    """Where every member of a group was in each of its boxes, it is not said that some may not have been."""
    complete = PATHS | {"promise": PATHS["promise"] | {"support": "complete"}}

    assert any("only that one of them was is certain" in text for text in not_protected(PATHS))
    assert not any("only that one of them was is certain" in text for text in not_protected(complete))
