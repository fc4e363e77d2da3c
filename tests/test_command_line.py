"""The command line as users meet it: what it prints where, its exit codes, its documents, and what it keeps secret."""

from __future__ import annotations

import json
import signal
import sys
from pathlib import Path

import h3
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import typer

import flowveil as fv
from flowveil._cli.commands import find_app, run
from flowveil._cli.terminal import count
from tests.cells import holds
from tests.waiting import run_program

PROJECT = Path(__file__).parent.parent
DOCUMENT = PROJECT / "docs" / "command-line.md"
SCRIPT = Path(sys.executable).parent / "flowveil"
COMMANDS = {}


def collect(command, name=""):
    """Fill COMMANDS with every command under its full name."""
    if hasattr(command, "commands"):
        for child, inner in command.commands.items():
            collect(inner, f"{name} {child}".strip())
    else:
        COMMANDS[name] = command


collect(typer.main.get_command(find_app()))


@pytest.fixture(scope="module")
def released(city_trips, tmp_path_factory):
    """Return a release folder and its trips, as text."""
    folder = tmp_path_factory.mktemp("released") / "out"
    fv.anonymize(fv.build_flows(city_trips, "h3:7", unit="person_id"), "odkanon").write(folder)
    return str(folder), str(city_trips)


def two_places(rows=40):
    """Return trips of 20 persons between two places."""
    return pa.table(
        {
            "person_id": [f"p{row % 20}" for row in range(rows)],
            "start_lon": [4.5] * rows,
            "start_lat": [50.3] * rows,
            "end_lon": [4.7] * rows,
            "end_lat": [50.4] * rows,
        }
    )


def save(table, path):
    """Write a table and return its path as text."""
    pq.write_table(table, path)
    return str(path)


class TestDocuments:
    """Every command says what it does, here and in the documents."""

    def section(self, name):
        """Return the part of the document about one command."""
        text = DOCUMENT.read_text(encoding="utf-8")
        heading = f"## flowveil {name}\n"
        assert heading in text, f"{DOCUMENT.name} has no section {heading.strip()!r}"
        return text.split(heading, 1)[1].split("\n## ", 1)[0]

    @pytest.mark.parametrize("name", COMMANDS)
    def test_help(self, name, capsys):
        """--help tells what a command does and what each option means."""
        assert run([*name.split(), "--help"]) == 0

        out, err = capsys.readouterr()
        assert err == ""
        assert f"flowveil {name}" in out
        assert COMMANDS[name].help
        for parameter in COMMANDS[name].params:
            if parameter.param_type_name == "option" and parameter.name != "help":
                assert parameter.help, f"--{parameter.name} of {name} has no help"

    @pytest.mark.parametrize("name", COMMANDS)
    def test_command_is_documented(self, name):
        """Each option of a command is in its section, or in that of anonymize where it says so."""
        section = self.section(name)
        if "options of anonymize" in section:
            section += self.section("anonymize")

        for parameter in COMMANDS[name].params:
            if parameter.param_type_name == "option" and parameter.name != "help":
                assert any(
                    f"{spelling} " in section or f"{spelling}`" in section or f"{spelling}]" in section
                    for spelling in parameter.opts
                ), f"{parameter.opts} of {name} is not in {DOCUMENT.name}"

    def test_no_other_command_is_documented(self):
        """The document has no section about a command that does not exist."""
        headings = [
            line for line in DOCUMENT.read_text(encoding="utf-8").splitlines() if line.startswith("## flowveil ")
        ]

        assert sorted(line.removeprefix("## flowveil ") for line in headings) == sorted(COMMANDS)

    def test_every_option_in_the_document_exists(self):
        """The document promises no option that does not exist."""
        for name, command in COMMANDS.items():
            known = {
                option for parameter in command.params for option in [*parameter.opts, *parameter.secondary_opts]
            } | {"--help"}
            words = self.section(name).replace("`", " ").replace("[", " ").replace("=", " ").replace("]", " ").split()
            named = {word.rstrip(".,;:)") for word in words if word.startswith("--") and word.strip("-")}
            shared = {option for parameter in COMMANDS["anonymize"].params for option in parameter.opts}
            assert named - known - shared == set(), f"in the section about {name}"

    def test_overview(self, capsys):
        """Without arguments the commands are listed; that is a usage error, so that scripts notice."""
        assert run([]) == 2

        out, _ = capsys.readouterr()
        assert all(name.split()[0] in out for name in COMMANDS)

    def test_version(self, capsys):
        """--version shows the version."""
        assert run(["--version"]) == 0

        assert capsys.readouterr().out.startswith("flowveil 0.")


