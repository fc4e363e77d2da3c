"""Files and folders appear whole or not at all: killed at any step, written by many at once, private from the start."""

from __future__ import annotations

import os
import sys
from contextlib import ExitStack
from pathlib import Path

import pytest

import flowveil as fv
from flowveil._folder import files as folder_files
from flowveil._folder.exchange import exchange
from flowveil._folder.files import (
    BESIDE,
    check_file,
    check_folder,
    make_private,
    new_folder,
    private_file,
    public_file,
    settle,
)
from flowveil._folder.lock import hold_place
from tests.waiting import run_program

# What the scripts below share: a folder `out` with a private file beside it, both of which say who wrote them.
WRITER = """
import os, signal, sys
from pathlib import Path
from flowveil._folder import files as folder_files
from flowveil._errors import InputError

folder, way = Path(sys.argv[1]), sys.argv[2]
target = folder / "out"
if way == "two steps":
    folder_files.exchange = lambda one, other: False

def write(who, overwrite=True):
    check = lambda: folder_files.check_folder(target, "ours", lambda found: True, overwrite=overwrite)
    with folder_files.new_folder(check, 0o755, folder_files.BESIDE) as new:
        for name in ("one", "two"):
            (new / name).write_text(who)
        # The old one has a private report, the new one an assignment.
        for ending in (".audit.json", ".private.html" if who == "old" else ".assignment.parquet"):
            folder_files.make_private(new.with_name(ending)).write_text(who)

def clear():
    for path in [*target.iterdir(), *folder.glob("out.*")]:
        path.unlink()
    target.rmdir()

def look():
    folder_files.settle(target)
    if not target.exists():
        assert not [name for name in os.listdir(folder) if not name.startswith(".")], os.listdir(folder)
        return "absent"
    said = {name: (target / name).read_text() for name in ("one", "two")}
    assert sorted(os.listdir(target)) == ["one", "two"]
    beside = sorted(path.name for path in folder.iterdir() if path.name.startswith("out."))
    said |= {name: (folder / name).read_text() for name in beside}
    assert {path.stat().st_mode & 0o777 for path in folder.glob("out.*")} == {0o600}
    (who,) = set(said.values())
    more = "out.private.html" if who == "old" else "out.assignment.parquet"
    assert beside == sorted(["out.audit.json", more])
    return who
"""
# A child is killed just before the n-th call of a function that changes the disk, for every n until it survives.
KILLED = (
    WRITER
    + """
CHANGES = ("mkdir", "open", "rename", "replace", "unlink", "rmdir", "fsync", "chmod", "close")

def die_at(moment):
    calls = 0
    def dying(original):
        def call(*arguments, **options):
            nonlocal calls
            calls += 1
            if calls == moment:
                os.kill(os.getpid(), signal.SIGKILL)
            return original(*arguments, **options)
        return call
    for name in CHANGES:
        setattr(os, name, dying(getattr(os, name)))
    folder_files.exchange = dying(folder_files.exchange)

def run(work, moment):
    child = os.fork()
    if not child:
        die_at(moment)
        work()
        os._exit(0)
    return os.waitpid(child, 0)[1] == 0

def prepare():
    write("old")
    if way == "fresh":
        clear()

def mend():
    look()
    write("new")

seen, moment, done = [], 0, False
while not done:
    moment += 1
    prepare()
    done = run(lambda: write("new"), moment)
    if way == "one step":
        assert target.is_dir()
    if moment % 2:  # the run that mends is killed as well
        run(mend, moment // 2 + 1)
    seen.append(look())
write("new")
assert look() == "new"
print(*sorted(set(seen)), moment)
print(*sorted(os.listdir(folder)))
"""
)
# The same for a file: a private one, one in a folder, and one beside a folder.
KILLED_FILE = KILLED.replace(
    "CHANGES =",
    """
from flowveil._folder import add_private, add_report, addition

home = folder / "out"
target = {"file": home, "report": home / "report.html", "private": folder / "out.private.html"}[way]
if way != "file":
    home.mkdir()

def write(who):
    if way == "file":
        with folder_files.private_file(target, overwrite=True) as new:
            new.write_text(who)
    else:
        add = add_report if way == "report" else add_private
        add(home, addition(home, target, overwrite=True), who)

def look():
    assert way != "report" or os.listdir(home) == ["report.html"]
    assert target.stat().st_mode & 0o777 == (0o644 if way == "report" else 0o600)
    return target.read_text()

CHANGES =""",
)
# Ten children write at once; the last line says how many came to their end, and what the others were told.
TOGETHER = (
    WRITER
    + """
overwrite = sys.argv[3] == "overwrite"
for round in range(8):
    if overwrite:
        write("old")
    ready, go = os.pipe()
    children = []
    for number in range(10):
        child = os.fork()
        if not child:
            os.close(go)
            os.read(ready, 1)
            try:
                write(str(number), overwrite)
            except InputError as error:
                os._exit(7 if "exists" in error.message else 8)
            os._exit(0)
        children.append(child)
    os.close(ready)
    os.close(go)
    codes = []
    while children:
        if overwrite and way == "one step":
            assert target.is_dir()  # at any moment
        child, status = os.waitpid(-1, os.WNOHANG)
        if child:
            children.remove(child)
            codes.append(os.waitstatus_to_exitcode(status))
    assert sorted(codes) == ([0] * 10 if overwrite else [0] + [7] * 9), codes
    assert look().isdigit()
    assert sorted(os.listdir(folder)) == ["out", "out.assignment.parquet", "out.audit.json"]
    if not overwrite:
        clear()
"""
)


