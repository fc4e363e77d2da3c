"""noisy-tree: marginals that tell how trips lie inside boxes, wherever boxes are read, and the verifier of them."""

from __future__ import annotations

import json
import shutil

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import flowveil as fv
from flowveil import InputError, VerificationError
from flowveil._matrices import noisytree
from flowveil._matrices.noisytree import noisy_tree
from flowveil._matrices.points import Points
from flowveil._matrices.workloads import answer_boxes, make_workload
from flowveil._noise import Ledger
from flowveil._reading import Marginal, read_marginals, share_inside
from tests.test_verify import write_table

BOX = fv.synthetic.CITY_BBOX
CELLS = 32


@pytest.fixture(scope="module")
def city():
    """Return some trips."""
    return fv.synthetic.City(persons=100).trips(4_000)


@pytest.fixture(scope="module")
def folder(city, tmp_path_factory):
    """Return a release of two places, without its audit file, so that the verifier has to find changes by itself."""
    release = fv.add_noise(city, "noisy-tree", 2.0, bbox=BOX, cells=CELLS)
    path = release.write(tmp_path_factory.mktemp("noisytree") / "out")
    path.with_name("out.audit.json").unlink()
    return path


def raster(marginal, cells):
    """Return the mass of every cell, asked one by one."""
    corner = np.stack(np.meshgrid(np.arange(cells), np.arange(cells), indexing="ij"), axis=-1).reshape(-1, 2)
    return marginal.mass(corner.astype(float), corner + 1.0).reshape(cells, cells)


@settings(max_examples=50, deadline=None)
@given(
    counts=st.lists(st.integers(0, 50), min_size=4, max_size=4),
    cut=st.tuples(st.integers(1, 7), st.integers(1, 7)),
    box=st.tuples(*[st.integers(0, 6)] * 2, *[st.integers(1, 8)] * 2),
    query=st.tuples(*[st.integers(0, 6)] * 2, *[st.integers(1, 8)] * 2),
)
def test_shares_are_those_of_single_cells(counts, cut, box, query):
    """The share of a box in a query is the mass of their common cells by that of the box, counted cell by cell."""
    low = np.array([[0, 0], [cut[0], 0], [0, cut[1]], list(cut)])
    high = np.array([list(cut), [8, cut[1]], [cut[0], 8], [8, 8]])
    density = np.zeros((8, 8))
    for start, end, count in zip(low, high, counts, strict=True):
        density[start[0] : end[0], start[1] : end[1]] = count / np.prod(end - start)
    (a, b, wide, tall), (x, y, across, up) = box, query
    right, top = min(a + wide, 8), min(b + tall, 8)
    inside = density[max(a, x) : min(right, x + across), max(b, y) : min(top, y + up)]
    whole = density[a:right, b:top]

    share = share_inside(
        Marginal(low, high, np.array(counts)),
        np.array([[a, b]]),
        np.array([[right, top]]),
        np.array([x, y]),
        np.array([x + across, y + up]),
    )

    expected = inside.sum() / whole.sum() if whole.sum() else inside.size / whole.size
    assert share[0] == pytest.approx(expected, abs=1e-9)


def test_budget_and_tables(folder):
    """Marginals, tree and counts add up to epsilon; every place has a marginal that tiles the grid."""
    release = fv.read_release(folder)
    budget = release.manifest["promise"]["budget"]
    areas = [
        (row["high_0"] - row["low_0"]) * (row["high_1"] - row["low_1"]) * (row["place"] == "origin")
        for row in release.marginals.to_pylist()
    ]

    assert [step["spend"] for step in budget] == ["marginal 1", "marginal 2", "tree"]
    assert sum(step["epsilon"] for step in budget) + 1 / release.scales[0] == pytest.approx(2.0)
    assert sum(areas) == CELLS**2
    assert fv.verify(folder).flows == len(release.counts)


