"""The synthetic city is reproducible, and looks like a city."""

from __future__ import annotations

import hashlib
import subprocess
import sys
import tracemalloc
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
import shapely
from hypothesis import given, settings
from hypothesis import strategies as st

from flowveil._errors import InputError
from flowveil.synthetic import CITY_BBOX, CITY_PERIOD, City, write_city

TRIPS = 60_000

# Meters in a degree of longitude and latitude in the city, from the length of a meridian, not from the code under test.
METERS = np.array([np.cos(np.radians(50.395)), 1.0]) * 40_008_000 / 360


@pytest.fixture(scope="module")
def city():
    """Return a city of usual size."""
    return City(seed=11, persons=3_000)


@pytest.fixture(scope="module")
def trips(city):
    """Return its trips by coordinates."""
    return city.trips(TRIPS)


@pytest.fixture(scope="module")
def shapes(city):
    """Return the polygons of its zones."""
    return shapely.from_wkb(city.zones()["geometry"].to_numpy(zero_copy_only=False))


def ends_of(trips):
    """Return starts and ends as two arrays of lon, lat."""
    columns = [trips[name].to_numpy() for name in ("start_lon", "start_lat", "end_lon", "end_lat")]
    return np.stack(columns[:2], axis=1), np.stack(columns[2:], axis=1)


def meters_between(start, end):
    """Return distances in the plane."""
    return np.hypot(*((end - start) * METERS).T)


