"""From raw fixes to trips: by rules that a plain loop over one user's fixes repeats, whole files, and no fix lost."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from statistics import median
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pyproj
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import flowveil as fv
from flowveil._cli.commands import run
from flowveil._engine import UserSamples, open_source, sort_samples
from flowveil._errors import InputError
from flowveil._fixes import kernels
from flowveil._fixes.finding import find_trips
from flowveil._fixes.rules import Rules
from flowveil.synthetic import phones
from tests.plain import plain_loops

NOON = datetime(2024, 3, 4, 12, tzinfo=UTC)
MINUTE = 60_000_000
BLOCK = 0.002  # degrees of latitude: 222 meters
ANY_SPEED = 1e9


class Fix(NamedTuple):
    """Where somebody was, in blocks to the east and north, and in minutes since noon."""

    minute: int
    east: int
    north: int
    occupied: bool = False


def table(users: dict[str, list[Fix]]) -> pa.Table:
    """Return fixes as they are given to flowveil, the last first."""
    rows = [(user, *fix) for user, fixes in users.items() for fix in fixes][::-1]
    return pa.table(
        {
            "user_id": [row[0] for row in rows],
            "time": [NOON + timedelta(minutes=row[1]) for row in rows],
            "lon": [row[2] * BLOCK for row in rows],
            "lat": [row[3] * BLOCK for row in rows],
            "occupied": [int(row[4]) for row in rows],
        }
    )


def samples(fixes: list[Fix]) -> UserSamples:
    """Return the fixes of one user, sorted."""
    rows = sorted(fixes)
    return UserSamples(
        ["a"],
        np.array([0, len(rows)]),
        np.array([row.minute * MINUTE for row in rows]),
        np.array([row.east * BLOCK for row in rows]),
        np.array([row.north * BLOCK for row in rows]),
        np.array([row.occupied for row in rows], np.bool_),
    )


def rules(rule: str, **changed: float) -> Rules:
    """Return rules: stops of 20 minutes within 300 meters, gaps of an hour."""
    return Rules(
        **{
            "rule": rule,
            "stop_radius": 300.0,
            "stop_time": 20 * MINUTE,
            "max_gap": 60 * MINUTE,
            "max_speed": ANY_SPEED,
            "min_length": 0.0,
            "short_stops": 0,
            "short_stop_time": 5 * MINUTE,
            **changed,
        }
    )


def apart(one: Fix | tuple, other: Fix | tuple) -> float:
    """Return the distance in meters on a plane: near the equator, and over some blocks, as good as on a globe."""
    return float(np.hypot(one[1] - other[1], one[2] - other[2])) * BLOCK * 111_195


def plain_visits(fixes: list[Fix], radius: float, max_gap: float) -> list[list[list[Fix]]]:
    """Return runs of visits of sorted fixes, as the definition says."""
    runs: list[list[list[Fix]]] = []
    for number, fix in enumerate(fixes):
        if runs and apart(runs[-1][-1][0], fix) <= radius:
            runs[-1][-1].append(fix)
        elif runs and fix.minute - fixes[number - 1].minute <= max_gap:
            runs[-1].append([fix])
        else:
            runs.append([[fix]])
    return runs


def center(fixes: list[Fix]) -> tuple[int, float, float]:
    """Return the middle of fixes, as a fix of no time."""
    return 0, median(fix.east for fix in fixes), median(fix.north for fix in fixes)


def lasted(visit: list[Fix]) -> int:
    """Return how long somebody was seen there, in minutes."""
    return visit[-1].minute - visit[0].minute


def plain_trips(fixes: list[Fix]) -> list[tuple]:
    """Return trips from stop to stop: begin, end, the two places, and all short stops between."""
    trips = []
    for visits in plain_visits(sorted(set(fixes)), 300, 60):
        stops: list[tuple[list[Fix], list[list[Fix]]]] = []  # with the visits since the stop before
        between: list[list[Fix]] = []
        joins: list[list[Fix]] = []  # the visits that the last stop was joined of
        for visit in visits:
            if lasted(visit) < 20:
                between.append(visit)
            elif stops and not between and apart(center(joins[-1]), center(visit)) <= 300:
                stops[-1] = (stops[-1][0] + visit, stops[-1][1])
                joins.append(visit)
            else:
                stops.append((visit, between))
                between, joins = [], [visit]
        for (start, _), (end, way) in pairwise(stops):
            short = [center(visit)[1:] for visit in way if lasted(visit) >= 5]
            trips.append((start[-1].minute, end[0].minute, center(start)[1:], center(end)[1:], short))
    return trips


def found_trips(fixes: list[Fix], used: Rules) -> list[tuple]:
    """Return what is found, in minutes and blocks."""
    found = find_trips(samples(fixes), used)
    places = zip(found.starts.lon, found.starts.lat, found.ends.lon, found.ends.lat, strict=True)
    times = zip(found.starts.left // MINUTE, found.ends.came // MINUTE, strict=True)
    rounded = [[round(float(value) / BLOCK, 6) for value in place] for place in places]
    way = [[round(float(value) / BLOCK, 6) for value in row if not np.isnan(value)] for row in found.way]
    return [
        (int(begin), int(end), tuple(place[:2]), tuple(place[2:]), list(zip(stops[::2], stops[1::2], strict=True)))
        for (begin, end), place, stops in zip(times, rounded, way, strict=True)
    ]


paths = st.lists(
    st.builds(Fix, st.integers(0, 400), st.integers(0, 4), st.integers(0, 2), st.booleans()),
    min_size=1,
    max_size=40,
    unique_by=lambda fix: fix.minute,
)


class TestRules:
    """Each rule as a plain loop says it."""

    @settings(max_examples=100, deadline=None)
    @given(paths)
    def test_stops(self, fixes):
        """Trips go from stop to stop, without a gap, with the short stops on their way."""
        assert found_trips(fixes, rules("stops", short_stops=8)) == plain_trips(fixes)

    @settings(max_examples=50, deadline=None)
    @given(paths)
    def test_occupied(self, fixes):
        """A trip is a run of occupied fixes, from the first to the last, without a gap."""
        expected: list[list[Fix]] = []
        before = None
        for fix in sorted(fixes):
            goes_on = before is not None and before.occupied and fix.minute - before.minute <= 60
            if fix.occupied and goes_on:
                expected[-1].append(fix)
            elif fix.occupied:
                expected.append([fix])
            before = fix

        found = found_trips(fixes, rules("occupied"))
        assert [trip[:4] for trip in found] == [
            (ride[0].minute, ride[-1].minute, ride[0][1:3], ride[-1][1:3]) for ride in expected
        ]

    @pytest.mark.slow
    @settings(max_examples=50, deadline=None)
    @given(paths)
    def test_sightings_and_runs(self, fixes):
        """A sighting leads to the next one if that is elsewhere and soon; a run goes from gap to gap."""
        rows = sorted(fixes)
        pairs = [(a, b) for a, b in pairwise(rows) if b.minute - a.minute <= 60 and apart(a, b) > 300]
        runs: list[list[Fix]] = []
        for fix in rows:
            if runs and fix.minute - runs[-1][-1].minute <= 60:
                runs[-1].append(fix)
            else:
                runs.append([fix])

        seen, whole = (found_trips(fixes, rules(rule)) for rule in ("sightings", "runs"))
        assert [trip[:4] for trip in seen] == [(a.minute, b.minute, a[1:3], b[1:3]) for a, b in pairs]
        assert [trip[:4] for trip in whole] == [(r[0].minute, r[-1].minute, r[0][1:3], r[-1][1:3]) for r in runs]

    @settings(max_examples=25, deadline=None)
    @given(paths)
    def test_plain_loops(self, fixes):
        """Compiled loops find what the plain functions beside them find."""
        used = rules("stops", max_speed=5.0)
        compiled = found_trips(fixes, used)

        with plain_loops(kernels):
            assert found_trips(fixes, used) == compiled

    def test_too_fast(self):
        """A fix that needs more than the largest speed is dropped, and the next is judged by the one before it."""
        home = [Fix(minute, 0, 0) for minute in range(0, 31, 5)]
        work = [Fix(minute, 20, 0) for minute in range(60, 91, 5)]
        found = find_trips(samples([*home, Fix(31, 400, 0), *work]), rules("stops", max_speed=50.0))

        assert found.too_fast == 1
        assert len(found.starts) == 1

    def test_silence(self):
        """A phone that is silent where it lies is at a stop; how one came that turns up elsewhere, nobody knows."""
        evening, morning = Fix(0, 0, 0), Fix(600, 0, 0)
        work = [Fix(640, 20, 0), Fix(700, 20, 0)]

        assert [trip[:2] for trip in found_trips([evening, morning, *work], rules("stops"))] == [(600, 640)]
        assert found_trips([evening, Fix(30, 0, 0), Fix(600, 20, 0), Fix(700, 20, 0)], rules("stops")) == []

    def test_date_line(self):
        """The middle of a stop at 180 degrees lies there, not on the other side of the globe."""
        lon = np.array([179.9999, -179.9999, 179.9999, 10.0, 10.0])
        time = np.array([0, 15, 30, 600, 640]) * MINUTE
        part = UserSamples(["a"], np.array([0, 5]), time, lon, np.zeros(5), np.zeros(5, np.bool_))
        stops = find_trips(part, rules("stops")).stops

        assert abs(stops.lon[0]) == pytest.approx(179.9999)


class TestSorting:
    """Users come whole, whatever the parts in which rows do."""

    @pytest.mark.parametrize("rows", [1, 7, 1_000])
    def test_whole_users(self, rows):
        """Every user is in one part, with all fixes, by time; parts follow the order of ids."""
        data = phones(9, samples=11)
        columns = {name: name for name in ("lon", "lat", "time")} | {"user": "user_id"}
        with sort_samples(open_source(data), columns, batch_rows=rows) as sorted_samples:
            parts = list(sorted_samples.parts)

        assert [user for part in parts for user in part.users] == sorted(set(data["user_id"].to_pylist()))
        assert all((np.diff(part.start) == 11).all() for part in parts)
        assert all((np.diff(part.time[a:b]) >= 0).all() for part in parts for a, b in pairwise(part.start))


DAY = {
    "a": [*(Fix(minute, 0, 0) for minute in range(0, 31, 5)), *(Fix(minute, 9, 0) for minute in range(40, 81, 5))],
    "b": [Fix(0, 5, 5), Fix(30, 5, 5)],
}


class TestFile:
    """What is written, and what is told."""

    def test_columns(self, tmp_path):
        """Trips have the columns that the rest of flowveil knows; the settings are in the file; only I may read it."""
        made = fv.make_trips(
            table(DAY), tmp_path / "trips.parquet", rule="stops", stops_file=tmp_path / "stops.parquet"
        )
        trips = pq.read_table(made.path)
        record = json.loads(pq.read_metadata(made.path).metadata[b"flowveil"])

        assert trips.to_pylist() == [
            {
                "user_id": "a",
                "start_time": NOON + timedelta(minutes=30),
                "end_time": NOON + timedelta(minutes=40),
                "start_lon": 0.0,
                "start_lat": 0.0,
                "end_lon": 9 * BLOCK,
                "end_lat": 0.0,
            }
        ]
        assert pq.read_table(tmp_path / "stops.parquet").num_rows == made.stops == 3
        assert record == made.record()
        assert record["settings"]["stop_time"] == "20min"
        assert {made.path.stat().st_mode & 0o777, (tmp_path / "stops.parquet").stat().st_mode & 0o777} == {0o600}
        assert "1 of 2 users have no trip" in made.notes

    def test_row_order(self, tmp_path):
        """The same fixes in another order give the same bytes."""
        data = phones(12)
        shuffled = data.take(np.random.default_rng(0).permutation(data.num_rows))
        files = [
            fv.make_trips(one, tmp_path / f"{number}.parquet", rule="sightings", max_gap="6h").path
            for number, one in enumerate((data, shuffled))
        ]

        assert files[0].read_bytes() == files[1].read_bytes()

    def test_no_fix_is_lost(self, tmp_path):
        """Rows that cannot be used are counted by reason, and so are repeated ones."""
        rows = table(DAY).to_pylist()
        bad = [{"user_id": None}, {"lon": None}, {"lat": 95.0}, {"time": None}]
        data = pa.Table.from_pylist([*rows, rows[0], *(rows[0] | change for change in bad)], table(DAY).schema)
        with pytest.warns(fv.DroppedRowsWarning, match="null user"):
            made = fv.make_trips(data, tmp_path / "trips.parquet", rule="stops")

        assert made.dropped == {
            "null coordinate": 1,
            "null time": 1,
            "null user": 1,
            "out of range": 1,
            "repeated": 1,
        }
        assert made.fixes == len(rows) + 5

    def test_too_many_unusable(self, tmp_path):
        """Where most fixes cannot be used, nothing is made unless that is allowed."""
        data = pa.Table.from_pylist([row | {"lon": None} for row in table(DAY).to_pylist()] * 2, table(DAY).schema)
        data = pa.concat_tables([data, table(DAY)])
        with pytest.raises(InputError, match="cannot be used: null coordinate"):
            fv.make_trips(data, tmp_path / "trips.parquet", rule="stops")

        with pytest.warns(fv.DroppedRowsWarning):
            assert fv.make_trips(data, tmp_path / "trips.parquet", rule="stops", max_unusable=0.9).trips == 1

    def test_local_clock(self, tmp_path):
        """Times without a zone stay so: anonymize --timezone then says whose clock it was. Both at once are refused."""
        clock = [time.strftime("%Y-%m-%d %H:%M:%S") for time in table(DAY)["time"].to_pylist()]
        data = table(DAY).set_column(1, "time", pa.array(clock))
        made = fv.make_trips(data, tmp_path / "trips.parquet", rule="stops")
        mixed = table(DAY).set_column(1, "time", pa.array([clock[0] + "+02", *clock[1:]]))

        assert pq.read_table(made.path)["start_time"][0].as_py() == datetime(2024, 3, 4, 12, 30)  # noqa: DTZ001
        with pytest.raises(InputError, match="how far from UTC"):
            fv.make_trips(mixed, tmp_path / "mixed.parquet")

    def test_nothing_half_written(self, tmp_path):
        """Without a trip, or with a wrong setting, there is an error and no file; none is replaced unasked."""
        target = tmp_path / "trips.parquet"
        with pytest.raises(InputError, match="hold no trip"):
            fv.make_trips(table({"b": DAY["b"]}), target, rule="stops")
        for wrong in ({"rule": "magic"}, {"stop_time": "20"}, {"max_speed": "fast"}, {"short_stops": 9}):
            with pytest.raises(InputError):
                fv.make_trips(table(DAY), target, **wrong)
        for wrong in ({"rule": "runs", "stops_file": tmp_path / "s"}, {"rule": "sightings", "short_stops": 1}):
            with pytest.raises(InputError):
                fv.make_trips(table(DAY), target, **wrong)
        assert list(tmp_path.iterdir()) == []

        target.write_text("mine")
        with pytest.raises(InputError, match="exists"):
            fv.make_trips(table(DAY), target)
        assert fv.make_trips(table(DAY), target, rule="stops", overwrite=True).trips == 1


class TestTowers:
    """Phone records that name a tower."""

    def test_towers(self, tmp_path):
        """A user goes from tower to tower; an unknown tower is dropped and counted."""
        towers = pa.table({"tower_id": ["n", "s"], "lon": [4.0, 4.1], "lat": [50.0, 50.1]})
        pyarrow.csv.write_csv(towers, tmp_path / "towers.csv")
        calls = pa.table(
            {
                "user_id": ["a", "a", "a", "a"],
                "tower": ["n", "n", "s", "?"],
                "time": [NOON + timedelta(minutes=10 * number) for number in range(4)],
            }
        )
        with pytest.warns(fv.DroppedRowsWarning, match="unknown tower"):
            made = fv.make_trips(calls, tmp_path / "trips.parquet", towers=tmp_path / "towers.csv", max_unusable=0.5)
        trip = pq.read_table(made.path).to_pylist()

        assert [(row["start_lon"], row["end_lat"]) for row in trip] == [(4.0, 50.1)]
        assert (made.settings["rule"], made.dropped) == ("sightings", {"unknown tower": 1})

    @pytest.mark.parametrize(
        ("change", "told"), [({"tower_id": ["n", "n"]}, "another row"), ({"lon": [4.0, None]}, "no coordinates")]
    )
    def test_bad_towers(self, tmp_path, change, told):
        """A tower in two places, or in none, is refused."""
        towers = pa.table({"tower_id": ["n", "s"], "lon": [4.0, 4.1], "lat": [50.0, 50.1]} | change)
        calls = pa.table({"user_id": ["a"], "tower": ["n"], "time": [NOON]})
        with pytest.raises(InputError, match=told):
            fv.make_trips(calls, tmp_path / "trips.parquet", towers=towers)


def write_cabs(folder, cabs: int = 12, rides: int = 40) -> int:
    """Write a folder of cabspotting's layout, the last fix first as there, and return how many rides it holds."""
    random = np.random.default_rng(5)
    folder.mkdir()
    for cab in range(cabs):
        lines, seconds = [], 1_211_018_404
        for _ in range(rides):
            start, end = random.integers(0, 3, 2), random.integers(0, 3, 2)
            for part in range(4):
                lat, lon = 37.70 + 0.03 * (start + (end - start) * part / 3) + random.normal(0, 1e-4, 2)
                lines.append(f"{lat:.5f} {lon - 160:.5f} 1 {seconds}")
                seconds += 60
            lines.append(f"{lat:.5f} {lon - 160:.5f} 0 {seconds}")
            seconds += 60
        (folder / f"new_{cab}.txt").write_text("\n".join(reversed(lines)) + "\n")
    (folder / "_cabs.txt").write_text("<cab/>\n")  # as in the original
    return cabs * rides


