"""What a user of Python brings and hears: frames with shapes, rows that were dropped, hints that name keywords."""

from __future__ import annotations

import ast
import re
import warnings
from pathlib import Path

import geopandas as gpd
import pandas as pd
import pyarrow as pa
import pytest
import shapely

import flowveil as fv
from flowveil._cli.commands import run
from flowveil._errors import in_keywords
from flowveil.synthetic import CITY_BBOX, City

CITY = City(seed=4, persons=80)
TRIPS = CITY.trips(800)
POINTS = ["start_lon", "start_lat", "end_lon", "end_lat"]
HOUSE = Path(fv.__file__).parent
OPTION = re.compile(r"(?<![\w-])--[a-z][a-z-]*\b|(?<![\w-])-k\b")


def same(one, other):
    """Whether flows are the same."""
    return one.trips.tolist() == other.trips.tolist() and one.origin.tolist() == other.origin.tolist()


@pytest.mark.slow
@pytest.mark.parametrize("crs", [4326, 3857])
@pytest.mark.parametrize("named", ["geometry", "outline"])
def test_zones_of_geopandas(crs, named):
    """A GeoDataFrame of zones is as good as a table of them, in any projection."""
    zones = CITY.zones().drop_columns(["lon", "lat"])
    frame = zones.drop_columns(["geometry"]).to_pandas()
    frame[named] = gpd.GeoSeries(shapely.from_wkb(zones["geometry"].to_pylist()), crs=4326)
    frame = gpd.GeoDataFrame(frame, geometry=named)
    ids = zones["zone_id"].to_pylist()
    trips = pa.table({"origin": ids[:1] * 5, "destination": ids[:5]})
    expected = fv.build_flows(trips, zones=zones, hierarchy="ward")

    actual = fv.build_flows(trips, zones=frame.to_crs(crs), hierarchy="ward")
    assert same(expected, actual)


def test_trips_of_geopandas():
    """Shapes beside coordinates are left aside, and lines are read as from their first to their last point."""
    frame = TRIPS.to_pandas()
    points = gpd.GeoDataFrame(frame, geometry=gpd.points_from_xy(frame.start_lon, frame.start_lat, crs=4326))
    ends = frame[POINTS].to_numpy()
    shapes = [shapely.LineString([(a, b), (a, d), (c, d)]) for a, b, c, d in ends]
    lines = gpd.GeoDataFrame(frame[["person_id"]], geometry=shapes, crs=4326)
    expected = fv.build_flows(TRIPS, "h3:7")

    assert same(expected, fv.build_flows(points, "h3:7"))
    assert same(expected, fv.build_flows(lines, "h3:7"))
    assert same(expected, fv.build_flows(lines.to_crs(3857), "h3:7"))


def test_areas_for_geopandas(tmp_path):
    """Areas of a release, made or read back, are a GeoDataFrame in one call; the folder is as it was."""
    release = fv.anonymize(fv.build_flows(TRIPS, "h3:7", hierarchy="h3"), k=5)
    folder = release.write(tmp_path / "out")
    for areas in (release.areas, fv.read_release(folder).areas):
        frame = gpd.GeoDataFrame.from_arrow(areas)
        assert frame.crs.is_geographic
        assert frame.geometry.notna().any()
    noisy = fv.add_noise(TRIPS, "laplace", 1.0, grid="h3:5", bbox=(4, 50, 5, 51))
    assert len(gpd.GeoDataFrame.from_arrow(noisy.areas)) == noisy.areas.num_rows
    fv.verify(folder, TRIPS)


def test_dropped_rows_are_heard():
    """Rows that are dropped are a warning of their own category, and the flows say so wherever they are shown."""
    frame = TRIPS.to_pandas()
    frame.loc[:9, "end_lat"] = None
    with pytest.warns(fv.DroppedRowsWarning, match="10 of 800 rows dropped: null coordinate"):
        flows = fv.build_flows(frame, "h3:7")

    assert flows.dropped == {"null coordinate": 10}
    assert "10 of 800 rows dropped" in repr(flows)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert fv.build_flows(TRIPS, "h3:7").dropped == {}


