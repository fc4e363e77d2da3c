"""The demo, the first thing people try: from the command to the map in a browser."""

from __future__ import annotations

import io
from collections import Counter
from contextlib import redirect_stderr, redirect_stdout

import h3
import numpy as np
import pyarrow.parquet as pq
import pytest

from flowveil._cli.commands import run
from tests.browser.chromium import open_page
from tests.browser.test_report_browser import WIDE


@pytest.fixture(scope="module")
def demo(tmp_path_factory):
    """Run the demo in an empty folder; return the folder and what was printed to stdout and to stderr."""
    home, out, err = tmp_path_factory.mktemp("demo"), io.StringIO(), io.StringIO()
    with pytest.MonkeyPatch.context() as patch, redirect_stdout(out), redirect_stderr(err):
        patch.chdir(home)
        assert run(["demo"]) == 0
    return home, out.getvalue(), err.getvalue()


def test_demo(demo, monkeypatch, capsys):
    """It ends with a verified release and says where it is; it does not replace it unasked."""
    home, out, err = demo
    monkeypatch.chdir(home)

    assert err == ""
    assert "all hold" in out
    assert str(home / "flowveil-demo") in out
    names = ["flowveil-demo", "flowveil-demo.audit.json", "flowveil-demo.trips.parquet"]
    assert sorted(path.name for path in home.iterdir()) == names
    commands = [line.split("flowveil ", 1)[1].split() for line in out.splitlines() if "--against" in line]
    assert len(commands) == 2
    for command in commands:
        assert run(command) == 0
    assert run(["demo"]) == 2
    assert "hint: " in capsys.readouterr().err


def test_report_is_small(demo):
    """The report of the demo fits into 400 kB."""
    assert (demo[0] / "flowveil-demo" / "report.html").stat().st_size < 400_000


def ranks(values):
    """Return ranks, the mean of their ranks for equal values."""
    _, place, count = np.unique(values, return_inverse=True, return_counts=True)
    return (np.cumsum(count) - (count - 1) / 2)[place]


def test_the_map_tells_the_truth(demo, browser):
    """Over all cells of the demo's grid with a departure, the first map ranks them much as the truth does."""
    trips = pq.read_table(demo[0] / "flowveil-demo.trips.parquet")
    starts = zip(trips["start_lat"].to_pylist(), trips["start_lon"].to_pylist(), strict=True)
    true = Counter(h3.latlng_to_cell(lat, lon, 9) for lat, lon in starts)
    with open_page(browser, (demo[0] / "flowveil-demo" / "report.html").as_uri(), **WIDE) as page:
        page.wait_for_function("window.flowveil")
        shown = page.evaluate(
            "(places) => places.map(([lat, lon]) => flowveil.density(lon, lat))",
            [h3.cell_to_latlng(cell) for cell in true],
        )

    assert np.corrcoef(ranks(list(true.values())), ranks(shown))[0, 1] >= 0.6
