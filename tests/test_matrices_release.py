"""Releases with noise: what is written, what verify finds, what queries answer."""

from __future__ import annotations

import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import flowveil as fv
from flowveil import InputError, VerificationError
from flowveil._cli.commands import run
from flowveil._matrices import kernels
from flowveil._matrices.area_workloads import answer_leaves, lay_grid
from flowveil._matrices.boxes import Boxes
from flowveil._matrices.consistency import reconcile
from flowveil._matrices.ladder import make_ladder
from flowveil._matrices.points import Points
from flowveil._matrices.settling import non_negative
from flowveil._matrices.tiles import make_tile_grid
from flowveil._matrices.workloads import answer_boxes, make_workload, mre
from flowveil._noise import PARTS, Ledger, variance
from flowveil._places import Hierarchy
from flowveil.synthetic import CITY_BBOX

BBOX = ",".join(map(str, CITY_BBOX))
EAST, NORTH = (CITY_BBOX[0] + CITY_BBOX[2]) / 2, (CITY_BBOX[1] + CITY_BBOX[3]) / 2


@pytest.fixture(scope="module")
def matrix(city_trips):
    """Count the city in four dimensions."""
    return fv.build_matrix(city_trips, CITY_BBOX, 100)


@pytest.fixture(scope="module")
def tiles(city_trips):
    """Count the city by pair of tiles, at most 20 trips a person."""
    return fv.build_tile_matrix(city_trips, CITY_BBOX, "h3:8", unit="person_id", max_trips_per_person=20)


@pytest.fixture
def cells_folder(matrix, tmp_path):
    """Write a release of boxes."""
    return fv.add_noise(matrix, "daf-homogeneity", 1.0).write(tmp_path / "cells")


@pytest.fixture
def flows_folder(tiles, tmp_path):
    """Write a release of flows."""
    return fv.add_noise(tiles, "noisy-mosaic", 20.0).write(tmp_path / "flows")


NOISY = [each.name for each in fv.methods() if each.promise == "differential privacy"]


@pytest.mark.slow
@pytest.mark.parametrize("method", [name for name in NOISY if name != "laplace"])  # which has tests of its own
def test_every_method_writes_a_release_that_verifies(method, matrix, tiles, tmp_path):
    """Each method that adds noise releases boxes whose structure and budget hold, or refuses with a number."""
    chosen = tiles if method == "noisy-mosaic" else matrix
    if method == "identity":
        with pytest.raises(InputError, match="100,000,000 boxes"):
            fv.add_noise(chosen, method, 1.0)
        return
    release = fv.add_noise(chosen, method, 1.0)
    folder = release.write(tmp_path / "out")
    result = fv.verify(folder)

    assert result.flows == len(release.boxes)
    assert "not checked" in result.checks[-1]
    assert release.ledger.largest_path() <= 1.0


def test_what_lies_in_the_folder(cells_folder, flows_folder):
    """The listed files and nothing else; the private file beside it is readable by its owner only."""
    assert {item.name for item in cells_folder.iterdir()} == {"cells.parquet", "manifest.json"}
    assert {item.name for item in flows_folder.iterdir()} == {"flows.parquet", "areas.parquet", "manifest.json"}
    audit = cells_folder.with_name("cells.audit.json")
    assert audit.stat().st_mode & 0o777 == 0o600
    assert json.loads(audit.read_text())["trips"] > 0


def test_manifest_states_the_promise(flows_folder, cells_folder):
    """Epsilon, unit, neighbors and bounds, as data and in words, and no private number."""
    person, trip = (json.loads((each / "manifest.json").read_text()) for each in (flows_folder, cells_folder))

    promise = {key: value for key, value in person["promise"].items() if key != "budget"}
    assert promise == {
        "kind": "differential-privacy",
        "epsilon": 20.0,
        "delta": 0,
        "unit": "person_id",
        "protects": "person",
        "neighbours": "one person added or removed",
        "max_trips_per_person": 20,
    }
    assert "person" in person["promise_text"]
    assert "At most 20 trips" in person["promise_text"]
    assert trip["promise"]["unit"] == "trip"
    assert trip["promise"]["neighbours"] == "one trip added or removed"
    assert "not a person" in trip["promise_text"]


