"""What a terminal shows while trips are read, and that the engine tells it the truth."""

from __future__ import annotations

import io

import pyarrow.parquet as pq
import pytest
from rich.console import Console
from rich.progress import Progress, TextColumn

import flowveil as fv
from flowveil._cli import terminal
from flowveil._cli.terminal import Doing
from flowveil.synthetic import City


@pytest.fixture(scope="module")
def trips(tmp_path_factory):
    """Write trips in more batches than there are cores."""
    path = tmp_path_factory.mktemp("progress") / "trips.parquet"
    pq.write_table(City(persons=100).trips(700_000), path, row_group_size=50_000)
    return path


@pytest.mark.slow
@pytest.mark.parametrize(("where", "total"), [(None, 700_000), ("trip_id % 2 = 0", None)])
def test_engine_tells_how_far_it_is(where, total, trips):
    """Rows are told as they are read, up to all of them; how many there will be only where that is known before."""
    told = []

    flows = fv.build_flows(fv.read_trips(trips, where=where), "h3:4", watch=lambda *state: told.append(state))

    rows = [state[0] for state in told]
    assert len(rows) > 2
    assert rows == sorted(rows)
    assert rows[-1] == flows.provenance.rows
    assert {state[1] for state in told} == {total}


@pytest.mark.parametrize(
    ("done", "total", "expected"),
    [
        (500, 2_000, "reading: 25% of 2,000 rows, 50 a second, 0:00:30 left"),
        (500, None, "reading: 500 rows, 50 a second"),
        (0, 0, "reading: 0% of 0 rows, 0 a second, 0:00:00 left"),
    ],
)
def test_line_of_progress(done, total, expected, monkeypatch):
    """A terminal shows how much is done, how fast it goes and how long the rest takes."""
    clock = iter([100.0, 110.0])
    monkeypatch.setattr(terminal.time, "monotonic", lambda: next(clock))
    console = Console(file=io.StringIO(), force_terminal=True, width=200)
    bar = Progress(TextColumn("{task.description}"), console=console, get_time=lambda: 0.0)
    doing = Doing(bar)

    doing("reading")
    doing.rows(done, total)

    assert bar.tasks[0].description == expected


def test_silent_without_a_terminal(capsys):
    """In a pipe nothing is shown."""
    with terminal.progress() as doing:
        doing("reading")
        doing.rows(5, 10)

    assert capsys.readouterr() == ("", "")
