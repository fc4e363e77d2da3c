"""Studies: every combination is measured on every matrix, a stop loses nothing, and presets lay papers beside."""

from __future__ import annotations

import json
import os
import signal
import stat
import statistics
import subprocess
import sys
import time
import xml.etree.ElementTree as ET
from collections import Counter
from dataclasses import replace
from pathlib import Path

import h3.api.basic_str as h3
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import flowveil as fv
from flowveil._charts import boxes_svg, lines_svg
from flowveil._study.asking import parse_demands
from flowveil._study.beside import agreement, count_orders, lay_beside
from flowveil._study.folder import open_folder
from flowveil._study.other_cells import measure_profile
from flowveil._study.presets import Table, find_preset, preset_names, read_presets
from flowveil._study.reproducing import run_preset
from flowveil._study.results import write_results
from flowveil._study.running import Progress, Run
from flowveil._study.studying import choose_matrices, fingerprint, run_kept
from flowveil._study.table import HEADINGS
from flowveil._study.tables import summarize
from flowveil.synthetic import CITY_BBOX, City, fold_days, split_zones
from tests.waiting import run_program

ROOT = Path(__file__).parents[1]
NAMED = [
    *("atg-table3", "atg-table4", "atg-table6", "atg-fig12", "atg-appendix-h", "knapsack-table1", "knapsack-fig1"),
    *(f"thesis-5.{number}" for number in range(2, 22)),
    *("daf-fig4", "daf-fig5", "daf-fig6", "daf-fig7", "daf-fig8", "daf-table3"),
    *("glove-fig6", "glove-fig7", "glove-fig8", "glove-fig11", "glove-fig12", "glove-fig13", "glove-fig14"),
    "glove-table2",
]


@pytest.fixture(scope="module")
def flows(city_trips):
    """Return flows of persons with weights on a coarse grid, by sex."""
    keys = {"unit": "person_id", "weight": "weight", "by": "sex"}
    return fv.build_flows(city_trips, "h3:6", hierarchy="h3", bbox=CITY_BBOX, **keys)


def run_here(flows, folder, methods, k=(5,), budgets=(None,), protect="participants", load=None):
    """Run a study in this process, and return its rows."""
    asked = parse_demands(methods, list(k), list(budgets), protect, common={"min_tiles": 1, "elsewhere": False})
    cells = asked.cells("trips", choose_matrices(flows))
    with open_folder(folder, {"input": fingerprint(flows), "k": list(k)}) as kept:
        run = Run(load or (lambda _: flows), kept.keep, apart=False)
        rows = run_kept(cells, kept, run, Progress(0))
        write_results(kept, rows, methods[0])
    return rows


@pytest.mark.slow
def test_every_combination_is_measured_on_every_matrix(flows, tmp_path):
    """Rows are those of methods run on single matrices, rectangles too; budgets are for methods that steer them."""
    rows = run_here(flows, tmp_path / "out", ["suppression", "mondrian", "oigh"], k=(3, 5), budgets=(0.1, 0.2))

    keys = [(row["method"], row["k"], row["max_suppression"], row["sex"]) for row in rows if row["measured"] == "trips"]
    assert len(keys) == len(set(keys)) == 2 * 2 * (1 + 1 + 2)
    for row in rows:
        release = fv.anonymize(
            flows.part(row["matrix"]), row["method"], k=row["k"], max_suppression=row["max_suppression"]
        )
        figures = release.metrics() if row["measured"] == "trips" else release.metrics()["population"]
        assert row["gbar"] == figures["gbar"]
        assert row["suppressed"] == figures["suppressed"]


def test_who_is_protected(flows, tmp_path):
    """The population is protected by weight alone, both by k too; crowds are held against the same k."""
    rows = run_here(flows, tmp_path / "out", ["oigh"], k=(4,), protect="participants,population,both")

    for row in rows:
        assert row["k"] == 4
        if row["protected"] != "population":
            assert row["below_k"] == 0
        if row["protected"] != "participants":
            assert row["min_weight"] >= row["k_weight"] - 1
    with pytest.raises(fv.InputError, match="weight"):
        fv.study(_bare(flows), tmp_path / "no", "oigh", protect="both")


def _bare(flows):
    return replace(flows, weight=None, people=None)


