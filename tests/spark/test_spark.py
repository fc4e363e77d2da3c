"""A cluster counts the same as one machine, to the last bit, whatever the trips and whoever dies on the way."""

from __future__ import annotations

import json
import os
import sys
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import fields

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pacsv
import pyarrow.parquet as pq
import pytest
from pyspark import SparkConf

import flowveil as fv
from flowveil._engine import local
from flowveil._engine import spark as spark_engine
from flowveil._engine.keys import Tally
from flowveil._engine.spark_session import open_session
from flowveil._flows.build import make_request
from flowveil._places import choose_places
from flowveil.synthetic import City
from tests.spark.cluster import ENVIRONMENT, death, work_until_a_death
from tests.waiting import run_program

CITY = City(seed=3, persons=300)
TRIPS = CITY.trips(12_000)
ZONE_TRIPS = CITY.trips(3_000, ends="zones")
FILES = 6


def test_whole_command(spark, tmp_path):
    """The command makes the same release byte for byte, and it verifies."""
    trips = write_parts(TRIPS, tmp_path / "t", pq.write_table, "parquet")
    options = ["--unit", "person_id", "--weight", "weight", "--time", "hour-of-day", "--by", "sex", "--grid", "h3:5"]
    options += ["--hierarchy", "h3"]  # persons stay on the cluster, which counts the pairs of one tree
    arguments = [str(trips), *options, "--max-suppression", "0.5", "-k", "5"]

    for name, engine in (("one", []), ("many", ["--engine", "spark", "--master", spark.url])):
        command = [sys.executable, "-m", "flowveil", "anonymize", *arguments, *engine, "-o", name]
        done = run_program(command, cwd=tmp_path, env=os.environ | ENVIRONMENT)
        assert done.returncode == 0, done.stderr

    for name in ("flows.parquet", "areas.parquet", "manifest.json"):
        assert (tmp_path / "one" / name).read_bytes() == (tmp_path / "many" / name).read_bytes()
    one, many = (json.loads((tmp_path / f"{name}.audit.json").read_text()) for name in ("one", "many"))
    assert one == many
    fv.verify(tmp_path / "many", trips)


def dirty():
    """Return the trips with every kind of row that cannot be used, and nulls in the groups."""
    number = pa.array(np.arange(len(TRIPS)))
    table = TRIPS.drop_columns(["end_time"])

    def holes(name, every):
        column = table[name].combine_chunks()
        blank = pc.equal(pc.subtract(number, pc.multiply(pc.divide(number, every), every)), 0)
        return table.set_column(table.schema.get_field_index(name), name, pc.if_else(blank, None, column))

    table = holes("person_id", 97)
    table = holes("end_lat", 89)
    table = holes("sex", 7)
    lon = table["start_lon"].to_numpy().copy()
    lon[5::101], lon[6::103], lon[7::107] = np.nan, np.inf, 200.0
    return table.set_column(table.schema.get_field_index("start_lon"), "start_lon", pa.array(lon))