def start(script, *arguments):
    """Run a script to its end and return what it prints."""
    command = [sys.executable, "-c", script, *map(str, arguments)]
    done = run_program(command)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def can_exchange(folder):
    """Whether this file system exchanges folders in one step."""
    for name in ("a", "b"):
        (folder / name).mkdir()
    can = exchange(folder / "a", folder / "b")
    for name in ("a", "b"):
        (folder / name).rmdir()
    return can


def names_in(folder):
    """Return the names in a folder, hidden ones included."""
    return sorted(path.name for path in folder.iterdir())


class TestFolder:
    """A folder and the private files beside it."""

    @pytest.mark.slow
    @pytest.mark.parametrize("way", ["fresh", "one step", "two steps"])
    def test_killed_at_every_step(self, way, tmp_path):
        """All is old or all is new, and so it is when the run that mends is killed too; nothing is lost or left."""
        if way == "one step" and not can_exchange(tmp_path):
            pytest.skip("this file system cannot exchange folders")

        seen, left = start(KILLED, tmp_path, way)

        *states, steps = seen.split()
        assert states == (["absent", "new"] if way == "fresh" else ["new", "old"])
        assert int(steps) > 20
        assert left == "out out.assignment.parquet out.audit.json"

    @pytest.mark.slow
    @pytest.mark.parametrize("mode", ["fresh", "overwrite"])
    @pytest.mark.parametrize("way", ["one step", "two steps"])
    def test_ten_at_once(self, way, mode, tmp_path):
        """One result stands, whole, with its own private files; without --overwrite nine are told that it exists."""
        if way == "one step" and not can_exchange(tmp_path):
            pytest.skip("this file system cannot exchange folders")

        start(TOGETHER, tmp_path, way, mode)

    def test_a_living_writer_is_left_alone(self, tmp_path):
        """Whoever begins later removes what dead processes left, not what a living one is about to finish."""
        (tmp_path / ".out.writing-dead").mkdir()

        with new_folder(allowed(tmp_path / "out"), 0o755) as first:
            (first / "file").write_text("first")
            with new_folder(allowed(tmp_path / "out"), 0o755) as second:
                (second / "file").write_text("second")
            assert (tmp_path / "out" / "file").read_text() == "second"

        assert (tmp_path / "out" / "file").read_text() == "first"
        assert names_in(tmp_path) == ["out"]

    def test_a_failure_after_the_swap(self, tmp_path, monkeypatch):
        """What cannot be moved now is moved by the next look: never a folder with the private files of another."""
        write(tmp_path / "out", "old")
        with monkeypatch.context() as patch:
            patch.setattr(Path, "replace", fail)
            with pytest.raises(OSError, match="disk full"):
                write(tmp_path / "out", "new")

        settle(tmp_path / "out")

        assert (tmp_path / "out" / "file").read_text() == (tmp_path / "out.audit.json").read_text() == "new"
        assert names_in(tmp_path) == ["out", "out.audit.json"]

    def test_a_failure_before_the_swap(self, tmp_path, monkeypatch):
        """Without a system that exchanges folders: if the new one cannot take the place, the old one is put back."""
        write(tmp_path / "out", "old")
        monkeypatch.setattr(folder_files, "exchange", lambda _one, _other: False)
        rename = Path.rename

        def refuse(self, to):
            return fail() if self.name == "new" else rename(self, to)

        with monkeypatch.context() as patch:
            patch.setattr(Path, "rename", refuse)
            with pytest.raises(OSError, match="disk full"):
                write(tmp_path / "out", "new")

        assert (tmp_path / "out" / "file").read_text() == (tmp_path / "out.audit.json").read_text() == "old"
        assert names_in(tmp_path) == ["out", "out.audit.json"]

    def test_the_old_one_is_never_thrown_away(self, tmp_path):
        """If a folder of the same name was made since the run was killed, the user is told where the old one is."""
        pending = tmp_path / ".out.pending"
        (pending / "old").mkdir(parents=True)
        (pending / "story.json").write_text('{"folder": -1, "beside": {}}')
        (tmp_path / "out").mkdir()

        with pytest.raises(fv.InputError, match="another folder of that name") as raised:
            settle(tmp_path / "out")

        assert str(pending / "old") in raised.value.hint
        assert (pending / "old").is_dir()

    @pytest.mark.parametrize("story", ["{", "[]", '{"folder": "x"}', '{"folder": 1, "beside": 5}', "[" * 100_000])
    def test_a_story_of_others(self, story, tmp_path):
        """What flowveil did not write is not acted upon."""
        (tmp_path / ".out.pending").mkdir()
        (tmp_path / ".out.pending" / "story.json").write_text(story)

        with pytest.raises(fv.InputError, match="not as flowveil wrote it"):
            settle(tmp_path / "out")

    def test_a_story_names_no_other_files(self, tmp_path):
        """A story can remove private files of a release, and nothing else."""
        (tmp_path / "out").mkdir()
        (tmp_path / "out.csv").write_text("mine")
        (tmp_path / ".out.pending").mkdir()
        number = (tmp_path / "out").stat().st_ino
        (tmp_path / ".out.pending" / "story.json").write_text(
            f'{{"folder": {number}, "beside": {{".csv": false, "/../out.csv": false}}}}'
        )

        settle(tmp_path / "out")

        assert names_in(tmp_path) == ["out", "out.csv"]

    @pytest.mark.skipif(os.geteuid() != 0, reason="only root can give folders to others")
    def test_pending_of_another_user(self, tmp_path):
        """What another user left is not touched."""
        (tmp_path / ".out.pending").mkdir()
        os.chown(tmp_path / ".out.pending", 12345, 12345)

        with pytest.raises(fv.InputError, match="not yours"):
            settle(tmp_path / "out")

    def test_waits_for_no_end(self, tmp_path, monkeypatch):
        """Whoever holds the place for too long is named, and nothing is written."""
        monkeypatch.setattr(folder_files, "_PATIENCE", 0.05)

        with hold_place(tmp_path / "out", 0), pytest.raises(fv.InputError, match="another process is writing"):
            write(tmp_path / "out", "new")

        assert names_in(tmp_path) == []

    def test_without_locks(self, tmp_path, monkeypatch):
        """Where the system has no locks, one writer works as anywhere."""
        monkeypatch.setattr("flowveil._folder.lock.fcntl", None)

        write(tmp_path / "out", "old")
        write(tmp_path / "out", "new")

        assert (tmp_path / "out" / "file").read_text() == (tmp_path / "out.audit.json").read_text() == "new"
        assert names_in(tmp_path) == ["out", "out.audit.json"]


