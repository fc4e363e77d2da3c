"""Trips are read the same whatever they come in, and dirty rows are counted by the right reason."""

from __future__ import annotations

import gzip
import math
import tempfile
from collections import Counter, defaultdict
from pathlib import Path

import h3
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.csv as pacsv
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pyarrow import feather

import flowveil as fv
from flowveil.synthetic import City

COORDINATES = ("start_lon", "start_lat", "end_lon", "end_lat")
CITY = City(seed=3, persons=60).trips(600)
ZONES = pa.table({"zone_id": ["a", "b", "007"], "lon": [4.5, 4.6, 4.7], "lat": [50.3, 50.4, 50.5]})


def points(rows=20, **columns):
    """Return good trips between two points, with columns replaced or added."""
    good = {"start_lon": [4.5] * rows, "start_lat": [50.3] * rows, "end_lon": [4.6] * rows, "end_lat": [50.4] * rows}
    return pa.table(good | columns)


def first(value, good, rows=20):
    """Return a column with one odd value."""
    return [value] + [good] * (rows - 1)


def zone_trips(origin, **columns):
    """Return trips by zone, all to zone b."""
    return pa.table({"origin": origin, "destination": ["b"] * len(origin)} | columns)


def zone_flows(trips, **options):
    """Count trips between the three zones, however many of them are dirty."""
    return fv.build_flows(trips, zones=ZONES, hierarchy=["zone_id"], **{"max_unusable": 1} | options)


def pairs(flows):
    """Return trips by pair of tile ids."""
    origin = flows.places.ids(flows.origins, flows.origin)
    destination = flows.places.ids(flows.destinations, flows.destination)
    ends = [tuple(name.removeprefix("zone_id=") for name in pair) for pair in zip(origin, destination, strict=True)]
    return dict(zip(ends, flows.trips.tolist(), strict=True))


def arrays(flows):
    """Return everything a method sees of flows, as lists."""
    people = flows.people
    found = [flows.origins.key, flows.destinations.key, flows.origin, flows.destination, flows.trips, flows.weight]
    found += [] if people is None else [people.pair, people.person, people.weight]
    return [None if array is None else array.tolist() for array in found]


def write_csv(table, path):
    """Write a table as CSV with pandas, which is how most CSV files come to be."""
    table.to_pandas().to_csv(path, index=False)
    return path


def put_lines(path, join):
    """Write the city as CSV with lines joined in some way."""
    lines = CITY.to_pandas().to_csv(index=False).encode().splitlines()
    path.write_bytes(join(lines))
    return path


def write_gz(table, path):
    """Write a table as compressed CSV."""
    write_csv(table, path.with_suffix(""))
    path.write_bytes(gzip.compress(path.with_suffix("").read_bytes()))
    path.with_suffix("").unlink()
    return path


def write_parts(table, folder, write, ending):
    """Write a table as three files and return their paths."""
    folder.mkdir()
    parts = [table.slice(0, 100), table.slice(100, 450), table.slice(550)]
    paths = [folder / f"part-{number}.{ending}" for number in range(3)]
    for part, path in zip(parts, paths, strict=True):
        write(part, path)
    return paths


