"""Exports of tables: CSV, Excel, Data Package and DCAT, of every kind of release."""

from __future__ import annotations

import csv
import hashlib
import json
import shutil
from datetime import date
from pathlib import Path

import openpyxl
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pyogrio
import pytest
import shapely
from pyogrio.errors import DataLayerError
from xlsxwriter.exceptions import FileCreateError

import flowveil as fv
from flowveil._cli.commands import run
from flowveil._export import excel
from flowveil._export.about import find_license, find_period
from flowveil._export.tables import read_tables
from flowveil.synthetic import CITY_BBOX, PHONES_BBOX, phones

SAID = {
    "title": "Trips of a city",
    "period": "June 2024",
    "publisher": "City of Flows",
    "license": "CC BY-SA 4.0",
    "contact": "data@example.org",
}
STRANGE = '=HYPERLINK("x"), '  # names begin so, as a spreadsheet would take for a formula


@pytest.fixture(scope="module")
def folders(city_zone_trips, city_trips, tmp_path_factory):
    """Write one release of each kind that exports tell apart."""
    folder = tmp_path_factory.mktemp("tables")
    zones = pq.read_table(city_zone_trips.with_name("zones.parquet"))
    names = [STRANGE + name for name in zones["name"].to_pylist()]
    zones = zones.set_column(zones.column_names.index("name"), "name", pa.array(names))
    options = {"hierarchy": "ward", "unit": "person_id", "time": "1d"}
    fv.anonymize(fv.build_flows(city_zone_trips, zones=zones, **options), k=3, **SAID).write(folder / "flows")
    fv.add_noise(fv.build_matrix(city_trips, CITY_BBOX, 6), "eug", 1.0).write(folder / "cells")
    data = fv.trajectories.read_trajectories(phones(12), PHONES_BBOX, step="1km,30min")
    fv.trajectories.anonymize(data, k=2).write(folder / "trajectories")
    return folder


@pytest.mark.slow
def test_csv(folders, tmp_path):
    """Flows come with the names of their ends; areas with outlines; zones of areas as rows of their own."""
    fv.export(folders / "flows", "csv", tmp_path / "x")

    flows, areas, members = (pd.read_csv(tmp_path / "x" / f"{name}.csv") for name in ("flows", "areas", "members"))
    original = fv.read_release(folders / "flows")
    name = dict(zip(areas["area"], areas["name"], strict=True))
    assert flows["trips"].tolist() == original.flows["trips"].to_pylist()
    assert [name[area] for area in flows["origin"]] == flows["origin_name"].tolist()
    assert pd.to_datetime(flows["time"]).tolist() == original.flows["time"].to_pandas().tolist()
    shapes = {row["area"]: shapely.from_wkb(row["geometry"]) for row in original.areas.to_pylist()}
    for area, text in zip(areas["area"], areas["geometry"], strict=True):
        assert shapely.from_wkt(text).symmetric_difference(shapes[area]).area < 1e-6
    expected = {(row["area"], zone) for row in original.areas.to_pylist() for zone in row["members"]}
    assert set(zip(members["area"], members["zone"], strict=True)) == expected


@pytest.mark.slow
def test_excel(folders, tmp_path):
    """Excel's sheets hold the same rows as the CSV files; text stays text, whatever it begins with."""
    fv.export(folders / "flows", "excel", tmp_path / "x.xlsx")
    fv.export(folders / "flows", "csv", tmp_path / "x")

    book = openpyxl.load_workbook(tmp_path / "x.xlsx")
    for name in ("flows", "members"):
        with (tmp_path / "x" / f"{name}.csv").open(newline="") as file:
            rows = list(csv.reader(file))
        shown = [[cell.value for cell in row] for row in book[name].iter_rows()]
        assert [["" if value is None else str(value) for value in row] for row in shown] == rows
    assert book.sheetnames == ["flows", "areas", "members", "about"]
    cells = [cell for row in book["areas"].iter_rows() for cell in row]
    assert any(str(cell.value).startswith(STRANGE) for cell in cells)
    assert "f" not in {cell.data_type for cell in cells}
    about = {row[0].value: row[1].value for row in book["about"].iter_rows()}
    assert about["title"] == SAID["title"]
    assert about["promise"] == fv.read_release(folders / "flows").manifest["promise_text"]