class TestDone:
    """From raw files to a release that holds, without editing a file."""

    def test_cabs_to_release(self, tmp_path, capsys):
        """A folder of cab files becomes trips, trips become a release, and the release is verified."""
        rides = write_cabs(tmp_path / "cabs")
        trips, out = str(tmp_path / "trips.parquet"), str(tmp_path / "out")

        assert run(["trips", str(tmp_path / "cabs"), "-o", trips]) == 0
        assert f"{rides} trips of 12 users, by the rule occupied" in capsys.readouterr().out
        assert set(pq.read_table(trips)["user_id"].to_pylist()) == {f"new_{cab}" for cab in range(12)}
        options = ["--unit", "user_id", "-k", "5", "--grid", "h3:7", "--hierarchy", "h3", "--time", "1d"]
        assert run(["anonymize", trips, "-o", out, *options]) == 0
        assert run(["verify", out, "--against", trips]) == 0
        assert pq.read_table(f"{out}/flows.parquet")["trips"].to_numpy().sum() > 0.8 * rides

    def test_stops_to_noise(self, tmp_path):
        """Short stops on the way are columns that methods with noise take."""
        day = [Fix(0, 0, 0), Fix(30, 0, 0), Fix(40, 5, 0), Fix(50, 5, 0), Fix(60, 9, 0), Fix(90, 9, 0)]
        trips = tmp_path / "trips.parquet"
        fv.make_trips(table({str(user): day for user in range(30)}), trips, rule="stops", short_stops=1)
        matrix = fv.build_matrix(
            str(trips), (-0.1, -0.1, 0.1, 0.1), 4, stops=["stop_1_lon", "stop_1_lat"], unit="user_id",
            max_trips_per_person=1,
        )  # fmt: skip

        assert matrix.grid.places == ("origin", "destination", "stop 1")
        assert int(matrix.points.counts.sum()) == 30

    def test_json(self, tmp_path, capsys):
        """--json prints what the file's metadata says."""
        pq.write_table(phones(5), tmp_path / "fixes.parquet")
        target = tmp_path / "trips.parquet"
        options = ["--rule", "sightings", "--max-gap", "12h", "--json"]

        assert run(["trips", str(tmp_path / "fixes.parquet"), "-o", str(target), *options]) == 0
        printed = json.loads(capsys.readouterr().out)
        assert printed == json.loads(pq.read_metadata(target).metadata[b"flowveil"])
        assert printed["trips"] == pq.read_metadata(target).num_rows


