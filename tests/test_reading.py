"""Text, numbers, times and coordinates as offices write them: read as they are meant, or told what is wrong."""

from __future__ import annotations

import gc
import pickle
import zipfile
from pathlib import Path

import numpy as np
import openmatrix
import pyarrow as pa
import pyproj
import pytest
from typer.testing import CliRunner

import flowveil as fv
from flowveil._cli.commands import find_app
from flowveil._verify import verify_flows

HEADER = "start_lon;start_lat;end_lon;end_lat;start_time;who\n"
ROW = "4,5;50,3;4,6;50,4;{time};Zoë\n"
ZONES = pa.table({"zone_id": ["a", "b"], "lon": [4.5, 4.6], "lat": [50.3, 50.4]})


def write(path: Path, text: str, encoding: str = "utf-8") -> Path:
    """Write a text file and return its path."""
    path.write_bytes(text.encode(encoding))
    return path


@pytest.mark.slow
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "cp1252", "latin-1"])
def test_encodings(tmp_path, encoding):
    """The same trips whatever the file is written in; what was assumed is said."""
    text = HEADER + ROW.format(time="2024-05-01 08:30:00") * 3
    file = write(tmp_path / "trips.csv", text, encoding)

    trips = fv.read_trips(file)

    assert trips.head(1)["who"].to_pylist() == ["Zoë"]
    assert bool(trips.notes) == (not encoding.startswith("utf-8"))
    assert fv.build_flows(trips, "h3:7", unit="who").total == 3


def test_encoding_that_was_said(tmp_path):
    """An encoding that cannot be guessed may be named; one that does not fit is an error, as is one of a table."""
    file = write(tmp_path / "trips.csv", HEADER + ROW.format(time="2024-05-01").replace("Zoë", "Łódź"), "cp1250")

    assert fv.read_trips(file, encoding="cp1250").head()["who"].to_pylist() == ["Łódź"]
    with pytest.raises(fv.InputError, match="cannot be read as ascii"):
        fv.read_trips(file, encoding="ascii")
    with pytest.raises(fv.InputError, match="no encoding 'klingon'"):
        fv.read_trips(file, encoding="klingon")
    with pytest.raises(fv.InputError, match="no text files"):
        fv.read_trips(ZONES, encoding="cp1250")


@pytest.mark.slow
def test_zip_files(tmp_path):
    """All data of a zip file is read, notes of systems are not, and what was unpacked goes with the trips."""
    archive = tmp_path / "months.zip"
    with zipfile.ZipFile(archive, "w") as file:
        for month in (1, 2):
            file.writestr(f"data/{month}.csv", (HEADER + ROW.format(time=f"2024-0{month}-01")).encode("cp1252"))
        file.writestr("__MACOSX/data/._1.csv", "nothing")
        file.writestr("README.md", "nothing")

    trips = fv.read_trips(archive)
    unpacked = [Path(path) for path in trips.source.files]
    total = fv.build_flows(trips, "h3:7", unit="who").total

    assert total == 2
    assert pickle.loads(pickle.dumps(trips.source)).owner is None  # noqa: S301  our own; others only read
    assert all(path.is_file() and path.parents[0].exists() for path in unpacked)
    assert all(path.stat().st_mode & 0o077 == 0 or path.parent.stat().st_mode & 0o077 == 0 for path in unpacked)
    del trips
    gc.collect()
    assert not any(path.exists() for path in unpacked)


@pytest.mark.parametrize("content", [b"PK\x03\x04 broken", b"nothing of the kind"])
def test_bad_zip_files(tmp_path, content):
    """A zip file that is none is told as such."""
    (tmp_path / "trips.zip").write_bytes(content)

    with pytest.raises(fv.InputError, match=r"zip file .* cannot be read"):
        fv.read_trips(tmp_path / "trips.zip")


@pytest.mark.parametrize(("name", "sign"), [("trips.txt", "|"), ("trips.tsv", "\t"), ("TRIPS.TXT", ";")])
def test_other_endings(tmp_path, name, sign):
    """Text files by other names."""
    text = (HEADER + ROW.format(time="2024-05-01") * 2).replace(";", sign)

    assert fv.build_flows(write(tmp_path / name, text), "h3:7").total == 2