SOURCES = {
    "CSV": lambda f: write_csv(CITY, f / "t.csv"),
    "CSV as text": lambda f: str(write_csv(CITY, f / "t.csv")),
    "CSV.gz": lambda f: write_gz(CITY, f / "t.csv.gz"),
    "CSV by Arrow": lambda f: (pacsv.write_csv(CITY, f / "t.CSV"), f / "t.CSV")[1],
    "CSV with semicolons": lambda f: (CITY.to_pandas().to_csv(f / "t.csv", sep=";", index=False), f / "t.csv")[1],
    "CSV with tabs and a BOM": lambda f: (
        CITY.to_pandas().to_csv(f / "t.csv", sep="\t", index=False, encoding="utf-8-sig"),
        f / "t.csv",
    )[1],
    "CSV of Windows": lambda f: (CITY.to_pandas().to_csv(f / "t.csv", lineterminator="\r\n"), f / "t.csv")[1],
    "CSV of Windows with a line added": lambda f: put_lines(f / "t.csv", lambda lines: b"\r\n".join(lines) + b"\n"),
    "CSV with one line of Windows": lambda f: put_lines(
        f / "t.csv", lambda lines: b"\r\n".join([lines[0], b"\n".join(lines[1:])])
    ),
    "CSV in UTF-16": lambda f: (CITY.to_pandas().to_csv(f / "t.csv", index=False, encoding="utf-16"), f / "t.csv")[1],
    "Parquet": lambda f: (pq.write_table(CITY, f / "t.parquet"), f / "t.parquet")[1],
    "Parquet without statistics": lambda f: (
        pq.write_table(CITY, f / "t.pq", write_statistics=False, row_group_size=50),
        f / "t.pq",
    )[1],
    "Feather": lambda f: (feather.write_feather(CITY, f / "t.feather"), f / "t.feather")[1],
    "list of files": lambda f: write_parts(CITY, f / "d", pq.write_table, "parquet"),
    "files in another order": lambda f: write_parts(CITY, f / "d", write_csv, "csv")[::-1],
    "glob": lambda f: (write_parts(CITY, f / "d", pq.write_table, "parquet"), str(f / "d" / "*.parquet"))[1],
    "glob of folders": lambda f: (write_parts(CITY, f / "d", write_csv, "csv"), str(f / "**" / "part-?.csv"))[1],
    "folder": lambda f: (write_parts(CITY, f / "d", pq.write_table, "parquet"), f / "d")[1],
    "folder with keys in names": lambda f: (pq.write_to_dataset(CITY, f / "d", partition_cols=["sex"]), f / "d")[1],
    "folder of CSV.gz": lambda f: (write_parts(CITY, f / "d", write_gz, "csv.gz"), f / "d")[1],
    "the same files twice": lambda f: [*write_parts(CITY, f / "d", write_csv, "csv"), f / "d", f / "d" / ".." / "d"],
    "Arrow": lambda _: CITY,
    "Arrow in chunks": lambda _: pa.concat_tables([CITY.slice(0, 7), CITY.slice(7)]),
    "Arrow reader": lambda _: CITY.to_reader(max_chunksize=50),
    "record batch": lambda _: CITY.combine_chunks().to_batches()[0],
    "pandas": lambda _: CITY.to_pandas(),
    "pandas with an index": lambda _: CITY.to_pandas().set_index("person_id", drop=False).sort_index(),
    "pandas with categories": lambda _: CITY.to_pandas().astype({"person_id": "category"}),
    "polars": lambda _: pl.from_arrow(CITY),
    "polars that is lazy": lambda _: pl.from_arrow(CITY).lazy(),
    "read_trips": lambda _: fv.read_trips(CITY),
}


@pytest.fixture(scope="module")
def expected():
    """Return the flows of the city as lists."""
    return arrays(fv.build_flows(CITY, "h3:8", unit="person_id", weight="weight"))


@pytest.mark.slow
@pytest.mark.parametrize("name", SOURCES)
def test_same_trips_from_everywhere(name, tmp_path, expected):
    """The same trips give the same flows from every kind of file, frame and table."""
    flows = fv.build_flows(SOURCES[name](tmp_path), "h3:8", unit="person_id", weight="weight")

    assert arrays(flows) == expected
    assert flows.total == len(CITY)
    assert flows.provenance.dropped == {}


def test_keys_in_names_of_folders_are_columns(tmp_path):
    """Groups and conditions take keys of folders like columns; a key with leading zeros stays as it is."""
    days = pa.array([f"00{number % 3}" for number in range(len(CITY))])
    pq.write_to_dataset(CITY.append_column("day", days), tmp_path / "d", partition_cols=["day"])

    flows = fv.build_flows(fv.read_trips(tmp_path / "d", where="day > '000'"), "h3:3", by="day")

    assert flows.matrices.column("day").to_pylist() == ["001", "002"]
    assert flows.total == 400


def test_folder_skips_what_is_no_data(tmp_path):
    """Notes that programs leave in a folder under hidden names are not read as trips."""
    pq.write_table(CITY, tmp_path / "t.parquet")
    (tmp_path / "._t.parquet").write_bytes(b"Mac OS X")
    (tmp_path / "_metadata.parquet").write_bytes(b"Spark")
    (tmp_path / "README.txt").write_text("by hand")

    assert fv.build_flows(tmp_path, "h3:8").total == len(CITY)


ODD_PATHS = ("it's", 'a"b', "Zürich ☃", "a b", "a[1]", "a*", "a?", "a{b,c}", "a#1", "100%", "$HOME", "~", "-o", "x=1")


@pytest.mark.slow
@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_odd_path(ending, tmp_path):
    """Paths are taken as they are; what looks like a pattern does not read the file beside it."""
    write = write_csv if ending == "csv" else pq.write_table
    write(points(99), tmp_path / f"a1.{ending}")

    for name in ODD_PATHS:
        write(points(), tmp_path / f"{name}.{ending}")

        assert (name, fv.build_flows(tmp_path / f"{name}.{ending}", "h3:8").total) == (name, 20)


