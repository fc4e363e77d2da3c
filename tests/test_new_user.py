"""Messages that a new user meets: each says what is wrong, shows enough of the data, and what to do."""

from __future__ import annotations

import json
import sys

import pyarrow as pa
import pyarrow.csv as pacsv
import pyarrow.parquet as pq
import pytest

import flowveil as fv
from flowveil._cli.commands import run
from flowveil._options import parse_max_share, parse_max_suppression
from flowveil.synthetic import City
from tests.waiting import run_program

CITY = City(seed=6, persons=60)
TRIPS = CITY.trips(600)
COLUMNS = ["start_lon", "start_lat", "end_lon", "end_lat"]


def bikes(times):
    """Return trips as a bike-sharing system writes them, with times as text."""
    names = [f"{end} station {axis}" for end in ("start", "end") for axis in ("longitude", "latitude")]
    table = TRIPS.select(COLUMNS).rename_columns(names)
    return table.append_column("starttime", pa.array([times[row % len(times)] for row in range(len(table))]))


@pytest.mark.slow
@pytest.mark.parametrize(
    "times",
    [
        ["1/1/19 3:09 AM", "12/31/19 11:59 PM"],
        ["01/02/2019 12:00:01 am", "1/2/2019, 3:09 PM"],
        ["6/30/2019 3:09:59PM"],
    ],
)
def test_american_times(tmp_path, times):
    """Times with half a day and its letters are read month first, from CSV and from tables."""
    table = bikes(times)
    pacsv.write_csv(table, tmp_path / "bikes.csv")

    for source in (table, tmp_path / "bikes.csv"):
        flows = fv.build_flows(source, "h3:6", time="hour-of-day")
        assert flows.dropped == {}
    known = {"1/1/19 3:09 AM": 3, "12/31/19 11:59 PM": 23, "01/02/2019 12:00:01 am": 0, "1/2/2019, 3:09 PM": 15}
    known["6/30/2019 3:09:59PM"] = 15
    assert flows.matrices["time"].to_pylist() == sorted(known[text] for text in times)


def test_times_of_another_kind():
    """Of times that cannot be read the shape is shown, no digit of them, and how to say what they are."""
    with pytest.raises(fv.InputError, match="no usable time") as caught:
        fv.build_flows(bikes(["19.1.1 klo 3.09"]), "h3:6", time="hour-of-day")

    assert "'99.9.9 klo 9.99' (9 for any digit)" in caught.value.hint
    assert "--time-format" in caught.value.hint
    assert "time_format=" in str(caught.value)


@pytest.mark.slow
@pytest.mark.parametrize("written", ["45658.35416666667", "45658,354167", "45658.35417"])
def test_days_of_a_spreadsheet(written):
    """Days since 1900 are named in the hint, and are then read to the second: 8:30 is not 8:29:59.9."""
    with pytest.raises(fv.InputError, match="no usable time") as caught:
        fv.build_flows(bikes([written]), "h3:6", time="30min")
    assert "--time-format excel" in caught.value.hint

    trips = fv.read_trips(bikes([written]), time_format="excel")
    times = fv.build_flows(trips, "h3:6", time="30min").matrices["time"].to_pylist()
    assert [f"{time:%Y-%m-%d %H:%M}" for time in times] == ["2025-01-01 08:30"]


def test_workbook(tmp_path):
    """What is no text file says how it becomes one."""
    (tmp_path / "trips.xlsx").write_bytes(b"PK")
    with pytest.raises(fv.InputError, match="workbook") as caught:
        fv.read_trips(tmp_path / "trips.xlsx")
    assert "CSV" in caught.value.hint


def test_zones_with_one_column_more_than_their_places():
    """The only column that says nothing of places holds the ids; of two, one has to be named."""
    places = {"lon": [8.0, 8.1], "lat": [50.0, 50.0]}
    trips = pa.table({"origin": ["1", "2"] * 10, "destination": ["2", "1"] * 10})
    flows = fv.build_flows(trips, zones=pa.table({"taz": ["1", "2"], **places}), hierarchy="ward")
    assert flows.total == 20
    with pytest.raises(fv.InputError, match="holds their ids"):
        fv.build_flows(trips, zones=pa.table({"taz": ["1", "2"], "b": ["1", "2"], **places}), hierarchy="ward")


