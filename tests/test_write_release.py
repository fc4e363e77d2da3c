"""A release appears whole or not at all, holds nothing that it should not, and does not depend on the order of rows."""

from __future__ import annotations

import getpass
import json
import os
import random
import socket
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import shapely

import flowveil as fv
from flowveil._folder import writing
from flowveil.synthetic import City
from tests.waiting import run_program

FILES = {"flows.parquet", "areas.parquet", "manifest.json"}
CITY = City(seed=5, persons=200)
TRIPS = CITY.trips(4_000)
ZONE_TRIPS = CITY.trips(4_000, ends="zones")


@pytest.fixture(scope="module")
def flows():
    """Return flows of the city with persons and weights."""
    return fv.build_flows(TRIPS, "h3:7", unit="person_id", weight="weight")


@pytest.fixture(scope="module")
def release(flows):
    """Return a release of the city."""
    return fv.anonymize(flows, "odkanon", k=10)


@pytest.fixture(scope="module")
def other(flows):
    """Return a release that differs from the first in every file."""
    return fv.anonymize(flows, "suppression", k=3)


def names_in(folder):
    """Return the names in a folder, hidden ones included."""
    return sorted(path.name for path in folder.iterdir())


def is_whole(folder, *releases):
    """Whether a folder holds one of the releases, all of it and nothing else."""
    found = fv.read_release(folder)
    return set(names_in(folder)) == FILES and any(
        found.flows.equals(release.flows) and found.areas.equals(release.areas) and found.manifest == release.manifest
        for release in releases
    )


@pytest.mark.slow
@pytest.mark.parametrize("method", [method.name for method in fv.methods() if method.promise == "k-anonymity"])
@pytest.mark.parametrize("options", [{}, {"unit": "person_id", "weight": "weight"}])
def test_order_of_rows_does_not_matter(method, options, tmp_path):
    """Shuffled trips give the same bytes."""
    shuffled = TRIPS.take(np.random.default_rng(1).permutation(len(TRIPS)))

    for name, table in (("one", TRIPS), ("two", shuffled)):
        fv.anonymize(fv.build_flows(table, "h3:6", **options), method, k=5).write(tmp_path / name)

    for name in FILES:
        assert (tmp_path / "one" / name).read_bytes() == (tmp_path / "two" / name).read_bytes()


def test_order_of_files_and_zones_does_not_matter(tmp_path):
    """Trips in other files and zones in another order give the same bytes."""
    zones = CITY.zones()
    order = np.random.default_rng(2).permutation(len(zones))
    pq.write_table(ZONE_TRIPS.slice(0, 1_000), tmp_path / "b.parquet")
    pq.write_table(ZONE_TRIPS.slice(1_000), tmp_path / "a.parquet")

    for name, trips, table in (("one", ZONE_TRIPS, zones), ("two", tmp_path / "*.parquet", zones.take(order))):
        fv.anonymize(fv.build_flows(trips, zones=table, unit="person_id"), "odkanon", k=5).write(tmp_path / name)

    for name in FILES:
        assert (tmp_path / "one" / name).read_bytes() == (tmp_path / "two" / name).read_bytes()


