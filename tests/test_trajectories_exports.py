"""Exports of trajectories: what other tools read is what was published."""

from __future__ import annotations

import json
from datetime import datetime
from xml.etree import ElementTree as ET

import geopandas
import pyarrow.csv
import pytest
import shapely

import flowveil as fv
from flowveil import InputError, trajectories
from flowveil._cli.commands import run
from flowveil.synthetic import PHONES_BBOX, phones

GPX = "{http://www.topografix.com/GPX/1/1}"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Write a release in which samples of a group overlap."""
    release = trajectories.anonymize(phones(10, samples=20), 2, bbox=PHONES_BBOX, reshape=False)
    return release.write(tmp_path_factory.mktemp("release") / "out")


@pytest.fixture(scope="module")
def samples(folder):
    """Return published samples with the middles that exports should have, by group and middle."""
    rows = trajectories.read_release(folder).trajectories.to_pylist()
    for row in rows:
        row["lon"], row["lat"] = (row["lon0"] + row["lon1"]) / 2, (row["lat0"] + row["lat1"]) / 2
        row["middle"] = (row["t0"] + (row["t1"] - row["t0"]) / 2).replace(microsecond=0)
    return sorted(rows, key=lambda row: (row["group"], row["middle"], row["t0"]))


def test_skmob(folder, samples, tmp_path, capsys):
    """A table with the columns that TrajDataFrame knows."""
    assert run(["export", str(folder), "--to", "skmob", "-o", str(tmp_path / "skmob")]) == 0
    table = pyarrow.csv.read_csv(tmp_path / "skmob" / "trajectories.csv").to_pylist()

    assert list(table[0])[:4] == ["uid", "datetime", "lat", "lng"]
    assert [row["uid"] for row in table] == [row["group"] for row in samples]
    assert [row["lng"] for row in table] == pytest.approx([row["lon"] for row in samples])
    assert [row["lat"] for row in table] == pytest.approx([row["lat"] for row in samples])
    assert [row["support"] for row in table] == [row["support"] for row in samples]
    assert f"wrote {len(samples)} samples" in capsys.readouterr().out


def test_movingpandas(folder, samples, tmp_path):
    """GeoParquet with a trajectory id, a moment and a point, as geopandas reads it."""
    fv.export(folder, "movingpandas", tmp_path / "paths.parquet")
    frame = geopandas.read_parquet(tmp_path / "paths.parquet")

    assert frame.crs.to_string() == "OGC:CRS84"
    assert frame["traj_id"].tolist() == [row["group"] for row in samples]
    assert [moment.to_pydatetime() for moment in frame["t"]] == [row["middle"] for row in samples]
    assert frame.geometry.x.tolist() == pytest.approx([row["lon"] for row in samples])
    assert frame["size"].tolist() == [row["size"] for row in samples]


def test_gpx(folder, samples, tmp_path):
    """A track for each group, points in the order of time."""
    fv.export(folder, "gpx", tmp_path / "paths.gpx")
    tracks = ET.parse(tmp_path / "paths.gpx").getroot().findall(f"{GPX}trk")  # noqa: S314  our own file

    points = [point for track in tracks for point in track.iter(f"{GPX}trkpt")]
    times = [datetime.fromisoformat(point.find(f"{GPX}time").text) for point in points]

    assert len(tracks) == len({row["group"] for row in samples})
    assert times == [row["middle"] for row in samples]
    assert [float(point.get("lat")) for point in points] == pytest.approx([row["lat"] for row in samples], abs=1e-6)
    assert points[0].find(f"{GPX}cmt").text.endswith(f"{samples[0]['support']} of {samples[0]['size']} were seen")


def test_geojson(folder, tmp_path):
    """A box for each sample, with all that is published."""
    fv.export(folder, "geojson", tmp_path / "layers")
    features = json.loads((tmp_path / "layers" / "trajectories.geojson").read_text(encoding="utf-8"))["features"]
    rows = trajectories.read_release(folder).trajectories.to_pylist()

    boxes = [shapely.from_geojson(json.dumps(item["geometry"])).bounds for item in features]

    for axis, name in enumerate(("lon0", "lat0", "lon1", "lat1")):
        assert [box[axis] for box in boxes] == pytest.approx([row[name] for row in rows], abs=1e-6)
    assert [item["properties"]["support"] for item in features] == [row["support"] for row in rows]


def test_what_does_not_fit(folder, tmp_path):
    """Formats of flows do not hold trajectories."""
    for form in ("omx", "gpkg", "flowmap-blue"):
        with pytest.raises(InputError, match="trajectories"):
            fv.export(folder, form, tmp_path / "no")
    assert not (tmp_path / "no").exists()
