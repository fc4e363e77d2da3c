"""Exports, each read back by the tools it was made for."""

from __future__ import annotations

import builtins
import json

import geopandas as gpd
import numpy as np
import openmatrix
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import shapely

import flowveil as fv
from flowveil._cli.commands import run
from flowveil._export import FORMATS
from flowveil._folder import files as folder_files
from flowveil.synthetic import CITY_BBOX

OF_FLOWS = [name for name, form in FORMATS.items() if "flows" in form.holds]


@pytest.fixture(scope="module")
def release(city_trips, tmp_path_factory):
    """Return the folder of a release between H3 areas, all of which have outlines."""
    folder = tmp_path_factory.mktemp("export") / "out"
    flows = fv.build_flows(city_trips, "h3:8", hierarchy="h3", bbox=CITY_BBOX, unit="person_id")
    return fv.anonymize(flows).write(folder)


@pytest.fixture(scope="module")
def with_elsewhere(city_trips, tmp_path_factory):
    """Return the folder of a release with flows to elsewhere, which is no place on a map."""
    folder = tmp_path_factory.mktemp("export") / "elsewhere"
    flows = fv.build_flows(city_trips, "h3:8", bbox=CITY_BBOX, unit="person_id")
    return fv.anonymize(flows, k=14, elsewhere=True).write(folder)


@pytest.fixture
def timed(release, tmp_path):
    """Return a release with an hour of the week and a group, made by cutting every flow in two."""
    folder = tmp_path / "timed"
    folder.mkdir()
    flows = pq.read_table(release / "flows.parquet")
    parts = []
    for hour, sex in ((7, "f"), (31, None)):
        part = flows.add_column(2, "time", pa.array([hour] * flows.num_rows, pa.int64()))
        parts.append(part.add_column(3, "sex", pa.array([sex] * flows.num_rows, pa.string())))
    pq.write_table(pa.concat_tables(parts), folder / "flows.parquet")
    (folder / "areas.parquet").write_bytes((release / "areas.parquet").read_bytes())
    manifest = json.loads((release / "manifest.json").read_text())
    manifest["options"] |= {"time": "hour-of-week", "by": ["sex"]}
    (folder / "manifest.json").write_text(json.dumps(manifest))
    return folder


def write_zones(folder, *, group=None, **columns):
    """Write a release between six zones without shapes, twelve trips a pair."""
    names = [f"a{number}" for number in range(6)]
    trips = {"origin": np.repeat(names, 72), "destination": np.tile(names, 72)}
    trips |= {} if group is None else {group: ["m"] * 432}
    zones = pa.table({"zone_id": names, **columns})
    tree = ["zone_id"] if not columns else None
    flows = fv.build_flows(pa.table(trips), zones=zones, hierarchy=tree, by=[] if group is None else [group])
    return fv.anonymize(flows, "suppression").write(folder)


def flows_of(folder):
    """Return {(origin, destination): trips}."""
    rows = pq.read_table(folder / "flows.parquet").to_pylist()
    return {(row["origin"], row["destination"]): row["trips"] for row in rows}


def content(path):
    """Return the bytes of a file, or of all files of a folder."""
    return {item.name: item.read_bytes() for item in ([path] if path.is_file() else path.iterdir())}


def outlines_of(folder):
    """Return the outlines of areas by id."""
    areas = gpd.read_parquet(folder / "areas.parquet").drop_duplicates("area").set_index("area")
    return areas.set_crs(4326, allow_override=True)


def frame_flows(frame, trips):
    """Return the same of a frame."""
    return dict(zip(zip(frame["origin"], frame["destination"], strict=True), frame[trips].astype(int), strict=True))


def test_geojson(release, tmp_path):
    """Geopandas reads the same flows as lines between the centers, and the same outlines."""
    fv.export(release, "geojson", tmp_path / "x")

    areas, flows = (gpd.read_file(tmp_path / "x" / f"{name}.geojson") for name in ("areas", "flows"))

    original = outlines_of(release)
    assert frame_flows(flows, "trips") == flows_of(release)
    assert areas.crs.to_epsg() == 4326
    assert set(areas["area"]) == set(original.index)
    assert areas.set_index("area").geom_equals_exact(original.geometry.loc[areas["area"]], 1e-6).all()
    line = flows.geometry.iloc[0]
    center = original.loc[flows["origin"].iloc[0]]
    assert line.coords[0] == pytest.approx((center["lon"], center["lat"]), abs=1e-6)