class TestFolder:
    """What is written where."""

    def test_three_files(self, release, tmp_path):
        """The folder holds three files, and beside it is the audit file, nothing else."""
        folder = release.write(tmp_path / "out")

        assert folder == tmp_path / "out"
        assert set(names_in(folder)) == FILES
        assert names_in(tmp_path) == ["out", "out.audit.json"]

    @pytest.mark.parametrize("name", ["o'ut", "a b", "Zürich ☃", "[x]", "a*", ".hidden", "x.y", "-o"])
    def test_odd_names(self, name, release, tmp_path):
        """Any name will do, and leftovers of that name are found."""
        (tmp_path / f".{name}.writing-old").mkdir()

        release.write(tmp_path / name)

        assert names_in(tmp_path) == sorted([name, f"{name}.audit.json"])

    @pytest.mark.parametrize("umask", [0o000, 0o022, 0o077])
    def test_rights(self, umask, release, tmp_path):
        """The audit file is for its owner alone, whatever was there before and whatever the habits of the shell."""
        (tmp_path / "out.audit.json").write_text("older")
        (tmp_path / "out.audit.json").chmod(0o644)
        habit = os.umask(umask)
        try:
            release.write(tmp_path / "out")
        finally:
            os.umask(habit)

        assert (tmp_path / "out.audit.json").stat().st_mode & 0o777 == 0o600
        assert (tmp_path / "out").stat().st_mode & 0o777 == 0o755

    def test_relative_path(self, release, tmp_path, monkeypatch):
        """A relative path is one from here."""
        monkeypatch.chdir(tmp_path)

        release.write("out")

        assert is_whole(tmp_path / "out", release)

    def test_metadata(self, release, tmp_path):
        """Parquet files carry no metadata but what GeoParquet asks for."""
        release.write(tmp_path / "out")

        assert not pq.read_metadata(tmp_path / "out" / "flows.parquet").metadata
        assert set(pq.read_metadata(tmp_path / "out" / "areas.parquet").metadata) == {b"geo"}

    def test_sorted(self):
        """Rows are sorted by the ids of their areas, so that their order tells nothing of how they were found."""
        places = {"zones": CITY.zones(), "hierarchy": ["zone_id", "district", "region"]}
        release = fv.anonymize(fv.build_flows(ZONE_TRIPS, **places), "mosaic", k=10)

        ids = list(zip(release.flows["origin"].to_pylist(), release.flows["destination"].to_pylist(), strict=True))

        assert len({area.split("=")[0] for area, _ in ids}) > 1  # areas of several levels, whose tree has another order
        assert ids == sorted(set(ids))


class TestReadBack:
    """A release that is read back."""

    def test_round_trip(self, release, tmp_path):
        """It is what was written."""
        assert is_whole(release.write(tmp_path / "out"), release)

    def test_metrics_need_the_trips(self, release, tmp_path):
        """It does not know what was lost."""
        with pytest.raises(fv.InputError, match="evaluate"):
            fv.read_release(release.write(tmp_path / "out")).metrics()

    def test_is_not_written_again(self, release, tmp_path):
        """It has no audit, so it cannot be written."""
        with pytest.raises(fv.InputError, match="copy"):
            fv.read_release(release.write(tmp_path / "out")).write(tmp_path / "again")

        assert names_in(tmp_path) == ["out", "out.audit.json"]

    @pytest.mark.slow
    @pytest.mark.parametrize("side", ["1500", "1234.56789", "1e3", "999.9999999999"])
    def test_a_grid_is_remembered(self, side, tmp_path):
        """The manifest tells the side of squares with all its digits: what is read back are the same squares."""
        flows = fv.build_flows(TRIPS, f"quadtree:{side}", bbox="4.4,50.26,4.82,50.53", unit="person_id")
        release = fv.anonymize(flows, "odkanon", k=4)
        release.write(tmp_path / "out")

        assert release.manifest["options"]["grid"] == f"quadtree:{side.replace('1e3', '1000')}"
        assert fv.evaluate(tmp_path / "out", TRIPS) == release.metrics(raw=True)
        assert fv.verify(tmp_path / "out", TRIPS).flows == release.flows.num_rows

    @pytest.mark.slow
    def test_input_options_are_remembered(self, tmp_path):
        """Columns and conditions come from the audit file, so that trips are named and nothing else."""
        trips = tmp_path / "trips.csv"
        TRIPS.rename_columns([{"start_lon": "x"}.get(name, name) for name in TRIPS.column_names]).to_pandas().to_csv(
            trips
        )
        read = fv.read_trips(trips, {"start_lon": "x"}, where="sex = 'female' AND x > 4.5")
        release = fv.anonymize(fv.build_flows(read, "h3:7"), "odkanon", k=5)
        release.write(tmp_path / "out")

        assert 0 < release.metrics()["trips"] < len(TRIPS)
        assert fv.evaluate(tmp_path / "out", trips) == release.metrics(raw=True)
        assert fv.verify(tmp_path / "out", trips).flows == release.flows.num_rows