def test_flows_are_read_like_any_release(flows_folder):
    """Flows with noise have the tables of any release, so that maps and reports can show them."""
    release = fv.read_release(flows_folder)

    assert set(release.flows["origin"].to_pylist()) <= set(release.areas["area"].to_pylist())
    assert release.manifest["promise"]["kind"] == "differential-privacy"


def test_crowd_metrics_do_not_fit(flows_folder, city_trips):
    """Evaluating crowds of a release with noise is refused, as is anonymizing flows with a method that adds noise."""
    with pytest.raises(InputError, match="do not fit"):
        fv.evaluate(flows_folder, city_trips, k=10)
    with pytest.raises(InputError, match="adds noise"):
        fv.anonymize(fv.build_flows(city_trips, "h3:7"), "daf-entropy")


@pytest.mark.parametrize("method", ["daf-entropy", "daf-homogeneity", "noisy-mosaic"])
def test_consistent_column(method, matrix, tiles, tmp_path):
    """On request one more column reconciles all depths; its sum is not the raw one, and verify accepts it."""
    chosen = tiles if method == "noisy-mosaic" else matrix
    release = fv.add_noise(chosen, method, 2.0, options={"consistent": "true"})
    table = next(iter(release.tables.values()))

    assert table["consistent"].null_count == 0
    assert sum(table["consistent"].to_pylist()) == pytest.approx(chosen.points.counts.sum(), abs=5000)
    assert fv.verify(release.write(tmp_path / "out")).flows == table.num_rows