def test_geopackage(release, tmp_path):
    """Geopandas reads both layers."""
    fv.export(release, "gpkg", tmp_path / "x.gpkg")

    areas, flows = (gpd.read_file(tmp_path / "x.gpkg", layer=name) for name in ("areas", "flows"))

    assert frame_flows(flows, "trips") == flows_of(release)
    assert set(flows.geometry.geom_type) == {"LineString"}
    original = outlines_of(release)
    assert shapely.area(areas.geometry.values).sum() == pytest.approx(shapely.area(original.geometry.values).sum())
    assert areas.crs.to_epsg() == 4326


def test_flowmap_blue(release, tmp_path):
    """The two tables have the columns that flowmap.blue asks for, and every end of a flow is a location."""
    fv.export(release, "flowmap-blue", tmp_path / "x")

    locations, flows = (
        pd.read_csv(tmp_path / "x" / f"{name}.csv", dtype={"id": str}) for name in ("locations", "flows")
    )

    assert list(locations.columns) == ["id", "name", "lat", "lon"]
    assert list(flows.columns) == ["origin", "dest", "count"]
    assert locations["id"].is_unique
    assert set(flows["origin"]) | set(flows["dest"]) <= set(locations["id"])
    assert frame_flows(flows.rename(columns={"dest": "destination"}), "count") == flows_of(release)


def test_open_matrix(release, tmp_path):
    """Openmatrix finds every flow at the row and column of its areas, and nothing anywhere else."""
    fv.export(release, "omx", tmp_path / "x.omx")

    with openmatrix.open_file(str(tmp_path / "x.omx")) as file:
        place = {name.decode(): number for name, number in file.mapping("area").items()}
        trips, names = np.array(file["trips"]), file.list_matrices()

    assert sorted(names) == ["persons", "trips"]
    assert trips.sum() == sum(flows_of(release).values())
    assert all(trips[place[origin], place[end]] == count for (origin, end), count in flows_of(release).items())


def test_scikit_mobility(release, tmp_path):
    """The frame has the columns of a FlowDataFrame, and the tessellation has each of its places once."""
    fv.export(release, "skmob", tmp_path / "x")

    flows = pd.read_csv(tmp_path / "x" / "flows.csv", dtype={"origin": str, "destination": str})
    tessellation = gpd.read_file(tmp_path / "x" / "tessellation.geojson")

    assert list(flows.columns) == ["origin", "destination", "flow"]
    assert tessellation["tile_ID"].is_unique
    assert set(flows["origin"]) | set(flows["destination"]) <= set(tessellation["tile_ID"])
    assert frame_flows(flows, "flow") == flows_of(release)


class TestTimeAndGroups:
    """A release with several matrices stays several matrices."""

    def test_open_matrix(self, timed, tmp_path):
        """One matrix for each combination, named after it."""
        fv.export(timed, "omx", tmp_path / "x.omx")

        with openmatrix.open_file(str(tmp_path / "x.omx")) as file:
            sums = {name: np.array(file[name]).sum() for name in file.list_matrices() if name.startswith("trips")}

        half = sum(flows_of(timed).values())
        assert sums == {"trips_7_f": half, "trips_31_None": half}

    def test_flowmap_blue(self, timed, tmp_path):
        """Hours of the week lie in a week that starts on a Monday."""
        fv.export(timed, "flowmap-blue", tmp_path / "x")

        flows = pd.read_csv(tmp_path / "x" / "flows.csv")

        times = pd.to_datetime(flows["time"]).drop_duplicates().tolist()
        assert [(time.weekday(), time.hour) for time in times] == [(0, 7), (1, 7)]
        assert len(flows) == 2 * len(flows_of(timed))

    def test_groups_named_like_noise(self, city_trips, tmp_path):
        """The manifest says what divides a release, not the names of columns."""
        table = pq.read_table(city_trips).rename_columns({"sex": "scale"})
        release = fv.anonymize(fv.build_flows(table, "h3:6", by="scale")).write(tmp_path / "out")
        fv.export(release, "omx", tmp_path / "x.omx")

        with openmatrix.open_file(str(tmp_path / "x.omx")) as file:
            assert {"trips_female", "trips_male"} <= set(file.list_matrices())

    def test_noise_is_no_group(self, city_trips, tmp_path):
        """Columns beside noisy counts divide nothing."""
        matrix = fv.build_tile_matrix(city_trips, CITY_BBOX, "h3:7")
        noisy = fv.add_noise(matrix, epsilon=1.0, options={"consistent": "true"}).write(tmp_path / "out")
        fv.export(noisy, "omx", tmp_path / "x.omx")

        with openmatrix.open_file(str(tmp_path / "x.omx")) as file:
            assert file.list_matrices() == ["trips"]

    @pytest.mark.parametrize("to", OF_FLOWS)
    def test_all_formats(self, timed, to, tmp_path):
        """No format loses a flow."""
        assert fv.export(timed, to, tmp_path / "x").flows == 2 * len(flows_of(timed))


