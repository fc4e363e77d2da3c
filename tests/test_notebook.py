"""Notebooks, in a kernel of their own: everything works without ipywidgets, and nothing warns."""

from __future__ import annotations

import queue
from contextlib import suppress

import pytest

from tests.waiting import QUIET, wait_for

CELLS = {
    "start": """
        import sys, warnings
        sys.modules["ipywidgets"] = None  # as if it were not installed
        warnings.simplefilter("error")
        import flowveil as fv
        from flowveil import trajectories
        from flowveil._cli.commands import run
        from flowveil.synthetic import CITY_BBOX, PHONES_BBOX, phones, write_city
        city = write_city("trips.parquet", trips=5_000, persons=200)
        """,
    "read": "trips = fv.read_trips('trips.parquet'); trips",
    "count": "flows = fv.build_flows(trips, 'h3:7', unit='person_id'); flows",
    "anonymize": "release = fv.anonymize(flows, k=5, max_suppression=0.5); release",
    "write": "release.write('out', report=True)",
    "verify": "fv.verify('out', trips)",
    "evaluate": "fv.evaluate('out', trips)",
    "frontier": "fv.frontier(flows, k=5)",
    "compare": """
        table = fv.compare(flows, ["mosaic"], k=5, max_suppression=0.5, verify=True)
        assert table["status"].to_pylist() == ["done"], table["note"]
        table""",
    "noise": """
        matrix = fv.build_tile_matrix(trips, CITY_BBOX, unit="person_id", max_trips_per_person=5)
        fv.add_noise(matrix, epsilon=1.0)""",
    "trajectories": "trajectories.anonymize(phones(40, samples=25), 3, bbox=PHONES_BBOX)",
    "commands": """
        assert run(["anonymize", "trips.parquet", "--unit", "person_id", "-k", "5", "-o", "command"]) == 0
        assert run(["compare", "trips.parquet", "--unit", "person_id", "-k", "5", "--methods", "mosaic"]) == 0
        """,
}


@pytest.fixture
def client(tmp_path, monkeypatch):
    """Start a kernel in an empty folder."""
    from jupyter_client.manager import run_kernel

    for name in ("IPYTHONDIR", "JUPYTER_CONFIG_DIR", "JUPYTER_RUNTIME_DIR"):
        monkeypatch.setenv(name, str(tmp_path / name))
    work = tmp_path / "work"
    work.mkdir()
    with (tmp_path / "log").open("wb") as log, run_kernel(startup_timeout=QUIET, cwd=str(work), stderr=log) as found:
        yield found


def answer(client, code):
    """Run a cell and return how it ended."""
    asked = client.execute(code)

    def answered():
        with suppress(queue.Empty):
            message = client.get_shell_msg(timeout=0.1)
            return message["content"] if message["parent_header"].get("msg_id") == asked else None
        return None

    return wait_for(answered)


@pytest.mark.slow
def test_without_ipywidgets(client):
    """Every step of the way runs in a kernel in which DuckDB can show no progress."""
    for name, code in CELLS.items():
        reply = answer(client, code)

        assert reply["status"] == "ok", (name, reply["ename"], reply["evalue"])