def test_k_above_the_data():
    """How many persons or trips there are is said."""
    flows = fv.build_flows(TRIPS, "h3:6", unit="person_id")
    with pytest.raises(fv.PromiseError, match="k is 1,000, but the data has 60 persons"):
        fv.anonymize(flows, k=1000)
    with pytest.raises(fv.PromiseError, match="k is 1,000, but the data has 600 trips"):
        fv.anonymize(fv.build_flows(TRIPS, "h3:6"), k=1000)


def test_several_weights_keep_the_protection():
    """The hint does not ask to leave out the column of persons."""
    frame = TRIPS.to_pandas()
    frame["w"] = range(len(frame))
    with pytest.raises(fv.InputError, match="several values of 'w'") as caught:
        fv.build_flows(frame, "h3:6", unit="person_id", weight="w")
    assert "leave out" not in caught.value.hint


def test_zones_without_a_place_are_named():
    """A dendrogram says which zones it cannot place, a few of them by name."""
    zones = pa.table(
        {"zone_id": [f"z{row:02}" for row in range(20)], "lon": [4.5] * 8 + [None] * 12, "lat": [50.0] * 20}
    )
    with pytest.raises(fv.InputError, match=r"12 of 20 zones have no place: z08, z09, .* and 2 more"):
        fv.build_flows(pa.table({"origin": ["z00"], "destination": ["z01"]}), zones=zones)


@pytest.mark.parametrize("value", ["10%", "10 %", " 10% ", "0.1", 0.1])
def test_shares_in_percent(value):
    """A share may be written in percent."""
    assert parse_max_suppression(value) == 0.1


@pytest.mark.parametrize("value", ["nan%", "%", "110%", "-1%", "10%%", "ten%", True])
def test_no_shares(value):
    """What is no share is shown as it was written."""
    with pytest.raises(fv.InputError, match="max_suppression is"):
        parse_max_suppression(value)
    with pytest.raises(fv.InputError, match="max_share is"):
        parse_max_share(value)


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """Write trips, zones, a release on a grid and one on zones; return their folder."""
    folder = tmp_path_factory.mktemp("made")
    by_zone = fv.synthetic.write_city(folder / "by_zone.parquet", trips=600, persons=60, ends="zones")
    pq.write_table(by_zone.zones(), folder / "zones.parquet")
    pq.write_table(TRIPS, folder / "trips.parquet")
    fv.anonymize(fv.build_flows(folder / "trips.parquet", "h3:6", hierarchy="h3"), k=5).write(folder / "grid")
    flows = fv.build_flows(folder / "by_zone.parquet", zones=folder / "zones.parquet", hierarchy="ward")
    fv.anonymize(flows, k=5).write(folder / "zoned")
    (folder / "places.csv").write_text("name,lon,lat\nHere,4.5,50.3\n")
    return folder


@pytest.mark.parametrize(
    ("command", "message"),
    [
        (["verify", "grid", "--against", "trips.parquet", "--zones", "zones.parquet"], "the release is on a grid"),
        (["evaluate", "grid", "--against", "trips.parquet", "--zones", "zones.parquet"], "the release is on a grid"),
        (["report", "grid", "--zones", "zones.parquet"], "no input"),
        (["verify", "zoned", "--against", "by_zone.parquet", "--places", "places.csv"], "not called after them"),
        (["verify", "grid", "--against", "trips.parquet", "--places", "places.csv"], "not called after them"),
        (["verify", "grid", "--against", "trips.parquet", "--context", "zones.parquet"], "no report"),
        (["verify", "grid", "--against", "trips.parquet", "--sensitive", "places.csv"], "nothing about sensitive"),
        (["anonymize", "trips.parquet", "--columns", "zone_id=x", "-o", "no"], "no zones were given: zone_id"),
        (["anonymize", "by_zone.parquet", "-o", "no"], "no column for start_lon"),
        (["anonymize", "trips.parquet", "--zone-name", "name", "-o", "no"], "goes with zones"),
        (["anonymize", "trips.parquet", "--timezone", "UTC", "-o", "no"], "time is not cut"),
        (["anonymize", "trips.parquet", "--totals", "-o", "no"], "totals need groups"),
        (["anonymize", "trips.parquet", "--crs", "EPSG:32631", "-o", "no"], "no CRS to choose"),
        (["anonymize", "trips.parquet", "--master", "spark://x:1", "-o", "no"], "engine"),
        (["anonymize", "trips.parquet", "--counts", "persons", "-o", "no"], "no column of counts"),
        (["anonymize", "trips.parquet", "--hide-choice", "0.5", "--k-weight", "auto", "-o", "no"], "times the mean"),
    ],
)
def test_options_that_cannot_matter(command, message, made, capsys, monkeypatch):
    """An option that would change nothing is refused, and nothing is written."""
    monkeypatch.chdir(made)

    assert run(command) == 2
    assert message in capsys.readouterr().err
    assert not (made / "no").exists()