@pytest.mark.slow
@pytest.mark.parametrize(
    "names",
    [
        ("with space", 'qu"ote', "it's", "Länge ☃", "GROUP", "1"),
        ("select", "count", "a;b", "100%", "origin", "tile"),
        ("weight", "unit", "problem", "end_lat", "START_LON", "null_start_lon"),
    ],
)
@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_odd_column_names(names, ending, tmp_path):
    """Coordinates, person and weight may stand in columns of any name, and conditions may use them."""
    path = tmp_path / f"t.{ending}"
    table = points(person=[f"p{row % 5}" for row in range(20)], w=[2.0] * 20).rename_columns(names)
    (write_csv if ending == "csv" else pq.write_table)(table, path)
    longitude = '"' + names[0].replace('"', '""') + '"'

    trips = fv.read_trips(path, dict(zip(COORDINATES, names, strict=False)), where=f"{longitude} BETWEEN 4 AND 5")
    flows = fv.build_flows(trips, "h3:8", unit=names[4], weight=names[5])

    assert arrays(flows)[:5] == arrays(fv.build_flows(points(), "h3:8"))[:5]
    assert len(flows.people.pair) == 5
    assert flows.weight.tolist() == [40_000_000]


def test_exchanged_columns():
    """Names that are mapped to each other do not get mixed up."""
    table = points()
    exchanged = {"start_lon": "start_lat", "start_lat": "start_lon", "end_lon": "end_lat", "end_lat": "end_lon"}
    spelled = table.rename_columns([exchanged[name] for name in table.column_names])

    flows = fv.build_flows(fv.read_trips(spelled, exchanged), "h3:8")

    assert arrays(flows) == arrays(fv.build_flows(table, "h3:8"))


@pytest.mark.parametrize(
    ("columns", "grid"),
    [
        (["lng_o", "lat_o", "lng_d", "lat_d"], True),  # scikit-mobility
        (["pickup_longitude", "pickup_latitude", "dropoff_longitude", "dropoff_latitude"], True),  # taxis to 2016
        (["start_lng", "start_lat", "end_lng", "end_lat"], True),  # bike sharing
        (["origin_lon", "origin_lat", "dest_lon", "dest_lat"], True),
        (["start station longitude", "Start Station Latitude", "end station longitude", "end_station-latitude"], True),
        (["origin", "dest", "count"], False),  # flowmap.blue
        (["origin", "destination", "flow"], False),  # scikit-mobility
        (["PULocationID", "DOLocationID"], False),  # taxis since 2016
    ],
)
def test_recognized_columns(columns, grid):
    """Names of other programs need no mapping."""
    if grid:
        flows = fv.build_flows(points().rename_columns(columns), "h3:8")
        assert flows.total == 20
    else:
        table = pa.table(dict(zip(columns, (["a", "a"], ["b", "b"], [3, 4]), strict=False)))
        assert pairs(zone_flows(table)) == {("a", "b"): 7 if len(columns) == 3 else 2}


