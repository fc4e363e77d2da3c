"""Bad input of every kind ends with `error:`, `hint:` and the right exit code, and writes nothing."""

from __future__ import annotations

import json
import os
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyarrow import feather

from flowveil._cli.commands import run

ROWS = 40
BOX = "--bbox=4.4,50.2,4.9,50.6"

# Two places that exchange trips, far enough from each other for any grid.
TRIPS = pa.table(
    {
        "person_id": [f"p{row % 20}" for row in range(ROWS)],
        "weight": [1.5 + row % 20 for row in range(ROWS)],
        "start_lon": [4.5 if row % 2 else 4.7 for row in range(ROWS)],
        "start_lat": [50.3] * ROWS,
        "end_lon": [4.7 if row % 2 else 4.5 for row in range(ROWS)],
        "end_lat": [50.4] * ROWS,
    }
)
ZONE_TRIPS = pa.table({"person_id": TRIPS["person_id"], "origin": ["01", "02"] * 20, "destination": ["02"] * ROWS})
COUNTED = pa.table({"origin": ["01", "02"], "destination": ["02", "01"], "count": [20, 20]})
ZONES = pa.table({"zone_id": ["01", "02"], "town": ["A", "B"], "lon": [4.5, 4.7], "lat": [50.3, 50.4]})


def put(folder, name, content):
    """Write a table, text or bytes under a name, and return the path as text."""
    path = folder / name
    if isinstance(content, pa.Table):
        pq.write_table(content, path)
    elif isinstance(content, bytes):
        path.write_bytes(content)
    else:
        path.write_text(content, encoding="utf-8")
    return str(path)


def changed(table, **columns):
    """Return a table with columns replaced or added; a function gets the values of the column."""
    for name, values in columns.items():
        new = pa.array(values(table[name].to_pylist()) if callable(values) else values)
        known = name in table.column_names
        table = table.set_column(table.column_names.index(name), name, new) if known else table.append_column(name, new)
    return table


def first(value):
    """Return a function that puts `value` in the first row."""
    return lambda values: [value, *values[1:]]


def trips(folder, table=TRIPS):
    """Write trips, good ones if not told otherwise."""
    return put(folder, "trips.parquet", table)


def with_zones(folder, zones=ZONES, table=ZONE_TRIPS, name="zones.parquet"):
    """Return the arguments for trips by zone and a zones file."""
    return [trips(folder, table), "--zones", put(folder, name, zones)]


def csv(table):
    """Return a table as CSV text."""
    rows = [table.column_names, *zip(*(column.to_pylist() for column in table.columns), strict=True)]
    return "".join(",".join("" if value is None else str(value) for value in row) + "\n" for row in rows)


def geojson(features):
    """Return a GeoJSON document."""
    return json.dumps({"type": "FeatureCollection", "features": features})


def some_folder(folder, **files):
    """Make a folder with files and return its path as text."""
    (folder / "data").mkdir()
    for name, content in files.items():
        put(folder / "data", name.replace("_", "."), content)
    return str(folder / "data")


