"""No process that flowveil starts runs what lies in the current folder.

test_spread.py has the helpers on other cores, test_spark_local.py has Spark.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import flowveil as fv
from flowveil._app.jobs import RUNNING, WAITING, Jobs
from tests.hostile import marks, plant
from tests.waiting import wait_for

SOURCES = Path(fv.__file__).parent


@pytest.fixture
def hostile(tmp_path, monkeypatch):
    """Go to a folder that somebody else filled; return the mark that its files leave."""
    folder, mark = plant(tmp_path)
    monkeypatch.chdir(folder)
    return mark


def test_the_files_would_be_run(hostile):
    """Python itself runs them where it is not told otherwise."""
    subprocess.run([sys.executable, "-m", "flowveil"], check=False, capture_output=True)

    assert "flowveil" in marks(hostile)


@pytest.mark.slow
def test_compare(hostile, city_trips):
    """Methods that are compared run in processes that load no file of this folder."""
    flows = fv.build_flows(city_trips, "h3:6", unit="person_id")

    table = fv.compare(flows, ["mosaic"], k=5, verify=True)

    assert table["status"].to_pylist() == ["done"], table["note"]
    assert marks(hostile) == []


@pytest.mark.slow
def test_app(hostile, city_trips, tmp_path):
    """Neither does the process that works for the web app."""
    jobs = Jobs(tmp_path / "jobs")
    try:
        job = jobs.submit("columns", {"path": str(city_trips)})
        wait_for(lambda: job.state not in (WAITING, RUNNING))
    finally:
        jobs.close()

    assert job.error is None
    assert "person_id" in job.result["columns"]
    assert marks(hostile) == []


@pytest.mark.slow
def test_compiled_code(hostile, tmp_path):
    """A file of this folder does not say where compiled code is loaded from; the environment may."""
    (Path.cwd() / ".numba_config.yaml").write_text("here")
    elsewhere = tmp_path / "yaml.py"  # stands for the package, which numba uses where it is installed
    elsewhere.write_text("def safe_load(_):\n    return {'cache_dir': 'here', 'cache_locator_classes': 'json.Here'}\n")
    code = "import flowveil, numba; print([numba.config.CACHE_DIR, numba.config.CACHE_LOCATOR_CLASSES])"
    path = os.pathsep.join([str(tmp_path), *filter(None, [os.environ.get("PYTHONPATH")])])

    found = [
        subprocess.run(
            [sys.executable, "-P", "-c", code],
            env={name: value for name, value in os.environ.items() if not name.startswith("NUMBA_")} | more,
            check=True,
            capture_output=True,
            text=True,
        ).stdout
        for more in ({"PYTHONPATH": path}, {"PYTHONPATH": path, "NUMBA_CACHE_DIR": "/there"})
    ]

    assert found == ["['', '']\n", "['/there', '']\n"]
    assert marks(hostile) == []


def test_one_way_to_start_python():
    """Commands that start Python are built in one place, so that none forgets to be careful."""
    naming = {path.name for path in SOURCES.rglob("*.py") if "sys.executable" in path.read_text(encoding="utf-8")}

    assert naming == {"worker.py", "spark_session.py"}