class TestDirt:
    """Rows that cannot be used are dropped and counted by reason."""

    @pytest.mark.parametrize("source", ["arrow", "parquet", "many row groups", "csv", "polars", "pandas"])
    def test_coordinates(self, source, tmp_path):
        """Each kind of dirt in a column of its own, so that statistics of Parquet files may hide it."""
        rows = 200
        good = [4 + row / 1_000 for row in range(rows)]
        table = points(
            rows,
            start_lon=[math.inf, -math.inf, *good[2:]],
            start_lat=[*good[:2], 90.000001, -91.0, 1e300, *good[5:]],
            end_lon=pa.array([*good[:5], *[None] * 4, *good[9:]]),
            end_lat=[*good[:9], *[math.nan] * 5, *good[14:]],
        )
        path = tmp_path / ("t.csv" if source == "csv" else "t.parquet")
        if source == "csv":
            pacsv.write_csv(table, path)
        else:
            pq.write_table(table, path, row_group_size=rows if source == "parquet" else 10)
        frames = {"arrow": table, "polars": pl.from_arrow(table), "pandas": table.to_pandas()}

        flows = fv.build_flows(frames.get(source, path), "h3:8")

        null, nan = (9, 0) if source == "pandas" else (4, 5)  # pandas has one word for both
        expected = {"infinite coordinate": 2, "out of range": 3, "null coordinate": null, "not a number": nan}
        assert flows.total == rows - 14
        assert flows.provenance.dropped == {reason: count for reason, count in expected.items() if count}
        assert flows.provenance.rows == rows

    def test_pandas_gap(self):
        """A frame of pandas keeps a gap in numbers as NaN, and hands it over as null."""
        frame = pd.DataFrame({name: [4.0, 4.0, 4.0] for name in COORDINATES})
        frame.loc[1, "end_lat"] = np.nan
        frame["who"] = [1, 2, np.nan]

        flows = fv.build_flows(frame, "h3:8", unit="who", max_unusable=1)

        assert flows.total == 1
        assert flows.provenance.dropped == {"null coordinate": 1, "null unit": 1}

    def test_text_far_below(self, tmp_path):
        """Text in a number column is dropped, however far below the lines that the database looks at first."""
        lines = ["start_lon,start_lat,end_lon,end_lat,note"] + ["4.5,50.3,4.6,50.4,7"] * 50_000
        lines += ["4.5,N/A,4.6,50.4,7", "4.5,,4.6,50.4,7", "4.5,50.3,4.6,50.4,not a number"]
        (tmp_path / "t.csv").write_text("\n".join(lines))

        flows = fv.build_flows(tmp_path / "t.csv", "h3:8")

        assert flows.total == 50_001
        assert flows.provenance.dropped == {"not a number": 1, "null coordinate": 1}

    @pytest.mark.parametrize("marker", ["#", "--", "//", ";"])
    def test_no_comments(self, marker, tmp_path):
        """No line is taken for a comment."""
        lines = [f"{marker}{row},a,b" for row in range(5)] + ["5,a,b"]
        (tmp_path / "t.csv").write_text("\n".join(["who,origin,destination", *lines]))

        flows = zone_flows(tmp_path / "t.csv", unit="who")

        assert (flows.total, len(flows.people.pair)) == (6, 6)

    def test_quotes(self, tmp_path):
        """Quoted commas and line breaks belong to a value; apostrophes are no quotes."""
        text = 'note,origin,destination\n"one, two",a,b\n"three\nfour",a,b\n\'five,a,b\nsix\',a,b\n"se""ven",a,b\n'
        (tmp_path / "t.csv").write_text(text)

        assert pairs(zone_flows(tmp_path / "t.csv")) == {("a", "b"): 5}

    @pytest.mark.slow
    @pytest.mark.parametrize("unit", [None, "", "  ", "\t"])
    def test_blank_unit(self, unit, tmp_path):
        """A trip of nobody is dropped."""
        table = points(who=first(unit, "p1"))
        pq.write_table(table, tmp_path / "t.parquet")

        for source in (table, tmp_path / "t.parquet", write_csv(table, tmp_path / "t.csv")):
            flows = fv.build_flows(source, "h3:8", unit="who")

            assert flows.total == 19
            assert flows.provenance.dropped == {"null unit": 1}

    def test_nan_unit(self, tmp_path):
        """NaN is nobody, whatever the statistics of a file say."""
        pq.write_table(points(who=[math.nan, *map(float, range(19))]), tmp_path / "t.parquet")

        flows = fv.build_flows(tmp_path / "t.parquet", "h3:8", unit="who")

        assert flows.provenance.dropped == {"null unit": 1}
        assert len(flows.people.pair) == 19

    def test_zones(self, tmp_path):
        """Blank and unknown zones have reasons of their own, and the unknown ones are named."""
        table = zone_trips(["a", None, "", " ", "x", "y", " a "])
        pq.write_table(table, tmp_path / "t.parquet")

        for source in (table, tmp_path / "t.parquet", write_csv(table, tmp_path / "t.csv")):
            flows = zone_flows(source)

            assert pairs(flows) == {("a", "b"): 2}
            assert flows.provenance.dropped == {"null zone": 3, "unknown zone": 2}
            assert flows.provenance.unknown_zones == ("x", "y")

    def test_counts(self):
        """Counts that are no positive whole numbers are dropped, the others are added."""
        table = zone_trips(["a"] * 8, count=[3.0, 4.0, 0.0, -1.0, 1.5, None, math.nan, math.inf])

        flows = zone_flows(table)

        assert pairs(flows) == {("a", "b"): 7}
        assert flows.provenance.dropped == {"bad count": 6}

    def test_nothing_is_counted_twice(self):
        """A row with several faults is dropped once."""
        table = points(2, start_lon=[None, 4.5], end_lat=[math.nan, 50.4], who=[None, "p"])

        flows = fv.build_flows(table, "h3:8", unit="who", bbox="4,50,5,51", max_unusable=1)

        assert flows.provenance.dropped == {"null coordinate": 1}
        assert flows.provenance.rows == 2

    def test_out_of_reach(self):
        """Points that a projection does not reach have a reason of their own."""
        table = points(start_lat=first(-89.9999999, 48.0))

        flows = fv.build_flows(table, "quadtree:1000", bbox="4,-89.99999999,5,60", crs="EPSG:2154")

        assert flows.total == 19
        assert flows.provenance.dropped == {"out of reach of the grid": 1}