def test_answers_are_spread_by_marginals(folder):
    """What `query` says is the sum over boxes of count by the shares of both marginals, computed from single cells."""
    release = fv.read_release(folder)
    west, south, east, north = BOX
    half = ((west + east) / 2, (south + north) / 2)
    edge = 5  # in cells, so that boxes are cut
    bbox = (west, south, west + (east - west) * edge / CELLS, south + (north - south) * edge / CELLS)
    masses = {place: raster(marginal, CELLS) for place, marginal in read_marginals(release.tables).items()}
    low, high = release.corners()
    expected = 0.0
    for start, end, count in zip(low.tolist(), high.tolist(), release.counts.tolist(), strict=True):
        mass = masses["origin"][start[0] : end[0], start[1] : end[1]]
        mass = mass if mass.sum() > 1e-6 else np.ones(mass.shape)
        expected += count * mass[: max(edge - start[0], 0), : max(edge - start[1], 0)].sum() / mass.sum()

    answer = fv.query(folder, origin=bbox)

    assert answer.estimate == pytest.approx(expected, abs=1e-6)
    assert "marginals" in answer.meaning
    assert fv.query(folder, origin=(west, south, *half)).inside > 0


def test_marginals_help():
    """Trips that sit in one corner of every box are found there, which an even spread misses."""
    random = np.random.default_rng(0)
    cells = random.integers(0, 8, (20_000, 4)) * 8  # of 64: only every eighth line has trips
    distinct, counts = np.unique(cells, axis=0, return_counts=True)
    points = Points(distinct, counts, (64,) * 4)
    boxes = noisy_tree(points, Ledger(2.0))
    asked = make_workload(points, "5%", "records", 100)

    by_marginals = np.abs(answer_boxes(asked, boxes) - asked.true).mean()
    evenly = np.abs(answer_boxes(asked, type(boxes)(*list(vars(boxes).values())[:6])) - asked.true).mean()

    assert by_marginals < evenly / 2


def test_models_start_from_marginals(tmp_path, monkeypatch):
    """Synthetic trips of a release of one box start where its marginals say."""
    grow = noisytree.grow_boxes
    monkeypatch.setattr(noisytree, "grow_boxes", lambda *given: grow(*given, halvings=0))
    west, south, east, north = BOX
    near = west + (east - west) * 0.01
    one = pa.table({"start_lon": [near] * 3_000, "start_lat": [south + 0.001] * 3_000})
    ends = np.random.default_rng(0).uniform((west, south), (east, north), (3_000, 2))
    trips = one.append_column("end_lon", pa.array(ends[:, 0])).append_column("end_lat", pa.array(ends[:, 1]))
    path = fv.add_noise(trips, "noisy-tree", 1.0, bbox=BOX, cells=CELLS).write(tmp_path / "out")

    drawn = fv.sample(path, 500, seed=1)

    assert len(fv.read_release(path).counts) == 1
    assert np.mean(drawn["start_lon"].to_numpy() < west + (east - west) / 8) > 0.8


def changed(folder, target, change):
    """Return a copy of a release in which one row of its marginals, or its manifest, was changed."""
    shutil.copytree(folder, target)
    table = pq.read_table(target / "marginals.parquet")
    manifest = json.loads((target / "manifest.json").read_text())
    table = change(table, manifest)
    if table is not None:
        write_table(table, target / "marginals.parquet")
    (target / "manifest.json").write_text(json.dumps(manifest, indent=2, ensure_ascii=False) + "\n")
    return target


def put(table, column, values):
    """Return a table with other values in a column."""
    at = table.column_names.index(column)
    return table.set_column(at, column, pa.array(values, table.schema.field(column).type))


def finer(table, _):
    """Claim less noise than was paid for."""
    return put(table, "scale", table["scale"].to_numpy() / 2)


def hole(table, _):
    """Leave a box out."""
    return table.slice(1)


def swapped(table, _):
    """List the destination first."""
    return table.take(list(range(table.num_rows))[::-1])


def more_trips(table, _):
    """Do not keep the total."""
    return put(table, "nonnegative", table["nonnegative"].to_numpy() + 1)


def free_marginal(table, manifest):
    """Spend nothing on a marginal, and more on counts: what the tables say is then more than epsilon."""
    manifest["promise"]["budget"] = manifest["promise"]["budget"][1:]
    return table


def cheap_tree(table, manifest):
    """Claim that the tree cost less."""
    manifest["promise"]["budget"][2]["epsilon"] /= 2
    return table


