"""How far off answers of releases with noise are: as the release itself says, and against the true trips."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
import shapely

import flowveil as fv
from flowveil import InputError
from flowveil._matrices import grids
from flowveil._matrices.points import Points
from flowveil._noise import Ledger
from flowveil._reading import clumping, unevenness

BOX = fv.synthetic.CITY_BBOX
WEST, SOUTH, EAST, NORTH = BOX
WEST_PART = (WEST, SOUTH, WEST + 0.47 * (EAST - WEST), NORTH)  # cuts boxes


@pytest.fixture(scope="module")
def city():
    """Return some trips."""
    return fv.synthetic.City(persons=100).trips(3_000)


@pytest.fixture(scope="module")
def squares():
    """Return sixteen zones that tile the city."""
    edges = [(column / 4, row / 4) for column in range(4) for row in range(4)]
    wide, tall = EAST - WEST, NORTH - SOUTH
    west, south = np.array([(WEST + x * wide, SOUTH + y * tall) for x, y in edges]).T
    outlines = shapely.box(west, south, west + wide / 4, south + tall / 4)
    return pa.table(
        {
            "zone_id": [f"z{number:02}" for number in range(16)],
            "geometry": shapely.to_wkb(outlines).tolist(),
        }
    )


def boxes_of(counts, cells):
    """Return the tables and the manifest of a release of one place, one box a cell, almost without noise."""
    x, y = (axis.ravel() for axis in np.meshgrid(np.arange(cells), np.arange(cells), indexing="ij"))
    edges = {"low_0": x, "high_0": x + 1, "low_1": y, "high_1": y + 1}
    known = {"count": counts, "nonnegative": np.maximum(counts, 0), "scale": np.full(cells**2, 0.01)}
    return {"cells.parquet": pa.table(edges | known)}, {"options": {"places": ["origin"], "cells": cells}}


def test_clumping_of_single_trips_and_of_crowds():
    """Trips that come one by one have no clumping, those that come in crowds of a cell have much."""
    random = np.random.default_rng(0)
    single = random.poisson(50, 32 * 32)
    crowds = np.where(random.random(32 * 32) < 0.5, 100, 0)

    assert clumping(*boxes_of(single, 32)) < 0.01
    assert clumping(*boxes_of(crowds, 32)) > 0.5


def test_unevenness_is_about_boxes_that_are_cut():
    """A box wholly inside or outside adds nothing; more trips and more clumping add more, and so does noise on none."""
    cut, exact = np.array([True]), np.zeros(1)
    half, hundred = np.array([0.5]), np.array([100.0])

    assert unevenness(np.array([1.0, 0.0]), np.array([False, False]), np.array([50.0, 50.0]), np.ones(2), 1.0) == 0
    assert unevenness(half, cut, hundred, exact, 0.0) == pytest.approx(5)  # a fair coin for each trip
    assert (
        unevenness(half, cut, hundred, exact, 0.0)
        < unevenness(half, cut, hundred, exact, 0.5)
        < unevenness(half, cut, 2 * hundred, exact, 0.5)
    )
    assert unevenness(half, cut, exact, exact, 0.5) == 0 < unevenness(half, cut, exact, np.ones(1), 0.5)


def test_boxes_of_one_area_err_together():
    """Many boxes that a question cuts in the same area of a place add up their errors; in areas of their own less."""
    share, cut, trips = np.full(100, 0.5), np.ones(100, bool), np.full(100, 10.0)
    one_by_one, same, own = (
        unevenness(share, cut, trips, np.zeros(100), 0.5, places)
        for places in ([], [(share, np.zeros(100, int))], [(share, np.arange(100))])
    )

    assert one_by_one < own < same
    assert same**2 - one_by_one**2 == pytest.approx(0.5 * 0.25 * 1000**2)  # as one box that holds all of them


@pytest.mark.slow
@pytest.mark.parametrize("method", ["noisy-tree", "eug-border", "noisy-mosaic"])
def test_likely_range_lies_in_the_sure_one(city, tmp_path, method):
    """An answer has both ranges, the likely one inside the other, and as narrow as the noise for everything."""
    given = {"grid": "h3:7"} if method == "noisy-mosaic" else {"cells": 50}
    folder = fv.add_noise(city, method, 2.0, bbox=BOX, **given).write(tmp_path / "out")
    half, everything = fv.query(folder, origin=WEST_PART), fv.query(folder)

    assert half.low <= half.likely_low <= half.estimate <= half.likely_high <= half.high
    assert half.unevenness > 0
    assert everything.unevenness == 0
    assert everything.likely_high - everything.estimate == pytest.approx(1.96 * everything.noise)


def test_likely_ranges_hold_most_true_answers(city, tmp_path):
    """Of many questions about strips of the city nine in ten true answers lie in the likely range."""
    folder = fv.add_noise(city, "noisy-tree", 2.0, bbox=BOX, cells=50).write(tmp_path / "out")
    lon = city["start_lon"].to_numpy()
    held = 0
    for share in np.linspace(0.05, 0.9, 20):
        low, high = WEST + share * (EAST - WEST), WEST + (share + 0.07) * (EAST - WEST)
        answer = fv.query(folder, origin=(low, SOUTH, high, NORTH))
        held += answer.likely_low <= ((lon >= low) & (lon < high)).sum() <= answer.likely_high

    assert held >= 17


@pytest.mark.slow
def test_errors_between_own_zones(city, squares, tmp_path):
    """Questions of a user are the flows between zones of their own, whatever these call their ids."""
    folder = fv.add_noise(city, "noisy-tree", 50.0, bbox=BOX, cells=40).write(tmp_path / "out")
    figures = fv.evaluate(folder, city, zones=squares.rename_columns(["Bezirk", "geometry"]))

    assert list(figures)[-1] == "your zones"
    assert figures["your zones"]["mre"] < 25
    assert figures["your zones"]["zero"] > figures["your zones"]["mre"]


@pytest.mark.parametrize("by_zone", [True, False])
def test_errors_of_listed_pairs(city, squares, tmp_path, by_zone):
    """A release of pairs above zero, of zones or tiles, is measured on its own pairs; nearly no noise, no error."""
    given = {"zones": squares, "hierarchy": "ward"} if by_zone else {"bbox": BOX, "grid": "h3:6"}
    folder = fv.add_noise(city, "laplace", 99.0, **given).write(tmp_path / "out")
    figures = fv.evaluate(folder, city, **({"zones": squares} if by_zone else {}))

    assert list(figures) == ["own pairs"]
    assert figures["own pairs"]["mre"] == 0
    assert figures["own pairs"]["zero"] > 0
    if by_zone:
        with pytest.raises(InputError, match="none were given"):
            fv.evaluate(folder, city)


def test_errors_of_frames(tmp_path):
    """A release of frames is measured with the frames that it was made with, and with no others."""
    samples = fv.synthetic.phones(40)
    box = fv.synthetic.PHONES_BBOX
    frames = "morning=6-10,evening=17-21"
    folder = fv.add_noise(samples, "privtree", 5.0, bbox=box, cells=20, frames=frames, max_trips_per_person=3).write(
        tmp_path / "out"
    )

    assert "random" in fv.evaluate(folder, samples, frames=frames)
    for wrong in (None, "noon=11-14,night=20-23"):
        with pytest.raises(InputError, match="frames"):
            fv.evaluate(folder, samples, frames=wrong)


def test_known_query_size_and_constants():
    """Smaller queries, a larger constant of the border and stopping early make coarser grids; nonsense is refused."""
    points = Points(np.array([[1, 1, 1, 1]]), np.array([10_000]), (50,) * 4)

    def size(**options):
        return len(grids.eug_border(points, Ledger(2.0), **options))

    assert size(query_share=0.001) < size()
    assert size(border=50.0) < size()
    for wrong in ({"query_share": -0.1}, {"border": 0.0}, {"total_share": 0.0}):
        with pytest.raises(InputError, match=next(iter(wrong))):
            size(**wrong)