class TestZoneIds:
    """Zone ids are text."""

    def test_leading_zeros(self, tmp_path):
        """007 in a CSV file is 007."""
        (tmp_path / "t.csv").write_text("origin,destination\n007,b\n007,b\n7,b\n")

        flows = zone_flows(tmp_path / "t.csv")

        assert pairs(flows) == {("007", "b"): 2}
        assert any("'7' of the trips looks like '007'" in note for note in flows.provenance.notes)

    @pytest.mark.slow
    @pytest.mark.parametrize("zone_type", [pa.int32(), pa.float64(), pa.string()])
    def test_types_do_not_matter(self, zone_type):
        """Whole numbers match as integers, as floats (which pandas makes beside a gap) and as text."""
        zones = pa.table({"zone_id": pa.array([1, 2]).cast(zone_type), "lon": [4.0, 5.0], "lat": [50.0, 51.0]})

        for trip_type in (pa.int8(), pa.uint64(), pa.float32(), pa.float64(), pa.string()):
            ends = pa.array([1, 2, None], pa.int64()).cast(trip_type)
            trips = pa.table({"origin": ends, "destination": ends})
            flows = fv.build_flows(trips, zones=zones, hierarchy=["zone_id"], max_unusable=1)

            assert pairs(flows) == {("1", "1"): 1, ("2", "2"): 1}
            assert flows.provenance.dropped == {"null zone": 1}

    @pytest.mark.parametrize("ending", ["csv", "parquet"])
    def test_blanks_around_ids(self, ending, tmp_path):
        """Blanks around an id do not matter, neither in the trips nor in the zones."""
        path = tmp_path / f"zones.{ending}"
        (write_csv if ending == "csv" else pq.write_table)(
            pa.table({"zone_id": [" a", "b "], "town": ["T", " T"]}), path
        )

        flows = fv.build_flows(zone_trips(["a ", "b"]), zones=path, hierarchy=["zone_id", "town"])

        assert flows.total == 2
        assert len(flows.origins) == 4

    def test_places_may_be_missing(self, tmp_path):
        """With columns as hierarchy a zone needs no place: blank coordinates in a CSV file are none."""
        (tmp_path / "zones.csv").write_text("zone_id,town,lon,lat\na,T,4.5,50.3\nb,T,,\n")

        flows = fv.build_flows(zone_trips(["a", "b"]), zones=tmp_path / "zones.csv", hierarchy=["zone_id", "town"])

        assert np.isnan(flows.places.table.lon).tolist() == [False, True]


class TestSelection:
    """Which rows are wanted."""

    def test_bbox_bounds_are_inside(self):
        """A trip on the edge of the bbox is inside, one beyond it is not, and is no bad row."""
        table = points(3, start_lon=[4.5, np.nextafter(4.5, 0), 4.5], end_lat=[50.4, 50.4, np.nextafter(50.4, 60)])

        flows = fv.build_flows(table, "h3:8", bbox=(4.5, 50.3, 4.6, 50.4), strict=True)

        assert flows.total == 1
        assert flows.provenance.outside_bbox == 2
        assert flows.provenance.dropped == {}

    @pytest.mark.parametrize("box", ["-180,-90,180,90", (-180, -90, 180, 90)])
    def test_bbox_of_the_world(self, box):
        """The ends of the world are in it."""
        table = points(4, start_lon=[180.0, -180.0, 0.0, 0.0], start_lat=[0.0, 0.0, 90.0, -90.0])

        assert fv.build_flows(table, "h3:2", bbox=box).total == 4

    @pytest.mark.slow
    @pytest.mark.parametrize(
        ("where", "kept"),
        [
            ("start_lon > 4.55", 10),
            ("start_lon > 4", 20),
            ("CAST(start_lon AS VARCHAR) = '4.5'", 10),
            ("n % 2 = 0 AND who <> 'p1'", 10),
            ("who IN ('p0', 'p1')", 20),
            ("day >= '2024-05-02'", 10),
            ("day >= DATE '2024-05-02' -- since the strike", 10),
            ("code = 7", 20),
            ("code = '007'", 20),
        ],
    )
    @pytest.mark.parametrize("source", ["csv", "parquet"])
    def test_where(self, where, kept, source, tmp_path):
        """A condition means the same on a CSV file and a Parquet file, also on the columns that are read."""
        table = points(
            start_lon=[4.5, 4.6] * 10,
            n=list(range(20)),
            who=[f"p{row % 2}" for row in range(20)],
            day=pa.array(["2024-05-01", "2024-05-02"] * 10).cast(pa.date32()),
            code=[7] * 20,
        )
        pq.write_table(table, tmp_path / "t.parquet")
        write_csv(table, tmp_path / "t.csv")

        flows = fv.build_flows(fv.read_trips(tmp_path / f"t.{source}", where=where), "h3:8", unit="who")

        assert flows.total == kept
        assert flows.provenance.rows == kept

    def test_where_on_ids_of_a_csv(self, tmp_path):
        """A condition on a column that is read as text sees numbers, and the text keeps its zeros."""
        (tmp_path / "t.csv").write_text("origin,destination,count\n007,b,3\n8,b,12\n")

        trips = fv.read_trips(tmp_path / "t.csv", where="count < 10 AND origin = '007'")

        assert pairs(zone_flows(trips)) == {("007", "b"): 3}

    def test_count_that_is_none(self):
        """A column called count that is no count can be disowned."""
        trips = fv.read_trips(zone_trips(["a", "a"], count=["x", "y"]), {"count": ""})

        assert pairs(zone_flows(trips)) == {("a", "b"): 2}

    def test_count_on_a_grid(self):
        """On a grid a column called count is used only if it is mapped."""
        table = points(count=[5] * 20)

        assert fv.build_flows(table, "h3:8").total == 20
        assert fv.build_flows(fv.read_trips(table, {"count": "count"}), "h3:8").total == 100