@pytest.mark.slow
@pytest.mark.parametrize(
    ("text", "time_format"),
    [
        ("01/05/2024 08:30", "%d/%m/%Y %H:%M"),
        ("05/01/24 08:30 AM", "%m/%d/%y %I:%M %p"),
        ("2024-05-01 10:30 +0200", "%Y-%m-%d %H:%M %z"),
        ("1714552200", None),
        ("1714552200", "unix"),
        ("1714552200000", None),
        ("1714552200000", "unix-ms"),
        ("1714552200000000", "unix-us"),
        ("1714552200000000000", None),
        ("20240501-0830", "%Y%m%d-%H%M"),
        ("202405010830", "%Y%m%d%H%M"),
        ("2024-05-01 08:30:00 UTC", None),
        ("2024-05-01 10:30 +0200", None),
        ("2024-05-01 8:30 AM", None),
    ],
)
def test_times(tmp_path, text, time_format):
    """Times as they are written, by a format or as numbers since 1970, are all half past eight."""
    file = write(tmp_path / "trips.csv", HEADER + ROW.format(time=text))
    trips = fv.read_trips(file, time_format=time_format)

    flows = fv.build_flows(trips, "h3:7", time="15min")

    assert flows.matrices["time"][0].as_py().isoformat().startswith("2024-05-01T08:30")


@pytest.mark.parametrize("kind", [pa.int64(), pa.float64(), pa.decimal128(20, 3)])
def test_numbers_since_1970(kind):
    """Numbers of any type are times."""
    table = pa.table({"origin": ["a"], "destination": ["b"], "start_time": pa.array([1714552200], kind)})

    flows = fv.build_flows(table, zones=ZONES, time="15min")

    assert flows.matrices["time"][0].as_py().isoformat().startswith("2024-05-01T08:30")


@pytest.mark.slow
@pytest.mark.parametrize(
    "text",
    ["202405010830", "2024050108", "20240501", "2024-05-01 08:30 CEST", "2024-05-01 08:30 p. m.", "01/05/24 08:30"],
)
def test_times_that_are_not_guessed(text):
    """Dates in digits are no seconds since 1970, and what stands behind a time is not overlooked."""
    table = pa.table({"origin": ["a"], "destination": ["b"], "start_time": [text]})

    with pytest.raises(fv.InputError, match="no usable time"):
        fv.build_flows(table, zones=ZONES, time="1h")


@pytest.mark.parametrize("where", [None, "clock > '07:00:00'"])
def test_date_and_time_in_two_columns(tmp_path, where):
    """They are read together, as they are written, whatever DuckDB takes a date for; a wrong name is an error."""
    rows = "".join(f"a;b;0{day}/05/2024;0{5 + day}:30\n" for day in (1, 2, 3))
    file = write(tmp_path / "trips.csv", f"origin;destination;day;clock\n{rows}")
    trips = fv.read_trips(file, {"start_time": "day+clock"}, where, time_format="%d/%m/%Y %H:%M")

    times = fv.build_flows(trips, zones=ZONES, time="1h").matrices["time"].to_pylist()

    assert [f"{time:%m-%d %H}" for time in times] == ["05-01 06", "05-02 07", "05-03 08"][1 if where else 0 :]
    with pytest.raises(fv.UnknownNameError, match="no column 'hour'"):
        fv.read_trips(file, {"start_time": "day+hour"})


def test_two_clocks():
    """Times with an offset and times without are of one clock only if it is said which."""
    times = ["2024-05-01T08:30:00Z", "2024-05-01T10:30:00"]
    table = pa.table({"origin": ["a"] * 2, "destination": ["b"] * 2, "start_time": times})

    with pytest.raises(fv.InputError, match="say how far from UTC they are, and others do not"):
        fv.build_flows(table, zones=ZONES, time="1h")
    flows = fv.build_flows(table, zones=ZONES, time="1h", timezone="Europe/Rome")
    assert [f"{time:%H}" for time in flows.matrices["time"].to_pylist()] == ["08"]


@pytest.mark.parametrize("bad", ["no percent", "%Q"])
def test_bad_time_format(bad):
    """A format that means nothing is refused before a row is read."""
    with pytest.raises(fv.InputError, match="time format"):
        fv.read_trips(ZONES, time_format=bad)


