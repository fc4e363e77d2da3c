"""Questions to a release: bounds that hold, a model that adds up, frames, and synthetic trips."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest
import shapely

import flowveil as fv
from flowveil._cli.commands import run
from flowveil._folder import NEEDS, Kind
from flowveil._kinds import RECORDS
from flowveil._reading import kernels, model
from flowveil._reading.learning import learn
from flowveil._reading.left_out import expect_left_out
from flowveil._reading.parts import Plane
from flowveil._reading.spots import find_spots
from flowveil._reading.told import tell
from flowveil.synthetic import CITY_BBOX, City

SIDE = 4  # squares along each side of the city


def squares():
    """Return a map of squares over the city, with names."""
    edges = [np.linspace(CITY_BBOX[axis], CITY_BBOX[axis + 2], SIDE + 1) for axis in (0, 1)]
    cells = [(x, y) for x in range(SIDE) for y in range(SIDE)]
    shapes = [shapely.box(edges[0][x], edges[1][y], edges[0][x + 1], edges[1][y + 1]) for x, y in cells]
    return pa.table(
        {
            "zone_id": [f"z{x}{y}" for x, y in cells],
            "name": [f"square {x} {y}" for x, y in cells],
            "geometry": shapely.to_wkb(shapes).tolist(),
        }
    )


def true_trips(trips):
    """Return {(origin, destination): trips} between squares."""
    zone = {}
    for end in ("start", "end"):
        parts = []
        for axis, name in enumerate(("lon", "lat")):
            low, high = CITY_BBOX[axis], CITY_BBOX[axis + 2]
            share = (trips[f"{end}_{name}"].to_numpy() - low) / (high - low)
            parts.append(np.clip(share * SIDE, 0, SIDE - 1).astype(int))
        zone[end] = [f"z{x}{y}" for x, y in zip(*parts, strict=True)]
    pairs, counts = np.unique(list(zip(zone["start"], zone["end"], strict=True)), axis=0, return_counts=True)
    return {tuple(pair): int(count) for pair, count in zip(pairs, counts, strict=True)}


@pytest.fixture(scope="module")
def trips():
    """Return trips of a city."""
    return City(seed=3, persons=4_000).trips(12_000)


@pytest.fixture(scope="module")
def release(trips, tmp_path_factory):
    """Return a release as its readers have it."""
    flows = fv.build_flows(trips, "h3:8", bbox=CITY_BBOX, hierarchy="h3")
    return fv.anonymize(flows, k=10, max_suppression=0.2, elsewhere=True).write(tmp_path_factory.mktemp("q") / "out")


@pytest.fixture(scope="module")
def learned(release):
    """Fit a model."""
    told = tell(fv.read_release(release).files)
    return learn(told, find_spots(told, by_ids=False))


class TestBounds:
    """What is sure is never more than the truth, and what is at most never less."""

    @pytest.mark.slow
    def test_between(self, release, trips):
        """For every pair of squares, also for those that are not listed."""
        answers = fv.read_release(release).between(squares())
        rows = {(row["origin"], row["destination"]): row for row in answers.table.to_pylist()}
        truth = true_trips(trips)
        left_out = min(row["at_most"] for row in rows.values())

        for pair in {*rows, *truth}:
            row = rows.get(pair, {"sure": 0, "at_most": left_out})
            assert row["sure"] <= truth.get(pair, 0) <= row["at_most"]
        for row in rows.values():
            assert row["sure"] <= row["likely_low"] <= row["likely_high"] <= row["at_most"]
            assert row["sure"] <= row["estimate"] <= row["at_most"]
        likely = [rows[p]["likely_low"] <= t <= rows[p]["likely_high"] for p, t in truth.items() if p in rows]
        assert np.mean(likely) > 0.7
        assert answers.names["z00"] == "square 0 0"
        assert any("left out" in text for text in answers.notes)

    @pytest.mark.slow
    @pytest.mark.parametrize("end", [0, 1])
    def test_margins(self, release, trips, end):
        """Departures and arrivals, wherever the other end is."""
        read = fv.read_release(release)
        answers = (read.departures if end == 0 else read.arrivals)(squares()).table.to_pylist()
        truth = {}
        for pair, count in true_trips(trips).items():
            truth[pair[end]] = truth.get(pair[end], 0) + count

        assert len(answers) == SIDE**2
        for row in answers:
            assert row["sure"] <= truth.get(row["zone"], 0) <= row["at_most"]
        assert sum(row["sure"] for row in answers) > 0

    @pytest.mark.slow
    def test_zones_that_no_area_covers(self, release):
        """Each zone has a row; where the release tells nothing, all that was left out may have started."""
        far = pa.table({"zone_id": ["far"], "geometry": [shapely.to_wkb(shapely.box(40, 10, 41, 11))]})
        zones = pa.concat_tables([squares().select(far.column_names), far])

        rows = {row["zone"]: row for row in fv.read_release(release).departures(zones).table.to_pylist()}

        row = rows["far"]
        assert len(rows) == zones.num_rows
        assert row["sure"] == row["likely_low"] == row["estimate"] == row["left_out"] == 0
        assert row["likely_high"] == row["at_most"] > 0

    def test_no_budget(self, trips):
        """Where a release does not say how much was left out, nobody knows how much there is at most."""
        release = fv.anonymize(fv.build_flows(trips, "h3:7", bbox=CITY_BBOX), "suppression")

        answers = release.between(squares())

        assert answers.table["at_most"].null_count == answers.table.num_rows
        assert any("at_most is not known" in text for text in answers.notes)

    @pytest.mark.slow
    def test_boxes_with_noise(self, trips):
        """Boxes are flows between rectangles; bounds hold for nearly all pairs, as noise allows."""
        noisy = fv.add_noise(fv.build_matrix(trips, CITY_BBOX, 8), "eug", 1.0)

        rows = noisy.between(squares()).table.to_pylist()

        truth = true_trips(trips)
        held = [row["sure"] <= truth.get((row["origin"], row["destination"]), 0) <= row["at_most"] for row in rows]
        assert len(rows) == SIDE**4
        assert np.mean(held) > 0.9
        assert all(row["noise"] > 0 for row in rows)


class TestModel:
    """Flows are spread, not changed."""

    @pytest.mark.slow
    def test_adds_up(self, learned, release):
        """All published trips lie somewhere, and what was left out where no flow is."""
        whole = pa.table({"zone_id": ["all"], "geometry": [shapely.to_wkb(shapely.box(0, 45, 9, 55))]})

        found = fv.reconstruct(release, whole)

        (row,) = found.flows.to_pylist()
        assert row["trips"] == pytest.approx(learned.told.trips[learned.told.counted].sum(), rel=1e-6)
        assert row["left_out"] == pytest.approx(learned.told.left_out, rel=1e-3)
        assert found.placed == pytest.approx(row["trips"])

    @pytest.mark.slow
    def test_better_than_even(self, release, trips):
        """Between squares, estimates are nearer to the truth than those of even spreading."""
        truth = true_trips(trips)
        errors = {}
        for spread in ("even", "learned"):
            rows = fv.reconstruct(release, squares(), spread=spread).flows.to_pylist()
            found = {(row["origin"], row["destination"]): row["trips"] + row.get("left_out", 0) for row in rows}
            errors[spread] = sum(abs(found.get(pair, 0) - truth.get(pair, 0)) for pair in {*found, *truth})

        assert errors["learned"] < 0.9 * errors["even"]

    @pytest.mark.slow
    def test_kernels_are_their_plain_versions(self, learned):
        """Compiled loops give what the same loops in Python give."""
        ends, masses = learned.model.pieces, learned.model.piece_masses()
        few = learned.counted.rectangles.take(slice(0, 40))
        plane = Plane(few, ends, learned.model.pull)
        got = []
        for weigh, place in ((kernels.weigh, kernels.place), (kernels._weigh, kernels._place)):
            weight = np.zeros(len(learned.told.trips))
            weigh(plane, masses, weight)
            reach, between = tuple(np.zeros(len(mass)) for mass in masses), np.zeros(learned.model.pull.shape)
            place(plane, masses, model.scales(learned.told.trips, weight), reach, between)
            got.append((weight, *reach, between))

        for compiled, plain in zip(*got, strict=True):
            assert compiled == pytest.approx(plain, rel=1e-9)
        flows = np.unique(few.flow)
        assert got[0][3].sum() == pytest.approx(learned.told.trips[flows].sum())

    @pytest.mark.slow
    def test_weights(self, release):
        """Weights say where trips are if the release does not: none where nobody lives, if somebody lives elsewhere."""
        west, south, east, north = CITY_BBOX
        middle = (west + east) / 2
        halves = [shapely.box(west, south, middle, north), shapely.box(middle, south, east, north)]
        people = pa.table({"weight": [1.0, 0.0], "geometry": shapely.to_wkb(halves).tolist()})
        zones = pa.table({"zone_id": ["west", "east"], "geometry": shapely.to_wkb(halves).tolist()})

        read, departures = fv.read_release(release), []
        for given in (None, people):
            rows = read.departures(zones, weights=given).table.to_pylist()
            departures.append({row["zone"]: row["estimate"] for row in rows})
        plain, weighted = departures

        assert weighted["west"] > plain["west"]
        with pytest.raises(fv.InputError, match="no column 'weight'"):
            fv.reconstruct(release, zones, weights=zones)
        with pytest.raises(fv.InputError, match="even spread"):
            fv.reconstruct(release, zones, spread="even", weights=people)


class TestFrames:
    """Frames of pandas and geopandas."""

    def test_flows(self, release):
        """The same numbers, with names, and lines between centers."""
        read = fv.read_release(release)

        frame, lines, areas = read.to_pandas(), read.to_geopandas(), read.to_geopandas("areas")

        assert frame["trips"].tolist() == read.flows["trips"].to_pylist()
        assert set(frame["origin_name"].dropna()) <= set(areas["name"].dropna())
        known = lines.geometry.notna()
        assert known.any()
        assert set(lines.geometry[known].geom_type) == {"LineString"}
        assert len(areas) == read.areas.num_rows
        with pytest.raises(fv.UnknownNameError):
            read.to_geopandas("roads")

    @pytest.mark.slow
    def test_answers(self, release):
        """Departures are outlines of the zones that were asked about, pairs are lines between their centers."""
        read, zones = fv.read_release(release), squares()
        outline = dict(zip(zones["zone_id"].to_pylist(), shapely.from_wkb(zones["geometry"].to_pylist()), strict=True))

        leaving = read.departures(zones).to_geopandas()
        pairs = read.between(zones).top(3).to_geopandas()
        strongest = read.top(3).to_geopandas()

        assert all(row.geometry.equals(outline[row.zone]) for row in leaving.itertuples())
        for row in pairs.itertuples():
            start, end = row.geometry.boundary.geoms if row.origin != row.destination else (row.geometry.centroid,) * 2
            assert outline[row.origin].contains(start)
            assert outline[row.destination].contains(end)
        assert len(strongest) == 3
        assert strongest.crs.to_epsg() == 4326

    @pytest.mark.slow
    def test_top(self, release):
        """The strongest flows are published numbers: sure, and at most the same."""
        read = fv.read_release(release)

        rows = read.top(5).table.to_pylist()

        assert [row["estimate"] for row in rows] == sorted(read.flows["trips"].to_pylist())[-5:][::-1]
        assert all(row["sure"] == row["at_most"] for row in rows)
        assert read.top(3, squares()).table.num_rows == 3
        with pytest.raises(fv.InputError):
            read.top(0)


class TestSample:
    """Synthetic trips."""

    @pytest.mark.slow
    def test_follows_the_release(self, release):
        """Flows are drawn in proportion to their trips, ends lie near their areas, and a seed repeats the draw."""
        read = fv.read_release(release)
        drawn = fv.sample(release, 4_000, seed=1)

        assert drawn.equals(fv.sample(release, 4_000, seed=1))
        assert not drawn.equals(fv.sample(release, 4_000, seed=2))
        assert drawn["synthetic"].to_pylist() == [True] * 4_000
        assert len(set(drawn["trip_id"].to_pylist())) == 4_000
        counts = {}
        for pair in zip(drawn["origin"].to_pylist(), drawn["destination"].to_pylist(), strict=True):
            counts[pair] = counts.get(pair, 0) + 1
        flows = {(row["origin"], row["destination"]): row["trips"] for row in read.flows.to_pylist()}
        total = sum(count for pair, count in flows.items() if "elsewhere" not in pair)
        assert not any("elsewhere" in pair for pair in counts)
        strongest = max(flows, key=flows.get)
        expected = 4_000 * flows[strongest] / total
        assert abs(counts[strongest] - expected) < 6 * np.sqrt(expected)
        shape = {row["area"]: shapely.from_wkb(row["geometry"]) for row in read.areas.to_pylist() if row["geometry"]}
        for row in drawn.slice(0, 200).to_pylist():
            for end, side in (("start", "origin"), ("end", "destination")):
                point = shapely.Point(row[f"{end}_lon"], row[f"{end}_lat"])
                assert shape[row[side]].buffer(0.2 * np.sqrt(shape[row[side]].area)).contains(point)

    @pytest.mark.slow
    def test_times_and_groups(self, trips):
        """Moments lie inside their steps; groups stay with their flows."""
        flows = fv.build_flows(trips, "h3:6", bbox=CITY_BBOX, hierarchy="h3", time="1d", by="sex")
        release = fv.anonymize(flows, k=5, max_suppression=0.5)
        drawn = fv.sample(release, 500, seed=0)

        steps = {(row["sex"], row["time"].date()) for row in release.flows.to_pylist()}
        assert {(row["sex"], row["start_time"].date()) for row in drawn.to_pylist()} <= steps

        flows = fv.build_flows(trips, "h3:6", bbox=CITY_BBOX, hierarchy="h3", time="hour-of-day")
        hourly = fv.anonymize(flows, k=5, max_suppression=0.5)
        departs = fv.sample(hourly, 500, seed=0)["depart"].to_numpy()
        assert set(departs // 3600) <= set(hourly.flows["time"].to_pylist())

    @pytest.mark.slow
    def test_command_line(self, release, tmp_path, capsys):
        """CSV or Parquet by the ending; a count below one is an error."""
        for name in ("trips.csv", "trips.parquet"):
            assert run(["sample", str(release), "-n", "50", "--seed", "3", "-o", str(tmp_path / name)]) == 0
        written = [pyarrow.csv.read_csv(tmp_path / "trips.csv"), pq.read_table(tmp_path / "trips.parquet")]
        assert written[0]["trip_id"].to_pylist() == written[1]["trip_id"].to_pylist()
        assert "synthetic" in capsys.readouterr().out
        assert run(["sample", str(release), "-n", "0", "-o", str(tmp_path / "x.csv")]) == 2
        assert not (tmp_path / "x.csv").exists()


def test_what_was_left_out_is_guessed_where_the_budget_was_not_used_up():
    """Flows between single tiles leave nothing to gain: the trips below k are guessed, not all that was allowed."""
    random = np.random.default_rng(0)
    volumes = np.rint(random.lognormal(1.5, 1.2, 1_500)).astype(int)
    pairs = random.choice(64 * 64, len(volumes), replace=False)
    ends = [[f"z{number}" for number in np.repeat(part, volumes)] for part in (pairs // 64, pairs % 64)]
    trips = pa.table({"origin_zone": ends[0], "destination_zone": ends[1]})
    grid = [
        shapely.box(4.4 + x / 100, 50.2 + y / 100, 4.41 + x / 100, 50.21 + y / 100) for x in range(8) for y in range(8)
    ]
    zones = pa.table(
        {"zone_id": [f"z{number}" for number in range(64)], "geometry": [shapely.to_wkb(box) for box in grid]}
    )
    hidden = int(volumes[volumes < 5].sum())

    told = {
        most: tell(fv.anonymize(fv.build_flows(trips, zones=zones, hierarchy="ward"), k=5, max_suppression=most).files)
        for most in (0.5, 0.01)
    }

    assert told[0.5].left_out > 3 * hidden  # what the release states
    assert 0.6 * hidden < expect_left_out(told[0.5]) < 1.6 * hidden
    assert expect_left_out(told[0.01]) == told[0.01].left_out  # areas were joined: all of it was used


def test_what_a_kind_cannot_do():
    """Trajectories have no origins and destinations; the table of what kinds can do is that of their records."""
    paths = fv.trajectories.TrajectoryRelease(pa.table({}), {"promise": {}, "options": {}}, pa.table({}))

    for ask in (lambda: paths.between(squares()), lambda: paths.departures(squares()), paths.top):
        with pytest.raises(fv.InputError, match="a release of origins and destinations"):
            ask()
    assert {kind for kind in Kind if RECORDS[kind].query is not None} == NEEDS["query"][0]
