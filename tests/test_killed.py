"""What a killed run leaves behind: nothing that is half a release, and no trips on disk after the next start."""

from __future__ import annotations

import hashlib
import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from flowveil._cli.commands import run
from flowveil._engine.duckdb import connection
from flowveil._engine.source import TableSource
from flowveil._errors import InputError
from flowveil._folder.scratch import scratch_folder
from flowveil.synthetic import City
from tests.waiting import run_program

# Kills or interrupts itself at the n-th call of a function: in the middle of reading, of solving, of writing.
DYING = """
import os, signal, sys
from importlib import import_module
from flowveil._cli.commands import run

module, name, moment = sys.argv[1], sys.argv[2], int(sys.argv[3])
owner = import_module(module)
original, calls = getattr(owner, name), []

def dying(*arguments, **options):
    calls.append(1)
    if len(calls) == moment:
        os.kill(os.getpid(), getattr(signal, os.environ.get("DIES_OF", "SIGKILL")))
    return original(*arguments, **options)

setattr(owner, name, dying)
sys.exit(run(sys.argv[4:]))
"""
STAGES = {
    "reading": ("flowveil._places.h3grid", "cells_of_points", 4),
    "grouped": ("flowveil._engine.local", "read_visits", 1),
    "solving": ("flowveil._problem.problem", "build_cube", 1),
    "writing": ("flowveil._folder.files", "_sync", 2),
}
FILES = {"flows.parquet", "areas.parquet", "manifest.json"}


@pytest.fixture(scope="module")
def trips(tmp_path_factory):
    """Write trips of persons with long ids."""
    path = tmp_path_factory.mktemp("killed") / "trips.parquet"
    table = City(persons=10_000).trips(75_000)
    ids = [hashlib.sha256(person.encode()).hexdigest() for person in table["person_id"].to_pylist()]
    pq.write_table(table.set_column(1, "person_id", pa.array(ids)), path, row_group_size=10_000)
    return path


@pytest.fixture
def temporary(tmp_path, monkeypatch):
    """Give this test a folder of temporary files of its own."""
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setenv("TMPDIR", str(folder))
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    return folder


def anonymize(trips, output):
    """Return the arguments of a run with little memory."""
    return [
        "anonymize",
        str(trips),
        "--grid",
        "h3:9",
        "--hierarchy",
        "h3",
        "--unit",
        "person_id",
        "--memory",
        "60MB",
        "-o",
        str(output),
    ]


def python(*arguments):
    """Run Python and return how it ended."""
    return run_program([sys.executable, *arguments])


def names(folder):
    """Return what is in a folder."""
    return sorted(path.name for path in folder.iterdir())


@pytest.fixture(scope="module")
def expected(trips, tmp_path_factory):
    """Return the bytes of a release that nobody disturbed."""
    folder = tmp_path_factory.mktemp("whole") / "out"
    assert run(anonymize(trips, folder)) == 0
    return {name: (folder / name).read_bytes() for name in FILES}


@pytest.mark.slow
@pytest.mark.parametrize("stage", STAGES)
def test_killed_while(stage, trips, expected, temporary, tmp_path):
    """Killed at any stage there is no part of a release; the next run removes what is left and gives the same bytes."""
    module, name, moment = STAGES[stage]
    output = tmp_path / "releases" / "out"
    output.parent.mkdir()

    killed = python("-c", DYING, module, name, str(moment), *anonymize(trips, output))

    assert killed.returncode == -signal.SIGKILL, killed.stderr
    assert not output.exists()
    assert bool(names(temporary)) == (stage in {"reading", "grouped"})

    assert run(anonymize(trips, output)) == 0
    assert names(temporary) == []
    assert names(output.parent) == ["out", "out.audit.json"]
    assert {name: (output / name).read_bytes() for name in FILES} == expected


@pytest.mark.slow
@pytest.mark.parametrize("stage", ["reading", "solving"])
def test_interrupted_while(stage, trips, temporary, tmp_path, monkeypatch):
    """Ctrl-C ends a run at once, says so, and leaves nothing."""
    module, name, moment = STAGES[stage]
    monkeypatch.setenv("DIES_OF", "SIGINT")

    ended = python("-c", DYING, module, name, str(moment), *anonymize(trips, tmp_path / "out"))

    assert ended.returncode == 130, ended.stderr
    assert ended.stderr == "error: interrupted\nhint: nothing was written\n"
    assert names(temporary) == []
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("error", [RuntimeError("Query interrupted"), duckdb.InterruptException("Interrupted!")])
def test_interrupted_while_duckdb_counts(error):
    """What DuckDB makes of Ctrl-C in the middle of a query is Ctrl-C again, not an error."""
    with pytest.raises(KeyboardInterrupt), connection(TableSource(pa.table({"n": [1]}))):
        raise error


def test_no_room_for_a_thread_while_duckdb_reads():
    """What Python says inside DuckDB when there is no memory for a thread is an error with a hint, and no traceback."""
    error = duckdb.InvalidInputException(
        "Invalid Input Error: Unknown error: can't start new thread. Detail: Python exception: Traceback (most recent"
    )
    with (
        pytest.raises(InputError, match="memory allowed is not enough") as caught,
        connection(TableSource(pa.table({"n": [1]}))),
    ):
        raise error

    assert "Traceback" not in caught.value.message


class TestFolders:
    """Folders for data on its way."""

    @pytest.mark.slow
    def test_in_use(self, temporary):
        """The folder of a living process, this one or another, stays; it is gone when the process is done with it."""
        holding = (
            "from flowveil._folder import scratch_folder\nwith scratch_folder() as f: print(f, flush=True); input()"
        )
        other = subprocess.Popen(
            [sys.executable, "-c", holding], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        theirs = Path(other.stdout.readline().strip())
        with scratch_folder() as first:
            (first / "trips").write_text("private")
            with scratch_folder() as second:
                assert (first / "trips").exists()
                assert theirs.exists()
                assert {first, second, theirs} == set(temporary.iterdir())
                assert first.stat().st_mode & 0o777 == 0o700
        other.communicate("\n")

        assert names(temporary) == []

    def test_of_others(self, temporary):
        """Links, files, and folders of other names or users are left alone."""
        (temporary / "elsewhere").mkdir()
        (temporary / "elsewhere" / "file").write_text("not ours")
        (temporary / "flowveil-spill-link").symlink_to(temporary / "elsewhere")
        (temporary / "flowveil-spill-file").write_text("not a folder")
        left = ["elsewhere", "flowveil-spill-file", "flowveil-spill-link"]
        if os.getuid() == 0:
            (temporary / "flowveil-spill-user").mkdir()
            os.chown(temporary / "flowveil-spill-user", 12345, 12345)
            left.append("flowveil-spill-user")

        with scratch_folder():
            pass

        assert names(temporary) == left
        assert (temporary / "elsewhere" / "file").exists()

    def test_left_behind(self, temporary):
        """A folder that nobody holds is removed with all that is in it."""
        (temporary / "flowveil-spill-old" / "deep").mkdir(parents=True)
        (temporary / "flowveil-spill-old" / "deep" / "trips").write_text("private")

        with scratch_folder():
            assert not (temporary / "flowveil-spill-old").exists()