def test_reconciling_is_least_squares():
    """On a small tree the estimate is that of weighted least squares over all noisy counts."""
    ledger = Ledger(1.0)
    ledger.count("total", ledger.roots, np.array([50]), PARTS // 4)
    children = ledger.children(np.zeros(3, np.int64))
    ledger.count("counts 1", children, np.array([30, 15, 5]), PARTS // 4)
    leaves = np.append(children[1:], ledger.children(np.repeat(children[:1], 2)))
    ledger.publish("cells", leaves, np.array([15, 5, 20, 10]))
    # Leaves: two children, then the two grandchildren; each row says which leaves a measured node holds.
    holds = {0: [1, 1, 1, 1], 1: [0, 0, 1, 1], 2: [1, 0, 0, 0], 3: [0, 1, 0, 0], 4: [0, 0, 1, 0], 5: [0, 0, 0, 1]}
    rows, seen, weight = [], [], []
    for nodes, noisy, parts in ledger.measured:
        for node, value, scale in zip(nodes.tolist(), noisy.tolist(), ledger.scales(parts).tolist(), strict=True):
            rows.append(holds[node])
            seen.append(value)
            weight.append(1 / variance(np.array([scale]))[0])
    root = np.sqrt(weight)
    expected = np.linalg.lstsq(np.array(rows) * root[:, None], np.array(seen) * root, rcond=None)[0]

    assert reconcile(ledger, leaves) == pytest.approx(expected)


def test_noise_of_a_person_grows_with_the_bound(tiles):
    """Every mechanism runs at epsilon over the trips of a person: no count has less noise than that."""
    release = fv.add_noise(tiles, epsilon=2.0)

    assert min(release.tables["flows.parquet"]["scale"].to_pylist()) >= 20 / 2.0


def test_only_structure_depends_on_nothing_but_noise(tiles, tmp_path):
    """An empty city is released like any other: its areas cover the same box."""
    empty = pa.table({name: pa.array([], pa.float64()) for name in ("start_lon", "start_lat", "end_lon", "end_lat")})
    nobody = fv.build_tile_matrix(empty, CITY_BBOX, "h3:8")

    assert fv.verify(fv.add_noise(nobody, epsilon=1.0).write(tmp_path / "empty")).flows >= 1
    assert nobody.grid.lengths == tiles.grid.lengths


def rewrite(folder, name, change):
    """Change a table of a release."""
    table = change(pq.read_table(folder / name))
    with pq.ParquetWriter(folder / name, table.schema, store_schema=False) as writer:
        writer.write_table(table)


def edit(folder, change):
    """Change the manifest of a release."""
    path = folder / "manifest.json"
    manifest = json.loads(path.read_text())
    change(manifest)
    path.write_text(json.dumps(manifest))


def set_column(name, change):
    """Return a change of one column of a table."""

    def apply(table):
        at = table.schema.get_field_index(name)
        return table.set_column(at, name, pa.array(change(table[name].to_numpy().copy()), table[name].type))

    return apply


def raised(values):
    """Raise the first value."""
    values[0] += 1
    return values


TAMPERED = {
    "a box is gone": lambda f: rewrite(f, "cells.parquet", lambda t: t.slice(1)),
    "a box is there twice": lambda f: rewrite(f, "cells.parquet", lambda t: pa.concat_tables([t.slice(0, 1), t])),
    "a box is shifted": lambda f: rewrite(f, "cells.parquet", set_column("high_3", raised)),
    "noise too small": lambda f: rewrite(f, "cells.parquet", set_column("scale", lambda values: values / 2)),
    "one scale": lambda f: rewrite(f, "cells.parquet", set_column("scale", lambda values: values.clip(max=1.2))),
    "projection": lambda f: rewrite(f, "cells.parquet", set_column("nonnegative", raised)),
    "epsilon": lambda f: edit(f, lambda m: m["promise"].update(epsilon=0.5)),
    "delta": lambda f: edit(f, lambda m: m["promise"].update(delta=1e-6)),
    "a whole delta": lambda f: edit(f, lambda m: m["promise"].update(delta=1)),
    "budget": lambda f: edit(f, lambda m: m["promise"]["budget"][0].update(epsilon=0.5)),
    "negative spend": lambda f: edit(f, lambda m: m["promise"]["budget"][0].update(epsilon=-0.5)),
    "unit": lambda f: edit(f, lambda m: m["promise"].update(unit="person_id")),
    "bbox": lambda f: edit(f, lambda m: m["options"].update(bbox=[1, 2, 3])),
    "another key": lambda f: edit(f, lambda m: m.update(trips=17)),
    "key of the promise": lambda f: edit(f, lambda m: m["promise"].update(total=17)),
    "another file": lambda f: (f / "notes.txt").write_text("17"),
    "another column": lambda f: rewrite(f, "cells.parquet", lambda t: t.append_column("n", t["count"])),
}


@pytest.mark.slow
@pytest.mark.parametrize("how", TAMPERED)
def test_verify_finds_what_was_changed(how, cells_folder):
    """Every change of structure, budget or promise is found."""
    TAMPERED[how](cells_folder)

    with pytest.raises(VerificationError):
        fv.verify(cells_folder)


def test_the_promise_of_noise_has_no_delta(cells_folder):
    """A delta is refused as one, before words and sums are compared: 0 and nothing else, not even 0.0 or false."""
    for delta in (1, 1e-6, 0.0, False):
        edit(cells_folder, lambda manifest, delta=delta: manifest["promise"].update(delta=delta))

        with pytest.raises(VerificationError, match="delta of the promise is not 0"):
            fv.verify(cells_folder)


@pytest.mark.slow
@pytest.mark.parametrize(
    "change",
    [
        lambda table: table.slice(1),
        lambda table: pa.concat_tables([table, table.slice(0, 1)]),
        set_column("origin", lambda values: np.append(values[-1:], values[1:])),
        set_column("destination", lambda values: np.append("nowhere", values[1:])),
    ],
)
def test_verify_finds_changed_flows(change, flows_folder):
    """Flows that leave out, repeat or exchange areas are found."""
    rewrite(flows_folder, "flows.parquet", change)

    with pytest.raises(VerificationError):
        fv.verify(flows_folder)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["cells", "flows"])
def test_query(kind, request, matrix, tiles):
    """The whole is the sum of all counts, as sure as the noise lets it be; halves add up, and are less sure."""
    folder = request.getfixturevalue(f"{kind}_folder")
    whole = fv.query(folder)
    west = fv.query(folder, origin=(CITY_BBOX[0], CITY_BBOX[1], EAST, CITY_BBOX[3]))
    east = fv.query(folder, origin=(EAST, CITY_BBOX[1], CITY_BBOX[2], CITY_BBOX[3]))
    true = (matrix if kind == "cells" else tiles).points.counts.sum()

    assert whole.estimate == pytest.approx(west.estimate + east.estimate, rel=1e-6)
    assert abs(whole.estimate - true) < 6 * whole.noise
    assert whole.low < whole.estimate < whole.high
    assert whole.high - whole.low == pytest.approx(2 * 1.96 * whole.noise)
    assert (whole.partial, whole.inside, whole.warning) == (0, whole.boxes, None)
    least = 2 * 1.96 * west.noise
    assert west.high - west.low > least if west.partial else west.high - west.low == pytest.approx(least)
    assert "spread evenly" in west.meaning
    with pytest.raises(InputError, match="knows no stop 1"):
        fv.query(folder, stops={1: CITY_BBOX})


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["cells", "flows"])
def test_errors_of_a_written_release(kind, request, city_trips):
    """A release is measured against its trips on seeded queries; the figures are those of the release in memory."""
    folder = request.getfixturevalue(f"{kind}_folder")

    one, two = (fv.query_errors(folder, city_trips, queries=20) for _ in range(2))

    assert one == two
    assert list(one) == [
        "random",
        *(f"{size}% {place}" for size in (1, 5, 10) for place in ("uniform", "records")),
    ]
    assert one["10% records"]["empty"] == 0
    assert one["10% records"]["zero"] > one["10% records"]["mre"]