def test_zones_beside_coordinates_are_announced(made, capsys, monkeypatch):
    """Trips with both are counted by their coordinates, and the command says so unless a grid was asked for."""
    monkeypatch.chdir(made)
    ids = pa.array(["a"] * len(TRIPS))
    pq.write_table(TRIPS.append_column("start_station_id", ids).append_column("end_station_id", ids), "both.parquet")
    said = "they also name zones ('start_station_id' and 'end_station_id')"

    assert run(["anonymize", "both.parquet", "--hierarchy", "h3", "-o", "both", "-k", "5"]) == 0
    assert said in capsys.readouterr().err
    assert run(["anonymize", "both.parquet", "--grid", "h3:6", "--hierarchy", "h3", "-o", "both", "--overwrite"]) == 0
    assert said not in capsys.readouterr().err


@pytest.mark.parametrize(
    ("asked", "remedy"),
    [
        ({"max_extent": "1km", "max_duration": "30min"}, "max_extent= and max_duration="),
        ({"method": "gather", "price": 0.1}, "raise price="),
        ({"method": "gather", "max_suppression": 0.9}, "lower max_suppression="),
        ({"method": "gather", "max_mean_duration": "45min"}, "raise max_mean_extent= and max_mean_duration="),
    ],
)
def test_paths_of_which_little_remains(asked, remedy):
    """Options that leave out most samples are a warning with the share, and with the option that did."""
    samples = fv.synthetic.phones(12)
    options = {"bbox": fv.synthetic.PHONES_BBOX, "k": 2, "step": "1km,30min"}
    with pytest.warns(fv.LossWarning, match=rf"% of the samples are left out: .*{remedy}"):
        release = fv.trajectories.anonymize(samples, **asked, **options)

    assert any("samples are left out" in text for text in release.audit["notes"])


def test_light_import():
    """The version is told without loading what commands need: it is to take a tenth of a second."""
    heavy = "'numpy', 'pyarrow', 'duckdb', 'numba', 'scipy', 'typer', 'shapely', 'flowveil._cli.commands'"
    program = (
        "import sys; from flowveil._cli import main\n"
        "try: main(['--version'])\n"
        f"except SystemExit: print([name for name in ({heavy}) if name in sys.modules])"
    )
    done = run_program([sys.executable, "-c", program])

    assert done.stdout.splitlines() == [f"flowveil {fv.__version__}", "[]"]


@pytest.mark.slow
def test_commands_load_what_they_need():
    """Loops, noise and clusters take seconds to load: no command loads them before it knows what was typed."""
    heavy = "'numba', 'scipy.sparse', 'opendp', 'pyspark', 'flowveil._app'"
    program = (
        "import sys; from flowveil._cli.commands import find_app\n"
        "find_app(sys.argv[1:])\n"
        f"print([name for name in ({heavy}) if name in sys.modules])"
    )
    for name in ("anonymize", "verify"):
        assert run_program([sys.executable, "-c", program, name]).stdout.strip() == "[]"


def test_unknown_comes_first(tmp_path, capsys):
    """A query outside of the bbox has no number to be mistaken for an answer."""
    noisy = fv.add_noise(TRIPS, "noisy-mosaic", 1.0, grid="h3:5", bbox=(4, 50, 5, 51)).write(tmp_path / "noisy")

    assert run(["query", str(noisy), "--origin-bbox", "10,10,11,11"]) == 0
    assert capsys.readouterr().out.startswith("unknown: the boxes lie outside of the bbox")
    assert run(["query", str(noisy), "--origin-bbox", "10,10,11,11", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["warning"].startswith("unknown")