def test_no_secret_is_published(tmp_path, monkeypatch):
    """Paths, conditions, other columns, their values, host and user are nowhere in the folder."""
    secrets = ["canarypath", "canaryfile", "canarycolumn", "canaryvalue", "canarywhere", "canaryzones", "canaryuser"]
    monkeypatch.setenv("USER", "canaryuser")
    monkeypatch.setenv("LOGNAME", "canaryuser")
    inside = tmp_path / "canarypath"
    inside.mkdir()
    table = ZONE_TRIPS.append_column("canarycolumn", pa.array(["canaryvalue"] * len(ZONE_TRIPS)))
    pq.write_table(table.replace_schema_metadata({"note": "canaryvalue"}), inside / "canaryfile.parquet")
    zones = CITY.zones().append_column("canarycolumn", pa.array(["canaryvalue"] * 300))
    pq.write_table(zones, inside / "canaryzones.parquet")
    trips = fv.read_trips(inside / "canaryfile.parquet", {"origin": "origin"}, "canarycolumn <> 'canarywhere'")
    flows = fv.build_flows(
        trips, zones=inside / "canaryzones.parquet", hierarchy=["zone_id", "district"], unit="person_id"
    )
    folder = fv.anonymize(flows, "odkanon", k=5).write(inside / "canaryrelease")

    published = b"".join(path.read_bytes() for path in folder.iterdir()).lower()
    for name in ("flows.parquet", "areas.parquet"):
        read = pq.read_table(folder / name)
        published += str((read.to_pylist(), read.schema, pq.read_metadata(folder / name).metadata)).lower().encode()

    for secret in [*secrets, "canaryrelease", socket.gethostname(), str(Path.home()), str(Path.cwd()), "/tmp"]:  # noqa: S108
        assert secret.lower().encode() not in published
    assert "origin" not in json.loads((folder / "manifest.json").read_text())["options"]
    assert b"p0000" not in published
    manifest = (folder / "manifest.json").read_text()
    assert getpass.getuser() not in manifest
    private = (inside / "canaryrelease.audit.json").read_text()
    assert all(secret in private for secret in ("canarywhere", "canaryzones", "canaryfile"))
    assert "p0000" not in private


class TestFailure:
    """What fails while it writes leaves nothing, or what was there before."""

    @pytest.mark.parametrize("call", [1, 2])
    @pytest.mark.parametrize("error", [OSError("disk full"), KeyboardInterrupt(), MemoryError()])
    def test_no_table_can_be_written(self, call, error, release, tmp_path, monkeypatch):
        """Neither a folder nor an audit file nor parts of them stay."""
        break_at(monkeypatch, writing.pq, "ParquetWriter", call, error)

        with pytest.raises(type(error)):
            release.write(tmp_path / "out")

        assert names_in(tmp_path) == []

    @pytest.mark.parametrize(
        ("owner", "name", "call"),
        [
            (writing.pq, "ParquetWriter", 2),
            (Path, "chmod", 1),
            (os, "fsync", 3),
            (Path, "rename", 1),
        ],
    )
    def test_an_older_release_stays(self, owner, name, call, release, other, tmp_path, monkeypatch):
        """Overwriting that fails at any step leaves the older release whole."""
        other.write(tmp_path / "out")
        break_at(monkeypatch, owner, name, call, OSError("disk full"))

        with pytest.raises(OSError, match="disk full"):
            release.write(tmp_path / "out", overwrite=True)

        monkeypatch.undo()
        assert is_whole(tmp_path / "out", other)
        release.write(tmp_path / "out", overwrite=True)
        assert is_whole(tmp_path / "out", release)
        assert names_in(tmp_path) == ["out", "out.audit.json"]

    def test_overwrite(self, release, other, tmp_path):
        """A release is replaced, with its audit file, if that is asked for."""
        other.write(tmp_path / "out")
        with pytest.raises(fv.InputError, match="exists"):
            release.write(tmp_path / "out")
        assert is_whole(tmp_path / "out", other)

        release.write(tmp_path / "out", overwrite=True)

        assert is_whole(tmp_path / "out", release)
        audit = json.loads((tmp_path / "out.audit.json").read_text())
        assert audit["metrics"] == release.metrics()
        assert names_in(tmp_path) == ["out", "out.audit.json"]

    def test_leftovers(self, release, tmp_path):
        """What killed runs left of this release is removed; what belongs to others is not."""
        for name in (".out.writing-a", ".out2.writing-b"):
            (tmp_path / name).mkdir()
            (tmp_path / name / "flows.parquet").write_text("half")
        (tmp_path / ".out.lock").write_text("")

        release.write(tmp_path / "out")

        assert names_in(tmp_path) == [".out2.writing-b", "out", "out.audit.json"]


