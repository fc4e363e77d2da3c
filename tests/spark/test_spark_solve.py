"""A cluster solves matrices as one machine does, byte for byte, whatever goes wrong and whoever dies on the way."""

from __future__ import annotations

import hashlib
import os
import sys
from collections import Counter
from functools import partial

import pytest

import flowveil as fv
from flowveil._engine import spark_spread
from flowveil._engine.spark_spread import over_executors
from flowveil._methods import find_method
from flowveil._problem import Problem, Requirement
from flowveil.synthetic import PHONES_BBOX, City, phones
from tests.spark.cluster import death, work_until_a_death
from tests.test_spread import everything

METHODS = ("atg-dual", "odkanon", "knapsack", "mosaic")  # test_spread.py has all
FILES = ("flows.parquet", "areas.parquet", "manifest.json")


@pytest.fixture(scope="module")
def flows():
    """Return 24 matrices; the trips of some nights are too few to be published."""
    trips = City(seed=3, persons=300).trips(6_000)
    return fv.build_flows(trips, "h3:6", unit="person_id", weight="weight", time="hour-of-day")


@pytest.mark.parametrize("method", METHODS)
def test_same_release(method, flows, session, tmp_path):
    """Matrices that are solved by themselves make the same release, those withheld and tried again too."""
    options = {"budget": "each"} if method == "mosaic" else None

    for engine in ("duckdb", "spark"):
        release = fv.anonymize(flows, method, 10, max_suppression=0.9, options=options, engine=engine)
        release.write(tmp_path / engine)
        assert release.metrics()["matrices"]["withheld"] > 0

    for name in FILES:
        assert (tmp_path / "duckdb" / name).read_bytes() == (tmp_path / "spark" / name).read_bytes()
    assert (tmp_path / "duckdb.audit.json").read_bytes() == (tmp_path / "spark.audit.json").read_bytes()
    assert session.getActiveSession() is not None


@pytest.mark.parametrize(
    ("method", "options", "limit"), [("odkanon", {"levels": -1}, 0.5), ("oigh", {}, 0.0)], ids=["input", "promise"]
)
def test_same_error(method, options, limit, flows, session):
    """An error of a method is the same as on one machine, with its hint."""
    found = []
    for engine in ("duckdb", "spark"):
        with pytest.raises(fv.FlowveilError) as caught:
            fv.anonymize(flows, method, 300, max_suppression=limit, options=options, engine=engine)
        found.append((caught.type, caught.value.message, caught.value.hint))

    assert found[0] == found[1]
    assert session.getActiveSession() is not None


def square(part):
    """Return the process at work and the square of a number."""
    return os.getpid(), part * part


def test_a_few_at_a_time(session, monkeypatch):
    """Parts go to the cluster a few at a time, and those that are too large not at all."""
    monkeypatch.setattr(spark_spread, "_AT_A_TIME", 40)
    monkeypatch.setattr(spark_spread, "_LARGEST", len(spark_spread.pack(255)))
    parts = [*range(12), 10**30]

    found = over_executors(square, parts, (), master=None)

    assert [result for _, result in found] == [part * part for part in parts]
    assert [process == os.getpid() for process, _ in found] == [False] * 12 + [True]
    assert session.getActiveSession() is not None


def test_an_executor_crashes(session):
    """A process that crashes on every try is an error that says so."""
    with pytest.raises(fv.InputError, match=r"Spark cannot do the work: .*crashed"):
        over_executors(partial(os._exit), [3, 3], (), master=None)
    assert session.getActiveSession() is not None


def path_is_safe(_):
    """Whether Python loads no module from the folder that it was started in."""
    return sys.flags.safe_path


def test_executors_load_nothing_from_where_they_are(session):
    """Python on executors of a session that was joined is started with a safe path; the session is left as it was."""
    before = dict(session.sparkContext.environment)

    assert over_executors(path_is_safe, [1, 2], (), master=None) == [True, True]

    assert session.sparkContext.environment == before


def solve_slowly(folder, function, part):
    """Tell which executor is at work on which matrix, and go on after a death."""
    flows = part.flows
    name = hashlib.sha256(b"".join([flows.origin, flows.destination, flows.trips, flows.people.person])).hexdigest()
    work_until_a_death(folder, name)
    return function(part)


def test_a_worker_dies(flows, session, workers, tmp_path):
    """When a worker is killed in the middle, the other does its matrices again, and finds the same."""
    problem = Problem(flows, Requirement(10), flows.total // 2)

    def on_cluster(function, parts, shared):
        return over_executors(partial(solve_slowly, tmp_path, function), parts, shared, master=None)

    with death(workers[0], tmp_path):
        actual = find_method("odkanon").run(problem, {}, on_cluster)

    assert everything(actual) == everything(find_method("odkanon").run(problem, {}))
    assert workers[0].returncode is not None
    tries = Counter(path.name.split()[1] for path in tmp_path.iterdir())
    assert len(tries) == flows.matrix_count
    assert max(tries.values()) > 1, "nothing was done again: the worker died too late"
    assert session.getActiveSession() is not None


def test_a_cluster_is_asked_only_where_it_helps(flows, monkeypatch):
    """One matrix, or matrices with one price in common, are solved here; a wrong engine is an error all the same."""
    monkeypatch.setattr(spark_spread, "open_session", None)

    fv.anonymize(flows, "mosaic", 5, max_suppression=0.9, engine="spark")

    assert over_executors(square, [3], (), master=None) == [(os.getpid(), 9)]
    with pytest.raises(fv.InputError, match="no engine"):
        fv.anonymize(flows, "mosaic", 5, engine="spork")
    with pytest.raises(fv.InputError, match="master"):
        fv.anonymize(flows, "mosaic", 5, master="local[2]")


def test_trajectories_in_blocks(session, tmp_path):
    """Executors merge blocks of users, those over borders too, into the same bytes as this machine."""
    records = phones(61, samples=12)

    for engine in ("duckdb", "spark"):
        release = fv.trajectories.anonymize(records, 3, bbox=PHONES_BBOX, blocks=4, engine=engine)
        release.write(tmp_path / engine)

    for name in ("duckdb/trajectories.parquet", "duckdb/manifest.json", "duckdb.members.parquet"):
        assert (tmp_path / name).read_bytes() == (tmp_path / name.replace("duckdb", "spark")).read_bytes()
    assert session.getActiveSession() is not None
