"""How the checker counts many trips: cells that are proposed and proven, and persons who wait for numbers."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

import h3.api.basic_int as h3
import numpy as np
import pyarrow as pa
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import flowveil as fv
from flowveil import verify
from flowveil._errors import InputError, VerificationError
from flowveil._places import h3grid, h3index
from flowveil._verify import cells, count
from flowveil._verify.cells import Cells
from flowveil._verify.outlines import Outlines
from flowveil._verify.persons import Persons

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

LONGITUDES, LATITUDES = st.floats(-180, 180), st.floats(-90, 90)
RESOLUTIONS = st.integers(0, 15)


def surely_in(cells: list[int], points: list[tuple[float, float]], resolution: int) -> list[bool]:
    """Return what outlines say of points given as (lat, lon)."""
    lat, lon = np.array(points, float).T
    found: list[bool] = Outlines(resolution).hold(np.array(cells), lon, lat).tolist()
    return found


@given(LONGITUDES, LATITUDES, RESOLUTIONS)
@example(-180.0, 10.0, 5)
@example(0.0, 90.0, 3)
def test_a_point_is_surely_in_its_own_cell_only(lon: float, lat: float, resolution: int) -> None:
    """Of all cells around a point, outlines are sure of none but the one that the h3 package finds."""
    cell = h3.latlng_to_cell(lat, lon, resolution)
    cells = h3.grid_disk(cell)

    sure = surely_in(cells, [(lat, lon)] * len(cells), resolution)

    assert [other for other, inside in zip(cells, sure, strict=True) if inside] in ([], [cell])


@given(LONGITUDES, LATITUDES, RESOLUTIONS, st.floats(0, 1), st.floats(-1e-4, 1e-4))
def test_points_beside_an_edge_are_on_the_side_that_is_said(
    lon: float, lat: float, resolution: int, along: float, across: float
) -> None:
    """Points by an edge of a cell: who is sure agrees with the h3 package."""
    cell = h3.latlng_to_cell(lat, lon, resolution)
    corners = h3.cell_to_boundary(cell)
    center = np.array(h3.cell_to_latlng(cell))
    points = []
    for here, there in pairwise([*corners, corners[0]]):
        edge = np.array(here) * (1 - along) + np.array(there) * along
        if np.ptp([here[1], there[1], center[1]]) < 180 and abs(edge[0]) < 89:
            points.append(tuple((edge + across * (center - edge)).tolist()))
    cells = [h3.latlng_to_cell(*point, resolution) for point in points]

    for others in (cells, [cell] * len(points)):
        sure = surely_in(others, points, resolution) if points else []
        assert all(found == other for found, other, held in zip(cells, others, sure, strict=True) if held)


@given(LONGITUDES, LATITUDES, RESOLUTIONS)
def test_the_middle_of_a_cell_with_six_corners_is_surely_in_it(lon: float, lat: float, resolution: int) -> None:
    """Else every point would be looked up one by one."""
    cell = h3.latlng_to_cell(lat, lon, resolution)

    assert surely_in([cell], [h3.cell_to_latlng(cell)], resolution) == [len(h3.cell_to_boundary(cell)) == 6]


def test_a_cell_of_another_resolution_is_no_tile() -> None:
    """A coarser cell holds the point too, but is not what the release counts by; nor is a number that is no cell."""
    cell = h3.latlng_to_cell(46.05, 14.5, 9)
    point = h3.cell_to_latlng(cell)

    assert surely_in([cell, h3.cell_to_parent(cell, 8), 0, -1, 7], [point] * 5, 9) == [True, False, False, False, False]


def test_outlines_that_were_forgotten_are_looked_up_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """Few cells are kept, and all answers stay the same."""
    monkeypatch.setattr("flowveil._verify.outlines._MOST_CELLS", 8)
    cells = h3.grid_disk(h3.latlng_to_cell(46.05, 14.5, 9), 3)
    outlines = Outlines(9)

    for some in (cells[:5], cells[3:9], cells, cells[:2]):
        lat, lon = np.array([h3.cell_to_latlng(cell) for cell in some]).T
        assert outlines.hold(np.array(some), lon, lat).all()
        assert not outlines.hold(np.roll(some, 1), lon, lat).any()


Index = h3index.cells_of_points

# Mistakes that a fast index may make: each with a name that tells what it returns.
MISTAKES: dict[str, Callable[..., np.ndarray]] = {
    "another cell": lambda lon, lat, resolution: Index(lon + 0.002, lat, resolution),
    "sometimes another cell": lambda lon, lat, resolution: Index(lon + 0.01 * (lat > 0.3), lat, resolution),
    "coarser cells": lambda lon, lat, resolution: Index(lon, lat, resolution - 1),
    "finer cells": lambda lon, lat, resolution: Index(lon, lat, resolution + 1),
    "no cells": lambda lon, lat, resolution: Index(lon, lat, resolution) * np.uint64(0),
    "negative numbers": lambda lon, lat, resolution: Index(lon, lat, resolution) | np.uint64(1 << 63),
    "bits": lambda lon, lat, resolution: Index(lon, lat, resolution) + np.uint64(1),
    "the antipodes": lambda lon, lat, resolution: Index(np.where(lon > 0, lon - 180, lon + 180), -lat, resolution),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_of_the_fast_index_changes_nothing(mistake: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The fast index only proposes: the checker finds the cells of the h3 package whatever it says."""
    random = np.random.default_rng(0)
    lon, lat = random.uniform(-0.1, 0.9, 300), random.uniform(0, 0.6, 300)
    batch = pa.record_batch({"start_lon": lon, "start_lat": lat, "end_lon": lon[::-1], "end_lat": lat[::-1]})
    monkeypatch.setattr(cells, "propose_cells", MISTAKES[mistake])

    origin, destination, _ = Cells(9, binary=False).locate(batch, np.ones(300, bool))

    expected = [h3.latlng_to_cell(*point, 9) for point in zip(lat, lon, strict=True)]
    assert origin.tolist() == expected
    assert destination.tolist() == expected[::-1]