class TestNothing:
    """What is no table of trips."""

    @pytest.mark.parametrize("source", [None, 5, [], {}, [5], b"t.csv", object()])
    def test_other_types(self, source):
        """Other objects are refused with an error of our own."""
        with pytest.raises(fv.InputError, match="cannot be read from"):
            fv.read_trips(source)

    def test_mixed_types(self):
        """A column of a frame that is neither text nor numbers is refused with an error of our own."""
        frame = points().to_pandas()
        frame["who"] = ["p1", 2] * 10

        with pytest.raises(fv.InputError, match="one type"):
            fv.read_trips(frame)


class TestTemporaryFiles:
    """Spilled trips do not stay on disk."""

    @pytest.fixture(autouse=True)
    def folder(self, tmp_path, monkeypatch):
        """Make an empty folder the one for temporary files."""
        (tmp_path / "temporary").mkdir()
        monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "temporary"))
        return tmp_path / "temporary"

    def test_after_success(self, folder):
        """Nothing is left after a run."""
        fv.build_flows(CITY, "h3:8", unit="person_id")

        assert list(folder.iterdir()) == []

    @pytest.mark.parametrize(
        "options",
        [{"unit": "person_id", "weight": "trip_id"}, {"bbox": "0,0,1,1"}, {"memory": "1KB"}, {"memory": "lots"}],
    )
    def test_after_an_error(self, options, folder):
        """Nothing is left after an error, early or late."""
        with pytest.raises(fv.InputError):
            fv.build_flows(CITY, "h3:8", **options)

        assert list(folder.iterdir()) == []

    def test_after_a_failure_inside(self, folder, monkeypatch):
        """Nothing is left when our own code fails in the middle of a query."""
        monkeypatch.setattr("flowveil._places.h3grid.cells_of_points", lambda *_: 1 / 0)

        with pytest.raises(fv.InputError):
            fv.build_flows(CITY, "h3:8")

        assert list(folder.iterdir()) == []

    @pytest.mark.slow
    def test_while_it_spills(self, folder, tmp_path):
        """With little memory the same flows come out, and nothing is left."""
        path = tmp_path / "t.parquet"
        pq.write_table(City(persons=20_000).trips(200_000), path)

        flows = fv.build_flows(path, "h3:10", unit="person_id", memory="60MB")

        assert flows.total == 200_000
        assert list(folder.iterdir()) == []


