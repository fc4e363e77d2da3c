"""The range of a query: it holds the noise, and every way in which trips may lie inside boxes."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path

import h3
import numpy as np
import pyarrow as pa
import pytest
import shapely
from hypothesis import given, settings
from hypothesis import strategies as st

import flowveil as fv
from flowveil._cli.commands import run
from flowveil._matrices.answers import _extent
from flowveil._matrices.flow_tables import _Counted, _tables
from flowveil._matrices.ladder import runs
from flowveil._options import noise
from flowveil._release.keys import nodes_of

BBOX = (4.0, 50.0, 4.4, 50.4)
CELLS = 4
SURE = 1e4  # an epsilon at which noise is 0 for all that anyone can draw
ENDS = ("start_lon", "start_lat", "end_lon", "end_lat")
BOX_METHODS = [
    each.name
    for each in fv.methods()
    if each.promise == "differential privacy" and each.name not in ("laplace", "noisy-mosaic")
]


@pytest.fixture(autouse=True, scope="module")
def any_epsilon():
    """Let a budget be as large as these tests need: nobody could publish such a release."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(noise, "MOST_EPSILON", SURE)
        yield


def degrees(axis, share):
    """Return where a share of a side lies."""
    low, high = BBOX[axis % 2], BBOX[2 + axis % 2]
    return low + share * (high - low)


def trips_at(points, names):
    """Return trips at points, one row each, given as shares of the sides."""
    columns = np.array(points, float).reshape(-1, len(names)).T
    return pa.table({name: degrees(axis, columns[axis]) for axis, name in enumerate(names)})


def write_stops(folder, method="uniform", epsilon=1.0):
    """Write a release in six dimensions of trips that all stop in one corner: the even spread is badly wrong."""
    random = np.random.default_rng(0)
    points = random.uniform(0, 1, (3000, 6))
    points[:, 4:] *= 0.2
    trips = trips_at(points, (*ENDS, "stop_lon", "stop_lat"))
    matrix = fv.build_matrix(trips, BBOX, 20, stops=["stop_lon", "stop_lat"])
    return fv.add_noise(matrix, method, epsilon).write(folder)


CORNER = (*BBOX[:2], degrees(0, 0.25), degrees(1, 0.25))  # holds all stops


@pytest.mark.parametrize("method", ["uniform", "eug-border", "daf-entropy"])
def test_trips_in_a_corner(method, tmp_path):
    """All trips stop in a sixteenth of the map: the noise does not explain the error, and the range holds it."""
    answer = fv.query(write_stops(tmp_path / "out", method), stops={1: CORNER})

    assert answer.estimate + 1.96 * answer.noise < 3000
    assert answer.low <= answer.estimate <= answer.high
    assert answer.low <= (3000 if method == "daf-entropy" else 0)  # whose boxes may happen to lie inside the corner
    assert answer.high > 2900  # all trips, but for the noise
    assert answer.partial > 0.5
    assert answer.warning is not None