def test_query_of_other_releases(tmp_path):
    """Only releases with noise answer queries."""
    with pytest.raises(InputError, match="not a release with noise"):
        fv.query(tmp_path)


def test_variance_of_the_noise():
    """The closed form is the sum over the distribution."""
    scale, places = 3.0, np.arange(-400, 401)
    probability = np.exp(-abs(places) / scale)

    assert variance(np.array([scale]))[0] == pytest.approx((places**2 * probability).sum() / probability.sum())


@settings(max_examples=30, deadline=None)
@given(data=st.data())
def test_kernel_is_the_plain_sum(data):
    """The compiled kernel, its plain version and a dense matrix agree."""
    lengths = (4, 3)
    dense = np.array(data.draw(st.lists(st.integers(0, 9), min_size=12, max_size=12))).reshape(lengths)
    low = np.array([[0, 0], [1, 0], [1, 2]])
    high = np.array([[1, 3], [4, 2], [4, 3]])
    counts = np.array([dense[a:b, c:d].sum() for (a, c), (b, d) in zip(low, high, strict=True)], float)
    ends = [sorted(data.draw(st.lists(st.integers(0, n), min_size=2, max_size=2, unique=True))) for n in lengths]
    query_low, query_high = np.array([[end[0] for end in ends]], float), np.array([[end[1] for end in ends]], float)
    spread = np.zeros(lengths)
    for (a, c), (b, d), n in zip(low, high, counts, strict=True):
        spread[a:b, c:d] = n / ((b - a) * (d - c))
    expected = spread[ends[0][0] : ends[0][1], ends[1][0] : ends[1][1]].sum()

    for kernel in (kernels._answer, kernels.answer):
        assert kernel(query_low, query_high, low, high, counts, counts)[0][0] == pytest.approx(expected)


def test_workloads(matrix):
    """Queries are seeded, lie inside, have their true answers, and those on records are never empty."""
    for size in ("random", "1%", "5%", "10%"):
        one, two = (make_workload(matrix.points, size, "records", 50) for _ in range(2))
        assert np.array_equal(one.low, two.low)
        assert (one.low >= 0).all()
        assert (one.high <= 100).all()
        assert (one.low < one.high).all()
        cells = matrix.points.cells
        inside = ((cells >= one.low[0]) & (cells < one.high[0])).all(axis=1)
        assert one.true[0] == matrix.points.counts[inside].sum()
        figures = mre(one, np.zeros(50))
        assert figures["mre"] == figures["zero"]
        if size != "random":
            assert figures["empty"] == 0
    with pytest.raises(InputError, match="no size"):
        make_workload(matrix.points, "2%")


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("size", ["random", "1%", "10%"])
def test_mre_is_that_of_the_paper(seed, size):
    """Equation 3: counts of boxes spread over their cells, each query summed cell by cell, errors over max(p, s)."""
    chance = np.random.default_rng(seed)
    true = chance.poisson(chance.uniform(0, 30, (12, 12)) ** 2 / 9)
    low = np.array([(x, y) for x in (0, 3, 10) for y in (0, 7)])
    high = np.array([(x, y) for x in (3, 10, 12) for y in (7, 12)])
    noisy = chance.integers(-20, 900, len(low))
    spread = np.zeros((12, 12))
    for (a, b), (c, d), count in zip(low, high, noisy, strict=True):
        spread[a:c, b:d] = count / ((c - a) * (d - b))
    cells = np.argwhere(true > 0)
    workload = make_workload(Points(cells, true[true > 0], (12, 12)), size, "uniform", 50, seed)
    none = np.zeros(len(low), np.int64)

    figures = mre(workload, answer_boxes(workload, Boxes(low, high, noisy, none, none, none)))

    inside = [slice(a, c) for a, c in zip(workload.low[:, 0], workload.high[:, 0], strict=True)]
    beside = [slice(b, d) for b, d in zip(workload.low[:, 1], workload.high[:, 1], strict=True)]
    sums = [[plane[x, y].sum() for x, y in zip(inside, beside, strict=True)] for plane in (true, spread)]
    least = 10 if size == "1%" else max(1, true.sum() / 1000)
    errors = [abs(p - q) / max(p, least) for p, q in zip(*sums, strict=True)]
    assert figures["mre"] == pytest.approx(100 * np.mean(errors))
    assert figures["mae"] == pytest.approx(np.abs(np.subtract(*sums)).mean())
    assert figures["empty"] == pytest.approx(np.mean([p == 0 for p in sums[0]]))