# name: (words of the message or hint, arguments made in a folder; `-o FOLDER/out` is added)
FILES = {
    "missing file": ("there is no file", lambda f: [str(f / "nope.parquet")]),
    "empty file": ("is empty", lambda f: [put(f, "t.csv", "")]),
    "empty Parquet": ("is empty", lambda f: [put(f, "t.parquet", b"")]),
    "header only": ("no rows", lambda f: [put(f, "t.csv", csv(TRIPS.slice(0, 0)))]),
    "Parquet without rows": ("no rows", lambda f: [trips(f, TRIPS.slice(0, 0))]),
    "not Parquet": ("cannot be read", lambda f: [put(f, "t.parquet", csv(TRIPS))]),
    "truncated Parquet": ("cannot be read", lambda f: [put(f, "t.parquet", cut(trips(f)))]),
    "not Arrow": ("cannot be read", lambda f: [put(f, "t.arrow", csv(TRIPS))]),
    "truncated Arrow": ("cannot be read", lambda f: [put(f, "t.feather", cut(arrow(f)))]),
    "junk as CSV": ("cannot be read", lambda f: [put(f, "t.csv", np.random.default_rng(1).bytes(4_000))]),
    "CSV in another encoding": (
        "cannot be read as ascii",
        lambda f: [put(f, "t.csv", csv(changed(TRIPS, who=["Zoë"] * ROWS)).encode("latin-1")), "--encoding", "ascii"],
    ),
    "CSV with a short line": ("as many values", lambda f: [put(f, "t.csv", csv(TRIPS) + "p1,1\n")]),
    "CSV with a long line": ("as many values", lambda f: [put(f, "t.csv", csv(TRIPS) + "p1,1,1,1,1,1,1,1\n")]),
    "CSV with a footer": ("as many values", lambda f: [put(f, "t.csv", csv(TRIPS) + "(40 rows)\n")]),
    "CSV with a preamble": ("no column for", lambda f: [put(f, "t.csv", "Trips of May\n\n" + csv(TRIPS))]),
    "CSV with a short line far below": (
        "look at this line",
        lambda f: [put(f, "t.csv", csv(pa.concat_tables([TRIPS] * 1_000)) + "p1,1\n")],
    ),
    "CSV without a header": ("no column for", lambda f: [put(f, "t.csv", csv(TRIPS).split("\n", 1)[1])]),
    "CSV with decimal commas in meters": (
        "not a number",
        lambda f: [
            put(f, "t.csv", csv(TRIPS).replace(",", ";").replace(".", ",")),
            *("--input-crs", "EPSG:32631"),
        ],
    ),
    "unknown ending": ("format", lambda f: [put(f, "t.doc", "x")]),
    "workbook": ("save its sheet as CSV", lambda f: [put(f, "t.xlsx", "x")]),
    "glob without match": ("there is no file", lambda f: [str(f / "*.parquet")]),
    "folder without trips": ("holds no trips", lambda f: [some_folder(f, readme_txt="x")]),
    "empty folder": ("holds no trips", lambda f: [some_folder(f)]),
    "mixed formats": ("different formats", lambda f: [some_folder(f, a_csv=csv(TRIPS), b_parquet=TRIPS)]),
    "name that is not text": ("UTF-8", lambda f: [odd_name(f)]),
}
COLUMNS = {
    "missing columns": (
        "no column for start_lon, start_lat",
        lambda f: [trips(f, TRIPS.drop_columns(["start_lon", "start_lat"]))],
    ),
    "mapped column missing": ("there is no column 'x1'", lambda f: [trips(f), "--columns", "start_lon=x1"]),
    "unknown meaning": ("column meaning 'lon1'", lambda f: [trips(f), "--columns", "lon1=start_lon"]),
    "columns without =": ("--columns NAME=VALUE", lambda f: [trips(f), "--columns", "start_lon"]),
    "columns without a name": ("--columns NAME=VALUE", lambda f: [trips(f), "--columns", "=start_lon"]),
    "column mapped to none": ("no column for end_lat", lambda f: [trips(f), "--columns", "end_lat="]),
    "dates for coordinates": (
        "not a number",
        lambda f: [trips(f, changed(TRIPS, end_lat=pa.array([0] * ROWS, pa.timestamp("s"))))],
    ),
    "unit missing": ("did you mean 'person_id'", lambda f: [trips(f), "--unit", "person"]),
    "weight missing": ("there is no column 'w'", lambda f: [trips(f), "--weight", "w"]),
    "unit called trip": ("rename the column", lambda f: [trips(f, changed(TRIPS, trip=[1] * ROWS)), "--unit", "trip"]),
    "all units null": (
        "null unit",
        lambda f: [trips(f, changed(TRIPS, who=pa.nulls(ROWS, pa.string()))), "--unit", "who"],
    ),
    "zone trips on a grid": ("--zones FILE", lambda f: [trips(f, ZONE_TRIPS)]),
    "points on zones": ("--grid", lambda f: with_zones(f, table=TRIPS)),
}
VALUES = {
    "all null": ("null coordinate", lambda f: [trips(f, changed(TRIPS, end_lat=pa.nulls(ROWS, pa.float64())))]),
    "column of nothing": ("null coordinate", lambda f: [trips(f, changed(TRIPS, end_lat=pa.nulls(ROWS)))]),
    "all NaN": ("not a number", lambda f: [trips(f, changed(TRIPS, end_lat=[np.nan] * ROWS))]),
    "all infinite": ("infinite", lambda f: [trips(f, changed(TRIPS, end_lon=[-np.inf] * ROWS))]),
    "all at latitude 91": ("out of range", lambda f: [trips(f, changed(TRIPS, end_lat=[91.0] * ROWS))]),
    "all text": ("not a number", lambda f: [trips(f, changed(TRIPS, end_lat=["north"] * ROWS))]),
    "swapped out of range": (
        "look exchanged",
        lambda f: [trips(f, changed(TRIPS, start_lat=[-122.4] * ROWS, start_lon=[37.7] * ROWS))],
    ),
    "swapped out of the bbox": (
        "look exchanged",
        lambda f: [
            trips(f),
            BOX,
            "--columns",
            "start_lon=start_lat,start_lat=start_lon,end_lon=end_lat,end_lat=end_lon",
        ],
    ),
    "count 0": ("bad count", lambda f: with_zones(f, table=changed(COUNTED, count=[0, 0]))),
    "count -1": ("bad count", lambda f: with_zones(f, table=changed(COUNTED, count=[-1, -1]))),
    "count 1.5": ("bad count", lambda f: with_zones(f, table=changed(COUNTED, count=[1.5, 1.5]))),
    "count is text": ("bad count", lambda f: with_zones(f, table=changed(COUNTED, count=["many", "few"]))),
    "count of one row": ("bad count", lambda f: [*with_zones(f, table=changed(COUNTED, count=[20, 0])), "--strict"]),
    "weights too large": (
        "64 bits",
        lambda f: [trips(f, changed(pa.concat_tables([TRIPS] * 125), weight=[1e9] * 125 * ROWS)), "--weight", "weight"],
    ),
    "unit with counts": (
        "already counted",
        lambda f: [*with_zones(f, table=changed(COUNTED, who=["a", "b"])), "--unit", "who"],
    ),
    "weight with counts": (
        "do not go with a counted table",
        lambda f: [*with_zones(f, table=changed(COUNTED, w=[1, 1])), "--weight", "w"],
    ),
    "weight negative": (
        "numbers of people",
        lambda f: [trips(f, changed(TRIPS, weight=first(-1.0))), "--weight", "weight"],
    ),
    "weight NaN": (
        "numbers of people",
        lambda f: [trips(f, changed(TRIPS, weight=first(np.nan))), "--weight", "weight"],
    ),
    "weight infinite": (
        "numbers of people",
        lambda f: [trips(f, changed(TRIPS, weight=first(np.inf))), "--weight", "weight"],
    ),
    "weight null": (
        "numbers of people",
        lambda f: [trips(f, changed(TRIPS, weight=first(None))), "--weight", "weight"],
    ),
    "weight too large": (
        "numbers of people",
        lambda f: [trips(f, changed(TRIPS, weight=first(1e10))), "--weight", "weight"],
    ),
    "weight is text": (
        "numbers of people",
        lambda f: [trips(f, changed(TRIPS, weight=["much"] * ROWS)), "--weight", "weight"],
    ),
    "two weights of a person": (
        "several values",
        lambda f: [trips(f, changed(TRIPS, weight=first(9.0))), "--weight", "weight", "--unit", "person_id"],
    ),
}
STRICT = {
    f"strict: {reason}": (reason, lambda f, table=table, more=more: [trips(f, table), "--strict", *more])
    for reason, table, more in [
        ("null coordinate", changed(TRIPS, end_lat=first(None)), []),
        ("not a number", changed(TRIPS, end_lat=first(np.nan)), []),
        ("infinite coordinate", changed(TRIPS, end_lat=first(np.inf)), []),
        ("out of range", changed(TRIPS, end_lon=first(181.0)), []),
        ("null unit", changed(TRIPS, person_id=first(" ")), ["--unit", "person_id"]),
    ]
} | {
    "strict: null zone": (
        "null zone",
        lambda f: [*with_zones(f, table=changed(ZONE_TRIPS, origin=first(""))), "--strict"],
    ),
    "strict: unknown zone": (
        "zones: 99",
        lambda f: [*with_zones(f, table=changed(ZONE_TRIPS, origin=first("99"))), "--strict"],
    ),
}
ZONE_FILES = {
    "only unknown zones": ("unknown zones: x", lambda f: with_zones(f, table=changed(ZONE_TRIPS, origin=["x"] * ROWS))),
    "leading zeros lost": ("looks like '01'", lambda f: with_zones(f, table=changed(ZONE_TRIPS, origin=[1] * ROWS))),
    "zones file missing": ("no zones file", lambda f: [trips(f, ZONE_TRIPS), "--zones", str(f / "nope.csv")]),
    "zones are a folder": ("no zones file", lambda f: [trips(f, ZONE_TRIPS), "--zones", str(f)]),
    "zones file empty": ("cannot be read", lambda f: with_zones(f, "", name="zones.csv")),
    "zones without rows": ("no zones", lambda f: with_zones(f, ZONES.slice(0, 0))),
    "zones are junk": ("cannot be read", lambda f: with_zones(f, b"\x00\xff" * 50)),
    "zones are not JSON": ("cannot be read", lambda f: with_zones(f, "{", name="z.geojson")),
    "zones are other JSON": ("cannot be read", lambda f: with_zones(f, "[1, 2]", name="z.geojson")),
    "GeoJSON without features": ("no zones", lambda f: with_zones(f, geojson([]), name="z.geojson")),
    "GeoJSON with odd properties": (
        "cannot be read",
        lambda f: with_zones(f, geojson([{"properties": [1]}]), name="z.geojson"),
    ),
    "GeoJSON with odd geometry": (
        "cannot be read",
        lambda f: with_zones(
            f,
            geojson([{"properties": {"id": "01"}, "geometry": {"type": "Polygon", "coordinates": "x"}}]),
            name="z.geojson",
        ),
    ),
    "duplicate zone": ("'01' occurs twice", lambda f: with_zones(f, changed(ZONES, zone_id=["01", "01"]))),
    "null zone id": ("every zone needs an id", lambda f: with_zones(f, changed(ZONES, zone_id=["01", None]))),
    "blank zone id": ("every zone needs an id", lambda f: with_zones(f, changed(ZONES, zone_id=["01", " "]))),
    "no id column": (
        "zone_id=COLUMN",
        lambda f: with_zones(f, changed(ZONES.drop_columns("zone_id"), a=["01", "02"], b=["1", "2"])),
    ),
    "id column mapped to nothing": (
        "there is no zone column 'no'",
        lambda f: [*with_zones(f), "--columns", "zone_id=no"],
    ),
    "column name twice": (
        "same name",
        lambda f: with_zones(f, "zone_id,zone_id,lon,lat\n01,01,4,50\n", name="zones.csv"),
    ),
    "no centroids for ward": ("2 of 2 zones have no place", lambda f: with_zones(f, ZONES.drop_columns("lat"))),
    "one centroid missing": (
        "1 of 2 zones have no place: 02",
        lambda f: with_zones(f, changed(ZONES, lat=[50.3, None])),
    ),
    "centroids in meters": (
        "on the globe",
        lambda f: with_zones(f, changed(ZONES, lon=[5e5, 6e5], lat=[5.5e6, 5.6e6])),
    ),
    "centroids are text": ("does not hold numbers", lambda f: with_zones(f, changed(ZONES, lat=["north", "south"]))),
    "bad shapes": ("cannot be read", lambda f: with_zones(f, ZONES.append_column("geometry", pa.array([b"x", b"y"])))),
    "bad CRS of shapes": (
        "cannot be read",
        lambda f: with_zones(
            f,
            ZONES.append_column("geometry", pa.array([None, None], pa.binary())).replace_schema_metadata(
                {"geo": json.dumps({"primary_column": "geometry", "columns": {"geometry": {"crs": "EPSG:0"}}})}
            ),
        ),
    ),
    "bad GeoParquet metadata": (
        "cannot be read",
        lambda f: with_zones(f, ZONES.replace_schema_metadata({"geo": "[]"})),
    ),
    "unknown hierarchy column": (
        "no zone column 'county'",
        lambda f: [*with_zones(f), "--hierarchy", "zone_id,county"],
    ),
    "hierarchy from coarse to fine": (
        "occurs twice",
        lambda f: [*with_zones(f, changed(ZONES, town=["A", "A"])), "--hierarchy", "town,zone_id"],
    ),
    "hierarchy with a column twice": ("distinct columns", lambda f: [*with_zones(f), "--hierarchy", "zone_id,zone_id"]),
    "blank hierarchy": ("no hierarchy", lambda f: [*with_zones(f), "--hierarchy", ""]),
    "H3 hierarchy for zones": ("no hierarchy 'h3'", lambda f: [*with_zones(f), "--hierarchy", "h3"]),
    "grid and zones": ("choose one", lambda f: [*with_zones(f), "--grid", "h3:8"]),
    "bbox with zones": ("does not go with zones", lambda f: [*with_zones(f), BOX]),
}
GRIDS = {
    name: (words, lambda f, more=more: [trips(f), *more])
    for name, words, more in [
        ("h3:16", "no resolution '16'", ["--grid", "h3:16"]),
        ("h3:-1", "no resolution '-1'", ["--grid", "h3:-1"]),
        ("h3 alone", "no resolution ''", ["--grid", "h3"]),
        ("grid foo:1", "no grid 'foo:1'", ["--grid", "foo:1"]),
        ("h3 with a zone hierarchy", "no hierarchy 'ward'", ["--hierarchy", "ward"]),
        ("h3 with a CRS", "no CRS to choose", ["--crs", "EPSG:32631"]),
        ("quadtree without bbox", "needs a bbox", ["--grid", "quadtree:200"]),
        ("quadtree:0", "not possible", ["--grid", "quadtree:0", BOX]),
        ("quadtree:-5", "not possible", ["--grid", "quadtree:-5", BOX]),
        ("quadtree:nan", "not possible", ["--grid", "quadtree:nan", BOX]),
        ("quadtree:big", "not a number", ["--grid", "quadtree:big", BOX]),
        ("quadtree with a hierarchy", "no hierarchy", ["--grid", "quadtree:200", BOX, "--hierarchy", "h3"]),
        ("unknown CRS", "there is no CRS", ["--grid", "quadtree:200", BOX, "--crs", "EPSG:1"]),
        ("geographic CRS", "not a plane in meters", ["--grid", "quadtree:200", BOX, "--crs", "EPSG:4326"]),
        ("CRS in feet", "not a plane in meters", ["--grid", "quadtree:200", BOX, "--crs", "EPSG:2263"]),
        (
            "bbox beyond a CRS",
            "reaches where",
            ["--grid", "quadtree:200", "--bbox=4,-90,5,60", "--crs", "EPSG:2154"],
        ),
        ("bbox of three", "not four numbers", ["--bbox=1,2,3"]),
        ("bbox of text", "not four numbers", ["--bbox=west,2,3,4"]),
        ("bbox with NaN", "not four numbers", ["--bbox=nan,2,3,4"]),
        ("bbox inverted", "empty or lies off", ["--bbox=4.9,50.2,4.4,50.6"]),
        ("bbox off the globe", "empty or lies off", ["--bbox=4.4,50.2,4.9,91"]),
        ("bbox that leaves nothing", "check the bbox", ["--bbox=0,0,1,1"]),
    ]
}
DEMANDS = {
    name: (words, lambda f, more=more: [trips(f), "--grid", "h3:5", *more])
    for name, words, more in [
        ("k 0", "k is 0", ["-k", "0"]),
        ("k -1", "k is -1", ["-k", "-1"]),
        ("k abc", "Invalid value for '-k'", ["-k", "abc"]),
        ("k 2.5", "Invalid value for '-k'", ["-k", "2.5"]),
        ("k-weight without weight", "k_weight needs weights", ["--k-weight", "5"]),
        ("k-weight 0", "k_weight is 0", ["--weight", "weight", "--k-weight", "0"]),
        ("k-weight NaN", "k_weight is nan", ["--weight", "weight", "--k-weight", "nan"]),
        ("min-tiles 0", "min_tiles is 0", ["--min-tiles", "0"]),
        ("unknown method", "did you mean 'suppression'", ["--method", "supression"]),
        ("unknown option of a method", "no option of odkanon 'level'", ["--method", "odkanon", "--option", "level=3"]),
        ("option of another method", "no option of suppression", ["--method", "suppression", "--option", "levels=3"]),
        ("option of the wrong type", "a whole number", ["--method", "odkanon", "--option", "levels=three"]),
        ("option that is no truth", "true or false", ["--method", "odkanon", "--option", "reinstate=perhaps"]),
        ("option out of range", "filter_budget is 2", ["--method", "odkanon", "--option", "filter_budget=2"]),
        ("option without =", "--option NAME=VALUE", ["--method", "odkanon", "--option", "levels"]),
        ("max-suppression 2", "max_suppression is 2", ["--max-suppression", "2"]),
        ("max-suppression -0.1", "max_suppression is -0.1", ["--max-suppression", "-0.1"]),
        ("max-suppression NaN", "max_suppression is nan", ["--max-suppression", "nan"]),
        ("where with a syntax error", "cannot be used", ["--where", "weight >"]),
        ("where with an unknown column", "cannot be used", ["--where", "wait > 1"]),
        ("where that counts", "cannot be used", ["--where", "count(*) > 1"]),
        ("where that is two statements", "", ["--where", "1 = 1); SELECT (1"]),
        ("where that fails on a row", "cannot be read", ["--where", "CAST(person_id AS INTEGER) > 1"]),
        ("where that keeps nothing", "no row fulfills", ["--where", "weight > 1000"]),
        ("memory nonsense", "not an amount", ["--memory", "plenty"]),
        ("memory without unit", "not an amount", ["--memory", "2"]),
        ("memory too small", "raise --memory", ["--memory", "1KB"]),
        ("unknown option", "No such option", ["--kk", "5"]),
        ("second input", "unexpected extra argument", ["more.parquet"]),
    ]
}
CASES = FILES | COLUMNS | VALUES | STRICT | ZONE_FILES | GRIDS | DEMANDS