@pytest.mark.slow
def test_too_many_rows_for_excel(folders, tmp_path, monkeypatch):
    """A table that a sheet cannot hold is refused, and nothing is left behind."""
    monkeypatch.setattr("flowveil._export.excel._MOST_ROWS", 3)

    with pytest.raises(fv.InputError, match="a sheet of Excel holds 3"):
        fv.export(folders / "flows", "excel", tmp_path / "x.xlsx")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("kind", ["flows", "cells", "trajectories"])
def test_datapackage(folders, kind, tmp_path):
    """The descriptor is as the specification says, and true of the files beside it.

    Every rule checked here is one of datapackage.org: names, paths, types of fields and their order, keys that are
    unique and refer to rows that exist, sizes and hashes.
    """
    fv.export(folders / kind, "datapackage", tmp_path / "x")

    package = json.loads((tmp_path / "x" / "datapackage.json").read_text())
    tables = {}
    for resource in package["resources"]:
        content = (tmp_path / "x" / resource["path"]).read_bytes()
        assert resource["type"] == "table"
        assert resource["bytes"] == len(content)
        assert resource["hash"] == f"sha256:{hashlib.sha256(content).hexdigest()}"
        table = tables[resource["name"]] = pd.read_csv(tmp_path / "x" / resource["path"], keep_default_na=False)
        schema = resource["schema"]
        assert [field["name"] for field in schema["fields"]] == list(table.columns)
        for field in schema["fields"]:
            assert field["description"]
            check_values(table[field["name"]], field["type"])
        assert not table.duplicated(schema.get("primaryKey")).any()
    assert {path.name for path in (tmp_path / "x").iterdir()} == {f"{name}.csv" for name in tables} | {
        "datapackage.json"
    }
    for resource in package["resources"]:
        for key in resource["schema"].get("foreignKeys", []):
            known = set(tables[key["reference"]["resource"]][key["reference"]["fields"][0]])
            assert set(tables[resource["name"]][key["fields"][0]]) <= known
    if kind == "flows":
        assert package["licenses"][0]["path"] == "https://creativecommons.org/licenses/by-sa/4.0/"
        assert package["contributors"] == [
            {"title": SAID["publisher"], "roles": ["publisher"], "email": SAID["contact"]}
        ]


def check_values(column, kind):
    """Check that the values of a column are of a type of Table Schema."""
    values = [value for value in column if value != ""]
    if kind == "integer":
        assert all(float(value) == int(value) for value in values)
    elif kind == "number":
        assert all(isinstance(float(value), float) for value in values)
    elif kind == "boolean":
        assert {str(value).lower() for value in values} <= {"true", "false"}
    elif kind == "datetime":
        assert all(pd.Timestamp(value).tz is not None for value in values)
    else:
        assert kind == "string"


@pytest.mark.parametrize("kind", ["flows", "cells", "trajectories"])
def test_dcat(folders, kind, tmp_path):
    """The dataset has what DCAT-AP asks for, a box around all that is published, and every file of the folder."""
    fv.export(folders / kind, "dcat", tmp_path / "x.jsonld")

    dataset = json.loads((tmp_path / "x.jsonld").read_text())
    used = {key.partition(":")[0] for key in dataset if ":" in key}
    assert used <= set(dataset["@context"])
    assert dataset["dct:title"]
    assert dataset["dct:description"].startswith(fv.read_release(folders / kind).manifest["promise_text"])
    files = {part["dcat:downloadURL"]["@id"] for part in dataset["dcat:distribution"]}
    assert files == {path.name for path in (folders / kind).iterdir()}
    box = shapely.from_wkt(dataset["dct:spatial"]["dcat:bbox"]["@value"])
    if kind == "cells":
        assert box.bounds == pytest.approx(CITY_BBOX)
    if kind == "flows":
        shapes = shapely.from_wkb(fv.read_release(folders / kind).areas["geometry"].to_pylist())
        assert box.bounds == pytest.approx(tuple(shapely.total_bounds(shapes)), abs=1e-5)
        assert dataset["dct:temporal"]["dcat:startDate"]["@value"] == "2024-06-01"
        assert dataset["dct:temporal"]["dcat:endDate"]["@value"] == "2024-06-30"
        assert dataset["dct:publisher"]["foaf:name"] == SAID["publisher"]
        assert dataset["dcat:temporalResolution"]["@value"] == "P1D"
        assert all(part["dct:license"]["@id"].startswith("https://creative") for part in dataset["dcat:distribution"])