class TestJson:
    """--json prints one JSON value on stdout and nothing else."""

    KEYS = frozenset(
        {
            *("gbar", "e", "d", "suppressed", "c_dm", "c_avg", "gdm", "mao", "mad"),
            *("flows", "origin_areas", "destination_areas", "trips", "min_trips", "min_persons", "min_weight"),
        }
    )

    def json(self, capsys, *arguments):
        """Run a command and return what it prints."""
        assert run([*arguments, "--json"]) == 0
        out, err = capsys.readouterr()
        assert err == ""
        return json.loads(out)

    def test_evaluate(self, released, capsys):
        """All metrics by name."""
        figures = self.json(capsys, "evaluate", released[0], "--against", released[1])

        assert set(figures) >= self.KEYS
        assert set(figures["gdm"]) == {"mean", "median", "sd"}
        assert figures["min_weight"] is None
        assert figures["min_persons"] >= 10

    def test_verify(self, released, capsys):
        """What was checked."""
        result = self.json(capsys, "verify", released[0], "--against", released[1])

        assert result["verified"] is True
        assert result["checks"]

    def test_methods(self, capsys):
        """Every method with its options."""
        methods = self.json(capsys, "methods")

        assert [method["name"] for method in methods] == [method.name for method in fv.methods()]
        assert all(option["meaning"] for method in methods for option in method["options"])

    def test_nothing_on_failure(self, released, tmp_path, capsys):
        """A failed check prints no JSON."""
        other = save(two_places(), tmp_path / "t.parquet")

        assert run(["verify", released[0], "--against", other, "--json"]) == 1

        out, err = capsys.readouterr()
        assert out == ""
        assert err.startswith("error: ")

    @pytest.mark.slow
    def test_text_shows_the_same(self, released, capsys):
        """Without --json the same figures are a table, with a warning beside it."""
        figures = self.json(capsys, "evaluate", released[0], "--against", released[1])

        assert run(["evaluate", released[0], "--against", released[1]]) == 0

        out, err = capsys.readouterr()
        assert [line.split()[0] for line in out.splitlines()] == list(figures)
        assert "private" in err


class TestProcess:
    """Exit codes and streams of the real thing."""

    def start(self, *arguments, **options):
        """Run the console script."""
        return run_program([SCRIPT, *arguments], **options)

    @pytest.mark.slow
    def test_done(self, city_trips, tmp_path):
        """0, with the summary on stdout, notes on stderr, and no progress bar in a pipe."""
        done = self.start("anonymize", city_trips, "--grid", "h3:6", "--method", "odkanon", "-o", "out", cwd=tmp_path)

        assert done.returncode == 0
        assert "safe to publish" in done.stdout
        assert all(line.startswith("note: ") for line in done.stderr.splitlines())
        assert "\x1b" not in done.stdout + done.stderr

    @pytest.mark.slow
    def test_promise(self, city_trips, tmp_path):
        """1 if the promise cannot be kept."""
        done = self.start("anonymize", city_trips, "-k", "501", "--unit", "person_id", "-o", "out", cwd=tmp_path)

        assert (done.returncode, done.stdout) == (1, "")
        assert "\nhint: " in done.stderr
        assert list(tmp_path.iterdir()) == []

    @pytest.mark.slow
    def test_usage(self, tmp_path):
        """2 for bad input, through python -m as well."""
        module = [sys.executable, "-m", "flowveil", "anonymize", "nope.csv", "-o", "out"]

        done = run_program(module, cwd=tmp_path)

        assert (done.returncode, done.stdout) == (2, "")
        assert done.stderr.splitlines()[0] == "error: there is no file 'nope.csv'"
        assert done.stderr.splitlines()[1].startswith("hint: ")

    @pytest.mark.slow
    def test_closed_pipe(self):
        """A reader that leaves early is no error."""
        command = f"{SCRIPT} methods --json | head -c 1; exit ${{PIPESTATUS[0]}}"

        done = run_program(["bash", "-c", command])

        assert done.stderr == ""
        assert done.stdout == "["

    @pytest.mark.slow
    def test_interrupted(self, tmp_path):
        """Ctrl-C ends with a word, not with a traceback, and leaves nothing."""
        code = "import os, signal, sys, flowveil._cli as c, flowveil as f\n"
        code += "f.build_flows = lambda *a, **k: os.kill(os.getpid(), signal.SIGINT) or signal.pause()\n"
        code += "f.read_trips = lambda *a, **k: None\nc.main(['anonymize', 'x', '-o', 'out'])"

        done = run_program([sys.executable, "-c", code], cwd=tmp_path)

        assert done.returncode == 128 + signal.SIGINT
        assert done.stderr.startswith("error: interrupted\nhint: ")
        assert list(tmp_path.iterdir()) == []