def test_decimal_comma():
    """Degrees are read with either sign; other numbers with a comma only if that was said, and thousands with it."""
    ends = {"origin": ["a"] * 3, "destination": ["b"] * 3}
    table = pa.table({**ends, "count": ["1.200", "3", "2,0"]})
    degrees = pa.table({"start_lon": ["4,5"], "start_lat": ["50.3"], "end_lon": ["4,6"], "end_lat": ["50,3"]})

    assert fv.build_flows(degrees, "h3:7").total == 1
    assert fv.build_flows(fv.read_trips(table, decimal=","), zones=ZONES).total == 1205
    with pytest.raises(fv.InputError, match="no sign of decimals ';'"):
        fv.read_trips(table, decimal=";")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("count", "decimal", "total"),
    [
        ("1.234", ",", 1237),
        ("2.000", ".", 5),
        ("1,234", ".", 1237),
        ("1 234", ".", 1237),
        ("1\u202f234", ",", 1237),
        ("12'345,0", ",", 12348),
    ],
)
def test_thousands(tmp_path, count, decimal, total):
    """A sign between the digits of a count is read as it was said, and without a word nothing is guessed."""
    for name, text in (
        ("table", f"origin;destination;count\na;b;{count}\nb;a;3\n"),
        ("matrix", f";a;b\na;0;{count}\nb;3;0\n"),
    ):
        file = write(tmp_path / f"{name}.csv", text)

        with pytest.raises(fv.InputError, match="may be of thousands or of decimals"):
            fv.build_flows(file, zones=ZONES)
        assert fv.build_flows(fv.read_trips(file, decimal=decimal), zones=ZONES).total == total


def test_decimals_of_a_matrix(tmp_path):
    """Where a cell can only be one with decimals, others with three of them are too."""
    file = write(tmp_path / "matrix.csv", ";a;b\na;0.25;12.345\nb;3;0\n")

    assert fv.build_flows(file, zones=ZONES).total == 15


def test_accents_of_their_own():
    """Ids that look alike, one with accents as letters of their own, are told from each other in the hint."""
    zones = pa.table({"zone_id": ["Saint-\u00c9tienne", "Lyon"], "lon": [4.39, 4.83], "lat": [45.43, 45.76]})
    trips = pa.table({"origin": ["Saint-E\u0301tienne"], "destination": ["Lyon"]})

    with pytest.raises(fv.InputError, match="unknown zone") as caught:
        fv.build_flows(trips, zones=zones)
    assert "accents as letters of their own" in caught.value.hint


def test_columns_of_one_name(tmp_path):
    """Of several columns that are called alike the first is read, which is said; what a file calls so is no such."""
    file = write(tmp_path / "trips.csv", "origin,destination,Origin,count,count_1\na,b,b,3,9\n")

    trips = fv.read_trips(file)

    (note,) = trips.notes
    assert note.startswith("several columns are called 'Origin'")
    assert "'Origin_1' is another" in note
    assert trips.columns["origin"] == "origin"


def test_separator_for_spreadsheets(tmp_path):
    """A first line that tells spreadsheets the separator is no header."""
    file = write(tmp_path / "trips.csv", "sep=;\r\n" + (HEADER + ROW.format(time="2024-05-01")).replace("\n", "\r\n"))

    assert fv.build_flows(file, "h3:7").total == 1


def test_coordinates_of_another_crs(tmp_path):
    """Meters of a projection are the degrees that they stand for, in Python, in DuckDB and for the verifier."""
    lon, lat = np.array([2.35, 2.36]), np.array([48.85, 48.86])
    x, y = pyproj.Transformer.from_crs("EPSG:4326", "EPSG:2154", always_xy=True).transform(lon, lat)
    meters = {"start_lon": x[:1], "start_lat": y[:1], "end_lon": x[1:], "end_lat": y[1:]}
    degrees = {"start_lon": lon[:1], "start_lat": lat[:1], "end_lon": lon[1:], "end_lat": lat[1:]}
    trips = fv.read_trips(pa.concat_tables([pa.table(meters)] * 12), input_crs="EPSG:2154")
    one, other = fv.build_flows(trips, "h3:11"), fv.build_flows(pa.table(degrees), "h3:11")

    assert one.origins.key[one.origin[0]] == other.origins.key[other.origin[0]]
    assert one.destinations.key[one.destination[0]] == other.destinations.key[other.destination[0]]
    folder = fv.anonymize(one, k=10, method="atg-soft").write(tmp_path / "out")
    assert verify_flows(folder, trips).reading == {"input_crs": "EPSG:2154"}
    with pytest.raises(fv.InputError, match="no CRS 'EPSG:1'"):
        fv.read_trips(ZONES, input_crs="EPSG:1")


