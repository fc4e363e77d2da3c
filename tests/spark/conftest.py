"""One cluster for all tests of this folder, and one session that most of them join."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.spark.cluster import ENVIRONMENT, cluster
from tests.waiting import wait_for

HERE = Path(__file__).parent
# Connecting to a gateway that is being closed, and sockets that Spark leaves to the garbage collector.
QUIET = pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning")


def order(item: pytest.Item) -> int:
    """Return a number that is higher for tests that run later."""
    return sum(name in item.fixturenames for name in ("session", "workers"))


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Run what starts a session of its own before the one that is shared and takes all cores; kill workers last."""
    ours = [number for number, item in enumerate(items) if item.path.is_relative_to(HERE)]
    ordered = sorted((items[number] for number in ours), key=order)
    for number, item in zip(ours, ordered, strict=True):
        items[number] = item
        item.add_marker(QUIET)


@pytest.fixture(scope="package")
def spark(tmp_path_factory):
    """Start a cluster."""
    with cluster(tmp_path_factory.mktemp("cluster")) as started:
        yield started


@pytest.fixture(scope="package")
def session(spark):
    """Start a session that tests join; it is left as it was."""
    from pyspark.sql import SparkSession

    from flowveil._engine.spark_session import SETTINGS

    with pytest.MonkeyPatch.context() as patch:
        for name, value in ENVIRONMENT.items():
            patch.setenv(name, value)
        running = SparkSession.builder.master(spark.url).config(map=SETTINGS).getOrCreate()
    with running:
        yield running


@pytest.fixture
def workers(spark, session):
    """Return two workers at which the session has executors; a test may kill one."""
    spark.complete()
    wait_for(lambda: session.sparkContext._jsc.sc().getExecutorMemoryStatus().size() == 3)  # one is the driver
    return spark.workers