@pytest.mark.parametrize(
    ("change", "found"),
    [
        (finer, "noise of the marginal of origin"),
        (hole, "gap"),
        (swapped, "one after the other"),
        (more_trips, "keep the noisy total"),
        (free_marginal, "spends of the budget"),
        (cheap_tree, "does not fit any path"),
    ],
)
def test_the_verifier_knows_marginals(folder, tmp_path, change, found):
    """Marginals that do not tile the grid, do not add up, or have less noise than was paid for are found."""
    assert fv.verify(folder)
    with pytest.raises(VerificationError, match=found):
        fv.verify(changed(folder, tmp_path / "out", change))


def test_marginals_are_there_or_not(folder, city, tmp_path):
    """A release without the file, or with one that its method does not have, is not as the format says."""
    without = shutil.copytree(folder, tmp_path / "without")
    (without / "marginals.parquet").unlink()
    other = fv.add_noise(city, "privtree", 1.0, bbox=BOX, cells=CELLS).write(tmp_path / "privtree")
    shutil.copy(folder / "marginals.parquet", other)

    for path in (without, other):
        with pytest.raises(VerificationError, match="files"):
            fv.verify(path)


def test_one_place_needs_no_marginals(city, tmp_path):
    """A matrix of one place is its own marginal: all but the share of the tree goes to its counts."""
    release = fv.add_noise(city, "noisy-tree", 1.0, bbox=BOX, cells=CELLS, ends="origin")
    path = release.write(tmp_path / "out")

    assert [step["spend"] for step in release.manifest["promise"]["budget"]] == ["tree"]
    assert not (path / "marginals.parquet").exists()
    assert fv.verify(path).flows == len(release.counts)
    with pytest.raises(InputError, match=r"no marginals\.parquet"):
        _ = fv.read_release(path).marginals


def test_three_places_of_persons(city, tmp_path):
    """With a stop there are three marginals; a person's bound counts in their noise, too."""
    release = fv.add_noise(
        city,
        "noisy-tree",
        3.0,
        bbox=BOX,
        cells=CELLS,
        stops="start_lon,start_lat",
        unit="person_id",
        max_trips_per_person=3,
    )
    path = release.write(tmp_path / "out", report=True)

    assert set(release.marginals["place"].to_pylist()) == {"origin", "destination", "stop 1"}
    assert 3 / release.marginals["scale"][0].as_py() == pytest.approx(3.0 * 0.3 / 3 / 2)
    assert fv.verify(path).flows == len(release.counts)
    assert "which tell how counts lie in boxes" in (path / "report.html").read_text()


def test_exports_have_marginals(folder, tmp_path):
    """Tables for other tools hold marginals beside boxes."""
    fv.export(folder, "datapackage", tmp_path / "out")
    package = json.loads((tmp_path / "out" / "datapackage.json").read_text())

    assert [resource["name"] for resource in package["resources"]] == ["cells", "marginals"]
    assert (tmp_path / "out" / "marginals.csv").is_file()


def test_shares_leave_something_for_counts(city):
    """Shares of all of the budget are refused, before anything is drawn."""
    for options in ({"tree_share": 0.5, "marginal_share": 0.5}, {"marginal_share": 0.0}):
        with pytest.raises(InputError, match="share"):
            fv.add_noise(city, "noisy-tree", 1.0, bbox=BOX, cells=CELLS, options=options)


def test_a_broken_table_of_marginals_is_refused(folder, tmp_path):
    """A folder that anyone may have made is read with suspicion."""
    path = changed(folder, tmp_path / "out", lambda table, _: put(table, "high_0", table["low_0"].to_numpy()))

    with pytest.raises(InputError, match=r"box of marginals.parquet is empty"):
        fv.query(path)


@pytest.mark.parametrize("name", ["cells.parquet", "marginals.parquet"])
def test_nothing_hides_in_tables(name, folder, tmp_path):
    """Bytes that belong to no column, and metadata, are found without the audit file, too."""
    target = tmp_path / "out"
    shutil.copytree(folder, target)
    table = pq.read_table(folder / name)
    write_table(table, target / name)
    assert fv.verify(target)

    data = (target / name).read_bytes()
    (target / name).write_bytes(data[:4] + b"12 persons" + data[4:])
    with pytest.raises(VerificationError):
        fv.verify(target)
    write_table(table.replace_schema_metadata({"persons": "12"}), target / name)
    with pytest.raises(VerificationError, match="metadata"):
        fv.verify(target)
