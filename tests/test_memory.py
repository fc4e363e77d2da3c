"""`--memory` from reading to release: what cannot fit is refused before it is begun, and what is begun stays within."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import flowveil as fv
from flowveil._cli.commands import run
from flowveil._engine import visits
from flowveil._engine.duckdb import connection, make_room
from flowveil._errors import InputError
from flowveil._flows.assemble import _order
from flowveil._options import check_memory, parse_memory
from flowveil._problem import memory
from flowveil.synthetic import write_city

# Makes a release and prints what Python and its libraries had before, and the most memory in the end, in bytes.
MEASURED = """
import sys
import flowveil as fv
import pyarrow.parquet as pq
from flowveil._processes import peak_memory
trips, folder, memory, unit = sys.argv[1:]
options = {"unit": unit or None, "hierarchy": "h3"}
few = next(pq.ParquetFile(trips).iter_batches(20_000))
fv.anonymize(fv.build_flows(few, "h3:8", **options), k=2).write(folder + "few")  # compiles and loads
before = peak_memory()
fv.anonymize(fv.build_flows(trips, "h3:10", memory=int(memory), **options)).write(folder)
print((peak_memory() - before) * 1e6)
"""


@pytest.fixture(scope="module")
def many_trips(tmp_path_factory):
    """Write trips whose flows take much more memory than those of the city of other tests."""
    path = tmp_path_factory.mktemp("memory") / "trips.parquet"
    write_city(path, trips=600_000)
    return path


@pytest.mark.parametrize(("text", "expected"), [("2GB", 2e9), ("1.5 MB", 1.5e6), ("3KiB", 3072), ("1TiB", 2**40)])
def test_amounts(text, expected):
    """Thousands and powers of two, as they are written."""
    assert parse_memory(text) == expected


@pytest.mark.parametrize("text", ["2", "2G", "GB", "-2GB", "2gb", "many"])
def test_what_is_no_amount(text):
    """A number alone could be anything."""
    with pytest.raises(InputError, match="not an amount of memory"):
        parse_memory(text)


def test_the_message_says_how_much():
    """What is needed and what is allowed, in numbers that people read."""
    with pytest.raises(InputError, match=r"these need about 6\.0 GB of memory, and 2\.0 GB are allowed") as error:
        check_memory(2_000_000_000, 6e9, "these", "buy some")

    assert error.value.hint == "buy some"
    check_memory(None, 1e30, "these", "")


@pytest.mark.parametrize("unit", [None, "person_id"])
def test_arrays_that_do_not_fit_are_never_fetched(city_trips, monkeypatch, unit):
    """The refusal comes before the first array is made, and says what would help."""
    monkeypatch.setattr(visits, "_LATER_PAIR", 1_000_000)
    fetched = []
    monkeypatch.setattr(visits, "_fetch", lambda *_: fetched.append(1))

    with pytest.raises(
        InputError, match=r"pairs of tiles .*need about .* GB of memory, and 1\.0 GB are allowed"
    ) as error:
        fv.build_flows(city_trips, "h3:8", unit=unit, memory="1GB")

    assert ("persons travel on" in str(error.value)) == (unit is not None)
    assert all(word in error.value.hint for word in ("coarser grid", "--memory", "--engine spark"))
    assert not fetched


def test_cells_that_do_not_fit_are_not_kept(city_trips, monkeypatch):
    """A small k has more pairs of areas to choose from, which is known only when they are found."""
    monkeypatch.setattr(memory, "_SOLVING", (0, 0, 100_000, 0))
    flows = fv.build_flows(city_trips, "h3:8", hierarchy="h3", memory="100MB")
    free = fv.build_flows(city_trips, "h3:8", hierarchy="h3")

    with pytest.raises(InputError, match="pairs of areas that may be published need about") as error:
        fv.anonymize(flows, k=2)

    assert "larger k" in error.value.hint
    assert fv.anonymize(flows, k=500).flows.num_rows
    assert fv.anonymize(free, k=2).flows.num_rows


def test_a_refused_run_ends_with_a_hint_and_writes_nothing(city_trips, tmp_path, monkeypatch, capsys):
    """Exit code 2, what is wrong and what to do."""
    monkeypatch.setattr(visits, "_LATER_PAIR", 1_000_000)

    code = run(["anonymize", str(city_trips), "--memory", "1GB", "-o", str(tmp_path / "out")])

    said = capsys.readouterr().err
    assert code == 2
    assert "are allowed" in said
    assert "hint: use a coarser grid" in said
    assert not list(tmp_path.iterdir())


@pytest.mark.slow
@pytest.mark.parametrize("hierarchy", ["h3", "h3-binary"])
def test_memory_does_not_change_flows(city_trips, hierarchy):
    """With little memory the same arrays come out, whether they must be sorted again or not."""
    options = {"hierarchy": hierarchy, "unit": "person_id", "weight": "weight", "by": "sex"}

    bounded = fv.build_flows(city_trips, "h3:9", memory="100MB", **options)
    free = fv.build_flows(city_trips, "h3:9", **options)

    for name in ("origin", "destination", "trips", "weight", "matrix"):
        assert (getattr(bounded, name) == getattr(free, name)).all()
    for name in ("pair", "person", "weight"):
        assert (getattr(bounded.people, name) == getattr(free.people, name)).all()


@pytest.mark.slow
@pytest.mark.parametrize("unit", ["person_id", ""])
def test_a_release_stays_within_the_memory_allowed(many_trips, tmp_path, unit):
    """The peak of a run that was let through, measured; and two fifths of that memory are refused.

    What DuckDB's threads hold at once depends on what else the machine does: the least of three runs counts.
    """
    allowed = parse_memory("110MB")

    def peak(attempt):
        done = subprocess.run(
            [sys.executable, "-c", MEASURED, many_trips, tmp_path / f"out{attempt}", f"{allowed}", unit],
            check=True,
            capture_output=True,
            text=True,
        )
        return float(done.stdout)

    assert any(peak(attempt) <= 1.25 * allowed for attempt in range(3))
    options = {"hierarchy": "h3", "unit": unit or None, "memory": f"{0.4 * allowed / 1e6}MB"}
    with pytest.raises(InputError, match="need about"):
        fv.anonymize(fv.build_flows(many_trips, "h3:10", **options))


@pytest.mark.parametrize(("arrays", "left"), [(0, 750), (100e6, 750), (600e6, 400), (5e9, 64)])
def test_duckdb_leaves_room_for_arrays(arrays, left):
    """It has three quarters, then what arrays do not take, and what it cannot do without."""
    with connection("1GB") as con:
        make_room(con, parse_memory("1GB"), arrays)
        limit = con.execute("SELECT value FROM duckdb_settings() WHERE name = 'memory_limit'").fetchall()[0][0]

    number, mega = limit.split()
    assert float(number) * {"MiB": 2**20}[mega] == pytest.approx(left * 1e6, rel=0.01)


@given(st.lists(st.tuples(st.integers(0, 2), st.integers(0, 2), st.integers(0, 2)), min_size=1, max_size=8))
def test_only_what_is_out_of_order_is_sorted(rows):
    """The same order as `lexsort`, or none where entries are in it."""
    keys = [np.array(column) for column in zip(*rows, strict=True)]

    order = _order(keys)

    assert (order is None) == (sorted(rows, key=lambda row: row[::-1]) == rows)
    assert order is None or (order == np.lexsort(keys)).all()


def test_persons_stay_with_their_pairs(city_trips):
    """Whatever order a tree brings pairs of tiles into, each keeps its trips and its travelers."""

    def pairs(hierarchy):
        flows = fv.build_flows(city_trips, "h3:9", unit="person_id", hierarchy=hierarchy)
        start = np.searchsorted(flows.people.pair, np.arange(1, len(flows)))
        persons = np.split(flows.people.person, start)
        return sorted((trips, tuple(who)) for trips, who in zip(flows.trips.tolist(), map(list, persons), strict=True))

    assert pairs("h3") == pairs("h3-binary")
