"""Notebooks, in a kernel of their own: everything works without ipywidgets, and nothing warns."""

from __future__ import annotations

import pickle
import queue
import re
from contextlib import suppress

import pyarrow as pa
import pytest

import flowveil as fv
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
    "verify": "assert 'Verified' in fv.verify('out', trips)._repr_html_()",
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


class TestDisplays:
    """What objects show: short, escaped, and private where it is."""

    HOSTILE = "<img src=x onerror=alert(1)>"

    def test_trips(self):
        """Columns and what they are taken for; names are text."""
        shown = fv.read_trips(pa.table({"origin": ["a"], "dest": ["b"], self.HOSTILE: [1]}))._repr_html_()

        assert ">dest</td>" in shown
        assert ">destination</td>" in shown
        assert self.HOSTILE not in shown
        assert "onerror=alert(1)&gt;" in shown

    def test_flows(self):
        """What was counted, why rows were dropped, how few trips share a pair; said to be private."""
        rows = [(4.5, 50.3, 4.6, 50.4)] * 30 + [(4.5, 50.3, 4.9, 50.4)] + [(None, 50.3, 4.6, 50.4)]
        names = ("start_lon", "start_lat", "end_lon", "end_lat")
        table = pa.table(dict(zip(names, map(list, zip(*rows, strict=True)), strict=True)))
        shown = fv.build_flows(table, "h3:6")._repr_html_()

        assert "Private" in shown
        assert ">31</td>" in shown
        assert "rows dropped: null coordinate" in shown
        bars = re.findall(r"<text[^>]*>([^<]*)</text>", shown)
        assert bars[bars.index("20 to 49") + 1] == "97%"
        assert bars[bars.index("1") + 1] == "3%"
        assert len(shown) < 5_000

    @pytest.mark.slow
    def test_comparison(self, city_trips):
        """A table of methods and their chart; it is a table of Arrow to others, and can be copied and sent."""
        compared = fv.compare(fv.build_flows(city_trips, "h3:6"), ["suppression", "crosscut"], k=5)
        shown = compared._repr_html_()

        assert "Private" in shown
        assert shown.count("<tr>") == 3
        assert "<circle" in shown
        assert pa.table(compared).equals(compared.table)
        assert pickle.loads(pickle.dumps(compared)).table.equals(compared.table)  # noqa: S301  our own
        assert "| suppression |" in repr(compared)

    def test_verification(self):
        """What was checked, and on which rows only."""
        shown = fv.Verification(
            ("every flow has at least 5 persons",), 9, 1_000, where=f"name = '{self.HOSTILE}'"
        )._repr_html_()

        assert "9 flows against 1,000 rows" in shown
        assert "<li>every flow has at least 5 persons</li>" in shown
        assert self.HOSTILE not in shown
        assert "Only rows with" in shown