@pytest.mark.slow
def test_members_in_a_geopackage(folders, tmp_path):
    """GeoPackage has the zones of each area as a table to join."""
    fv.export(folders / "flows", "gpkg", tmp_path / "x.gpkg")

    _, members = pyogrio.read_arrow(tmp_path / "x.gpkg", layer="members")
    expected = {
        (row["area"], zone) for row in fv.read_release(folders / "flows").areas.to_pylist() for zone in row["members"]
    }
    assert {(row["area"], row["zone"]) for row in members.to_pylist()} == expected


def test_command_line(folders, tmp_path, capsys):
    """Formats are the same on the command line; one that holds flows only says so of other kinds."""
    assert run(["export", str(folders / "cells"), "--to", "csv", "-o", str(tmp_path / "x")]) == 0
    assert (tmp_path / "x" / "cells.csv").is_file()
    assert run(["export", str(folders / "cells"), "--to", "gpkg", "-o", str(tmp_path / "x.gpkg")]) == 2
    assert "csv, excel, datapackage or dcat" in capsys.readouterr().err
    shutil.rmtree(tmp_path / "x")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2024", (date(2024, 1, 1), date(2024, 12, 31))),
        ("2024-02", (date(2024, 2, 1), date(2024, 2, 29))),
        ("june 2024", (date(2024, 6, 1), date(2024, 6, 30))),
        ("2024-06-01/2024-06-15", (date(2024, 6, 1), date(2024, 6, 15))),
        ("March 2023 to May 2023", (date(2023, 3, 1), date(2023, 5, 31))),
        ("2024-13", None),
        ("2024-06 to 2024-01", None),
        ("last summer", None),
        ("0000", None),
    ],
)
def test_periods(text, expected):
    """Periods that people write are understood, or left as text."""
    assert find_period(text) == expected


@pytest.mark.parametrize(
    ("text", "name", "url"),
    [
        ("CC BY 4.0", "CC-BY-4.0", "https://creativecommons.org/licenses/by/4.0/"),
        ("cc-by-nc-sa 3.0", "CC-BY-NC-SA-3.0", "https://creativecommons.org/licenses/by-nc-sa/3.0/"),
        ("CC0", "CC0-1.0", "https://creativecommons.org/publicdomain/zero/1.0/"),
        ("ours, see https://example.org/license", "ours-see-https-example.org-license", "https://example.org/license"),
        ("all rights reserved", "all-rights-reserved", None),
    ],
)
def test_licenses(text, name, url):
    """Known licenses get their id and address; others keep their words."""
    known = find_license(text)

    assert (known.title, known.name, known.url) == (text, name, url)


@pytest.fixture
def small():
    """Return a release of one flow."""
    ends = {"start_lon": 4.5, "start_lat": 50.3, "end_lon": 4.7, "end_lat": 50.4}
    flows = fv.build_flows(pa.table({name: [value] * 6 for name, value in ends.items()}), "h3:5", hierarchy="h3")
    return fv.anonymize(flows, "suppression", k=5)


def test_a_geopackage_on_a_full_disk(small, tmp_path, monkeypatch, capsys):
    """What the library says when it cannot write is an error with a hint, and nothing is left."""

    def fail(*_, **__):
        raise DataLayerError("no such table: gpkg_contents")

    monkeypatch.setattr(pyogrio, "write_arrow", fail)
    folder = small.write(tmp_path / "out")

    assert run(["export", str(folder), "--to", "gpkg", "-o", str(tmp_path / "out.gpkg")]) == 2

    assert "hint: check that the disk has room" in capsys.readouterr().err
    assert sorted(path.name for path in tmp_path.iterdir()) == ["out", "out.audit.json"]


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no device that is full")
def test_a_workbook_on_a_full_disk(small, monkeypatch):
    """It is an error of the disk, and the library has nothing more to say of it later."""
    tables = read_tables(small.files)
    with pytest.raises(OSError, match="No space left"):
        excel.write(tables, Path("/dev/full"))

    def fail(*_):
        raise FileCreateError("No space left on device")

    monkeypatch.setattr(excel, "_fill", fail)
    with pytest.raises(fv.InputError, match="workbook cannot be written") as error:
        excel.write(tables, Path("/dev/full"))
    assert "TMPDIR" in error.value.hint