@pytest.mark.slow
def test_too_many_unusable_rows(tmp_path, capsys):
    """More unusable rows than a fifth stop the run, at both doors, with the share that would allow it."""
    frame = TRIPS.to_pandas()
    frame.loc[:399, "end_lat"] = None
    path, out = tmp_path / "trips.csv", tmp_path / "out"
    frame.to_csv(path, index=False)
    with pytest.raises(fv.InputError, match=r"50% of the rows cannot be used.*20%") as caught:
        fv.build_flows(frame, "h3:7")
    assert "max_unusable=0.5" in str(caught.value)
    assert fv.build_flows(frame, "h3:7", max_unusable="50%").total == 400

    command = ["anonymize", str(path), "--grid", "h3:7", "--hierarchy", "h3", "-o", str(out)]
    assert run(command) == 2
    assert not out.exists()
    assert "--max-unusable 0.5" in capsys.readouterr().err
    assert run([*command, "--max-unusable", "0.5"]) == 0
    with pytest.raises(fv.InputError, match="both strict and max_unusable"):
        fv.build_flows(frame, "h3:7", strict=True, max_unusable=0.5)


@pytest.mark.parametrize("function", [fv.anonymize, fv.frontier, lambda value: fv.compare(value, ["mosaic"])])
def test_trips_in_the_place_of_flows(function):
    """Whoever skips a step is told which; rows of the frame are not shown."""
    with pytest.raises(fv.InputError, match="flows were expected, and this is a DataFrame") as caught:
        function(TRIPS.to_pandas())
    assert "build_flows" in caught.value.hint
    assert "p0" not in str(caught.value)


def sentences():
    """Return texts of the library that name an option of the command line, but for those of terminals."""
    for file in sorted(HOUSE.rglob("*.py")):
        if file.relative_to(HOUSE).parts[0] in {"_cli", "_app"}:
            continue
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            text = node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else ""
            if " " in text.strip() and "\n" not in text and OPTION.search(text):
                yield text


@pytest.mark.slow
def test_hints_speak_python():
    """Whatever the library says names keywords in Python, but in a whole command."""
    found = [text for text in sentences() if "flowveil " not in text]

    assert len(found) > 100
    assert [text for text in found if OPTION.search(in_keywords(text))] == []


def test_notes_speak_python():
    """A warning names keywords too."""
    frame = pd.DataFrame(dict.fromkeys(POINTS, [0.0] * 30))
    with pytest.warns(fv.ImplausiblePlacesWarning, match="bbox="):
        fv.build_flows(frame, "h3:7")


def test_matrix_with_names_in_the_index():
    """A matrix as pandas reads it, with origins in the index, is the same as one with origins in a column."""
    names = ["a", "b", "c"]
    frame = pd.DataFrame([[9, 8, 7], [6, 5, 4], [3, 2, 1]], columns=names, index=pd.Index(names, name="from"))
    zones = pa.table({"zone_id": names, "lon": [8.0, 8.1, 8.2], "lat": [50.0] * 3})
    totals = [fv.build_flows(given, zones=zones, hierarchy="ward").total for given in (frame, frame.reset_index())]
    assert totals == [45, 45]


def test_districts_of_a_reader_need_no_known_id():
    """Zones that are asked about are called by the first column that tells them apart, and a note says which."""
    release = fv.anonymize(fv.build_flows(TRIPS, "h3:6", hierarchy="h3"), k=5)
    west, south, east, north = CITY_BBOX
    middle = (west + east) / 2
    shapes = [shapely.box(west, south, middle, north), shapely.box(middle, south, east, north)]
    districts = gpd.GeoDataFrame(
        {"Land": ["x", "x"], "Bezirk": ["W", "E"], "Fläche": [1, 2]}, geometry=shapes, crs=4326
    )
    answers = release.departures(districts)
    assert set(answers.table["zone"].to_pylist()) == {"W", "E"}
    assert answers.notes[0] == "zones are called by their column 'Bezirk'"
    assert "'Bezirk'" in fv.reconstruct(release, districts).notes[0]
    with pytest.raises(fv.InputError, match="holds their ids"):
        release.departures(districts[["Land", "geometry"]].assign(Bezirk="x"))