class TestWhatAFormatCannotHold:
    """Flows that end nowhere on the map are left out where the format asks for a place, and it is said."""

    @pytest.mark.parametrize("to", OF_FLOWS)
    def test_elsewhere(self, with_elsewhere, to, tmp_path, capsys):
        """Left out and told, or kept with no geometry."""
        nowhere = sum("elsewhere" in pair for pair in flows_of(with_elsewhere))
        assert nowhere

        assert run(["export", str(with_elsewhere), "--to", to, "-o", str(tmp_path / "x")]) == 0

        told = capsys.readouterr().err
        assert (f"{nowhere} flows were left out" in told) == (to in ("flowmap-blue", "skmob"))

    @pytest.mark.slow
    @pytest.mark.parametrize("to", OF_FLOWS)
    def test_no_places(self, to, tmp_path, capsys):
        """Zones that are ids alone have no place on any map: an error for formats that need one."""
        folder = write_zones(tmp_path / "out")

        code = run(["export", str(folder), "--to", to, "-o", str(tmp_path / "x")])

        assert code == (2 if to in {"geojson", "gpkg", "flowmap-blue", "skmob"} else 0)
        assert (tmp_path / "x").exists() == (code == 0)
        assert ("nothing would be written" in capsys.readouterr().err) == (code == 2)

    @pytest.mark.slow
    @pytest.mark.parametrize("to", OF_FLOWS)
    def test_centers_alone(self, to, tmp_path):
        """Zones that are points have lines between them, but no outlines, which only scikit-mobility needs."""
        folder = write_zones(tmp_path / "out", lon=np.arange(6) / 10, lat=np.zeros(6))

        if to == "skmob":
            with pytest.raises(fv.InputError, match="no flow has an outline at both ends"):
                fv.export(folder, to, tmp_path / "x")
        else:
            assert fv.export(folder, to, tmp_path / "x").flows == 36

    @pytest.mark.parametrize(
        ("to", "name"), [("flowmap-blue", "dest"), ("skmob", "datetime"), ("gpkg", "Geometry"), ("gpkg", "fid")]
    )
    def test_groups_named_like_a_column(self, to, name, tmp_path):
        """A group never takes the place of a column that the format has for itself."""
        folder = write_zones(tmp_path / "out", group=name, lon=np.arange(6) / 10, lat=np.zeros(6))

        with pytest.raises(fv.InputError, match=f"column '{name.lower()}' of its own"):
            fv.export(folder, to, tmp_path / "x")
        assert fv.export(folder, "geojson", tmp_path / "y").flows == 36

    @pytest.mark.parametrize("to", sorted(FORMATS.keys() - set(OF_FLOWS)))
    def test_formats_of_trajectories(self, release, to, tmp_path, capsys):
        """A format that has no place for flows says so, and what has; nothing is written."""
        assert run(["export", str(release), "--to", to, "-o", str(tmp_path / "x")]) == 2

        told = capsys.readouterr().err
        assert f"error: the format {to} holds trajectories" in told
        assert ", and this is a release of flows between areas" in told
        assert "hint: export it to csv, " in told
        assert to not in told.partition("hint:")[2].replace(",", "").split()
        assert list(tmp_path.iterdir()) == []

    def test_no_flows(self, city_trips, tmp_path, capsys):
        """A release of boxes has no flows to export, and the hint names formats that it can be written in."""
        fv.add_noise(fv.build_matrix(city_trips, CITY_BBOX, 8), "uniform", 1.0).write(tmp_path / "cells")

        assert run(["export", str(tmp_path / "cells"), "--to", "omx", "-o", str(tmp_path / "x")]) == 2
        assert "csv, excel, datapackage or dcat" in capsys.readouterr().err