class TestSurprises:
    """What nobody planned for is told without a traceback."""

    @pytest.mark.parametrize(
        ("error", "code"),
        [
            (KeyboardInterrupt(), 130),
            (MemoryError(), 1),
            (PermissionError(13, "Permission denied", "x"), 2),
            (ZeroDivisionError("7"), 1),
        ],
    )
    def test_any_error(self, error, code, tmp_path, monkeypatch, capsys):
        """Whatever is raised becomes error:, hint: and an exit code."""

        def fail(*_, **__):
            raise error

        monkeypatch.setattr(fv, "build_flows", fail)

        assert run(["anonymize", save(two_places(), tmp_path / "t.parquet"), "-o", str(tmp_path / "out")]) == code

        out, err = capsys.readouterr()
        assert out == ""
        assert [line.split(":")[0] for line in err.splitlines()] == ["error", "hint"]

    def test_debugging(self, tmp_path, monkeypatch, capsys):
        """A developer can ask for the traceback."""
        monkeypatch.setenv("FLOWVEIL_DEBUG", "1")
        monkeypatch.setattr(fv, "build_flows", lambda *_, **__: 1 / 0)

        assert run(["anonymize", save(two_places(), tmp_path / "t.parquet"), "-o", str(tmp_path / "out")]) == 1

        assert "Traceback" in capsys.readouterr().err


class TestNotes:
    """What was dropped is told."""

    def test_dropped_rows(self, tmp_path, capsys):
        """Each reason with its number of rows; what the bbox left out is told apart."""
        latitudes = [91.0, None, None, 60.0] + [50.4] * 36
        table = two_places().set_column(4, "end_lat", pa.array(latitudes))

        code = run(
            [
                *("anonymize", save(table, tmp_path / "t.parquet"), "--grid", "h3:6", "--method", "suppression"),
                *("--bbox", "4.4,50.2,4.9,50.6", "-o", str(tmp_path / "out")),
            ]
        )

        assert code == 0
        notes = capsys.readouterr().err.splitlines()
        assert "note: 2 of 40 rows dropped: null coordinate" in notes
        assert "note: 1 of 40 rows dropped: out of range" in notes
        assert "note: 1 of 40 rows left out: an end lies outside the bbox" in notes
        audit = json.loads((tmp_path / "out.audit.json").read_text())
        assert audit["dropped"] == {"null coordinate": 2, "out of range": 1}

    @pytest.mark.parametrize("unit", [[], ["--unit", "person_id"]])
    def test_trips_are_not_persons(self, unit, tmp_path, capsys):
        """Without a unit the user is told that k counts trips, and so is the reader of the release."""
        source = save(two_places(), tmp_path / "t.parquet")

        assert run(["anonymize", source, "--grid", "h3:6", *unit, "-o", str(tmp_path / "out")]) == 0

        manifest = json.loads((tmp_path / "out" / "manifest.json").read_text())
        assert ("k counts trips" in capsys.readouterr().err) == (not unit)
        assert ("Trips are not persons" in manifest["promise_text"]) == (not unit)
        assert ("persons" in pq.read_schema(tmp_path / "out" / "flows.parquet").names) == bool(unit)


