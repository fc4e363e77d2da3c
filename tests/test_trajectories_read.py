"""Reading trajectories: columns, times, the grid, and what is dropped."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from flowveil import InputError, UnknownNameError
from flowveil.synthetic import PHONES_BBOX, phones
from flowveil.trajectories import make_grid, read_trajectories

NOON = datetime(2024, 5, 17, 12, 0, tzinfo=UTC)
WORLD = (-180, -90, 180, 90)


def table(rows):
    """Return a table of (user, lon, lat, time)."""
    user, lon, lat, time = zip(*rows, strict=True)
    return pa.table({"uid": user, "lng": lon, "lat": lat, "datetime": pa.array(time, pa.timestamp("us", tz="UTC"))})


@given(st.floats(-179.9, 179.9), st.floats(-89, 89), st.sampled_from([(4, 50, 5, 51), WORLD, (10, -40, 11, -39)]))
def test_cells_are_boxes(lon, lat, bbox):
    """A point lies between the edges of its cell, and cells have the area they should have."""
    grid = make_grid(bbox)
    x, y = grid.cells(np.array([lon]), np.array([lat]))

    assert grid.longitudes(x)[0] <= lon + 1e-9
    assert lon < grid.longitudes(x + 1)[0] + 1e-9
    assert grid.latitudes(y)[0] <= lat + 1e-9
    assert lat < grid.latitudes(y + 1)[0] + 1e-9


def test_cell_is_a_square():
    """Near the standard parallel a cell measures 100 m both ways."""
    grid = make_grid((4, 49.5, 5, 50.5))
    x, y = grid.cells(np.array([4.5]), np.array([50.0]))

    wide = (grid.longitudes(x + 1) - grid.longitudes(x))[0] * 111_195 * np.cos(np.radians(50))
    tall = (grid.latitudes(y + 1) - grid.latitudes(y))[0] * 111_195

    assert [wide, tall] == pytest.approx([100, 100], rel=1e-3)


def test_order_duplicates_and_rows():
    """Rows in any order give sorted samples; a cell and minute counts once and remembers its rows."""
    rows = [
        ("b", 4.5, 50.4, NOON),
        ("a", 4.6, 50.4, NOON + timedelta(minutes=5)),
        ("a", 4.5, 50.4, NOON),
        ("a", 4.5, 50.4, NOON + timedelta(seconds=30)),
        ("a", 4.7, 50.4, NOON),
    ]
    expected = read_trajectories(table(rows), PHONES_BBOX)

    actual = read_trajectories(table(rows[::-1]), PHONES_BBOX)

    assert actual.users == ("a", "b")
    assert actual.start.tolist() == [0, 3, 4]
    assert actual.rows.tolist() == [2, 1, 1, 1]
    for name in ("t", "x", "y", "start", "rows"):
        assert getattr(expected, name).tolist() == getattr(actual, name).tolist()


def test_csv_names_and_zones(tmp_path):
    """Other names are mapped, ids stay text, times with a zone become UTC, conditions see typed columns."""
    path = tmp_path / "samples.csv"
    path.write_text(
        "who,longitude,latitude,timestamp\n007,4.5,50.4,2024-05-17 14:00:00+02\n7,4.5,50.4,2024-05-17 12:00:00\n"
        "8,4.5,50.4,2024-05-17 12:00:00\n"
    )

    found = read_trajectories(path, PHONES_BBOX, columns={"user": "who"}, where="who <> '8'")

    assert found.users == ("007", "7")
    assert found.t[0] == found.t[1] == NOON.timestamp() // 60


def test_dropped_rows_are_counted():
    """Nulls, places off the globe or outside the box, and users with few samples are dropped and told."""
    rows = [("a", 4.5, 50.4, NOON), ("a", 4.5, 50.4, NOON), ("b", 4.5, 50.4, NOON), (None, 4.5, 50.4, NOON)]
    rows += [("a", None, 50.4, NOON), ("a", 4.5, 99.0, NOON), ("a", 4.5, 50.4, None), ("a", 9.0, 50.4, NOON)]
    rows += [("a", float("nan"), 50.4, NOON)]

    found = read_trajectories(table(rows), PHONES_BBOX, min_samples=2)

    assert found.users == ("a",)
    assert sum(found.dropped.values()) == 6
    assert found.short_users == 1
    assert "1 users with fewer than 2 samples dropped" in found.notes


def test_clock_errors_are_dropped():
    """Times that a clock cannot mean are dropped and told, in days too: a calendar would not have them."""
    year = 365 * 86400 * 10**6
    moments = [0, 68 * year, -1, 69 * year, -3000 * year, 10_000 * year]
    times = pa.array([*moments, None], pa.timestamp("us", "UTC"))
    rows = pa.table({"user_id": ["a"] * 7, "lon": [4.5] * 7, "lat": [50.4] * 7, "time": times})

    for cut_into in (None, "day"):
        found = read_trajectories(rows, PHONES_BBOX, cut_into=cut_into)

        assert found.dropped == {"null time": 1, "time before 1970 or after 2037": 4}
        assert found.rows.sum() == 2


def test_date_line():
    """A box across the date line is refused; in a box of the whole world both sides are far apart."""
    rows = [("a", 179.999, 0.0, NOON), ("a", -179.999, 0.0, NOON)]

    with pytest.raises(InputError, match="180 degrees"):
        read_trajectories(table(rows), (179, -1, -179, 1))
    found = read_trajectories(table(rows), WORLD)
    assert abs(found.x[0] - found.x[1]) > 400_000 - 1000


def test_refusals():
    """No box, steps that do not divide the caps, missing columns, numbers as times: each with a hint."""
    rows = table([("a", 4.5, 50.4, NOON)])
    with pytest.raises(InputError, match="needs a bounding box"):
        read_trajectories(rows, None)
    for step in ("300m,1min", "0m,1min", "100m", "100,1"):
        with pytest.raises(InputError, match="step"):
            read_trajectories(rows, PHONES_BBOX, step=step)
    with pytest.raises(InputError, match="no column for time"):
        read_trajectories(rows.drop(["datetime"]), PHONES_BBOX)
    with pytest.raises(UnknownNameError, match="column 'tim'"):
        read_trajectories(rows, PHONES_BBOX, columns={"time": "tim"})
    with pytest.raises(UnknownNameError, match="column meaning"):
        read_trajectories(rows, PHONES_BBOX, columns={"when": "datetime"})
    with pytest.raises(InputError, match="no times"):
        read_trajectories(rows.set_column(3, "datetime", pa.array([True])), PHONES_BBOX)
    with pytest.raises(InputError, match="no user has enough"):
        read_trajectories(rows, (0, 0, 1, 1))
    with pytest.raises(InputError, match="least number"):
        read_trajectories(rows, PHONES_BBOX, min_samples=0)


def test_phones_are_seeded():
    """The same seed gives the same records, another one others."""
    assert phones(5, samples=10).equals(phones(5, samples=10))
    assert not phones(5, samples=10).equals(phones(5, samples=10, seed=1))
    assert phones(5, samples=10).num_rows == 50


def test_why_nobody_is_left():
    """Where no row can be used, the error says why, and how times are written."""
    samples = phones(3, samples=4)
    odd = samples.set_column(3, "time", pa.array(["17/05/2024 08:30"] * len(samples)))

    with pytest.raises(InputError, match=r"12 rows dropped: null time(.|\n)*time.format(.|\n)*2024-05-17 08:30:00"):
        read_trajectories(odd, PHONES_BBOX)