def write_parts(table, folder, write, ending):
    """Write a table as several files."""
    folder.mkdir()
    size = -(-len(table) // FILES)
    for number in range(FILES):
        write(table.slice(number * size, size), folder / f"part-{number}.{ending}")
    return folder


def write_days(table, folder, key="0%d"):
    """Write a table as a folder partitioned by day; the key of a day begins with 0, or is a number."""
    days = pc.strftime(table["start_time"], key)
    pq.write_to_dataset(table.append_column("day", days), folder, partition_cols=["day"])
    return folder


def write_unlike(table, folder):
    """Write CSV files with other columns and another separator in each."""
    write_parts(table.drop_columns(["weight"]), folder, pacsv.write_csv, "csv")
    short = pacsv.read_csv(folder / "part-1.csv").drop_columns(["sex"])
    pacsv.write_csv(short.select(short.schema.names[::-1]), folder / "part-1.csv", pacsv.WriteOptions(delimiter=";"))
    return folder


CASES = {
    "persons and weights": (lambda f: write_parts(TRIPS, f / "t", pq.write_table, "parquet"), {"weight": "weight"}),
    "dirt, hours and groups": (
        lambda f: write_parts(dirty(), f / "t", pq.write_table, "parquet"),
        {"time": "hour-of-week", "timezone": "Europe/Brussels", "by": ["sex", "age_group"], "weight": "weight"},
    ),
    "trips only": (lambda f: write_parts(dirty(), f / "t", pq.write_table, "parquet"), {"unit": None, "time": "1d"}),
    "days as folders": (lambda f: write_days(TRIPS, f / "t"), {"by": "day", "bbox": "4.3,50.0,4.7,50.6"}),
    "numbered days": (
        lambda f: fv.read_trips(write_days(TRIPS, f / "t", "%u"), where="day BETWEEN 2 AND 5 AND day <> 4"),
        {"by": "day"},
    ),
    "unlike CSV files": (
        lambda f: fv.read_trips(write_unlike(dirty(), f / "t"), where="age_group <> '65+' AND trip_id > 700"),
        {"by": "sex", "time": "1h"},
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_same_flows(case, session, tmp_path):
    """Flows and what was dropped are the same as on one machine."""
    write, options = CASES[case]
    trips = write(tmp_path)

    actual = fv.build_flows(trips, "h3:7", **({"unit": "person_id"} | options), engine="spark")

    expected = fv.build_flows(trips, "h3:7", **({"unit": "person_id"} | options))
    assert everything(actual) == everything(expected)
    assert session.getActiveSession() is not None


def test_same_zones(session, tmp_path):
    """Unknown zones and counted tables are the same as on one machine."""
    zones = CITY.zones().slice(3)
    counted = ZONE_TRIPS.group_by(["origin", "destination"]).aggregate([("trip_id", "count")])
    pq.write_table(counted.rename_columns(["origin", "destination", "count"]), tmp_path / "counted.parquet")

    actual, expected = (
        fv.build_flows(tmp_path / "counted.parquet", zones=zones, engine=engine) for engine in ("spark", "duckdb")
    )

    assert everything(actual) == everything(expected)
    assert actual.provenance.unknown_zones
    assert session.getActiveSession() is not None


def test_session_of_another_thread(session, tmp_path):
    """A session that another thread started is joined too: it goes on afterwards."""
    trips = write_parts(ZONE_TRIPS, tmp_path / "t", pq.write_table, "parquet")
    zones = CITY.zones()

    with ThreadPoolExecutor(1) as pool:
        actual = pool.submit(fv.build_flows, trips, zones=zones, unit="person_id", engine="spark").result()

    assert everything(actual) == everything(fv.build_flows(trips, zones=zones, unit="person_id"))
    assert session.range(3).count() == 3


def test_session_that_does_not_encrypt(session, monkeypatch):
    """Joining a session that writes to disk what it is given is told."""
    monkeypatch.setattr(session.sparkContext, "getConf", lambda: SparkConf(loadDefaults=False))

    with pytest.warns(UserWarning, match=r"spark\.io\.encryption\.enabled=true"), open_session(None):
        pass


def everything(flows):
    """Return all that a method and an audit file see of flows."""
    people, origin = flows.people, flows.provenance
    found = [flows.origins.key, flows.destinations.key, flows.origin, flows.destination, flows.trips, flows.weight]
    found += [flows.matrix] + ([] if people is None else [people.pair, people.person, people.weight])
    told = (origin.rows, origin.dropped, origin.outside_bbox, origin.unknown_zones, origin.notes)
    matrices = None if flows.matrices is None else flows.matrices.to_pylist()
    return [None if array is None else array.tolist() for array in found], told, matrices


def test_a_worker_dies(session, workers, tmp_path):
    """When a worker is killed in the middle, the others do its work again, and no trip counts twice."""
    seen = tmp_path / "seen"
    seen.mkdir()
    places = choose_places("h3:7", None, None, None, None, {})
    trips = fv.read_trips(write_parts(dirty(), tmp_path / "t", pq.write_table, "parquet"))
    request = make_request(trips, places, "person_id", "weight", None)

    def slow(lon, lat):
        work_until_a_death(seen, lon[0])
        return places.index(lon, lat)

    with death(workers[0], seen):
        actual = spark_engine.aggregate(request, slow, None)

    expected = local.aggregate(request, places.index)
    assert workers[0].returncode is not None
    for item in fields(expected):
        one, other = getattr(actual, item.name), getattr(expected, item.name)
        assert np.array_equal(one, other) if isinstance(other, np.ndarray) else one == other, item.name
    batches = Counter(path.name.split()[1] for path in seen.iterdir())
    assert max(batches.values()) > 1, "nothing was done again: the worker died too late"
    assert session.getActiveSession() is not None


def test_tallies_add_up():
    """What executors tell of their rows adds up as if one had seen them all, however they are grouped."""
    from flowveil._engine.spark_worker import _read, _write

    parts = [Tally(3, unknown_zones={"a"}), Tally(4, inside=2, inside_swapped=3), Tally(5, decimal_comma=True)]
    parts[0].problems["null unit"] = 2
    parts[1].problems["null unit"] = 1
    parts[0].clocks, parts[2].clocks, parts[1].signs = {True}, {False}, {2}

    whole = Tally()
    for part in parts:
        whole.add(_read(_write(part)))

    assert whole == Tally(12, {"null unit": 3}, {"a"}, 2, 3, decimal_comma=True, signs={2}, clocks={True, False})


def test_what_spark_cannot_read():
    """Tables in memory, unknown engines and masters without a cluster are errors that say what to do."""
    with pytest.raises(fv.InputError, match="from files only"):
        fv.build_flows(TRIPS, "h3:7", engine="spark")
    with pytest.raises(fv.InputError, match="no engine"):
        fv.build_flows(TRIPS, "h3:7", engine="spork")
    with pytest.raises(fv.InputError, match="master"):
        fv.build_flows(TRIPS, "h3:7", master="local[2]")