def test_places_that_a_projection_does_not_have():
    """Points beyond a projection are out of range, and the hint names the option where nothing was said."""
    far = pa.table(
        {"start_lon": [6.5e5, 1e30], "start_lat": [6.8e6] * 2, "end_lon": [6.5e5] * 2, "end_lat": [6.8e6] * 2}
    )

    flows = fv.build_flows(fv.read_trips(far, input_crs="EPSG:32631"), "h3:7", max_unusable=1)
    assert flows.dropped == {"out of range": 1}
    with pytest.raises(fv.InputError, match="input_crs"):
        fv.build_flows(far, "h3:7")


def matrices(path: Path, names=("am",), lookup=None) -> Path:
    """Write an Open Matrix file and return its path."""
    with openmatrix.open_file(str(path), "w") as file:
        for number, name in enumerate(names, 1):
            file[name] = np.array([[0.0, 12.0 * number], [3.6, 0.2]])
        if lookup:
            file.create_mapping("zone", lookup)
    return path


@pytest.mark.slow
def test_open_matrix_files(tmp_path):
    """Cells are counts between zones that a lookup names, or numbers from 1; one of several is to be chosen."""
    named = fv.read_trips(matrices(tmp_path / "one.omx", lookup=[7, 9]))
    both = matrices(tmp_path / "two.omx", ("am", "pm"))
    zones = pa.table({"zone_id": ["1", "2"], "lon": [4.5, 4.6], "lat": [50.3, 50.4]})

    assert named.head(1).to_pylist()[0] | {"value": 0} == {
        "origin": "7",
        "destination": "9",
        "value": 0,
        "matrix": "am",
        "count": 12.0,
    }
    assert fv.build_flows(fv.read_trips(both, matrices="pm"), zones=zones).total == 24 + 4
    assert fv.build_flows(fv.read_trips(both, matrices="am,pm"), zones=zones, by="matrix").matrix_count == 2
    with pytest.raises(fv.InputError, match="holds 2 matrices: am, pm"):
        fv.read_trips(both)
    with pytest.raises(fv.UnknownNameError, match="no matrix 'op'"):
        fv.read_trips(both, matrices="op")
    with pytest.raises(fv.InputError, match="no Open Matrix file"):
        fv.read_trips(ZONES, matrices="am")
    with pytest.raises(fv.InputError, match="cannot be read"):
        fv.read_trips(write(tmp_path / "no.omx", "nothing"))


@pytest.mark.slow
def test_command_line_remembers_how_trips_are_written(tmp_path):
    """Verify and evaluate read trips as anonymize did, by what the audit file says or by what is typed."""
    rows = "".join(ROW.format(time="01/05/2024 08:30") for _ in range(12))
    file = str(write(tmp_path / "trips.csv", HEADER + rows, "cp1252"))
    out = str(tmp_path / "out")
    written = ["--time-format", "%d/%m/%Y %H:%M", "--encoding", "cp1252"]
    run = CliRunner().invoke
    asked = ["--grid", "h3:7", "--hierarchy", "h3", "--time", "1h", "-k", "10"]

    made = run(find_app(), ["anonymize", file, "-o", out, *asked, *written])
    verified = run(find_app(), ["verify", out, "--against", file])
    (tmp_path / "out.audit.json").rename(tmp_path / "away.json")
    typed = run(find_app(), ["verify", out, "--against", file, *written])
    wrong = run(find_app(), ["verify", out, "--against", file, "--time-format", "%Y"])

    assert made.exit_code == 0, made.output
    assert verified.exit_code == 0, verified.output
    assert "values were read with encoding 'cp1252', time_format '%d/%m/%Y %H:%M'" in verified.output
    assert typed.exit_code == 0, typed.output
    assert wrong.exit_code == 1