METHODS = ["mosaic", "odkanon", "suppression"]


class TestSecrets:
    """The two accidents that a release must never have."""

    @pytest.mark.slow
    @pytest.mark.parametrize("method", METHODS)
    def test_one_busy_person(self, method, tmp_path, capsys):
        """50 trips of one person between two places where nobody else goes are not published at -k 10."""
        rows = 50
        busy = pa.table(
            {
                "person_id": ["busy"] * rows,
                "start_lon": [-70.0] * rows,
                "start_lat": [-30.0] * rows,
                "end_lon": [-71.0] * rows,
                "end_lat": [-31.0] * rows,
            }
        )
        source = save(pa.concat_tables([two_places(1_000), busy]), tmp_path / "t.parquet")

        arguments = ["anonymize", source, "--grid", "h3:7", "--method", method, "-k", "10", "-o", str(tmp_path / "out")]
        code = run([*arguments, "--unit", "person_id"])

        assert code == 0
        release = fv.read_release(tmp_path / "out")
        home = h3.latlng_to_cell(-30.0, -70.0, 7)
        for area in release.areas["area"].to_pylist():
            assert area == "world" or not holds(area, home)
        assert min(release.flows["persons"].to_pylist()) >= 10
        assert fv.verify(tmp_path / "out", source)
        # The same trips count as 50 where trips are what is protected: it is the unit that hides them.
        assert run([*arguments, "--overwrite"]) == 0
        trips = fv.read_release(tmp_path / "out").flows["trips"].to_pylist()
        assert sum(trips) == 1_050
        capsys.readouterr()

    @pytest.mark.slow
    @pytest.mark.parametrize("method", METHODS)
    def test_one_trip_far_away(self, method, city_trips, tmp_path, capsys):
        """A single trip on the other side of the world is in no area but the world, and the world has no shape."""
        city = pq.read_table(city_trips, columns=["start_lon", "start_lat", "end_lon", "end_lat"])
        far = pa.table({"start_lon": [147.3], "start_lat": [-42.9], "end_lon": [147.4], "end_lat": [-42.8]})
        source = save(pa.concat_tables([city, far]), tmp_path / "t.parquet")

        assert run(["anonymize", source, "--grid", "h3:7", "--method", method, "-o", str(tmp_path / "out")]) == 0

        release = fv.read_release(tmp_path / "out")
        ends = {"origin": h3.latlng_to_cell(-42.9, 147.3, 7), "destination": h3.latlng_to_cell(-42.8, 147.4, 7)}
        for area in release.areas.to_pylist():
            assert area["area"] == "world" or not holds(area["area"], ends[area["side"]])
            if area["area"] == "world":
                assert [area[name] for name in ("lon", "lat", "tiles", "geometry")] == [None] * 4
        assert sum(release.flows["trips"].to_pylist()) <= len(city) + 1
        assert fv.verify(tmp_path / "out", source)
        capsys.readouterr()

    def test_the_top_is_the_world(self, tmp_path, capsys):
        """Trips of two far cities that only pass together are published from world to world, not from an ancestor."""
        rows = [(2.3, 48.8)] * 6 + [(-58.4, -34.6)] * 6
        lon, lat = (np.array(column) for column in zip(*rows, strict=True))
        table = pa.table({"start_lon": lon, "start_lat": lat, "end_lon": lon, "end_lat": lat})

        source = save(table, tmp_path / "t.parquet")
        assert run(["anonymize", source, "--grid", "h3:9", "--method", "odkanon", "-o", str(tmp_path / "out")]) == 0

        release = fv.read_release(tmp_path / "out")
        assert release.flows.to_pylist() == [{"origin": "world", "destination": "world", "trips": 12}]
        assert release.areas["geometry"].null_count == 2
        assert release.areas["lon"].null_count == 2
        capsys.readouterr()


def test_one_is_not_several():
    """Numbers on the terminal go with their words."""
    assert [count(number, "flow") for number in (0, 1, 2_000)] == ["0 flows", "1 flow", "2,000 flows"]