@pytest.mark.slow
def test_more_budget_answers_better(matrix):
    """At a large epsilon the tree is closer than one box, and boxes of single cells would be exact."""
    workload = make_workload(matrix.points, "10%", "records", 100)
    error = {
        name: mre(workload, answer_boxes(workload, fv.add_noise(matrix, name, 2.0).boxes))["mre"]
        for name in ("uniform", "daf-entropy", "eug-border")
    }

    assert error["daf-entropy"] < error["uniform"]
    assert error["eug-border"] < error["uniform"]


@pytest.mark.slow
def test_areas_answer_queries_of_the_grid(city_trips, matrix):
    """The whole box is answered with all trips, and our own method is closer than one box."""
    tiles = fv.build_tile_matrix(city_trips, CITY_BBOX, "h3:8")
    leaves = fv.add_noise(tiles, epsilon=1.0).boxes
    lattice = lay_grid(tiles.grid, 100)
    workload = make_workload(matrix.points, "10%", "records", 100)
    own = mre(workload, answer_leaves(workload, tiles.grid, leaves, lattice))
    uniform = mre(workload, answer_boxes(workload, fv.add_noise(matrix, "uniform", 1.0).boxes))

    assert own["mre"] < uniform["mre"]
    object.__setattr__(workload, "low", np.zeros((1, 4), int))
    object.__setattr__(workload, "high", np.full((1, 4), 100))
    # A tile of which only a corner lies in the box may hold no center of a cell.
    assert answer_leaves(workload, tiles.grid, leaves, lattice)[0] == pytest.approx(leaves.counts.sum(), rel=0.05)


def test_ladder_of_an_uneven_tree():
    """Levels are cuts through all tiles, areas are runs, and an only child stands for its parent."""
    tree, _ = Hierarchy.from_parents(np.array([-1, 0, 0, 1, 1, 2, 5]), np.arange(7, dtype=np.uint64))
    ladder = make_ladder(tree)

    assert ladder.area.tolist() == [[0, 0, 0], [0, 0, 1], [0, 1, 2]]
    assert tree.tiles[ladder.node].tolist() == [3, 2, 1, 1, 1, 1]
    assert tree.is_leaf[ladder.node].tolist() == [False, False, True, True, True, True]


def test_tiles_of_a_box_hold_all_its_points():
    """Every point of the box, its edges included, lies in a tile of the grid."""
    grid = make_tile_grid(CITY_BBOX, "h3:9", None)

    assert (lay_grid(grid, 300) >= 0).all()
    with pytest.raises(InputError, match="tiles"):
        make_tile_grid((-10.0, 30.0, 30.0, 60.0), "h3:10", None)


def test_projection_of_nothing():
    """A negative total has no trips to hand out."""
    assert non_negative(np.array([-3, 1]), np.ones(2)).tolist() == [0, 0]


