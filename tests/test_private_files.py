"""What commands write where the user says: private where it must be, and nothing is overwritten unasked."""

from __future__ import annotations

import json
import os
import shutil

import pyarrow.parquet as pq
import pytest

import flowveil as fv
from flowveil._cli.commands import run
from flowveil.synthetic import CITY_BBOX, City, phones
from flowveil.trajectories import Gap, TrajectoryEvaluation

BOX = "--bbox=" + ",".join(map(str, CITY_BBOX))
COMPARISON = ("compare.parquet", "compare.md", "compare.svg")


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """Return a folder with trips, samples, zones and releases of every kind."""
    folder = tmp_path_factory.mktemp("made")
    city = City(seed=5, persons=200)
    pq.write_table(city.trips(3_000), folder / "trips.parquet")
    pq.write_table(city.zones(), folder / "zones.parquet")
    pq.write_table(phones(20, samples=10), folder / "samples.parquet")
    release = fv.anonymize(fv.build_flows(folder / "trips.parquet", "h3:6", unit="person_id"))
    release.write(folder / "flows")
    paths = ["trajectories", "anonymize", str(folder / "samples.parquet"), "-k", "2", BOX]
    assert run([*paths, "-o", str(folder / "paths")]) == 0
    noisy = ["anonymize", str(folder / "trips.parquet"), BOX, "--epsilon", "1", "--grid", "h3:5"]
    assert run([*noisy, "-o", str(folder / "noisy")]) == 0
    return folder


# Command: its words, where IN is the folder above and OUT an empty one, and what it writes to OUT.
PRIVATE = {
    "frontier": (
        ["frontier", "IN/trips.parquet", "--grid", "h3:6", "--points", "3", "-o", "OUT/frontier.svg"],
        ["frontier.svg"],
    ),
    "compare": (
        ["compare", "IN/trips.parquet", "--grid", "h3:6", "--methods", "suppression", "-o", "OUT/c"],
        [f"c/{name}" for name in COMPARISON],
    ),
    "gap": (
        ["trajectories", "gap", "IN/samples.parquet", BOX, "-k", "2", "--plots", "OUT/p"],
        [f"p/{name}" for name in Gap.PICTURES],
    ),
    "evaluate": (
        ["trajectories", "evaluate", "IN/paths", "--against", "IN/samples.parquet", "--plots", "OUT/p"],
        [f"p/{name}" for name in TrajectoryEvaluation.PICTURES],
    ),
    "private report": (["report", "OUT/flows", "--against", "IN/trips.parquet"], ["flows.private.html"]),
}
PUBLIC = {
    "report": (["report", "OUT/flows"], ["flows/report.html"]),
    "reconstruct": (
        ["reconstruct", "IN/flows", "--zones", "IN/zones.parquet", "-o", "OUT/flows.csv"],
        ["flows.csv"],
    ),
    "export to a file": (["export", "IN/flows", "--to", "omx", "-o", "OUT/x.omx"], ["x.omx"]),
    "export to a folder": (
        ["export", "IN/flows", "--to", "geojson", "-o", "OUT/x"],
        ["x/areas.geojson", "x/flows.geojson"],
    ),
}


def start(name, made, folder):
    """Return the words of a command and the files that it will write; reports are made of a release in that folder."""
    words, files = (PRIVATE | PUBLIC)[name]
    if "report" in name:
        (folder / "flows").mkdir()
        for item in (made / "flows").iterdir():
            (folder / "flows" / item.name).write_bytes(item.read_bytes())
        (folder / "flows.audit.json").write_bytes((made / "flows.audit.json").read_bytes())
    filled = [word.replace("IN/", f"{made}/").replace("OUT/", f"{folder}/") for word in words]
    return filled, [folder / file for file in files]


def everything(folder):
    """Return all files in a folder and below, with what they hold."""
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[pytest.mark.slow] * (name == "compare")) for name in PRIVATE]
)
def test_private(name, made, tmp_path, capsys):
    """Only the owner reads what shows private figures, whatever the habits of the shell."""
    words, files = start(name, made, tmp_path)
    before = set(tmp_path.rglob("*"))
    habit = os.umask(0)
    try:
        assert run(words) == 0, capsys.readouterr().err
    finally:
        os.umask(habit)

    new = set(tmp_path.rglob("*")) - before
    assert {path for path in new if path.is_file()} == set(files)
    assert {path.stat().st_mode & 0o777 for path in files} == {0o600}
    assert {path.stat().st_mode & 0o777 for path in new if path.is_dir()} <= {0o700}


