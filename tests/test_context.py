"""Rivers and roads of the publisher's own on a report: what lies around, and nothing that verify has not seen."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pytest
import shapely
from hypothesis import given
from hypothesis import strategies as st

import flowveil as fv
from flowveil._report.context import Context, read_context
from flowveil.synthetic import CITY_BBOX
from tests.test_report import block

if TYPE_CHECKING:
    from pathlib import Path

RIVER = "LINESTRING (4.4 50.3, 4.6 50.4, 4.8 50.5)"
PARK = "POLYGON ((4.5 50.35, 4.55 50.35, 4.55 50.4, 4.5 50.4, 4.5 50.35))"
FAR = "LINESTRING (100 10, 101 11)"


def layers(*rows: tuple[str | None, str]) -> pa.Table:
    """Return a table of shapes."""
    return pa.table({"Layer": [layer for layer, _ in rows], "geometry": [shape for _, shape in rows]})


@pytest.fixture
def release(city_trips: Path) -> fv.Release:
    """Make a release."""
    return fv.anonymize(fv.build_flows(city_trips, "h3:6", bbox=CITY_BBOX), k=20)


@pytest.mark.slow
def test_a_context_is_drawn_and_verified(release: fv.Release, city_trips: Path, tmp_path: Path) -> None:
    """The page has what lies around by style; verify asks for the file, and refuses any other."""
    given = layers(("river", RIVER), ("park", PARK), (None, FAR), ("motorway", RIVER), ("road", "POINT (4.5 50.3)"))
    folder = release.write(tmp_path / "out", report=True, context=given)
    page = (folder / "report.html").read_text()
    assert block(page, "numbers")["context"] == ["park", "river", "other"]
    assert [part["style"] for part in block(page, "drawing")["scene"]["context"]] == ["park", "river", "other"]
    fv.verify(folder, city_trips, context=given)
    with pytest.raises(fv.VerificationError, match="publisher's"):
        fv.verify(folder, city_trips)
    with pytest.raises(fv.VerificationError, match="not what the other files"):
        fv.verify(folder, city_trips, context=layers(("river", RIVER), ("park", PARK)))
    fv.report(folder, overwrite=True)
    fv.verify(folder, city_trips)
    with pytest.raises(fv.FlowveilError, match="shows none"):
        fv.verify(folder, city_trips, context=given)


def test_what_lies_far_away_is_left_out() -> None:
    """Lines stay lines and areas areas, by style; what the box does not hold is not there."""
    given = layers(("river", RIVER), ("park", PARK), (None, FAR), ("motorway", RIVER))
    box = list(CITY_BBOX)
    park, river, other = read_context(given).around(box, box, 0.001)
    assert [len(part["lines"]) for part in (park, river, other)] == [0, 1, 1]
    assert [len(part["areas"]) for part in (park, river, other)] == [1, 0, 0]


def test_geojson_and_trouble(release: fv.Release, tmp_path: Path) -> None:
    """A GeoJSON file will do; one without lines, or a context without a report, is an error."""
    file = tmp_path / "rivers.geojson"
    shape = {"type": "LineString", "coordinates": [[4.4, 50.3], [4.6, 50.4]]}
    feature = {"type": "Feature", "properties": {"kind": "river"}, "geometry": shape}
    file.write_text(json.dumps({"type": "FeatureCollection", "features": [feature]}))
    assert read_context(file).styles == ["river"]
    with pytest.raises(fv.FlowveilError, match="no lines or areas"):
        read_context(layers(("road", "POINT (4 50)")))
    with pytest.raises(fv.FlowveilError, match="no report"):
        release.write(tmp_path / "out", context=file)
    with pytest.raises(fv.FlowveilError, match="no context file"):
        release.write(tmp_path / "out", report=True, context="nowhere.geojson")


@given(st.lists(st.tuples(st.floats(-3, 3), st.floats(-3, 3)), min_size=2, max_size=30), st.booleans())
def test_what_is_inside_is_drawn_where_it_is(points: list[tuple[float, float]], closed: bool) -> None:
    """Every point inside the box is drawn, true to a cell and a step; nothing is drawn far outside of it."""
    line = np.array(points)
    context = Context({"road": [(closed, line)]})
    box, step = [-1.0, -1.0, 1.0, 1.0], 0.001
    (layer,) = context.around(box, box, step)
    drawn = [np.cumsum(np.array(way).reshape(-1, 2), axis=0) * step for way in (*layer["lines"], *layer["areas"])]
    inside = line[(np.abs(line) < 1).all(axis=1)]
    if not closed and len(np.unique(np.rint(inside / step), axis=0)) > 2:
        there = shapely.MultiPoint(np.concatenate(drawn))
        assert shapely.distance(shapely.points(inside), there).max() <= 4 * step
    if closed and drawn:
        assert np.abs(np.concatenate(drawn)).max() <= 1 + step


@pytest.mark.slow
def test_a_large_context_is_thinned() -> None:
    """A page has at most so many points, whatever the file holds."""
    rng = np.random.default_rng(0)
    walk = np.cumsum(rng.uniform(-0.01, 0.01, (200_000, 2)), axis=0) % 1
    (layer,) = Context({"road": [(False, walk)]}).around([0.0, 0.0, 1.0, 1.0], [0.0, 0.0, 1.0, 1.0], 1e-5)
    assert 0 < sum(len(way) for way in layer["lines"]) <= 2 * 40_000


def test_a_context_elsewhere_is_an_error(release: fv.Release, tmp_path: Path) -> None:
    """A file of which nothing can be seen is refused with a hint, and nothing is written."""
    far = layers(("river", FAR), ("park", "POLYGON ((100 10, 101 10, 101 11, 100 10))"))
    with pytest.raises(fv.FlowveilError, match="nothing of the context lies around") as caught:
        release.write(tmp_path / "out", report=True, context=far)
    assert "--context" in caught.value.hint
    assert list(tmp_path.iterdir()) == []
    folder = release.write(tmp_path / "out")
    with pytest.raises(fv.FlowveilError, match="nothing of the context lies around"):
        fv.report(folder, context=far)


def test_the_page_says_what_it_is_drawn_from(release: fv.Release, tmp_path: Path) -> None:
    """With a context the page is no longer made from the files of the release alone."""
    alone = (release.write(tmp_path / "alone", report=True) / "report.html").read_text()
    shown = (
        release.write(tmp_path / "shown", report=True, context=layers(("road", RIVER))) / "report.html"
    ).read_text()
    assert "from the files of the release alone" in alone
    assert "from the files of the release and a context file of the publisher" in shown
    assert "of the release alone" not in shown


@given(st.lists(st.tuples(st.floats(-3, 3), st.floats(-3, 3)), min_size=2, max_size=12))
def test_no_line_across_the_box_is_missed(points: list[tuple[float, float]]) -> None:
    """What a line has inside the box is drawn, also where none of its points is."""
    line, box, step = shapely.LineString(points), shapely.box(-1, -1, 1, 1), 0.001
    (layer,) = Context({"road": [(False, np.array(points))]}).around(
        [-1.0, -1.0, 1.0, 1.0], [-1.0, -1.0, 1.0, 1.0], step
    )
    drawn = [np.cumsum(np.array(way).reshape(-1, 2), axis=0) * step for way in layer["lines"]]
    there = shapely.MultiLineString([way.tolist() for way in drawn])
    inside = line.intersection(box)
    if inside.length > 10 * step:
        assert there.buffer(10 * step).covers(inside)