class TestFile:
    """A file by itself."""

    @pytest.mark.slow
    @pytest.mark.parametrize("way", ["file", "report", "private"])
    def test_killed_at_every_step(self, way, tmp_path):
        """The older file stays until the new one is whole, and the next run removes what is left."""
        seen, left = start(KILLED_FILE, tmp_path, way)

        *states, steps = seen.split()
        assert states == ["new", "old"]
        assert int(steps) > 10
        assert left == ("out out.private.html" if way == "private" else "out")

    @pytest.mark.parametrize("umask", [0o000, 0o022, 0o077])
    def test_private_from_the_start(self, umask, tmp_path):
        """Nobody else can read it, before its first byte or after its last; nor the folder that it is written in."""
        habit = os.umask(umask)
        try:
            with private_file(tmp_path / "x.svg") as new:
                modes = [new.stat().st_mode & 0o777, new.parent.stat().st_mode & 0o777]
                new.write_text("private")
        finally:
            os.umask(habit)

        assert modes == [0o600, 0o700]
        assert (tmp_path / "x.svg").stat().st_mode & 0o777 == 0o600
        assert names_in(tmp_path) == ["x.svg"]

    def test_a_public_one_follows_the_habits_of_the_shell(self, tmp_path):
        """Its mode is what the user's other files have."""
        habit = os.umask(0o027)
        try:
            with public_file(tmp_path / "x.csv") as new:
                new.write_text("public")
        finally:
            os.umask(habit)

        assert (tmp_path / "x.csv").stat().st_mode & 0o777 == 0o640

    @pytest.mark.parametrize("kind", [private_file, public_file])
    def test_overwriting(self, kind, tmp_path):
        """A file is replaced only if asked, even if it appeared meanwhile; a private one is private then."""
        with ExitStack() as stack:
            stack.enter_context(pytest.raises(fv.InputError, match="exists"))
            stack.enter_context(kind(tmp_path / "x")).write_text("late")
            (tmp_path / "x").write_text("mine")
        assert (tmp_path / "x").read_text() == "mine"

        with kind(tmp_path / "x", overwrite=True) as new:
            new.write_text("asked for")

        assert (tmp_path / "x").read_text() == "asked for"
        assert ((tmp_path / "x").stat().st_mode & 0o077 == 0) == (kind is private_file)
        assert names_in(tmp_path) == ["x"]

    @pytest.mark.parametrize("error", [OSError("disk full"), KeyboardInterrupt()])
    def test_failure(self, error, tmp_path):
        """Whatever fails, the older file stays and nothing is left."""
        (tmp_path / "x").write_text("older")

        with ExitStack() as stack:
            stack.enter_context(pytest.raises(type(error)))
            stack.enter_context(private_file(tmp_path / "x", overwrite=True)).write_text("half")
            raise error

        assert (tmp_path / "x").read_text() == "older"
        assert names_in(tmp_path) == ["x"]

    def test_what_is_no_file(self, tmp_path):
        """A folder or a device is never replaced."""
        (tmp_path / "folder").mkdir()
        os.mkfifo(tmp_path / "pipe")

        for name in ("folder", "pipe"):
            with pytest.raises(fv.InputError, match="is not a file"):
                check_file(tmp_path / name, overwrite=True)


def allowed(target):
    """Return a check that allows a folder."""
    return lambda: check_folder(target, "ours", lambda _: True, overwrite=True)


def write(target, who):
    """Write a folder and its private file."""
    with new_folder(allowed(target), 0o755, BESIDE) as new:
        (new / "file").write_text(who)
        make_private(new.with_name(".audit.json")).write_text(who)


def fail(*_arguments):
    """Stand in for what fails."""
    raise OSError("disk full")
