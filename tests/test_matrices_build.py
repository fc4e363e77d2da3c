"""Frequency matrices: grids that know nothing of the data, and bounded contributions."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from flowveil import InputError
from flowveil._matrices.build import build_matrix
from flowveil._matrices.frames import build_frame_matrix
from flowveil._matrices.points import add

BOX = (0.0, 0.0, 10.0, 20.0)


def trips(*rows, **more):
    """Return trips (start_lon, start_lat, end_lon, end_lat) as a table."""
    names = ("start_lon", "start_lat", "end_lon", "end_lat")
    return pa.table({name: [row[at] for row in rows] for at, name in enumerate(names)} | more)


def test_cells_of_a_known_grid():
    """Cells are equal parts of the bbox; its upper edge belongs to the last cell; the rest lies outside."""
    table = trips((0, 0, 10, 20), (0.99, 1.99, 1, 2), (0.99, 1.99, 1, 2), (5, 5, 11, 5), (None, 1, 1, 1))

    matrix = build_matrix(table, BOX, 10)

    assert matrix.points.cells.tolist() == [[0, 0, 1, 1], [0, 0, 9, 9]]
    assert matrix.points.counts.tolist() == [2, 1]
    assert matrix.points.lengths == (10, 10, 10, 10)
    assert (matrix.provenance.outside_bbox, matrix.provenance.dropped) == (1, {"null coordinate": 1})


def test_matches_plain_counting(city_trips):
    """The cells are those that numpy finds one by one."""
    import pyarrow.parquet as pq

    from flowveil.synthetic import CITY_BBOX

    west, south, east, north = CITY_BBOX
    table = pq.read_table(city_trips)
    sides = {"lon": (west, east), "lat": (south, north)}
    columns = []
    for name in ("start_lon", "start_lat", "end_lon", "end_lat"):
        low, high = sides[name[-3:]]
        columns.append(np.minimum(((table[name].to_numpy() - low) / (high - low) * 50).astype(int), 49))
    cells, counts = np.unique(np.column_stack(columns), axis=0, return_counts=True)

    points = build_matrix(city_trips, CITY_BBOX, 50).points

    assert np.array_equal(points.cells, cells)
    assert np.array_equal(points.counts, counts)


def test_one_end_and_stops():
    """Two axes for one end, and two more for every stop."""
    table = trips((1, 1, 2, 2), (1, 1, 9, 19), via_x=[4, 5], via_y=[4.0, 5.0])

    assert build_matrix(table, BOX, 10, ends="origin").points.cells.tolist() == [[1, 0]]
    assert build_matrix(table, BOX, 10, ends="destination").points.cells.tolist() == [[2, 1], [9, 9]]
    with_stop = build_matrix(table, BOX, 10, stops=["via_x", "via_y"])
    assert with_stop.grid.places == ("origin", "destination", "stop 1")
    assert with_stop.points.cells.tolist() == [[1, 0, 2, 1, 4, 2], [1, 0, 9, 9, 5, 2]]


def test_a_person_contributes_at_most_so_many_trips():
    """Each person keeps min(trips, bound) trips, whatever others do; what was left out is counted privately."""
    person = ["a"] * 50 + ["b"] * 2 + [None]
    table = trips(*[(1, 1, at % 9, 5) for at in range(50)], (2, 2, 2, 2), (3, 3, 3, 3), (4, 4, 4, 4), person=person)

    matrix = build_matrix(table, BOX, 10, unit="person", max_trips_per_person=7)

    assert matrix.points.counts.sum() == 9
    assert matrix.points.counts[matrix.points.cells[:, 0] == 1].sum() == 7
    assert matrix.provenance.beyond_bound == 43
    assert matrix.provenance.dropped == {"null unit": 1}


def test_the_sample_is_uniform():
    """Every trip of a person is as likely to be kept: 2,000 persons keep one of 4 trips each."""
    table = trips(*[(at, 1, 1, 1) for _ in range(2000) for at in range(4)], person=np.repeat(np.arange(2000), 4))

    counts = build_matrix(table, BOX, 10, unit="person", max_trips_per_person=1).points.counts

    # Each count is binomial(2000, 1/4): five and a half standard deviations are 106.
    assert counts.sum() == 2000
    assert (abs(counts - 500) < 106).all()


def test_an_empty_matrix_is_no_error():
    """That there are no trips is private: the matrix is released with noise like any other."""
    matrix = build_matrix(trips((50, 50, 50, 50)), BOX, 10)

    assert matrix.points.cells.shape == (0, 4)
    assert matrix.points.totals.tolist() == [0]


def test_counted_table():
    """A count column that the user names adds up."""
    from flowveil import read_trips

    table = read_trips(trips((1, 1, 1, 1), (1, 1, 1, 1), n=[3, 4]), columns={"count": "n"})

    assert build_matrix(table, BOX, 10).points.counts.tolist() == [7]


def test_frames_of_a_day():
    """A day counts once, at the first place of each frame, if a person was seen in all of them and inside the box."""
    rows = [
        ("a", 1.0, 1.0, "2024-05-01 07:00:00"),
        ("a", 9.0, 9.0, "2024-05-01 08:00:00"),  # later in the same frame
        ("a", 5.0, 5.0, "2024-05-01 18:00:00"),
        ("a", 1.0, 1.0, "2024-05-02 07:00:00"),  # no evening
        ("b", 2.0, 2.0, "2024-05-01 09:59:59"),
        ("b", 50.0, 5.0, "2024-05-01 17:00:00"),  # outside
        ("c", 3.0, 3.0, "2024-05-01 06:00:00"),
        ("c", 3.0, 3.0, "2024-05-01 20:59:00"),
    ]
    table = pa.table(dict(zip(("user_id", "lon", "lat", "time"), map(list, zip(*rows, strict=True)), strict=True)))

    matrix = build_frame_matrix(table, BOX, 10, frames="morning=6-10,17-21", max_trips_per_person=1)

    assert matrix.grid.places == ("morning", "17-21")
    assert matrix.points.cells.tolist() == [[1, 0, 5, 2], [3, 1, 3, 1]]
    assert (matrix.unit, matrix.max_trips_per_person) == ("user_id", 1)
    assert matrix.provenance.outside_bbox == 1
    assert matrix.provenance.dropped == {"days not seen in every frame": 1}
    elsewhere = build_frame_matrix(
        table, BOX, 10, frames="8-9", max_trips_per_person=1, timezone="Europe/Paris", where="user_id = 'c'"
    )
    assert elsewhere.points.cells.tolist() == [[3, 1]]


def test_frames_bound_the_days_of_a_person():
    """Of 30 days of one person and 2 of another, at most 4 of each count."""
    days = [("a", f"2024-05-{day:02} 07:00:00") for day in range(1, 31)]
    days += [("b", f"2024-05-{day:02} 07:00:00") for day in (1, 2)]
    table = pa.table(
        {"user_id": [d[0] for d in days], "time": [d[1] for d in days], "lon": [1.0] * 32, "lat": [1.0] * 32}
    )

    matrix = build_frame_matrix(table, BOX, 10, frames="6-10", max_trips_per_person=4)

    assert matrix.points.counts.tolist() == [6]
    assert matrix.provenance.beyond_bound == 26


@pytest.mark.parametrize("frames", ["", "morning", "10-6", "6-25", "6-10,6-10", "a=6-10,a=11-12"])
def test_bad_frames(frames):
    """Frames are spans of hours with distinct names."""
    table = pa.table({"user_id": ["a"], "time": ["2024-05-01 07:00:00"], "lon": [1.0], "lat": [1.0]})

    with pytest.raises(InputError, match="frame of a day"):
        build_frame_matrix(table, BOX, 10, frames=frames, max_trips_per_person=1)
    with pytest.raises(InputError, match="must be bounded"):
        build_frame_matrix(table, BOX, 10)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"bbox": None}, "needs a bbox"),
        ({"cells": 0}, "cells a side"),
        ({"ends": "middle"}, "no end"),
        ({"stops": ["person"]}, "columns of stops"),
        ({"stops": ["x", "y"]}, "no column"),
        ({"unit": "person"}, "must be bounded"),
        ({"unit": "nobody", "max_trips_per_person": 1}, "no column"),
        ({"unit": "person", "max_trips_per_person": 0}, "max_trips_per_person is 0"),
        ({"max_trips_per_person": 3}, "needs persons"),
    ],
)
def test_bad_input(options, message):
    """What cannot be used is said, with a hint."""
    table = trips((1, 1, 1, 1), person=["a"])

    with pytest.raises(InputError, match=message):
        build_matrix(table, **({"bbox": BOX, "cells": 10} | options))


def test_sums_of_any_size_are_exact():
    """One trip changes a sum by one, however large it is: noise is scaled for that."""
    most = np.array([1 << 53, 1, 1 << 60, 1], np.int64)

    assert add(np.array([0, 0, 1, 1]), most, 2).tolist() == [(1 << 53) + 1, (1 << 60) + 1]
    assert add(np.array([0, 0, 1, 1]), np.array([3, 1, 0, 2]), 3).tolist() == [4, 2, 0]
