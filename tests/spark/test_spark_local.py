"""Spark on this machine keeps to itself: its files, its ports, and what it runs."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from flowveil.synthetic import City
from tests.hostile import marks, plant
from tests.spark.cluster import JAVA
from tests.waiting import run_program

LOOPBACK = {"0100007F", "0000000000000000FFFF00000100007F", "00000000000000000000000001000000"}
DEFAULTS = "spark.master local[2]\nspark.ui.enabled true\nspark.sql.shuffle.partitions 2\n"


@pytest.fixture(scope="module")
def seen(tmp_path_factory):
    """Run Spark in a folder that somebody else filled; return what others could see meanwhile."""
    if shutil.which("java") is None:
        pytest.skip("Spark needs Java, which is not installed (Debian: apt-get install openjdk-17-jre-headless)")
    parent = tmp_path_factory.mktemp("spark")
    folder, mark = plant(parent)
    persons = write_trips(parent / "trips.parquet")
    (parent / "persons").write_text("\n".join(persons))
    python, java, configured = (parent / name for name in ("python", "java", "configured"))
    for place in (python, java, configured):
        place.mkdir()
    (configured / "spark-defaults.conf").write_text(DEFAULTS)
    places = {"TMPDIR": python, "JAVA_TOOL_OPTIONS": f"{JAVA} -Djava.io.tmpdir={java}", "SPARK_CONF_DIR": configured}
    program = Path(__file__).with_name("local_program.py")

    done = run_program(
        [sys.executable, "-P", program, parent / "trips.parquet", parent / "persons", python, java],
        cwd=folder,
        env=os.environ | {name: str(value) for name, value in places.items()},
    )

    assert done.returncode == 0, (done.stderr, marks(mark))
    left, beside = ([path.name for path in place.iterdir()] for place in (python, folder))
    return json.loads(done.stdout.splitlines()[-1]) | {"marks": marks(mark), "left": left, "beside": beside}


def write_trips(path):
    """Write trips of persons with long ids; return the ids."""
    trips = City(seed=3, persons=300).trips(6_000)
    long = {name: hashlib.sha256(name.encode()).hexdigest() for name in trips["person_id"].unique().to_pylist()}
    renamed = pa.array([long[name] for name in trips["person_id"].to_pylist()])
    pq.write_table(trips.set_column(trips.schema.get_field_index("person_id"), "person_id", renamed), path)
    return list(long.values())


def test_same_release(seen):
    """All went well."""
    assert seen["same"]


def test_files_name_no_person(seen):
    """Visits wait on disk, but no file names a person."""
    assert any(name.startswith("shuffle_") for name, _, _ in seen["files"])
    assert [name for name, _, person in seen["files"] if person] == []


def test_others_read_no_file(seen):
    """Files are in folders of their owner, but for libraries that Java unpacks; they are gone in the end."""
    assert [name for name, shown, _ in seen["files"] if shown and ".so" not in name] == []
    assert seen["left"] == []


def test_loopback_only(seen):
    """The ports of Spark are on 127.0.0.1, where other users of the machine need a secret."""
    assert len(seen["listening"]) >= 3  # the gateway, the driver and its blocks
    assert set(seen["listening"]) <= LOOPBACK
    assert seen["authenticated"]


def test_files_of_the_current_folder_are_not_run(seen):
    """Neither Java nor Python on executors runs what lies around; nothing is put there."""
    assert seen["marks"] == []
    assert all(name.endswith(".py") for name in seen["beside"])
