"""Persons stay on the cluster, and a release is the same to the last byte as where they are known."""

from __future__ import annotations

from collections import Counter

import pyarrow.compute as pc
import pyarrow.csv as pacsv
import pyarrow.parquet as pq
import pytest

import flowveil as fv
from flowveil._engine import counting, node_pairs
from flowveil._engine.spark_session import SETTINGS
from flowveil._flows import Crowds
from flowveil._flows.build import make_request
from flowveil._places import choose_places
from tests.spark.cluster import death, work_until_a_death
from tests.spark.local_program import look
from tests.spark.test_spark import CITY, TRIPS, ZONE_TRIPS, dirty, write_parts

FILES = ("flows.parquet", "areas.parquet", "manifest.json")
PERSON = b"p0000"  # all ids of persons begin so


CASES = {
    "h3, people": (
        lambda f: write_parts(TRIPS, f / "t", pq.write_table, "parquet"),
        {"grid": "h3:5", "hierarchy": "h3", "weight": "weight"},
        {"method": "mosaic", "k_weight": 500.0},
    ),
    "h3-binary, dirt, hours and groups": (
        lambda f: write_parts(dirty(), f / "t", pq.write_table, "parquet"),
        {"grid": "h3:5", "hierarchy": "h3-binary", "weight": "weight", "time": "hour-of-day", "by": ["sex"]},
        {"method": "nested", "k_weight": "auto"},
    ),
    "ward, groups": (
        lambda f: write_parts(ZONE_TRIPS, f / "t", pacsv.write_csv, "csv"),
        {"zones": CITY.zones(), "hierarchy": "ward", "by": "sex"},
        {"method": "crosscut", "min_tiles": 2},
    ),
}


@pytest.mark.usefixtures("session")
@pytest.mark.parametrize("case", CASES)
def test_same_release(case, tmp_path):
    """A release and its audit file are the same as on one machine."""
    write, options, asked = CASES[case]
    trips = write(tmp_path)
    counted = {"k": 5, "k_weight": asked["k_weight"] if isinstance(asked.get("k_weight"), float) else None}

    for engine, more in (("duckdb", {}), ("spark", counted)):
        flows = fv.build_flows(trips, unit="person_id", engine=engine, **options, **more)
        assert isinstance(flows.people, Crowds) == (engine == "spark")
        fv.anonymize(flows, k=5, max_suppression=0.9, **asked).write(tmp_path / engine)

    for name in FILES:
        assert (tmp_path / "duckdb" / name).read_bytes() == (tmp_path / "spark" / name).read_bytes()
    assert (tmp_path / "duckdb.audit.json").read_bytes() == (tmp_path / "spark.audit.json").read_bytes()


@pytest.mark.usefixtures("session")
@pytest.mark.parametrize("stay", [True, False])
def test_no_person_leaves(stay, tmp_path, monkeypatch):
    """Nothing that comes from the cluster names a person; without k the same look finds them."""
    from pyspark.sql.classic.dataframe import DataFrame

    seen = []

    def watched(name):
        real = getattr(DataFrame, name)

        def call(self, *arguments, **options):
            rows = list(real(self, *arguments, **options))
            seen.extend(
                bytes(value) if isinstance(value, bytes | bytearray) else str(value).encode()
                for row in rows
                for value in row
            )
            return iter(rows) if name == "toLocalIterator" else rows

        monkeypatch.setattr(DataFrame, name, call)

    for name in ("collect", "toLocalIterator"):
        watched(name)
    for name in ("toPandas", "toArrow", "first", "head", "take", "tail"):
        monkeypatch.setattr(DataFrame, name, None)
    trips = write_parts(TRIPS, tmp_path / "t", pq.write_table, "parquet")

    fv.build_flows(trips, "h3:5", unit="person_id", weight="weight", engine="spark", k=5 if stay else None)

    assert seen
    assert any(PERSON in value for value in seen) == (not stay)


@pytest.mark.usefixtures("session")
def test_no_file_names_a_person(spark, tmp_path):
    """Visits wait on the disks of executors, encrypted."""
    trips = fv.read_trips(write_parts(TRIPS, tmp_path / "t", pq.write_table, "parquet"))
    places = choose_places("h3:5", None, None, None, None, {})
    request = make_request(trips, places, "person_id", None, None)

    with counting(request, places.index, engine="spark", persons_stay=True):
        files = look(spark.folder / "local", [PERSON])

    assert any(name.startswith("shuffle_") for name, _, _ in files)
    assert [name for name, _, person in files if person] == []


@pytest.mark.usefixtures("session")
def test_persons_with_several_weights(tmp_path):
    """A person whose weights differ is refused as on one machine, though nobody here sees the person."""
    weights = pc.add(TRIPS["weight"], pc.if_else(pc.equal(TRIPS["trip_id"], 77), 1.0, 0.0))
    table = TRIPS.set_column(TRIPS.schema.get_field_index("weight"), "weight", weights)
    trips = write_parts(table, tmp_path / "t", pq.write_table, "parquet")
    told = []

    for more in ({}, {"engine": "spark", "k": 5}):
        with pytest.raises(fv.InputError, match="several values") as error:
            fv.build_flows(trips, "h3:5", unit="person_id", weight="weight", **more)
        told.append(str(error.value))

    assert told[0] == told[1]


@pytest.mark.usefixtures("session")
def test_persons_in_several_parts(tmp_path, monkeypatch):
    """Were visits of a person on several executors, they would count as several persons: nothing is counted then."""
    from pyspark.sql.classic.dataframe import DataFrame

    trips = write_parts(TRIPS, tmp_path / "t", pq.write_table, "parquet")
    real = DataFrame.repartition
    monkeypatch.setattr(DataFrame, "repartition", lambda self, _: real(self, 3))

    with pytest.raises(fv.PromiseError, match="apart"):
        fv.build_flows(trips, "h3:5", unit="person_id", engine="spark", k=5)


def test_a_worker_dies(workers, tmp_path, monkeypatch):
    """When a worker is killed while crowds are counted, nobody counts twice and nobody is missing."""
    seen = tmp_path / "seen"
    seen.mkdir()
    trips = write_parts(dirty(), tmp_path / "t", pq.write_table, "parquet")
    quick = node_pairs.pairs_at_depth

    def slow(visits, nodes, depth, passed):
        for batch in visits:
            work_until_a_death(seen, f"{depth} {batch['person'][0]}")
            yield from quick([batch], nodes, depth, passed)

    monkeypatch.setattr(node_pairs, "pairs_at_depth", slow)
    for name, value in (("adaptive.enabled", "false"), ("shuffle.partitions", "4")):  # work for both workers
        monkeypatch.setitem(SETTINGS, f"spark.sql.{name}", value)
    with death(workers[0], seen):
        actual = fv.build_flows(
            trips, "h3:6", hierarchy="h3", unit="person_id", weight="weight", by="sex", engine="spark", k=5
        )

    expected = fv.build_flows(trips, "h3:6", hierarchy="h3", unit="person_id", weight="weight", by="sex")
    assert workers[0].returncode is not None
    releases = [fv.anonymize(flows, k=5, max_suppression=0.9) for flows in (actual, expected)]
    assert releases[0].flows.equals(releases[1].flows)
    assert releases[0].metrics() == releases[1].metrics()
    batches = Counter(tuple(path.name.split()[1:3]) for path in seen.iterdir())
    assert max(batches.values()) > 1, "nothing was done again: the worker died too late"