class TestWriting:
    """An export appears whole or not at all, and nothing of others is overwritten."""

    @pytest.mark.parametrize("to", OF_FLOWS)
    def test_nothing_half_written(self, release, to, tmp_path, monkeypatch):
        """Whatever fails while writing, nothing is left; an earlier export stays as it was."""
        fv.export(release, to, tmp_path / "x")
        before = content(tmp_path / "x")

        def fail(*_arguments):
            raise KeyboardInterrupt

        monkeypatch.setattr(folder_files, "_settle", fail)  # the last thing before it is put in place
        with pytest.raises(KeyboardInterrupt):
            fv.export(release, to, tmp_path / "x", overwrite=True)

        assert content(tmp_path / "x") == before
        assert [item.name for item in tmp_path.iterdir()] == ["x"]

    @pytest.mark.parametrize("to", OF_FLOWS)
    def test_overwriting(self, release, with_elsewhere, to, tmp_path):
        """An export is replaced only if asked, and only by one of the same kind."""
        fv.export(release, to, tmp_path / "x")
        before = content(tmp_path / "x")

        with pytest.raises(fv.InputError, match="exists"):
            fv.export(with_elsewhere, to, tmp_path / "x")
        assert content(tmp_path / "x") == before
        fv.export(with_elsewhere, to, tmp_path / "x", overwrite=True)

        assert content(tmp_path / "x") != before
        foreign = tmp_path / "folder"
        foreign.mkdir()
        (foreign / "mine.txt").write_text("keep")
        with pytest.raises(fv.InputError, match=r"not an earlier export|not a file"):
            fv.export(release, to, foreign, overwrite=True)
        assert (foreign / "mine.txt").read_text() == "keep"

    @pytest.mark.parametrize(("to", "package"), [("gpkg", "pyogrio"), ("omx", "openmatrix")])
    def test_missing_extra(self, release, to, package, tmp_path, monkeypatch):
        """Without the package of a format, the hint says what to install."""
        real = builtins.__import__

        def refuse(name, *rest):
            if name.partition(".")[0] == package:
                raise ImportError(name)
            return real(name, *rest)

        monkeypatch.setattr(builtins, "__import__", refuse)

        with pytest.raises(fv.InputError, match=package) as raised:
            fv.export(release, to, tmp_path / "x")
        assert "flowveil[export]" in raised.value.hint
        assert list(tmp_path.iterdir()) == []

    def test_unknown_format(self, release, tmp_path):
        """A format that does not exist is named, with one that is close."""
        with pytest.raises(fv.UnknownNameError, match="geojson"):
            fv.export(release, "geojsn", tmp_path / "x")


def test_zone_names_survive(city_zone_trips, tmp_path):
    """Ids that are not plain ASCII come back as they were."""
    trips, zones = pq.read_table(city_zone_trips), pq.read_table(city_zone_trips.with_name("zones.parquet"))
    trips = pa.table(
        {name: [f"Zürich, {value}" for value in trips[name].to_pylist()] for name in ("origin", "destination")}
    )
    zones = zones.set_column(0, "zone_id", pa.array([f"Zürich, {value}" for value in zones["zone_id"].to_pylist()]))
    flows = fv.build_flows(trips, zones=zones, hierarchy=["zone_id", "district", "region"])
    release = fv.anonymize(flows, k=3).write(tmp_path / "out")

    fv.export(release, "omx", tmp_path / "x.omx")
    fv.export(release, "flowmap-blue", tmp_path / "fb")
    fv.export(release, "geojson", tmp_path / "g")

    names = set(pq.read_table(release / "areas.parquet")["area"].to_pylist())
    with openmatrix.open_file(str(tmp_path / "x.omx")) as file:
        assert {name.decode() for name in file.mapping("area")} == names
    assert set(pd.read_csv(tmp_path / "fb" / "locations.csv")["id"]) <= names
    features = json.loads((tmp_path / "g" / "areas.geojson").read_text())["features"]
    assert {item["properties"]["area"] for item in features} == names