def test_fixes_as_others_write_them(tmp_path):
    """Other headers, dates, decimals, letters and projections make the same trips; what was typed is kept."""
    draw = np.random.default_rng(4)
    rows = []
    for user in range(6):
        for step in range(30):
            place = (step // 10 + user) % 3
            moment = datetime(2025, 3, 3, 6, tzinfo=UTC).replace(tzinfo=None) + timedelta(minutes=6 * step)
            rows.append((f"Zoé {user}", moment, 2.30 + 0.03 * place + draw.normal(0, 1e-5), 48.85 + 0.01 * place))
    plain = pa.table(dict(zip(("user", "time", "lon", "lat"), zip(*rows, strict=True), strict=True)))
    expected = fv.make_trips(plain, tmp_path / "plain.parquet")
    assert expected.trips == 12
    project = pyproj.Transformer.from_crs(4326, 2154, always_xy=True)
    lines = ["Device ID;Recorded-At;Longitude;LATITUDE"]
    for user, moment, lon, lat in rows:
        x, y = (f"{value:.3f}".replace(".", ",") for value in project.transform(lon, lat))
        lines.append(f"{user};{moment:%d.%m.%Y %H:%M};{x};{y}")
    (tmp_path / "fixes.csv").write_bytes("\r\n".join(lines).encode("latin-1"))
    asked = ["--time-format", "%d.%m.%Y %H:%M", "--input-crs", "EPSG:2154", "--decimal", ","]
    assert run(["trips", str(tmp_path / "fixes.csv"), "-o", str(tmp_path / "made.parquet"), *asked]) == 0
    made, wanted = (pq.read_table(tmp_path / name) for name in ("made.parquet", "plain.parquet"))
    for name in ("user_id", "start_time", "end_time"):
        assert made[name].to_pylist() == wanted[name].to_pylist()
    for name in ("start_lon", "start_lat", "end_lon", "end_lat"):
        assert np.allclose(made[name].to_numpy(), wanted[name].to_numpy(), atol=1e-7)
    kept = json.loads(pq.read_metadata(tmp_path / "made.parquet").metadata[b"flowveil"])
    assert kept["settings"]["input_crs"] == "EPSG:2154"
    assert "cp1252" in kept["assumed"][0]


@pytest.mark.parametrize("option", ["--input-crs", "--decimal"])
def test_towers_are_in_degrees(tmp_path, option, capsys):
    """What says how coordinates are written would do nothing for fixes that have none."""
    (tmp_path / "calls.csv").write_text("user,time,tower\na,2025-03-03 06:00,t\n")
    (tmp_path / "towers.csv").write_text("tower,lon,lat\nt,2,48\n")
    typed = ["--towers", str(tmp_path / "towers.csv"), option, {"--decimal": ","}.get(option, "EPSG:2154")]
    assert run(["trips", str(tmp_path / "calls.csv"), "-o", str(tmp_path / "made.parquet"), *typed]) == 2
    assert f"leave out {option}" in capsys.readouterr().err
    assert not (tmp_path / "made.parquet").exists()