def test_files_are_private_and_whole(flows, tmp_path):
    """Only the owner may read what a study writes; tables agree, and pictures are SVG."""
    rows = run_here(flows, tmp_path / "out", ["oigh", "suppression"], k=(3, 5))

    for path in [tmp_path / "out", *(tmp_path / "out").rglob("*")]:
        assert stat.S_IMODE(path.stat().st_mode) == (0o700 if path.is_dir() else 0o600), path
    assert pq.read_table(tmp_path / "out" / "study.parquet").num_rows == len(rows)
    assert len((tmp_path / "out" / "study.csv").read_text().splitlines()) == len(rows) + 1
    for name in ("ratios.svg", "k.svg", "speed.svg"):
        ET.fromstring((tmp_path / "out" / name).read_text(encoding="utf-8"))  # noqa: S314  our own document


def test_goes_on_after_a_stop(flows, tmp_path):
    """Cells that are done are not run again, a torn one is; other settings are refused with a hint, or begin anew."""
    whole = run_here(flows, tmp_path / "whole", ["suppression", "oigh"])
    run_here(flows, tmp_path / "out", ["suppression", "oigh"])
    cells = sorted((tmp_path / "out" / "cells").iterdir())
    done = json.loads(cells[1].read_text())
    done[0]["gbar"] = -1.0  # to be known again
    cells[1].write_text(json.dumps(done))
    cells[0].write_text('[{"method": "oi')

    again = run_here(flows, tmp_path / "out", ["suppression", "oigh"])

    assert [row["gbar"] for row in again if row["gbar"] != -1.0] == [
        row["gbar"] for row, new in zip(whole, again, strict=True) if new["gbar"] != -1.0
    ]
    assert sum(row["gbar"] == -1.0 for row in again) == 1
    with pytest.raises(fv.InputError, match="other settings") as refused:
        run_here(flows, tmp_path / "out", ["suppression"], k=(7,))
    assert "--overwrite" in refused.value.hint
    with open_folder(tmp_path / "out", {"k": [7]}, overwrite=True):
        assert list((tmp_path / "out" / "cells").iterdir()) == []
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "mine.txt").write_text("x")
    with pytest.raises(fv.InputError, match="not a study"), open_folder(tmp_path / "other", {}, overwrite=True):
        pass
    with (
        open_folder(tmp_path / "busy", {}),
        pytest.raises(fv.InputError, match="being run"),
        open_folder(tmp_path / "busy", {}),
    ):
        pass


@pytest.mark.slow
def test_survives_a_kill(city_trips, tmp_path):
    """Killed in the middle with signal 9, the command goes on when it is run again, and keeps what was done."""
    command = [sys.executable, "-m", "flowveil", "study", str(city_trips), "--grid", "h3:5", "--hierarchy", "h3"]
    command += ["--methods", "suppression,uniform-tiles,odkanon", "-k", "2", "--processes", "1"]
    command += ["--memory-limit", "2GB", "-o", str(tmp_path / "out")]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as running:
        while not list((tmp_path / "out").glob("cells/*.json")) and running.poll() is None:
            time.sleep(0.02)
        os.kill(running.pid, signal.SIGKILL)
    kept = {path: path.stat().st_mtime_ns for path in (tmp_path / "out").glob("cells/*.json")}
    assert 1 <= len(kept) < 3

    done = run_program(command)

    assert done.returncode == 0, done.stderr
    assert all(path.stat().st_mtime_ns == moment for path, moment in kept.items())
    rows = pq.read_table(tmp_path / "out" / "study.parquet").to_pylist()
    assert len(rows) == 3
    assert {(row["status"], row["note"]) for row in rows} == {("done", "")}


FIGURES = st.floats(0.01, 1e6)
ROWS = st.lists(st.tuples(st.sampled_from(["a", "b"]), st.sampled_from([2, 5]), st.integers(0, 3), FIGURES), min_size=1)


@given(ROWS)
@settings(max_examples=60)
def test_summary_by_hand(drawn):
    """Means, totals, medians and ratios to the reference are what a few plain lines compute."""
    cells = {(method, k, matrix): value for method, k, matrix, value in drawn}
    rows = [
        {"data": "x", "method": method, "k": k, "matrix": matrix, "status": "done", "gbar": value}
        for (method, k, matrix), value in cells.items()
    ]

    for line in summarize(rows, "a"):
        values = [value for (method, k, _), value in cells.items() if (method, k) == (line["method"], line["k"])]
        ratios = [
            value / cells["a", k, matrix]
            for (method, k, matrix), value in cells.items()
            if (method, k) == (line["method"], line["k"]) and ("a", k, matrix) in cells
        ]
        assert line["matrices"] == len(values)
        assert line["mean"] == pytest.approx(statistics.fmean(values))
        assert line["total"] == pytest.approx(sum(values))
        assert line["median"] == pytest.approx(statistics.median(values))
        assert line.get("ratio_median") == (pytest.approx(statistics.median(ratios)) if ratios else None)


