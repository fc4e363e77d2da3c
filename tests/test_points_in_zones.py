"""Coordinates against the user's own zones: one public rule, found in two ways, and nothing dropped in silence."""

from __future__ import annotations

import json
import shutil
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import shapely
from hypothesis import given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

import flowveil as fv
from flowveil._cli.commands import find_app
from flowveil._places import read_zones
from flowveil._places.outlined import Outlined
from flowveil._verify.inside import Outlines

corner = st.tuples(st.integers(0, 6), st.integers(0, 6))
ring = st.lists(corner, min_size=3, max_size=7)
place = st.tuples(st.integers(0, 18), st.integers(0, 18))


def in_ring(points, x, y):
    """Whether a point is inside a ring, and whether on it: by fractions, edge by edge."""
    odd = False
    for (x1, y1), (x2, y2) in zip(points, [*points[1:], points[0]], strict=True):
        cross = (x2 - x1) * (y - y1) - (x - x1) * (y2 - y1)
        if cross == 0 and min(x1, x2) <= x <= max(x1, x2) and min(y1, y2) <= y <= max(y1, y2):
            return False, True
        if (y1 > y) != (y2 > y):
            odd ^= (cross > 0) == (y2 > y1)
    return odd, False


@settings(max_examples=60, deadline=None)
@given(st.lists(ring, min_size=1, max_size=4), st.lists(place, min_size=1, max_size=12))
def test_two_ways_and_brute_force_agree(rings, places):
    """Maker, verifier and fractions say the same of any place, on borders and corners and of crossing outlines too."""
    shapes = [shapely.Polygon([(x / 3, y / 3) for x, y in points]) for points in rings]
    geometry = np.array([*shapes, None], object)[:-1]
    lon, lat = (np.array([values[axis] / 6 for values in places]) for axis in (0, 1))
    expected = []
    for x, y in zip(lon.tolist(), lat.tolist(), strict=True):
        inside = (
            any(in_ring([(Fraction(a / 3), Fraction(b / 3)) for a, b in points], Fraction(x), Fraction(y)))
            for points in rings
        )
        expected.append(next((rank for rank, here in enumerate(inside) if here), -1))

    maker = Outlined.__new__(Outlined)  # without the check that zones are apart
    maker.zone, maker._shapes = np.arange(len(shapes)), geometry

    assert Outlines(geometry).locate(lon, lat).tolist() == expected
    assert maker.find(lon, lat).tolist() == expected