@pytest.mark.slow
def test_a_mistake_that_both_sides_share_is_found(
    city_trips: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A release made with a wrong index fails, though the checker asks the same wrong index."""
    for module, name in ((h3grid, "cells_of_points"), (cells, "propose_cells")):
        monkeypatch.setattr(module, name, MISTAKES["another cell"])
    folder = fv.anonymize(fv.build_flows(city_trips, "h3:8", hierarchy="h3"), k=5).write(tmp_path / "out")

    with pytest.raises(VerificationError, match="of the input"):
        verify(folder, city_trips)


@pytest.mark.slow
def test_flows_do_not_depend_on_the_number_of_threads(city_trips: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Threads share what they learn about places; small batches make them meet."""
    release = fv.anonymize(fv.build_flows(city_trips, "h3:8", unit="person_id"), k=5, elsewhere=True, min_tiles=2)

    def in_threads(threads: int, folder: Path) -> list[str]:
        scan, work_ahead = count.scan, count.work_ahead
        with monkeypatch.context() as patch:
            patch.setattr(count, "work_ahead", lambda function, parts: work_ahead(function, parts, threads))
            patch.setattr(
                count,
                "scan",
                lambda request: (
                    batch.slice(row, 500) for batch in scan(request) for row in range(0, batch.num_rows, 500)
                ),
            )
            return list(verify(folder, city_trips).checks)

    folder = release.write(city_trips.parent / "threads", overwrite=True)
    assert in_threads(1, folder) == in_threads(8, folder)


@given(
    st.lists(
        st.lists(st.tuples(st.text("ab\u00e9", max_size=2), st.integers(-1, 3)), max_size=8),
        max_size=6,
    ),
    st.integers(1, 9),
    st.booleans(),
)
def test_persons_are_counted_like_sets(batches: list[list[tuple[str, int]]], waiting: int, weighted: bool) -> None:
    """Against Python's own sets, however few rows wait for numbers."""
    weight = {name: 1 + sum(map(ord, name)) for rows in batches for name, _ in rows}
    persons = Persons()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("flowveil._verify.persons._FEWEST_ROWS", waiting)
        for rows in batches:
            names, flows = [name for name, _ in rows], np.array([flow for _, flow in rows], np.int64)
            weights = np.array([weight[name] for name in names], np.int64) if weighted else None
            persons.add(pa.array(names, pa.string()), flows, weights)
        count, crowd = persons.count(4)

    sets = [{name for rows in batches for name, at in rows if at == flow} for flow in range(4)]
    assert count.tolist() == [len(names) for names in sets]
    assert crowd.tolist() == [sum(weight[name] for name in names) * weighted for names in sets]
    if weighted:
        assert persons.weights() == (sum(weight.values()), len(weight))


def test_a_person_has_one_weight_even_where_nothing_is_published() -> None:
    """Also across batches, and on no flow."""
    persons = Persons()
    for weight in (3, 4):
        persons.add(pa.array(["a"]), np.array([-1]), np.array([weight]))

    with pytest.raises(InputError, match="several weights"):
        persons.count(1)


def test_a_bbox_between_all_centers_is_one_tile():
    """Who publishes the whole of a tiny bbox does not say that it has no tile: trips were in one."""
    bbox = (4.5, 50.3, 4.75, 50.5)

    for resolution, tiles in ((3, 1), (4, 1), (5, 2)):
        grid = h3grid.H3Grid(resolution, bbox=bbox)
        assert grid._tiles_of_bbox() == tiles
        assert Cells(resolution, binary=False, bbox=bbox).most_tiles_of_bbox() == tiles