def test_presets_of_the_papers_are_there():
    """Every table and figure has its preset, and one that does not exist is told with those that do."""
    assert sorted(NAMED) == sorted(preset_names())
    for preset in read_presets().values():
        for table in preset.tables:
            for fact in [*table.value, *table.order]:
                assert set(fact) <= {"says", "figure", "where", "paper", "statistic", "by", "first", "then", "over"}
    with pytest.raises(fv.InputError, match="atg-table33"):
        find_preset("atg-table33")


@pytest.mark.slow
@pytest.mark.parametrize("name", list(read_presets()))
@pytest.mark.filterwarnings("ignore::flowveil.LossWarning")
def test_preset_runs_small(name, tmp_path):
    """Each preset runs, gives every one of its tables figures of our own, and says what they lie beside."""
    rows = run_preset(name, tmp_path / "out", Run(lambda _: None, lambda *_: None, apart=False), small=True).to_pylist()

    assert any(row["status"] == "done" for row in rows)
    for table in find_preset(name)[1]:
        lines = lay_beside(table, rows)
        assert any(line["ours"] is not None for line in lines), table.name
        reported = {key for row in table.paper_rows() for key in row}
        asked = {figure.partition(":")[0] for figure in table.figures}
        assert reported - asked - {"segment"} <= set(table.rows), table.name
        text = (tmp_path / "out" / f"{table.name}.md").read_text(encoding="utf-8")
        assert "Data here: " in text
        assert table.title in text


@pytest.mark.slow
def test_profiles_by_hand(flows):
    """Trips of a pair of tiles after a release: each flow over it, divided by the pairs of tiles that it holds."""
    rows = measure_profile(flows, {"method": "atg-dual", "k": 5, "max_suppression": 0.1, "ranks": [1]}, None)
    sides = ((flows.origins, flows.origin), (flows.destinations, flows.destination))
    ends = [[h3.int_to_str(int(tree.key[node])) for node in nodes] for tree, nodes in sides]
    seen = [set(cells) for cells in ends]
    trips = Counter()
    for *pair, count in zip(*ends, flows.trips.tolist(), strict=True):
        trips[tuple(pair)] += count
    ((pair, _),) = trips.most_common(1)

    assert len(rows) == 2
    for row in rows:
        own = flows.matrix == row["matrix"]
        table = fv.anonymize(flows.part(row["matrix"]), "atg-dual", 5, max_suppression=0.1).flows.to_pylist()
        spread = 0.0
        for flow in table:
            areas = [under(flow[side], cells) for side, cells in zip(("origin", "destination"), seen, strict=True)]
            if all(cell in area for cell, area in zip(pair, areas, strict=True)):
                spread += flow["trips"] / len(areas[0]) / len(areas[1])
        assert row["reconstructed"] == pytest.approx(spread)
        between = [(a, b) == pair for a, b in zip(*ends, strict=True)]
        assert row["true"] == flows.trips[own & between].sum()


def under(area, cells):
    """Return the cells that an area of H3 holds."""
    if area == "world":
        return cells
    return {cell for cell in cells if h3.cell_to_parent(cell, h3.get_resolution(area)) == area}


def test_agreement_is_of_orders_and_ratios():
    """Pairs of methods in the paper's order are counted, the others named, and ratios told for both."""
    table = Table("t", "T", ["method"], ["gbar"], [], paper="method,gbar\na,1\nb,2\nc,4\n")
    rows = [{"method": name, "status": "done", "gbar": value} for name, value in zip("abc", (1, 5, 3), strict=True)]

    sentences = agreement(table, lay_beside(table, rows), "a")

    assert sentences == [
        "`gbar`: 2 of 3 pairs are in the paper's order; not b and c. Times a, here (paper): b 5 (2), c 3 (4)."
    ]
    assert count_orders(table, lay_beside(table, rows)) == (2, 3)


@pytest.fixture
def make_results():
    """Return the program that makes docs/reproduced.md."""
    sys.path.insert(0, str(ROOT / "docs"))
    try:
        import make_results
    finally:
        sys.path.pop(0)
    return make_results