def cut(path):
    """Return the first half of a file."""
    content = Path(path).read_bytes()
    return content[: len(content) // 2]


def arrow(folder):
    """Write trips as a Feather file."""
    feather.write_feather(TRIPS, folder / "whole.arrow")
    return folder / "whole.arrow"


def odd_name(folder):
    """Write trips under a name that is no UTF-8."""
    return put(folder, os.fsdecode(b"\xff.parquet"), Path(trips(folder)).read_bytes())


def names_in(folder):
    """Return the names in a folder, sorted."""
    return sorted(path.name for path in folder.iterdir())


def check_failure(capsys, code, words):
    """Check what a failed command says, and return it."""
    out, err = capsys.readouterr()
    lines = err.strip().splitlines()

    assert code == 2
    assert out == ""
    assert lines[-2].startswith("error: ")
    assert lines[-1].startswith("hint: ")
    assert words in err
    assert "Traceback" not in err
    assert "this is a bug" not in err
    return err


@pytest.mark.parametrize("name", CASES)
def test_bad_input(name, tmp_path, capsys):
    """It says what is wrong and what to do, exits 2, and leaves the folder as it was."""
    words, make = CASES[name]
    arguments = make(tmp_path)
    before = names_in(tmp_path)

    code = run(["anonymize", *arguments, "-o", str(tmp_path / "out")])

    check_failure(capsys, code, words)
    assert names_in(tmp_path) == before


@pytest.mark.slow
def test_good_input(tmp_path, capsys):
    """The trips and zones that the cases above spoil are fine by themselves."""
    points = run(
        ["anonymize", trips(tmp_path), "--grid", "h3:8", "-o", str(tmp_path / "points"), "--unit", "person_id"]
    )
    zones = run(["anonymize", *with_zones(tmp_path), "-o", str(tmp_path / "zones")])
    counts = run(["anonymize", *with_zones(tmp_path, table=COUNTED), "-o", str(tmp_path / "counts"), "--strict"])

    assert (points, zones, counts) == (0, 0, 0)
    assert "error" not in capsys.readouterr().err


@pytest.mark.parametrize("values", [["p1", "secret7"], ["1", "4711"]])
def test_errors_tell_no_person(values, tmp_path, capsys):
    """An error that the database raises on a row does not quote the row."""
    table = changed(TRIPS, person_id=[values[row % 2] for row in range(ROWS)])

    code = run(
        ["anonymize", trips(tmp_path, table), "--where", "CAST(person_id AS TINYINT) > 1", "-o", str(tmp_path / "o")]
    )

    err = check_failure(capsys, code, "cannot be read")
    assert values[1] not in err


class TestTarget:
    """Where a release may be written."""

    def fail(self, target, capsys, words, *more):
        """Run a command that fails because of its target, and return what is beside it."""
        folder = target.parent if target.parent.is_dir() else target.parent.parent
        source = trips(folder)
        before = names_in(folder)
        code = run(["anonymize", source, "--grid", "h3:8", "-o", str(target), *more])
        check_failure(capsys, code, words)
        assert names_in(folder) == before

    def test_exists(self, tmp_path, capsys):
        """A folder that exists is not written without --overwrite."""
        (tmp_path / "out").mkdir()

        self.fail(tmp_path / "out", capsys, "add --overwrite")

    def test_is_a_file(self, tmp_path, capsys):
        """A file is not replaced, not even with --overwrite."""
        (tmp_path / "out").write_text("mine")

        self.fail(tmp_path / "out", capsys, "is not a folder", "--overwrite")

        assert (tmp_path / "out").read_text() == "mine"

    def test_no_parent(self, tmp_path, capsys):
        """Folders above the target are not made."""
        self.fail(tmp_path / "no" / "out", capsys, "make it first")

    @pytest.mark.parametrize(
        "files",
        [
            {"notes.txt": "mine"},
            {"manifest.json": "{}", "notes.txt": "mine"},
            {"manifest.json": '{"name": "a web app"}'},
            {"manifest.json": '{"format": "flowveil-flows/1"}', "notes.txt": "mine"},
            {"manifest.json": "junk"},
        ],
    )
    def test_not_a_release(self, files, tmp_path, capsys):
        """--overwrite replaces releases, and nothing else that happens to be there."""
        (tmp_path / "out").mkdir()
        for name, text in files.items():
            (tmp_path / "out" / name).write_text(text)

        self.fail(tmp_path / "out", capsys, "nothing but releases", "--overwrite")

        assert {path.name: path.read_text() for path in (tmp_path / "out").iterdir()} == files

    def test_loop(self, tmp_path, capsys):
        """A link to itself is no folder."""
        (tmp_path / "out").symlink_to("out")

        self.fail(tmp_path / "out", capsys, "not a folder to write to")

    def test_name_too_long(self, tmp_path, capsys):
        """A name that the file system refuses is bad input."""
        self.fail(tmp_path / ("x" * 250), capsys, "too long")

    def test_name_that_is_not_text(self, tmp_path, capsys):
        """A name that no JSON can hold is refused before the work."""
        self.fail(tmp_path / os.fsdecode(b"\xff"), capsys, "not a folder to write to")

    @pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
    def test_no_rights(self, tmp_path, capsys):
        """A folder without the right to write is refused before the work."""
        source = trips(tmp_path)
        (tmp_path / "closed").mkdir(mode=0o500)

        code = run(["anonymize", source, "-o", str(tmp_path / "closed" / "out")])

        check_failure(capsys, code, "cannot be written")

    def test_is_missing(self, tmp_path, capsys):
        """Without -o there is nothing to do."""
        code = run(["anonymize", trips(tmp_path)])

        check_failure(capsys, code, "--output")


class TestPromise:
    """What cannot be promised exits 1, and writes nothing either."""

    @pytest.mark.slow
    @pytest.mark.parametrize(
        ("more", "words"),
        [
            (["--hierarchy", "h3", "-k", "41"], "k is 41, but the data has 40 trips"),
            (["--hierarchy", "h3", "-k", "21", "--unit", "person_id"], "k is 21, but the data has 20 persons"),
            (["--method", "odkanon", "-k", "41"], "not enough travelers"),
            (["--method", "odkanon", "-k", "21", "--unit", "person_id"], "not enough travelers"),
            (["--method", "suppression", "-k", "41"], "no flow reaches"),
            (["--method", "suppression", "-k", "21", "--unit", "person_id"], "no flow reaches"),
            (["--method", "suppression", "-k", "15", "--where", "start_lon < 4.6 OR person_id = 'p0'"], ""),
            (["--method", "odkanon", "-k", "1", "--weight", "weight", "--k-weight", "1e6"], "not enough travelers"),
        ],
    )
    def test_not_kept(self, more, words, tmp_path, capsys):
        """A k beyond the trips or persons there are, or a budget the method cannot keep."""
        source = trips(tmp_path)
        budget = ["--max-suppression", "0.05"] if "p0" in more[-1] else []

        code = run(["anonymize", source, "--grid", "h3:8", *more, *budget, "-o", str(tmp_path / "out")])

        out, err = capsys.readouterr()
        assert (code, out) == (1, "")
        assert "error: " in err
        assert "hint: " in err
        assert words in err
        assert "this is a bug" not in err
        assert names_in(tmp_path) == ["trips.parquet"]

    def test_kept_without_a_budget(self, tmp_path, capsys):
        """The same suppression is fine where the user gave no budget, and its share is told."""
        arguments = ["--grid", "h3:8", "-k", "15", "--where", "start_lon < 4.6 OR person_id = 'p0'"]

        code = run(["anonymize", trips(tmp_path), *arguments, "--method", "suppression", "-o", str(tmp_path / "out")])

        assert code == 0
        assert "20 of 22 trips (9.091% left out)" in capsys.readouterr().out


class TestReadBack:
    """Commands that read a release refuse what is none."""

    @pytest.fixture
    def release(self, tmp_path, capsys):
        """Return a release and its trips."""
        assert run(["anonymize", trips(tmp_path), "--grid", "h3:8", "-o", str(tmp_path / "out")]) == 0
        capsys.readouterr()
        return tmp_path / "out", str(tmp_path / "trips.parquet")

    @pytest.mark.parametrize("command", ["verify", "evaluate"])
    def test_no_release(self, command, tmp_path, capsys):
        """A folder that does not exist."""
        code = run([command, str(tmp_path / "nope"), "--against", trips(tmp_path)])

        check_failure(capsys, code, "nope")

    @pytest.mark.parametrize("command", ["verify", "evaluate"])
    def test_no_trips(self, command, release, capsys):
        """Trips that do not exist."""
        code = run([command, str(release[0]), "--against", "nope.parquet"])

        check_failure(capsys, code, "there is no file")

    @pytest.mark.parametrize("command", ["verify", "evaluate"])
    def test_no_against(self, command, release, capsys):
        """Trips that are not named."""
        code = run([command, str(release[0])])

        check_failure(capsys, code, "--against")

    @pytest.mark.slow
    @pytest.mark.parametrize(
        "audit",
        [
            "{",
            "[]",
            '{"input": 5}',
            "\xff",
            '{"format": "flowveil-audit/1", "input": {"where": 5}}',
            '{"format": "flowveil-audit/1", "input": {"columns": ["x"]}}',
            '{"format": "flowveil-audit/1", "input": {"zones": {}}}',
        ],
    )
    @pytest.mark.parametrize("command", ["verify", "evaluate"])
    def test_bad_audit(self, command, audit, release, capsys):
        """An audit file that somebody broke."""
        folder, source = release
        folder.with_name("out.audit.json").write_text(audit, encoding="latin-1")

        code = run([command, str(folder), "--against", source])

        check_failure(capsys, code, "audit")

    @pytest.mark.slow
    @pytest.mark.parametrize("manifest", ["{", "[]", "{}", '{"format": "flowveil-flows/1"}', '{"format": 7}'])
    def test_bad_manifest(self, manifest, release, capsys):
        """A manifest that somebody broke: evaluate cannot be used (verify says that the promise does not hold)."""
        folder, source = release
        (folder / "manifest.json").write_text(manifest)

        code = run(["evaluate", str(folder), "--against", source])

        check_failure(capsys, code, "release")

    def test_other_columns(self, release, capsys):
        """A table that somebody replaced."""
        folder, source = release
        pq.write_table(pa.table({"origin": ["x"]}), folder / "flows.parquet")

        code = run(["evaluate", str(folder), "--against", source])

        check_failure(capsys, code, "the columns of flows.parquet are not")

    def test_unknown_way_to_count(self, release, capsys):
        """A way to count tiles that does not exist."""
        code = run(["evaluate", str(release[0]), "--against", release[1], "--tiles", "some"])

        check_failure(capsys, code, "tree or all")