def break_at(monkeypatch, owner, name, call, error):
    """Make a function raise at its n-th call."""
    original = getattr(owner, name)
    calls = []

    def broken(*arguments, **options):
        calls.append(1)
        if len(calls) == call:
            raise error
        return original(*arguments, **options)

    monkeypatch.setattr(owner, name, broken)


# Runs in a process of its own, which makes two releases once and forks a child for each moment of death. The child
# writes, and is killed at its n-th call of any function (it makes more of them when it finds leftovers, and comes to
# its end when n is larger), or by the clock.
KILLED = """
import hashlib, json, os, random, signal, sys, time
from pathlib import Path
import flowveil as fv
from flowveil._release.audit import make_audit
from flowveil.synthetic import City
from tests.waiting import run_program

folder, overwrite, steps = Path(sys.argv[1]), sys.argv[2] == "overwrite", int(sys.argv[3])
flows = fv.build_flows(City(seed=5, persons=200).trips(4_000), "h3:7", unit="person_id", weight="weight")
old, new = fv.anonymize(flows, "suppression", k=3), fv.anonymize(flows, "odkanon", k=10)

def write(die_at=None):
    calls = 0
    def count(frame, event, argument):
        nonlocal calls
        calls += 1
        if calls == die_at:
            os.kill(os.getpid(), signal.SIGKILL)
    sys.setprofile(count)
    new.write(folder / "out", overwrite=overwrite)
    sys.setprofile(None)
    return calls

def clear():
    for path in [*(folder / "out").glob("*")]:
        path.unlink()
    if (folder / "out").exists():
        (folder / "out").rmdir()

def prepare():
    if not overwrite:
        clear()
    else:
        old.write(folder / "out", overwrite=True)

def die(moment):
    child = os.fork()
    if not child:
        write(moment)
        while overwrite and moment is None:
            old.write(folder / "out", overwrite=True)
            new.write(folder / "out", overwrite=True)
        os._exit(0)
    if moment is None:
        time.sleep(clock.random() * 0.1)
        os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)

audits = {"old": make_audit(old), "new": make_audit(new)}

def state():
    try:
        found = fv.read_release(folder / "out")  # which puts in order what was left half-way
    except fv.InputError:
        assert not overwrite and not (folder / "out").exists()
        return "absent"
    names = sorted(path.name for path in (folder / "out").iterdir())
    assert names == ["areas.parquet", "flows.parquet", "manifest.json"], names
    for name, release in (("old", old), ("new", new)):
        if found.manifest == release.manifest:
            assert found.flows.equals(release.flows) and found.areas.equals(release.areas)
            audit = json.loads((folder / "out.audit.json").read_text())
            for file in audit.pop("files"):
                written = hashlib.sha256((folder / "out" / file["name"]).read_bytes()).hexdigest()
                assert file["sha256"] == written, file["name"]
            assert audit == json.loads(json.dumps(audits[name]))
            return name
    raise AssertionError("neither old nor new")

clock = random.Random(7)
for _ in range(2):  # the first time fills caches
    prepare()
    calls = write()
seen = []
for moment in [*range(1, 2 * calls, 2 * calls // steps), *[None] * (steps // 4)]:
    prepare()
    die(moment)
    seen.append(state())
print(*seen)
new.write(folder / "out", overwrite=True)
assert state() == "new"
print(*sorted(path.name for path in folder.iterdir()))
"""


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["fresh", "overwrite"])
def test_killed_at_any_moment(mode, tmp_path):
    """Whatever moment kills the process, the folder is whole, with the audit file of its own, or absent."""
    done = run_program([sys.executable, "-c", KILLED, str(tmp_path), mode, "40"])

    assert done.returncode == 0, done.stderr
    seen, left = done.stdout.splitlines()
    assert left == "out out.audit.json"
    assert set(seen.split()) >= ({"absent", "new"} if mode == "fresh" else {"old", "new"})
    assert len(seen.split()) >= 50