def test_page_of_results_is_made_of_the_data(make_results):
    """docs/reproduced.md is what docs/results give: `make docs` writes it."""
    assert (ROOT / "docs" / "reproduced.md").read_text(encoding="utf-8") == make_results.page()


def test_results_are_of_the_presets_as_they_are(make_results):
    """Every preset has results of its full size, of what it asks today; they say when and where they were measured."""
    results = make_results.read_results()

    assert {each.preset.name for each in results} == set(read_presets())
    for each in results:
        assert each.about["measured as"] == make_results.measured_as(each.preset), each.preset.name
        assert {"date", "flowveil", "python", "numpy", "numba", "cores", "memory_gb"} <= set(each.about)
        assert {line["table"] for line in each.lines} == {table.name for table in each.preset.tables}
        assert each.preset.says


def test_what_counts_as_the_same_study(make_results):
    """Other words leave a preset the same study; another size, seed or method makes it another one."""
    preset = read_presets()["knapsack"]
    data = {"cabs": preset.data["cabs"] | {"like": "other words", "small": {"trips": 1}}}
    fewer = {"cabs": preset.data["cabs"] | {"made": preset.data["cabs"]["made"] | {"trips": 5}}}

    same = make_results.measured_as(replace(preset, title="another title", data=data))

    assert same == make_results.measured_as(preset)
    for other in (replace(preset, data=fewer), replace(preset, run=preset.run[:1])):
        assert make_results.measured_as(other) != same


def test_tables_of_comparisons_have_columns_that_are_printed():
    """docs/comparison.md shows no column that `compare` does not print, under the heading that it has there."""
    lines = (ROOT / "docs" / "comparison.md").read_text(encoding="utf-8").splitlines()
    wide = [
        [cell.strip() for cell in line.strip("| ").split("|")] for line in lines if line.startswith("| method | gbar")
    ]

    assert len(wide) == 4
    for headings in wide:
        assert set(headings) <= set(HEADINGS.values())


def test_days_are_folded():
    """Trips keep their time of the day, persons of different days are told apart, and none is lost."""
    trips = City(persons=50).trips(500)

    folded = fold_days(trips, 1)

    of_day = [moment.time() for moment in trips["start_time"].to_pylist()]
    assert [moment.time() for moment in folded["start_time"].to_pylist()] == of_day
    assert len({moment.date() for moment in folded["start_time"].to_pylist()}) == 1
    assert len(set(folded["person_id"].to_pylist())) > len(set(trips["person_id"].to_pylist()))


def test_zones_are_split_unevenly():
    """Each zone becomes four; trips stay in theirs, and fall to its parts as 4, 3, 2 and 1."""
    city = City(persons=50)
    before = city.trips(4_000, ends="zones")

    trips, zones = split_zones(before, city.zones())

    assert zones.num_rows == 4 * city.zones().num_rows == len(set(zones["zone_id"].to_pylist()))
    for side in ("origin", "destination"):
        parts = [name.rpartition("/") for name in trips[side].to_pylist()]
        assert [zone for zone, _, _ in parts] == before[side].to_pylist()
        shares = [sum(part == number for _, _, part in parts) / len(parts) for number in "1234"]
        assert shares == pytest.approx([0.4, 0.3, 0.2, 0.1], abs=0.03)
    assert trips["origin"].to_pylist() != split_zones(before, city.zones(), seed=1)[0]["origin"].to_pylist()


def test_plots_are_documents():
    """Plots are SVG whatever they are given: names that need escaping, nothing, zeros on a logarithmic axis."""
    for text in (
        boxes_svg("a & b", {"x < y": {"one": [1.0, 2.0], "none": []}, "empty": {}}),
        lines_svg("a & b", ("x", "y"), {"one": [(1.0, 0.0), (2.0, 3.0)], "none": []}),
        lines_svg("nothing", ("x", "y"), {}),
    ):
        ET.fromstring(text)  # noqa: S314  our own document


@pytest.mark.parametrize(
    "arguments",
    [
        *({"methods": "mosaik"}, {"k": "0"}, {"max_suppression": "2"}, {"protect": "nobody"}, {"reference": "oigh"}),
        *({"sample": 0}, {"least_trips": 10**9}, {"processes": 0}, {"memory_limit": "much"}),
    ],
)
def test_bad_calls_leave_nothing(flows, tmp_path, arguments):
    """What cannot be studied is refused before a folder is made."""
    with pytest.raises(fv.InputError):
        fv.study(flows, tmp_path / "out", **({"methods": "suppression"} | arguments))

    assert not (tmp_path / "out").exists()