@pytest.mark.slow
def test_command_line(city_trips, tmp_path, capsys):
    """From a file to a verified release and an answer, with the exit codes of the interface."""
    box = f"--bbox={BBOX}"
    cells, flows = str(tmp_path / "cells"), str(tmp_path / "flows")
    common = ["anonymize", str(city_trips), box, "--epsilon", "1", "-o"]

    assert run([*common, cells, "--method", "daf-entropy", "--cells", "64"]) == 0
    person = ["--unit", "person_id", "--max-trips-per-person", "5", "--grid", "h3:8"]
    assert run([*common, flows, *person]) == 0
    for folder in (cells, flows):
        assert run(["verify", folder]) == 0
        capsys.readouterr()
        assert run(["query", folder, f"--origin-bbox={CITY_BBOX[0]},{CITY_BBOX[1]},{EAST},{NORTH}", "--json"]) == 0
        answer = json.loads(capsys.readouterr().out)
        assert answer["low"] < answer["estimate"] < answer["high"]
    assert run(["query", cells, "--against", str(city_trips)]) == 0
    assert "10% records" in capsys.readouterr().out
    assert run([*common, cells, "--method", "daf-entropy"]) == 2
    assert run(["anonymize", str(city_trips), "-o", f"{cells}2", "--method", "eug", box]) == 2
    assert run(["anonymize", str(city_trips), "-o", f"{cells}2", "--epsilon", "1"]) == 2
    assert run([*common, f"{cells}2", "--max-suppression", "0.1"]) == 2
    assert run(["anonymize", str(city_trips), "-o", f"{cells}2", "--cells", "10"]) == 2
    TAMPERED["a box is gone"](tmp_path / "cells")
    assert run(["verify", cells]) == 1


@pytest.mark.slow
def test_command_line_with_stops_and_frames(city_trips, tmp_path, capsys):
    """Six dimensions from stops on the way, four from where persons are in the morning and in the evening."""
    stops, frames, samples = tmp_path / "stops", tmp_path / "frames", tmp_path / "samples.csv"
    rows = [
        f"p{at % 9},{CITY_BBOX[0] + 0.1},{NORTH},2024-05-{1 + at // 9:02} {hour}:00"
        for at in range(90)
        for hour in (8, 18)
    ]
    samples.write_text("\n".join(["user_id,lon,lat,time", *rows]))
    common = ["--method", "daf-entropy", "--epsilon", "2", f"--bbox={BBOX}", "--cells", "20", "-o"]
    on_the_way = ["--stops", "end_lon,end_lat"]
    times = ["--frames", "morning=6-10,evening=17-21", "--max-trips-per-person", "3"]

    assert run(["anonymize", str(city_trips), *common, str(stops), *on_the_way]) == 0
    assert run(["anonymize", str(samples), *common, str(frames), *times]) == 0
    for folder in (stops, frames):
        assert run(["verify", str(folder)]) == 0
    capsys.readouterr()
    assert run(["query", str(stops), f"--stop-bbox={BBOX}", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["boxes"] > 1
    assert pq.read_schema(stops / "cells.parquet").names[10:12] == ["low_5", "high_5"]
    assert json.loads((frames / "manifest.json").read_text())["options"]["places"] == ["morning", "evening"]
    assert run(["anonymize", str(samples), *common, str(tmp_path / "no"), *times, *on_the_way]) == 2


def test_query_of_a_frame(tmp_path):
    """A release of frames is asked by their names."""
    table = pa.table({"user_id": ["a"], "time": ["2024-05-01 07:00:00"], "lon": [EAST], "lat": [NORTH]})
    matrix = fv.build_frame_matrix(table, CITY_BBOX, 10, frames="6-10", max_trips_per_person=1)
    folder = fv.add_noise(matrix, "uniform", 1.0).write(tmp_path / "out")

    half = fv.query(folder, places={"6-10": (CITY_BBOX[0], CITY_BBOX[1], EAST, CITY_BBOX[3])})
    assert half.estimate == pytest.approx(fv.query(folder).estimate / 2)


@pytest.mark.slow
def test_advise(capsys):
    """Advice looks at a synthetic city only, and says that trying adds up."""
    assert run(["advise", "--epsilon", "1", "--trips", "3000", "--cells", "40", "--json"]) == 0
    advice = json.loads(capsys.readouterr().out)

    assert {row["method"] for row in advice["rows"]} >= {"uniform", "daf-entropy", "noisy-mosaic"}
    assert "add up" in advice["warning"]
    assert run(["advise", "--epsilon", "one"]) == 2
    assert run(["advise", "--epsilon", "0"]) == 2
