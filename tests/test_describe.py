"""What is said of an input before anything is made of it: true, complete, and called private."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

import flowveil as fv
from flowveil._cli.commands import find_app, run

LAYOUTS = Path(__file__).parent / "layouts"
rows = st.lists(st.tuples(st.sampled_from("abc"), st.sampled_from("abd"), st.integers(1, 4)), min_size=1, max_size=30)


@pytest.mark.slow
@settings(max_examples=25, deadline=None)
@given(rows)
def test_figures_by_brute_force(trips):
    """Tiles, pairs, density, persons and anonymous shares are those that a few lines of Python count."""
    table = pa.table(dict(zip(("origin", "destination", "who"), map(list, zip(*trips, strict=True)), strict=True)))
    persons, volume = {}, Counter((o, d) for o, d, _ in trips)
    for o, d, who in trips:
        persons.setdefault((o, d), set()).add(who)
    origins, destinations = ({trip[end] for trip in trips} for end in (0, 1))
    made = Counter(who for _, _, who in trips)

    figures = fv.describe(table, unit="who", ks=[1, 2, 3]).figures

    assert (figures.trips, figures.pairs) == (len(trips), len(volume))
    assert figures.tiles == len(origins | destinations)
    assert figures.density == pytest.approx(len(volume) / (len(origins) * len(destinations)))
    assert (figures.persons, figures.trips_a_person["most"]) == (len(made), max(made.values()))
    assert figures.trips_a_person["median"] == np.median(list(made.values()))
    for row in figures.anonymous:
        enough = [pair for pair, crowd in persons.items() if len(crowd) >= row["k"]]
        assert row["flows"] == pytest.approx(len(enough) / len(volume))
        assert row["volume"] == pytest.approx(sum(volume[pair] for pair in enough) / len(trips))


def test_what_was_understood():
    """Format, encoding, layout, columns, what is computed, a time, the span and rows by reason are told."""
    told = fv.describe(LAYOUTS / "porto.csv", "h3:7")

    assert told.source["format"] == "text (CSV)"
    assert told.source["encoding"] == "utf-8"
    assert told.layout.startswith("porto")
    assert told.computed["start_lon"] == ("POLYLINE",)
    assert told.possible_unit == "TAXI_ID"
    assert told.time_sample == "1372665600"
    assert (told.times.first, told.times.last) == ("2013-07-01 08:00:00", "2013-07-01 08:05:37")
    assert (told.times.utc, told.times.hours_covered) == (True, 1)
    assert (told.rows, told.usable, told.dropped) == (3, 2, {"null coordinate": 1})
    assert told.problem is None


def test_input_that_cannot_be_used(tmp_path, capsys):
    """What was understood is told, then what is wrong, with a hint and exit code 2."""
    table = pa.table({"from_where": ["a"], "to_where": ["b"], "start_time": ["yesterday"]})
    told = fv.describe(table)
    pa.csv.write_csv(table, tmp_path / "trips.csv")

    code = run(["describe", str(tmp_path / "trips.csv")])
    out, err = capsys.readouterr()

    assert told.figures is None
    assert "no column for" in told.problem
    assert code == 2
    assert "from_where" in out
    assert "error: the trips have no column for" in err
    assert "hint: " in err


@pytest.mark.slow
def test_command_line_says_that_it_is_private():
    """On the terminal and as JSON."""
    file = str(LAYOUTS / "mitma.csv")
    invoke = CliRunner().invoke
    plain, as_json = (
        invoke(find_app(), ["describe", file, "--ks", "3,13"]),
        invoke(find_app(), ["describe", file, "--json"]),
    )

    assert plain.exit_code == 0, plain.output
    assert "private" in plain.stderr
    assert "50.0% of the pairs and 81.2% of the trips have at least 13 trips already" in plain.stdout
    assert "1 cannot: less than half a trip" in plain.stdout
    told = json.loads(as_json.stdout)
    assert told["private"] is True
    assert [row["k"] for row in told["figures"]["anonymous"]] == [2, 5, 10, 20]


@pytest.mark.slow
@pytest.mark.parametrize("margins", ["rows", "columns", "both"])
def test_margins_of_a_matrix(tmp_path, margins):
    """A row or column of sums is told by its numbers, whatever it is called; a matrix without has no such note."""
    names = ["a", "b", "c"]
    cells = {origin: [3 + at + 7 * place for at in range(3)] for place, origin in enumerate(names)}
    plain = [["from/to", *names], *([origin, *cells[origin]] for origin in names)]
    columns = margins != "rows"
    rows = [["from/to", *names, *(["Gesamt"] if columns else [])]]
    rows += [[origin, *cells[origin], *([sum(cells[origin])] if columns else [])] for origin in names]
    if margins != "columns":
        rows.append(["Gesamt", *(sum(row[at] for row in rows[1:]) for at in range(1, len(rows[0])))])
    for name, table in (("plain.csv", plain), ("margins.csv", rows)):
        (tmp_path / name).write_text("\n".join(";".join(map(str, row)) for row in table))
    found = [
        [note for note in fv.describe(fv.read_trips(tmp_path / name, layout="matrix")).notes if "a total" in note]
        for name in ("plain.csv", "margins.csv")
    ]
    assert found[0] == []
    assert len(found[1]) == 1
    assert "'Gesamt'" in found[1][0]