def digest(table):
    """Return a hash of all values of a table."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table.combine_chunks())
    return hashlib.sha256(sink.getvalue()).hexdigest()


class TestSequence:
    """Trips are one sequence that depends on the seed and the persons alone."""

    def test_columns(self, trips):
        """The columns are those that flowveil recognizes, with plain types."""
        time = pa.timestamp("us", tz="UTC")
        expected = {"trip_id": pa.int64(), "person_id": pa.string(), "sex": pa.string(), "age_group": pa.string()}
        expected |= {"category": pa.string(), "weight": pa.float64(), "start_time": time, "end_time": time}
        expected |= dict.fromkeys(("start_lon", "start_lat", "end_lon", "end_lat"), pa.float64())

        actual = {field.name: field.type for field in trips.schema}

        assert actual == expected
        assert sum(column.null_count for column in trips.columns) == 0

    @pytest.mark.slow
    def test_same_in_another_process(self):
        """A seed means the same trips and zones in a new interpreter."""
        code = (
            f"import sys; sys.path.insert(0, {str(Path(__file__).parent)!r}); from test_synthetic import City, digest; "
            "city = City(seed=5, persons=100); print(digest(city.trips(20_000)), digest(city.zones()))"
        )
        city = City(seed=5, persons=100)
        expected = [digest(city.trips(20_000)), digest(city.zones())]

        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

        assert done.stdout.split() == expected

    def test_seeds_differ(self, city, trips):
        """Another seed gives other trips and other zones."""
        other = City(seed=12, persons=3_000)

        assert not other.trips(1_000).equals(trips.slice(0, 1_000))
        assert not other.zones().equals(city.zones())

    def test_blocks_differ(self, trips):
        """No part of the sequence repeats: coordinates to 0.1 m hardly ever coincide."""
        starts, ends = ends_of(trips)

        assert len(np.unique(np.hstack([starts, ends]), axis=0)) == TRIPS

    @settings(max_examples=25, deadline=None)
    @given(count=st.integers(0, 40_000), size=st.integers(500, 50_000))
    def test_batch_size_does_not_matter(self, city, trips, count, size):
        """Batches are full except the last, and hold the beginning of the sequence."""
        batches = list(city.batches(count, size=size))

        assert [batch.num_rows for batch in batches[:-1]] == [size] * (len(batches) - 1)
        assert all(1 <= batch.num_rows <= size for batch in batches)
        assert pa.Table.from_batches(batches, trips.schema).equals(trips.slice(0, count))

    def test_no_trips(self, trips):
        """A city at rest has an empty table with all columns."""
        assert City(persons=1).trips(0).schema == trips.schema
        assert list(City(persons=1).batches(0)) == []

    def test_constant_memory(self, city):
        """Four times the trips take no more memory when read batch by batch."""

        def peak(count):
            before = pa.total_allocated_bytes()
            tracemalloc.start()
            arrow = max(pa.total_allocated_bytes() - before for _ in city.batches(count, size=20_000))
            _, python = tracemalloc.get_traced_memory()
            tracemalloc.stop()
            return arrow + python

        peak(20_000)

        assert peak(400_000) < 1.3 * peak(100_000)

    @pytest.mark.parametrize(
        ("call", "message"),
        [
            (lambda: City(seed=-1), "negative"),
            (lambda: City(persons=0), "0 persons"),
            (lambda: City(persons=10_000_001), "10000001 persons"),
            (lambda: City().trips(-1), "-1 trips"),
            (lambda: City().batches(10, size=0), "0 rows"),
            (lambda: City().trips(10, ends="tiles"), "'tiles'"),
        ],
    )
    def test_bad_arguments(self, call, message):
        """Impossible cities are refused at once, with a hint."""
        with pytest.raises(InputError, match=message):
            call()


class TestPersons:
    """Persons are fewer than trips, and each is the same person in all of them."""

    def test_attributes_constant(self, trips):
        """Weight, sex and age group belong to the person."""
        attributes = trips.select(["person_id", "sex", "age_group", "category", "weight"])

        distinct = attributes.group_by(["person_id", "sex", "age_group", "category", "weight"]).aggregate([])

        assert len(distinct) == len(trips["person_id"].unique())
        assert set(trips["sex"].unique().to_pylist()) == {"female", "male"}
        assert len(trips["age_group"].unique()) == 5
        assert len(trips["category"].unique()) == 8

    def test_weights(self, trips):
        """Weights are positive, differ between persons, and are exact in six decimals."""
        weights = trips["weight"].to_numpy()

        assert weights.min() > 0
        assert weights.std() > 0.3 * weights.mean()
        assert np.array_equal(np.round(weights, 6), weights)

    def test_persons_repeat(self, trips):
        """Nearly all persons travel, several times, and some much more than others."""
        counts = np.sort(trips.group_by("person_id").aggregate([("trip_id", "count")])["trip_id_count"].to_numpy())

        assert 0.98 * 3_000 < len(counts) <= 3_000
        assert counts[-len(counts) // 10 :].sum() > 0.15 * TRIPS

    def test_habits(self, city):
        """The most frequent pair of zones of a typical person holds many times what chance would give."""
        trips = city.trips(TRIPS, ends="zones")
        pairs = trips.group_by(["person_id", "origin", "destination"]).aggregate([("trip_id", "count")])
        best = pairs.group_by("person_id").aggregate([("trip_id_count", "max"), ("trip_id_count", "sum")])

        share = best["trip_id_count_max"].to_numpy().sum() / best["trip_id_count_sum"].to_numpy().sum()

        assert share > 0.2


class TestPlacesAndTimes:
    """Trips go where and when trips go in a city."""

    def test_inside_bbox(self, trips):
        """Both ends lie in the stated box, and use most of it."""
        points = np.vstack(ends_of(trips))
        west, south, east, north = CITY_BBOX

        assert (points >= [west, south]).all()
        assert (points <= [east, north]).all()
        assert (np.ptp(points, axis=0) > 0.9 * np.array([east - west, north - south])).all()

    def test_thirty_kilometers(self):
        """The box is about 30 km wide and high."""
        west, south, east, north = CITY_BBOX

        assert (np.array([east - west, north - south]) * METERS) == pytest.approx([30_000, 30_000], rel=0.02)

    @pytest.mark.parametrize("seed", range(4))
    def test_heavy_tail(self, seed):
        """Few squares of 500 m receive a large share of the trips (equal attraction gives at most 0.16 and 4)."""
        _, ends = ends_of(City(seed=seed).trips(TRIPS))

        _, counts = np.unique(np.floor(ends * METERS / 500), axis=0, return_counts=True)

        counts = np.sort(counts)[::-1]
        assert counts[: len(counts) // 100].sum() > 0.2 * TRIPS
        assert counts[0] > 10 * counts[50]
        assert (counts == 1).mean() > 0.05

    @pytest.mark.parametrize("seed", range(4))
    def test_distance_decay(self, seed):
        """Against the same ends paired at random, the longer the trips the rarer."""
        starts, ends = ends_of(City(seed=seed).trips(TRIPS))
        edges = [0, 2_000, 4_000, 8_000, 16_000, 45_000]
        shuffled = np.random.default_rng(0).permutation(ends)

        observed, _ = np.histogram(meters_between(starts, ends), edges)
        by_chance, _ = np.histogram(meters_between(starts, shuffled), edges)

        ratio = observed / by_chance
        assert (np.diff(ratio) < 0).all()
        assert ratio[0] > 1.5
        assert ratio[-1] < 0.5

    def test_times(self, trips):
        """Trips start within the period and on each of its days; their speeds are those of a city."""
        start, end = (trips[name].to_numpy() for name in ("start_time", "end_time"))
        first, last = (np.datetime64(moment.replace(tzinfo=None)) for moment in CITY_PERIOD)
        hours = (end - start) / np.timedelta64(1, "h")
        speed = meters_between(*ends_of(trips)) / 1_000 / hours

        assert start.min() >= first
        assert start.max() < last
        assert len(np.unique(start.astype("datetime64[D]"))) == 14
        assert hours.min() > 0
        assert 5 < np.median(speed) < 30
        assert speed.max() < 120

    def test_commuting_peaks(self, trips):
        """On working days the morning has a peak between two valleys; on weekends it has not."""
        hour = pc.hour(trips["start_time"]).to_numpy()
        weekend = pc.day_of_week(trips["start_time"]).to_numpy() >= 5

        working_days, weekends = (np.bincount(hour[days], minlength=24) for days in (~weekend, weekend))

        assert working_days[8] > 1.5 * working_days[10]
        assert working_days[8] > 3 * working_days[5]
        assert weekends[8] < weekends[10]
        assert working_days[17] > 2 * working_days[21]


class TestZones:
    """Zones tile the city, nest, and agree with the coordinates."""

    def test_table(self, city):
        """There are a few hundred zones with unique ids and names."""
        zones = city.zones()

        assert zones.column_names == ["zone_id", "name", "district", "region", "lon", "lat", "geometry"]
        assert len(zones) == 300
        assert len(zones["zone_id"].unique()) == len(zones["name"].unique()) == 300

    def test_nested(self, city):
        """Each district lies in one region, and all levels have names of their own."""
        pairs = city.zones().group_by(["district", "region"]).aggregate([])

        assert len(pairs) == len(pairs["district"].unique()) == 30
        assert len(pairs["region"].unique()) == 6

    @pytest.mark.parametrize("seed", range(3))
    def test_tile_the_city(self, seed):
        """The zones cover the box, and no two overlap."""
        shapes = shapely.from_wkb(City(seed=seed, persons=1).zones()["geometry"].to_numpy(zero_copy_only=False))
        city = shapely.box(*CITY_BBOX)

        assert shapely.is_valid(shapes).all()
        assert shapely.union_all(shapes).symmetric_difference(city).area == pytest.approx(0, abs=1e-12)
        assert shapely.area(shapes).sum() == pytest.approx(city.area, rel=1e-9)

    def test_centroids(self, city, shapes):
        """The lon and lat of a zone are those of its centroid."""
        centroids = shapely.get_coordinates(shapely.centroid(shapes))

        assert city.zones()["lon"].to_numpy() == pytest.approx(centroids[:, 0])
        assert city.zones()["lat"].to_numpy() == pytest.approx(centroids[:, 1])

    def test_districts_are_connected(self, city, shapes):
        """The zones of a district, and those of a region, form one polygon."""
        for level in ("district", "region"):
            names = city.zones()[level].to_numpy(zero_copy_only=False)
            for name in np.unique(names):
                assert shapely.union_all(shapes[names == name], grid_size=1e-9).geom_type == "Polygon"

    @pytest.mark.slow
    def test_same_trips(self, city, trips, shapes):
        """Trips by zone are the same trips, each end in the polygon that holds its point."""
        by_zone = city.trips(TRIPS, ends="zones")
        ids = city.zones()["zone_id"].to_numpy(zero_copy_only=False)
        row_of = {zone: row for row, zone in enumerate(ids)}
        tree = shapely.STRtree(shapes)

        for name, points in zip(("origin", "destination"), ends_of(trips), strict=True):
            point, zone = tree.query(shapely.points(points), predicate="intersects")
            assert np.array_equal(point, np.arange(TRIPS))
            assert np.array_equal(zone, [row_of[value] for value in by_zone[name].to_pylist()])
        assert by_zone.drop_columns(["origin", "destination"]).equals(trips.select(by_zone.column_names[:-2]))

    def test_zone_of(self, city):
        """A centroid lies in its zone, the corners of the box are in the city, other points have no zone."""
        zones = city.zones()
        west, south, east, north = CITY_BBOX

        assert city.zone_of(zones["lon"].to_numpy(), zones["lat"].to_numpy()).equals(zones["zone_id"].combine_chunks())
        assert city.zone_of([west, east], [south, north]).null_count == 0
        assert city.zone_of([0.0, west, np.nan], [0.0, 90.0, south]).null_count == 3

    def test_independent_of_persons(self, city):
        """A city keeps its zones when it grows."""
        assert City(seed=11, persons=1).zones().equals(city.zones())


class TestWrite:
    """The city as a file."""

    @pytest.mark.slow
    @pytest.mark.parametrize("ends", ["points", "zones"])
    def test_round_trip(self, tmp_path, ends):
        """The file holds the trips of the city that is returned, in several row groups."""
        path = tmp_path / "city.parquet"

        city = write_city(path, trips=150_000, seed=3, ends=ends)

        assert pq.read_table(path).equals(city.trips(150_000, ends=ends))
        assert pq.ParquetFile(path).num_row_groups == 2
        assert city.persons == 7_500

    def test_zones_are_geoparquet(self, city, tmp_path):
        """Written zones keep the metadata that makes a file GeoParquet."""
        path = tmp_path / "zones.parquet"

        pq.write_table(city.zones(), path)

        assert b'"primary_column": "geometry"' in pq.read_schema(path).metadata[b"geo"]

    def test_nothing_written_on_error(self, tmp_path):
        """A refused city leaves no file."""
        with pytest.raises(InputError):
            write_city(tmp_path / "city.parquet", trips=-1)

        assert list(tmp_path.iterdir()) == []