def squares(side=3, width=0.1):
    """Return zones side by side: z0 in the southwest, numbered to the east and then to the north."""
    corners = [(4 + width * (n % side), 50 + width * (n // side)) for n in range(side * side)]
    shapes = [shapely.box(x, y, x + width, y + width) for x, y in corners]
    return pa.table({"zone_id": [f"z{n}" for n in range(len(shapes))], "geometry": shapely.to_wkb(shapes)})


def random_trips(rows=600, seed=1):
    """Return trips in and around the squares, some of whose ends lie on borders."""
    draw = np.random.default_rng(seed)
    ends = np.round(draw.uniform(-0.008, 0.308, (rows, 4)), 2) + np.array([4, 50, 4, 50])
    columns = dict(zip(("start_lon", "start_lat", "end_lon", "end_lat"), ends.T, strict=True))
    return pa.table(
        {
            **columns,
            "who": draw.integers(0, 60, rows),
            "sex": draw.choice(["f", "m"], rows),
            "start_time": pa.array(1714550000 + draw.integers(0, 7200, rows)),
        }
    )


@pytest.mark.slow
@pytest.mark.parametrize("asked", [{}, {"unit": "who"}, {"unit": "who", "time": "1h"}, {"by": "sex"}])
def test_release_is_made_measured_and_verified(tmp_path, asked):
    """Points become zones for all that is counted; the verifier, with code of its own, finds the same."""
    trips, zones = random_trips(), squares()
    flows = fv.build_flows(trips, zones=zones, hierarchy="ward", **asked)
    folder = fv.anonymize(flows, k=5, max_suppression=0.4).write(tmp_path / "out")

    assert fv.verify(folder, trips, zones=zones).trips_read == trips.num_rows
    assert fv.evaluate(folder, trips, zones=zones)["suppressed"] <= 0.4
    assert flows.total + flows.provenance.dropped["in no zone"] == trips.num_rows
    assert "the zones of trips are found by their coordinates" in flows.provenance.notes


def test_verifier_does_not_take_moved_points(tmp_path):
    """Of other trips, or of zones with other borders, the release does not hold."""
    trips, zones = random_trips(), squares()
    folder = fv.anonymize(fv.build_flows(trips, zones=zones, hierarchy="ward"), k=5, max_suppression=0.4)
    folder = folder.write(tmp_path / "out")

    with pytest.raises(fv.VerificationError):
        fv.verify(folder, random_trips(seed=2), zones=zones)


def test_ids_go_before_coordinates_unless_they_name_other_zones():
    """Of trips with both, ids count if one of them is a zone, or if the user says so; else coordinates do."""
    trips, zones = random_trips(), squares()
    named = trips.append_column("origin", pa.array(["z1"] * 600)).append_column("destination", pa.array(["z2"] * 600))
    foreign = trips.append_column("origin", pa.array(["s1"] * 600)).append_column("destination", pa.array(["s2"] * 600))

    assert len(fv.build_flows(named, zones=zones)) == 1
    found = fv.build_flows(foreign, zones=zones)
    assert len(found) > 1
    assert any("'origin' and 'destination' name none of the zones" in note for note in found.provenance.notes)
    off = fv.read_trips(named, {"origin": "", "destination": ""})
    assert len(fv.build_flows(off, zones=zones)) == len(found)
    with pytest.raises(fv.InputError, match="unknown zone"):
        fv.build_flows(fv.read_trips(foreign, {"origin": "origin"}), zones=zones)


def test_zones_that_overlap():
    """A place in two zones is in the first by id, which is said; zones of two levels in one file are refused."""
    shapes = [shapely.box(0, 0, 2, 1), shapely.box(1.5, 0, 3, 1), shapely.box(0, 5, 1, 6)]
    zones = pa.table({"zone_id": ["b", "a", "c"], "geometry": shapely.to_wkb(shapes)})
    points = pa.table({"start_lon": [1.7], "start_lat": [0.5], "end_lon": [0.5], "end_lat": [5.5]})
    flows = fv.build_flows(points, zones=zones)

    assert flows.origins.key[flows.origin[0]] == 0  # a
    assert any("zones overlap ('a' and 'b')" in note for note in flows.provenance.notes)
    nested = pa.table({"zone_id": ["a", "b"], "geometry": shapely.to_wkb([shapely.box(0, 0, 9, 9), shapes[0]])})
    with pytest.raises(fv.InputError, match="cover the same ground"):
        fv.build_flows(points, zones=nested)


def test_zones_without_outlines():
    """Points are no zones to find coordinates in, and a zone without an outline is told."""
    points = pa.table({"zone_id": ["a", "b"], "lon": [4.0, 4.1], "lat": [50.0, 50.0]})
    shapes = pa.table({"zone_id": ["a", "b"], "geometry": [shapely.to_wkb(shapely.box(4, 50, 5, 51)), None]})
    shapes = shapes.append_column("lon", pa.array([4.5, 6])).append_column("lat", pa.array([50.5, 50]))

    with pytest.raises(fv.InputError, match="no outlines to find them in"):
        fv.build_flows(random_trips(), zones=points)
    assert (
        "1 zones have no outline: no trip is in them" in fv.build_flows(random_trips(), zones=shapes).provenance.notes
    )


def test_noise_between_zones_of_points(tmp_path):
    """A release with noise counts points by zone too; which columns are taken does not depend on one row."""
    noisy = fv.add_noise(random_trips(), "laplace", 1.0, zones=squares(), hierarchy="ward")
    folder = noisy.write(tmp_path / "out")

    assert fv.verify(folder, zones=squares()).flows == noisy.flows.num_rows
    assert 60 < noisy.flows.num_rows <= 81  # of 81 pairs those whose count is above 0
    assert noisy.audit["dropped"] == {
        "in no zone": fv.build_flows(random_trips(), zones=squares()).dropped["in no zone"]
    }


@pytest.mark.slow
@pytest.mark.parametrize("ending", ["gpkg", "fgb", "shp", "zip", "wkt.csv", "wkb.csv", "ewkt.tsv", "parquet"])
def test_formats_of_zones(tmp_path, ending):
    """The same zones in any format, also in another CRS than degrees."""
    geopandas = pytest.importorskip("geopandas")
    frame = geopandas.GeoDataFrame(
        {"zone_id": squares()["zone_id"].to_pylist(), "label": ["é"] * 9},
        geometry=shapely.from_wkb(squares()["geometry"].to_pylist()),
        crs="EPSG:4326",
    )
    path, meters = tmp_path / f"zones.{ending}", frame.to_crs("EPSG:3035")
    if ending == "parquet":
        meters.to_parquet(path)
    elif ending in ("gpkg", "fgb", "shp"):
        meters.to_file(path)
    elif ending == "zip":
        (tmp_path / "map").mkdir()
        meters.to_file(tmp_path / "map" / "zones.shp")
        shutil.make_archive(str(tmp_path / "zones"), "zip", tmp_path, "map")
    else:
        texts = {"wkt.csv": frame.to_wkt(), "wkb.csv": frame.to_wkb(hex=True), "ewkt.tsv": meters.to_wkt()}[ending]
        if ending == "ewkt.tsv":
            texts["geometry"] = "SRID=3035;" + texts["geometry"]
        texts = texts.rename(columns={"geometry": "the_geom"})
        texts.to_csv(path, index=False, sep="\t" if ending == "ewkt.tsv" else ";", encoding="cp1252")

    zones = read_zones(path)

    assert zones.ids == sorted(zones.ids) == [f"z{n}" for n in range(9)]
    assert set(zones.columns["label"]) == {"é"}
    assert all(shapely.hausdorff_distance(zones.geometry, shapely.from_wkb(squares()["geometry"].to_pylist())) < 1e-8)
    assert fv.build_flows(random_trips(), zones=path, hierarchy="ward").total > 300


def test_maps_with_several_layers(tmp_path):
    """A layer is named after the file; one that is not there, or none of several, is an error with those that are."""
    geopandas = pytest.importorskip("geopandas")
    frame = geopandas.GeoDataFrame({"zone_id": ["a"]}, geometry=[shapely.box(4, 50, 5, 51)], crs="EPSG:4326")
    frame.to_file(tmp_path / "two.gpkg", layer="fine")
    frame.to_file(tmp_path / "two.gpkg", layer="coarse")
    (tmp_path / "not.gpkg").write_text("nothing")

    assert read_zones(f"{tmp_path}/two.gpkg::coarse").ids == ["a"]
    with pytest.raises(fv.InputError, match="several layers: fine, coarse"):
        read_zones(tmp_path / "two.gpkg")
    with pytest.raises(fv.InputError, match="no layer 'middle'"):
        read_zones(f"{tmp_path}/two.gpkg::middle")
    with pytest.raises(fv.InputError, match="cannot be read"):
        read_zones(tmp_path / "not.gpkg")


def test_stations_of_a_bike_sharing_system(tmp_path):
    """The list of stations that systems publish (GBFS) is a table of zones."""
    stations = [{"station_id": f"s{n}", "name": f"Street {n}", "lat": 50 + n / 10, "lon": 4.5} for n in range(3)]
    (tmp_path / "station_information.json").write_text(json.dumps({"ttl": 5, "data": {"stations": stations}}))

    zones = read_zones(tmp_path / "station_information.json")

    assert zones.ids == ["s0", "s1", "s2"]
    assert zones.name_column == "name"
    assert zones.lat.tolist() == [50.0, 50.1, 50.2]


@pytest.mark.slow
def test_command_line(tmp_path):
    """Points in a file against zones in a file: made, verified and measured by what the audit file says."""
    geopandas = pytest.importorskip("geopandas")
    pq.write_table(random_trips(), tmp_path / "trips.parquet")
    shapes = shapely.from_wkb(squares()["geometry"].to_pylist())
    frame = geopandas.GeoDataFrame({"zone_id": squares()["zone_id"].to_pylist()}, geometry=shapes, crs="EPSG:4326")
    frame.to_crs(3035).to_file(tmp_path / "zones.gpkg", layer="zones")
    zones, trips, out = f"{tmp_path}/zones.gpkg::zones", f"{tmp_path}/trips.parquet", f"{tmp_path}/out"
    run = CliRunner().invoke
    asked = ["--zones", zones, "--hierarchy", "ward", "-k", "5", "--max-suppression", "0.4"]

    made = run(find_app(), ["anonymize", trips, "-o", out, *asked])
    verified = run(find_app(), ["verify", out, "--against", trips])
    measured = run(find_app(), ["evaluate", out, "--against", trips, "--json"])

    assert made.exit_code == 0, made.output
    assert verified.exit_code == 0, verified.output
    assert json.loads(measured.stdout)["suppressed"] <= 0.4