# Small tables with dirt: two zones that exist, one that does not, and every kind of blank.
ENDS = st.sampled_from(["a", "b", "007", " a", "zz", "", None])
PERSONS = st.sampled_from(["p1", "p2", "p3", "p3 ", " ", None])
WEIGHTS = {"p1": 0.1, "p2": 0.2, "p3": 1e-6, None: 3.3}
SLOW = settings(max_examples=20, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


def clean(text):
    """Return text without blanks around it, None if there is nothing else."""
    return (text or "").strip() or None


@pytest.mark.slow
@given(rows=st.lists(st.tuples(ENDS, ENDS, PERSONS), min_size=1, max_size=30), seed=st.integers(0, 9))
@SLOW
def test_flows_are_a_plain_count(rows, seed):
    """Trips, distinct persons and weights by pair are what a dict counts, in any order of rows."""
    weights = [WEIGHTS[clean(person)] for _, _, person in rows]
    columns = dict(zip(("origin", "destination", "person"), map(list, zip(*rows, strict=True)), strict=True))
    table = pa.table({name: pa.array(values, pa.string()) for name, values in columns.items()} | {"w": weights})
    trips, persons, dropped = Counter(), defaultdict(set), Counter()
    for origin, destination, person in (tuple(map(clean, row)) for row in rows):
        if origin is None or destination is None:
            dropped["null zone"] += 1
        elif person is None:
            dropped["null unit"] += 1
        elif "zz" in (origin, destination):
            dropped["unknown zone"] += 1
        else:
            trips[origin, destination] += 1
            persons[origin, destination].add(person)

    if not trips:
        with pytest.raises(fv.InputError, match="no trip can be used"):
            zone_flows(table, unit="person", weight="w")
        return
    flows = zone_flows(table, unit="person", weight="w")
    shuffled = table.take(np.random.default_rng(seed).permutation(len(rows)))

    assert pairs(flows) == trips
    assert flows.provenance.dropped == dropped
    assert np.bincount(flows.people.pair).tolist() == [len(persons[pair]) for pair in pairs(flows)]
    names = sorted(set().union(*persons.values()))
    found = [[names[n] for n in flows.people.person[flows.people.pair == pair]] for pair in range(len(flows))]
    assert found == [sorted(persons[pair]) for pair in pairs(flows)]
    assert flows.people.weight.tolist() == [round(WEIGHTS[name] * 1e6) for name in names]
    total = Counter()
    for row, weight in zip(rows, weights, strict=True):
        total[clean(row[0]), clean(row[1])] += round(weight * 1e6) if clean(row[2]) else 0
    assert flows.weight.tolist() == [total[pair] for pair in pairs(flows)]
    assert arrays(zone_flows(shuffled, unit="person", weight="w")) == arrays(flows)


LON = st.one_of(st.floats(4.4, 4.6), st.sampled_from([None, math.nan, math.inf, -181.0, 180.0]))
LAT = st.one_of(st.floats(50.3, 50.4), st.sampled_from([None, math.nan, -math.inf, 90.5, -90.0]))


@pytest.mark.slow
@given(rows=st.lists(st.tuples(LON, LAT, LON, LAT), min_size=1, max_size=25))
@SLOW
def test_points_are_counted_by_cell(rows, tmp_path):
    """Trips by pair of cells are what the h3 package and a dict count, from a file as from memory."""
    table = pa.table({name: pa.array([row[at] for row in rows], pa.float64()) for at, name in enumerate(COORDINATES)})
    pq.write_table(table, tmp_path / "t.parquet")
    expected, dropped = Counter(), Counter()
    for row in rows:
        start_lon, start_lat, end_lon, end_lat = row
        if None in row:
            dropped["null coordinate"] += 1
        elif any(map(math.isnan, row)):
            dropped["not a number"] += 1
        elif any(map(math.isinf, row)):
            dropped["infinite coordinate"] += 1
        elif max(abs(start_lon), abs(end_lon)) > 180 or max(abs(start_lat), abs(end_lat)) > 90:
            dropped["out of range"] += 1
        else:
            expected[h3.latlng_to_cell(start_lat, start_lon, 7), h3.latlng_to_cell(end_lat, end_lon, 7)] += 1

    if not expected:
        with pytest.raises(fv.InputError, match="no trip can be used"):
            fv.build_flows(table, "h3:7", max_unusable=1)
        return
    for source in (table, tmp_path / "t.parquet"):
        flows = fv.build_flows(source, "h3:7", max_unusable=1)

        assert pairs(flows) == expected
        assert flows.provenance.dropped == dropped


@pytest.mark.slow
def test_a_quadtree_survives_threads(tmp_path):
    """Squares are computed in the database's threads: many batches at once give what one thread gives."""
    path = Path(tmp_path / "t.parquet")
    table = City(persons=100).trips(30_000)
    pq.write_table(table, path, row_group_size=2_000)

    flows = [fv.build_flows(source, "quadtree:500", bbox="4.4,50.2,4.9,50.6") for source in [path] * 3 + [table]]

    assert flows[0].total == 30_000
    assert all(arrays(other) == arrays(flows[0]) for other in flows)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("first", "second"),
    [("17", "17.0"), ("anna", "anna\u200b"), ("anna", "\u00a0anna"), ("jose\u0301", "jos\u00e9"), ("17", " 17 ")],
)
def test_one_person_written_in_two_ways_is_one(tmp_path, first, second):
    """Files that write the same id differently do not make two persons of one."""
    header = "start_lon,start_lat,end_lon,end_lat,who\n"
    for name, who in (("a.csv", first), ("b.csv", second)):
        (tmp_path / name).write_text(f"{header}4.5,50.4,4.6,50.4,{who}\n", encoding="utf-8")

    flows = fv.build_flows(str(tmp_path / "*.csv"), "h3:8", unit="who")

    assert flows.people.person.tolist() == [0]
    assert flows.total == 2