def test_warning_on_the_command_line(tmp_path, capsys):
    """Whoever asks is told that the answer is a guess, on the terminal and in JSON."""
    folder = str(write_stops(tmp_path / "out"))
    box = f"--stop-bbox={','.join(map(str, CORNER))}"

    assert run(["query", folder, box]) == 0
    out, err = capsys.readouterr()
    assert "100% of the answer is from boxes that the query covers in part" in out
    assert err.startswith("warning: none of the boxes lies inside the place asked for")
    assert "spread evenly" in err

    assert run(["query", folder, box, "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert (told["partial"], told["boxes"], told["inside"]) == (1.0, 1, 0)
    assert told["low"] <= 0
    assert told["high"] >= 2990
    assert "spread evenly" in told["warning"]

    assert run(["query", folder, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["warning"] is None
    assert run(["query", folder, "--stop-bbox=10,10,11,11"]) == 0
    assert "outside of the bbox" in capsys.readouterr().out


@pytest.mark.slow
@pytest.mark.parametrize("method", BOX_METHODS)
@settings(max_examples=12, deadline=None)
@given(data=st.data())
def test_the_range_holds_the_truth(method, data):
    """Without noise, the true number of trips lies in the range, whatever the trips and the query."""
    ends = data.draw(st.sampled_from(["origin", "both"]))
    names = ENDS[:2] if ends == "origin" else ENDS
    share = st.builds(lambda cell, at: (cell + at) / CELLS, st.integers(0, CELLS - 1), st.floats(0.01, 0.99))
    points = data.draw(st.lists(st.tuples(*[share] * len(names)), min_size=1, max_size=30))
    edge = st.floats(-0.2, 1.2)
    sides = [sorted(data.draw(st.lists(edge, min_size=2, max_size=2, unique=True))) for _ in names]
    trips = trips_at(points, names)
    inside = np.ones(len(points), bool)
    for axis, (name, side) in enumerate(zip(names, sides, strict=True)):
        low, high = (degrees(axis, end) for end in side)
        inside &= (trips[name].to_numpy() >= low) & (trips[name].to_numpy() <= high)
        sides[axis] = (low, high)
    boxes = [(west, south, east, north) for (west, east), (south, north) in zip(sides[::2], sides[1::2], strict=True)]
    if any(box[0] >= box[2] or box[1] >= box[3] for box in boxes):
        return

    matrix = fv.build_matrix(trips, BBOX, CELLS, ends=ends)
    with tempfile.TemporaryDirectory() as folder:
        written = fv.add_noise(matrix, method, SURE).write(Path(folder) / "out")
        answer = fv.query(written, **dict(zip(("origin", "destination"), boxes, strict=False)))

    assert answer.low - 1e-6 <= inside.sum() <= answer.high + 1e-6
    assert answer.low <= answer.estimate <= answer.high
    assert 0 <= answer.partial <= 1
    assert answer.inside <= answer.boxes


@pytest.mark.slow
@settings(max_examples=25, deadline=None)
@given(data=st.data())
def test_the_range_of_areas_holds_the_truth(data):
    """The same for flows between areas as coarse as any epsilon makes them, with true counts in place of noisy ones."""
    share = st.floats(0.001, 0.999)
    points = data.draw(st.lists(st.tuples(share, share, share, share), min_size=5, max_size=40))
    epsilon = data.draw(st.sampled_from([0.3, 1.0, SURE]))
    trips = trips_at(points, ENDS)
    west, east, south, north = (degrees(axis, data.draw(share)) for axis in (0, 0, 1, 1))
    if west == east or south == north:
        return
    box = (min(west, east), min(south, north), max(west, east), max(south, north))
    lon, lat = trips["start_lon"].to_numpy(), trips["start_lat"].to_numpy()
    true = ((lon >= box[0]) & (lon <= box[2]) & (lat >= box[1]) & (lat <= box[3])).sum()

    matrix = fv.build_tile_matrix(trips, BBOX, "h3:7")
    release = fv.add_noise(matrix, "noisy-mosaic", epsilon)
    release.tables["flows.parquet"] = without_noise(matrix, release.tables["flows.parquet"])
    with tempfile.TemporaryDirectory() as folder:
        answer = fv.query(release.write(Path(folder) / "out"), origin=box)

    assert answer.low - 1e-6 <= true <= answer.high + 1e-6
    assert answer.low <= answer.estimate <= answer.high


def without_noise(matrix, flows):
    """Return the flows of a release with the true counts between the tiles of their areas."""
    grid, cells = matrix.grid, matrix.points.cells
    start, end = runs(grid.ladder.leaf, grid.tree.parent)
    lies = np.ones((flows.num_rows, len(cells)), bool)
    for axis, side in enumerate(("origin", "destination")):
        nodes = nodes_of(grid.places, grid.tree, flows[side].to_pylist())
        lies &= (start[nodes, None] <= cells[:, axis]) & (cells[:, axis] < end[nodes, None])
    exact = {"trips": lies @ matrix.points.counts, "nonnegative": lies @ matrix.points.counts}
    exact["scale"] = np.full(flows.num_rows, 1e-3)
    return pa.table({name: exact.get(name, flows[name]) for name in flows.column_names})


def test_aligned_queries_have_the_noise_alone(tmp_path):
    """A query that ends at edges of boxes is as sure as the noise lets it be, inside and outside of the bbox."""
    trips = trips_at(np.random.default_rng(1).uniform(0, 1, (500, 4)), ENDS)
    folder = fv.add_noise(fv.build_matrix(trips, BBOX, CELLS), "identity", 1.0).write(tmp_path / "out")

    for cells in ((0, 1, 4, 3), (1, 1, 2, 3), (0, 0, 3, 4)):
        box = tuple(degrees(axis, cell / CELLS) for axis, cell in enumerate(cells))
        answer = fv.query(folder, origin=box)
        assert answer.inside == answer.boxes == (cells[2] - cells[0]) * (cells[3] - cells[1]) * CELLS**2
        assert answer.partial == 0
        assert answer.warning is None
        assert answer.low == pytest.approx(answer.estimate - 1.96 * answer.noise)
        assert answer.high == pytest.approx(answer.estimate + 1.96 * answer.noise)
    assert fv.query(folder, origin=(0, 0, 90, 90)).inside == CELLS**4


def test_trips_that_stick_out(tmp_path):
    """Trips in tiles of a coarse H3 cell may lie outside of its outline: a query around it is not sure of them."""
    cell = h3.latlng_to_cell(50.2, 4.2, 6)
    west, south, east, north = shapely.Polygon(np.array(h3.cell_to_boundary(cell))[:, ::-1]).bounds
    points = []
    for tile in h3.cell_to_children(cell, 8):
        for corner in h3.cell_to_boundary(tile):
            lat, lon = 0.9 * np.array(corner) + 0.1 * np.array(h3.cell_to_latlng(tile))
            points += [] if west <= lon <= east and south <= lat <= north else [(lon, lat, lon, lat)]
    trips = pa.table(dict(zip(ENDS, np.array(points).T, strict=True)))
    matrix = fv.build_tile_matrix(trips, BBOX, "h3:8", hierarchy="h3")
    release = fv.add_noise(matrix, "noisy-mosaic", 1.0)
    nodes = nodes_of(matrix.grid.places, matrix.grid.tree, [cell, cell])[None]
    one = _Counted(nodes, np.zeros(1, int), np.array([len(points)]), np.array([1e-3]))
    release.tables.update(_tables(matrix.grid, matrix.layers, one))
    folder = release.write(tmp_path / "out")

    around = fv.query(folder, origin=(west, south, east, north))
    beside = fv.query(folder, origin=(BBOX[0], north, BBOX[2], BBOX[3]))

    assert points
    assert around.low == 0
    assert around.high == len(points)
    assert beside.estimate == 0
    assert beside.high == len(points)


@settings(max_examples=60, deadline=None)
@given(lon=st.floats(-179, 179), lat=st.floats(-80, 80), resolution=st.integers(1, 8), steps=st.integers(1, 3))
def test_tiles_do_not_reach_further(lon, lat, resolution, steps):
    """The tiles of an H3 cell stick out of its outline, but not out of what the query takes for its extent."""
    cell = h3.latlng_to_cell(lat, lon, resolution)
    outline = np.array(h3.cell_to_boundary(cell))[:, ::-1]
    inside = h3.cell_to_children(cell, resolution + steps)
    tiles = np.concatenate([h3.cell_to_boundary(tile) for tile in inside])[:, ::-1]
    if np.ptp(tiles[:, 0]) > 180:
        return
    low, high = _extent(pa.table({"tiles": [7]}), np.array([shapely.Polygon(outline)], object))

    assert (low <= tiles.min(axis=0)).all()
    assert (tiles.max(axis=0) <= high).all()
