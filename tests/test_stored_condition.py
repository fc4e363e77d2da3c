"""Conditions in audit files: anybody may have written them, so they are checked, and shown wherever they are used."""

import json

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import flowveil as fv
from flowveil import trajectories
from flowveil._cli.commands import run
from flowveil.synthetic import CITY_BBOX, PHONES_BBOX, phones

COMMANDS = {
    "flows": [["verify"], ["evaluate"], ["report"]],
    "paths": [["trajectories", "verify"], ["trajectories", "evaluate"], ["report"]],
    "noise": [["query"], ["report"]],
}
EVERY = [(kind, command) for kind, commands in COMMANDS.items() for command in commands]
PLANTED = [
    "true); COPY (SELECT 42) TO '{}/target.csv'; --",
    "(SELECT content FROM read_text('{}/secret.csv')) IS NOT NULL",
    "1=1) UNION SELECT 1 --",
    "count(*) OVER () > 1",
    "\x1b[2Jtrue AND",
    7,
    ["true"],
]


@pytest.fixture(scope="module")
def made(city_trips, tmp_path_factory):
    """Write a release of each kind, made from some of the rows, and return folders and inputs."""
    home = tmp_path_factory.mktemp("made")
    records = home / "records.parquet"
    pq.write_table(phones(30, samples=20), records)
    trips = fv.read_trips(city_trips, where="trip_id % 2 = 0 /* half */")
    fv.anonymize(fv.build_flows(trips, "h3:7"), "suppression", 10).write(home / "flows")
    fv.add_noise(fv.build_matrix(trips, CITY_BBOX, 50), "eug", 1.0).write(home / "noise")
    paths = trajectories.read_trajectories(records, PHONES_BBOX, where="user_id <> 'u000003'")
    trajectories.anonymize(paths, 2).write(home / "paths")
    return {name: (home / name, records if name == "paths" else city_trips) for name in COMMANDS}


@pytest.fixture
def plant(made):
    """Return a function that writes another condition into an audit file; the old one comes back at the end."""
    before = {}

    def write(kind, where):
        file = made[kind][0].with_name(f"{kind}.audit.json")
        before.setdefault(file, file.read_text())
        audit = json.loads(before[file])
        file.write_text(json.dumps(audit | {"input": audit["input"] | {"where": where}}))

    yield write
    for file, text in before.items():
        file.write_text(text)


def test_planted_columns_are_told(tmp_path, capsys):
    """An audit file may take any column for the number of trips: verify says so."""
    zones = pa.table({"zone_id": ["a", "b"], "lon": [1.0, 2.0], "lat": [1.0, 2.0]})
    pq.write_table(zones, tmp_path / "zones.parquet")
    many = pa.table({"origin": ["a"] * 12, "destination": ["b"] * 12})
    out = fv.anonymize(fv.build_flows(many, zones=zones), "suppression", k=10).write(tmp_path / "out")
    pq.write_table(pa.table({"origin": ["a"], "destination": ["b"], "x": [12]}), tmp_path / "one.parquet")
    file = out.with_name("out.audit.json")
    audit = json.loads(file.read_text())
    file.write_text(json.dumps(audit | {"input": audit["input"] | {"columns": {"count": "x"}}}))
    arguments = ["--against", str(tmp_path / "one.parquet"), "--zones", str(tmp_path / "zones.parquet")]

    assert run(["verify", str(out), *arguments]) == 0

    assert "columns were read as 'count' = 'x'" in capsys.readouterr().out
    assert fv.verify(out, tmp_path / "one.parquet", zones=zones).columns == {"count": "x"}


@pytest.mark.slow
@pytest.mark.parametrize("where", PLANTED, ids=lambda where: str(where)[:10])
@pytest.mark.parametrize(("kind", "command"), EVERY)
def test_planted(kind, command, where, made, plant, tmp_path, capsys):
    """A condition that does more than look at a row is shown and refused, and nothing of it runs."""
    (tmp_path / "secret.csv").write_text("n\n1\n")
    text = where.format(tmp_path) if isinstance(where, str) else where
    plant(kind, text)
    folder, source = made[kind]

    code = run([*command, str(folder), "--against", str(source)])

    out, err = capsys.readouterr()
    error = err.splitlines()[-2]
    assert (code, out) == (2, "")
    assert error.startswith("error: ")
    assert (repr(text) if isinstance(text, str) else "audit file") in error
    assert err.replace("\n", "").isprintable()
    assert [item.name for item in tmp_path.iterdir()] == ["secret.csv"]


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["flows", "paths"])
def test_verify_says_that_the_input_was_filtered(kind, made, capsys):
    """On the terminal, in JSON and in Python."""
    folder, source = made[kind]
    command = [*COMMANDS[kind][0], str(folder), "--against", str(source)]
    where = "((trip_id % 2) = 0)" if kind == "flows" else "(user_id != 'u000003')"

    assert run(command) == 0
    assert f"\nonly rows with {where!r} were looked at\nverified: " in capsys.readouterr().out
    assert run([*command, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["where"] == where
    assert run([*command, "--where", where + " AND true"]) == 0
    assert "AND" in capsys.readouterr().out.splitlines()[-2]
    verify = fv.verify if kind == "flows" else trajectories.verify
    assert verify(folder, source).where == where


@pytest.mark.slow
def test_no_condition(city_trips, tmp_path, capsys):
    """Where all rows are looked at, nothing is said of a condition."""
    folder = fv.anonymize(fv.build_flows(city_trips, "h3:6"), "suppression", 10).write(tmp_path / "out")

    for command in COMMANDS["flows"]:
        assert run([*command, str(folder), "--against", str(city_trips)]) == 0
        assert "only rows" not in "".join(capsys.readouterr())
    assert fv.verify(folder, city_trips).where is None
    assert "only rows that fulfill" not in (tmp_path / "out.private.html").read_text()


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "command"), [pair for pair in EVERY if pair[1][-1] != "verify"])
def test_a_stored_condition_is_shown(kind, command, made, capsys):
    """Figures of some of the rows come with a note that says which, and private pages say it, too."""
    folder, source = made[kind]

    assert run([*command, str(folder), "--against", str(source)]) == 0

    where = "(user_id != 'u000003')" if kind == "paths" else "((trip_id % 2) = 0)"
    assert f"note: only rows with {where!r} were looked at\n" in capsys.readouterr().err
    if command == ["report"]:
        page = folder.with_name(f"{kind}.private.html").read_text()
        assert f'[["where","{where}","only rows that fulfill' in page


def test_options_without_an_input_are_refused(made, capsys):
    """An option that would change nothing is an error, not silence."""
    flows, noise = str(made["flows"][0]), str(made["noise"][0])
    some = [["--where", "true"], ["--columns", "start_lon=x"]]
    cases = [["report", flows, *more] for more in (*some, ["--zones", "x.csv"], ["--query", "SELECT 1"])]
    cases += [["report", flows, "--json", "--where", "true"], ["verify", noise, "--query", "SELECT 1"]]
    cases += [["verify", noise, *more] for more in (*some, ["--beside", flows])]
    cases += [["query", noise, "--against", "x.parquet", "--origin-bbox", "4,50,5,51"]]

    for case in cases:
        assert run(case) == 2, case
        assert "hint: " in capsys.readouterr().err