# Ten children write one of two releases to the same place at once.
TOGETHER = (
    KILLED.partition("def write(")[0]
    + """
audits = {"old": make_audit(old), "new": make_audit(new)}
children = []
for number in range(10):
    child = os.fork()
    if not child:
        try:
            (old, new)[number % 2].write(folder / "out", overwrite=overwrite)
        except fv.InputError as error:
            os._exit(7 if "exists" in error.message else 8)
        os._exit(0)
    children.append(child)
codes = sorted(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children)
assert codes == ([0] * 10 if overwrite else [0] + [7] * 9), codes
found, audit = fv.read_release(folder / "out"), json.loads((folder / "out.audit.json").read_text())
(name,) = [name for name, release in (("old", old), ("new", new)) if release.manifest == found.manifest]
for file in audit.pop("files"):
    assert file["sha256"] == hashlib.sha256((folder / "out" / file["name"]).read_bytes()).hexdigest(), file["name"]
assert audit == json.loads(json.dumps(audits[name]))
assert sorted(os.listdir(folder)) == ["out", "out.audit.json"], os.listdir(folder)
"""
)


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["fresh", "overwrite"])
def test_ten_writers_at_once(mode, tmp_path):
    """One release stands, with its own audit file; without overwrite the others are told that it exists."""
    done = run_program([sys.executable, "-c", TOGETHER, str(tmp_path), mode, "0"])

    assert done.returncode == 0, done.stderr


@pytest.mark.slow
def test_killed_command(city_trips, tmp_path):
    """The command itself, killed at any time between its start and its end, leaves no part of a release."""
    clock = random.Random(3)  # noqa: S311
    command = [
        sys.executable,
        "-m",
        "flowveil",
        "anonymize",
        str(city_trips),
        "--grid",
        "h3:7",
        "--overwrite",
        "-o",
        "out",
    ]
    for _ in range(2):
        process = subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            process.wait(timeout=0.5 + 2 * clock.random())
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()

        assert not (tmp_path / "out").exists() or set(names_in(tmp_path / "out")) == FILES


def test_outlines_are_stored_once(tmp_path):
    """An area that is an origin and a destination takes no more room than one that is one of them."""
    draw = np.random.default_rng(0)
    outlines = [shapely.to_wkb(shapely.Polygon(draw.random((2_000, 2)))) for _ in range(100)]
    table = pa.table({"side": ["origin"] * 100 + ["destination"] * 100, "geometry": outlines * 2})

    writing._write_table(table, tmp_path / "areas.parquet")

    assert pq.read_table(tmp_path / "areas.parquet").equals(table)
    assert (tmp_path / "areas.parquet").stat().st_size < 1.05 * sum(map(len, outlines))