@pytest.mark.slow
@pytest.mark.parametrize("nobody", ["NULL", "nan", "None", "N/A", "-", "NA", "<NA>"])
def test_words_for_nothing_are_not_a_person(tmp_path, nobody):
    """A row whose person is a word for nothing is dropped and counted."""
    header = "start_lon,start_lat,end_lon,end_lat,who\n"
    (tmp_path / "a.csv").write_text(f"{header}4.5,50.4,4.6,50.4,{nobody}\n4.5,50.4,4.6,50.4,anna\n", encoding="utf-8")

    flows = fv.build_flows(tmp_path / "a.csv", "h3:8", unit="who", max_unusable=1)

    assert flows.total == 1
    assert flows.provenance.dropped == {"null unit": 1}


def test_counts_that_were_not_asked_for_are_announced():
    """A column taken as a count is named; one that looks like a count is pointed out."""
    zones = pa.table({"zone_id": ["a", "b"], "lon": [4.5, 4.6], "lat": [50.4, 50.4]})
    counted = pa.table({"origin": ["a"], "destination": ["b"], "count": [3]})
    looks = pa.table({"origin": ["a"], "destination": ["b"], "trips": [3]})

    assert any("'count' is read as the number of trips" in note for note in notes(counted, zones))
    assert any("count=trips" in note for note in notes(looks, zones))


def notes(trips, zones):
    """Return what the user is told about trips."""
    return fv.build_flows(trips, zones=zones).provenance.notes


def test_decimal_commas_and_meters_get_a_hint():
    """Meters written with a comma, and coordinates in meters, are recognized."""
    comma = pa.table({name: ["600000,5"] for name in ("start_lon", "start_lat", "end_lon", "end_lat")})
    meters = pa.table({"start_lon": [600_000.0], "start_lat": [5.6e6], "end_lon": [6.1e5], "end_lat": [5.6e6]})

    with pytest.raises(fv.InputError, match="decimal comma"):
        fv.build_flows(fv.read_trips(comma, input_crs="EPSG:2154"), "h3:8")
    with pytest.raises(fv.InputError, match="look like meters"):
        fv.build_flows(meters, "h3:8")


@pytest.mark.parametrize(("repeated", "noted"), [(False, True), (True, False)])
def test_table_in_which_no_pair_occurs_twice(repeated, noted):
    """Rows that are each a pair of zones of its own look like counts under a name nobody knows: that is said."""
    ids = [f"z{number}" for number in range(6)]
    zones = pa.table({"zone_id": ids, "lon": [4.5 + n / 10 for n in range(6)], "lat": [50.3] * 6})
    pairs = [(one, other) for one in ids for other in ids if one != other]
    rows = [*pairs, pairs[0]] if repeated else pairs
    journeys = list(range(len(rows)))
    table = pa.table({"origin": [o for o, _ in rows], "destination": [d for _, d in rows], "Journeys": journeys})

    story = fv.build_flows(table, zones=zones, hierarchy="ward").provenance

    assert any("Journeys" in sentence for sentence in story.notes) == noted


@pytest.mark.parametrize("zone", [None, "UTC", "Europe/Paris"])
@pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
def test_timestamps_of_every_unit_and_zone(unit, zone):
    """A time is the same moment whatever it is counted in, and in UTC where it has a zone; pandas counts in ns."""
    times = pa.array([1_714_552_200] * 20, pa.timestamp("s", zone)).cast(pa.timestamp(unit, zone))

    flows = fv.build_flows(points(start_time=times), "h3:5", time="1h")

    assert flows.total == 20
    assert [str(time)[:13] for time in flows.matrices["time"].to_pylist()] == ["2024-05-01 08"]


def test_times_with_the_day_first_get_a_hint():
    """Where no time can be used, the error says how times are read."""
    with pytest.raises(fv.InputError, match="times are read as 2024-05-27 19:45:00"):
        fv.build_flows(points(start_time=["27/05/2008 19:45"] * 20), "h3:7", hierarchy="h3", time="1h")