@pytest.mark.slow
@pytest.mark.parametrize("name", [*PRIVATE, *PUBLIC])
def test_not_overwritten_unasked(name, made, tmp_path, capsys):
    """A second run says what exists and touches nothing; with --overwrite it replaces it."""
    words, files = start(name, made, tmp_path)
    assert run(words) == 0, capsys.readouterr().err
    for path in files:
        path.write_text("mine")
    before = everything(tmp_path)
    capsys.readouterr()

    assert run(words) == 2

    out, err = capsys.readouterr()
    assert out == ""
    assert "exists" in err.splitlines()[-2]
    assert "--overwrite" in err.splitlines()[-1]
    assert everything(tmp_path) == before

    assert run([*words, "--overwrite"]) == 0, capsys.readouterr().err

    after = everything(tmp_path)
    assert set(after) == set(before)
    assert all(after[path] != b"mine" for path in files)
    if name in PRIVATE:
        assert {path.stat().st_mode & 0o777 for path in files} == {0o600}


def test_refused_before_the_work(made, tmp_path, monkeypatch):
    """Whoever may not write is told before any trip is read."""
    monkeypatch.setattr(fv, "build_flows", None)
    (tmp_path / "x.svg").write_text("mine")

    assert run(["frontier", str(made / "trips.parquet"), "-o", str(tmp_path / "x.svg")]) == 2


def test_demo(tmp_path, capsys):
    """The demo does not replace trips that happen to have the name it would use."""
    (tmp_path / "mine.trips.parquet").write_text("real trips")

    assert run(["demo", "-o", str(tmp_path / "mine")]) == 2

    assert "exists" in capsys.readouterr().err
    assert (tmp_path / "mine.trips.parquet").read_text() == "real trips"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["mine.trips.parquet"]


def test_a_report_is_not_written_through_a_link(made, tmp_path, capsys):
    """A release of somebody else cannot make flowveil write to another place."""
    start("report", made, tmp_path)
    (tmp_path / "precious").write_text("mine")
    (tmp_path / "flows" / "report.html").symlink_to(tmp_path / "precious")

    assert run(["report", str(tmp_path / "flows"), "--overwrite"]) == 2

    assert "is a link" in capsys.readouterr().err
    assert (tmp_path / "precious").read_text() == "mine"


def test_a_report_of_a_release_that_was_replaced(made, tmp_path, monkeypatch):
    """A report of the release before is not put into the one that has taken its place in the meantime."""
    other = fv.anonymize(fv.build_flows(made / "trips.parquet", "h3:6", unit="person_id"), k=30)
    start("report", made, tmp_path)

    def replaced(_show, _files, _ground):
        other.write(tmp_path / "flows", overwrite=True)
        return "a page"

    monkeypatch.setattr("flowveil._kinds.reports.make_report", replaced)

    with pytest.raises(fv.InputError, match="replaced in the meantime"):
        fv.report(tmp_path / "flows")
    assert not (tmp_path / "flows" / "report.html").exists()


@pytest.mark.slow
@pytest.mark.parametrize(
    "command",
    [
        "verify flows --against trips.parquet",
        "evaluate flows --against trips.parquet",
        "report flows",
        "report flows --json",
        "report flows --against trips.parquet",
        "export flows --to geojson -o new",
        "reconstruct flows --zones zones.parquet",
        "anonymize trips.parquet --grid h3:6 --unit person_id -o new --areas-from flows",
        "anonymize trips.parquet --grid h3:7 --unit person_id -o flows --overwrite",
        "verify noisy",
        "query noisy",
        "query noisy --against trips.parquet",
        "trajectories verify paths --against samples.parquet",
        "trajectories evaluate paths --against samples.parquet",
    ],
)
def test_a_killed_run_is_mended_first(command, made, tmp_path, capsys):
    """Whatever command comes next, private files of a release that were still on their way are put in their place."""
    shutil.copytree(made, tmp_path, dirs_exist_ok=True)
    name = next(word for word in command.split() if word in {"flows", "noisy", "paths"})
    (tmp_path / f".{name}.pending").mkdir()
    (tmp_path / f"{name}.audit.json").rename(tmp_path / f".{name}.pending" / ".audit.json")
    story = {"folder": (tmp_path / name).stat().st_ino, "beside": {".audit.json": True, ".private.html": False}}
    (tmp_path / f".{name}.pending" / "story.json").write_text(json.dumps(story))
    (tmp_path / f"{name}.audit.json").write_text("of the release before")
    (tmp_path / f"{name}.private.html").write_text("of the release before")
    known = {"new", *(path.name for path in tmp_path.iterdir())}

    code = run([str(tmp_path / word) if word in known else word for word in command.split()])

    assert code == 0, capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith(".")] == []
    if "--overwrite" not in command:
        assert (tmp_path / f"{name}.audit.json").read_bytes() == (made / f"{name}.audit.json").read_bytes()
    private = tmp_path / f"{name}.private.html"
    assert private.exists() == (command == "report flows --against trips.parquet")
