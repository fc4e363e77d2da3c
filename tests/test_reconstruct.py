"""reconstruct: even spreading over overlaps, from public data alone."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest
import shapely
from hypothesis import given, settings
from hypothesis import strategies as st

import flowveil as fv
from flowveil._cli.commands import run
from flowveil._noise import variance
from flowveil.synthetic import CITY_BBOX

UNIT = 0.001  # degrees at the equator, where a square stays nearly a square


@st.composite
def boxes(draw):
    """Draw a rectangle on a small grid: west, south, east, north."""
    west, south = draw(st.integers(0, 9)), draw(st.integers(0, 9))
    return west, south, west + draw(st.integers(1, 6)), south + draw(st.integers(1, 6))


def shape(box):
    """Return a rectangle in degrees."""
    return shapely.box(*(edge * UNIT for edge in box))


def zone_table(found):
    """Return rectangles as zones."""
    return pa.table(
        {"zone_id": [f"z{n}" for n in range(len(found))], "geometry": [shapely.to_wkb(shape(b)) for b in found]}
    )


def make_release(found, flows, options=None, **more):
    """Return a release of flows (origin box, destination box, trips)."""
    rows = [(f"r:{number}", side) for side in ("origin", "destination") for number in range(len(found))]
    areas = pa.table(
        {
            "area": [area for area, _ in rows],
            "side": [side for _, side in rows],
            "geometry": [shapely.to_wkb(shape(box)) for _ in range(2) for box in found],
        }
    )
    columns = {"origin": [f"r:{f[0]}" for f in flows], "destination": [f"r:{f[1]}" for f in flows], **more}
    manifest = {"options": options or {}, "promise": {"kind": "differential-privacy" if "scale" in more else None}}
    return fv.Release(pa.table(columns | {"trips": [f[2] for f in flows]}), areas, manifest)


def overlap(one, other):
    """Return the share of a rectangle that lies in another."""
    wide = max(0, min(one[2], other[2]) - max(one[0], other[0]))
    high = max(0, min(one[3], other[3]) - max(one[1], other[1]))
    return wide * high / ((one[2] - one[0]) * (one[3] - one[1]))


@pytest.mark.slow
@settings(max_examples=25, deadline=None)
@given(st.data())
def test_equals_the_double_sum(data):
    """Every pair of zones gets the sum over flows of volume times both overlaps; with noise, negative ones as well.

    How many trips lie between the zones is counted once, also where zones overlap.
    """
    areas = data.draw(st.lists(boxes(), min_size=1, max_size=4))
    zones = data.draw(st.lists(boxes(), min_size=1, max_size=3))
    ends = st.integers(0, len(areas) - 1)
    pairs = data.draw(st.lists(st.tuples(ends, ends), min_size=1, max_size=6, unique=True))
    noisy = data.draw(st.booleans())
    flows = [(*pair, data.draw(st.integers(-99 if noisy else 10, 99))) for pair in pairs]
    scales = [data.draw(st.floats(1, 20)) for _ in flows]
    release = make_release(areas, flows, **({"scale": scales} if noisy else {}))

    try:
        found = fv.reconstruct(release, zone_table(zones), spread="even")
    except fv.InputError:
        inside = [
            max(overlap(areas[o], z) for z in zones) * max(overlap(areas[d], z) for z in zones) for o, d, _ in flows
        ]
        assert not any(inside)
        return

    actual = {(row["origin"], row["destination"]): row["trips"] for row in found.flows.to_pylist()}
    for first, one in enumerate(zones):
        for second, other in enumerate(zones):
            expected = sum(trips * overlap(areas[o], one) * overlap(areas[d], other) for o, d, trips in flows)
            assert actual.get((f"z{first}", f"z{second}"), 0) == pytest.approx(expected, rel=1e-4, abs=1e-3)
    assert found.published == sum(trips for _, _, trips in flows)
    if not noisy:
        assert 0 < found.share <= 1
        return
    noise = {(row["origin"], row["destination"]): row["noise"] for row in found.flows.to_pylist()}
    for first, one in enumerate(zones):
        for second, other in enumerate(zones):
            parts = [(overlap(areas[o], one) * overlap(areas[d], other)) ** 2 for o, d, _ in flows]
            expected = np.sqrt(sum(part * variance(np.array(scale)) for part, scale in zip(parts, scales, strict=True)))
            assert noise.get((f"z{first}", f"z{second}"), 0) == pytest.approx(expected, rel=1e-4, abs=1e-3)


def test_time_profiles():
    """Steps with areas of their own become comparable: each pair of zones has an estimate for every step."""
    flows = [(0, 0, 40), (1, 0, 30), (0, 1, 20)]
    release = make_release([(0, 0, 4, 4), (0, 0, 2, 4)], flows, {"time": "hour-of-day"}, time=[8, 9, 9])

    found = fv.reconstruct(release, zone_table([(0, 0, 2, 4), (2, 0, 4, 4)]), spread="even").flows

    profile = {(row["origin"], row["destination"], row["time"]): row["trips"] for row in found.to_pylist()}
    assert found.column_names == ["origin", "destination", "time", "trips"]
    assert profile["z0", "z1", 8] == pytest.approx(10, rel=1e-4)
    assert profile["z0", "z1", 9] == pytest.approx(15, rel=1e-4)


def test_own_areas_get_their_own_volumes(city_trips):
    """With zones that are the published tiles, the estimates are the published flows."""
    flows = fv.build_flows(city_trips, "quadtree:4000", bbox=CITY_BBOX)
    release = fv.anonymize(flows, "suppression")
    areas = release.areas.to_pandas().drop_duplicates("area")
    zones = pa.table({"zone_id": areas["area"], "geometry": areas["geometry"]})

    found = fv.reconstruct(release, zones)

    estimates = {(row["origin"], row["destination"]): row["trips"] for row in found.flows.to_pylist()}
    for row in release.flows.to_pylist():
        assert estimates[row["origin"], row["destination"]] == pytest.approx(row["trips"], rel=1e-4)
    assert found.share == pytest.approx(1, abs=1e-6)


def test_members_without_shapes():
    """Zones without shapes are placed by their ids; elsewhere lies nowhere and is counted as such."""
    number = np.arange(8)
    zones = pa.table({"zone_id": [f"a{n}" for n in number], "lon": 4 + number / 10, "lat": 50 + number / 10})
    ends = [f"a{n}" for n in range(8)] * 8
    trips = pa.table({"origin": sorted(ends), "destination": ends, "count": [3] * 63 + [1]})
    flows = fv.build_flows(trips, zones=zones)
    release = fv.anonymize(flows, "crosscut", max_suppression=0.9, elsewhere=True)

    found = fv.reconstruct(release, zones)

    placed = sum(row["trips"] for row in release.flows.to_pylist() if row["destination"] != "elsewhere")
    assert found.placed == pytest.approx(placed)
    assert found.published == sum(release.flows["trips"].to_pylist())


@pytest.mark.slow
def test_command_line(city_zone_trips, tmp_path, capsys):
    """The command reads a folder and zones, tells what it could place, and writes CSV."""
    zones = str(city_zone_trips.with_name("zones.parquet"))
    flows = fv.build_flows(city_zone_trips, zones=zones, hierarchy="ward", unit="person_id")
    fv.anonymize(flows).write(tmp_path / "out")

    assert run(["reconstruct", str(tmp_path / "out"), "--zones", zones]) == 0
    out, err = capsys.readouterr()
    header, first, *_ = out.splitlines()
    assert header == "origin destination trips left_out"
    origin, destination, _, _, said = first.split(" ", 4)
    names = {row["zone_id"]: row["name"] for row in pq.read_table(zones).to_pylist()}
    assert said.strip() == f"{names[origin]} -> {names[destination]}"
    assert "published trips lie between the zones" in err

    target = tmp_path / "flows.csv"
    assert run(["reconstruct", str(tmp_path / "out"), "--zones", zones, "-o", str(target)]) == 0
    assert pyarrow.csv.read_csv(target).column_names == ["origin", "destination", "trips", "left_out"]
    assert run(["reconstruct", str(tmp_path / "out"), "--zones", zones, "-o", str(tmp_path / "flows.xls")]) == 2


@pytest.mark.slow
def test_totals_do_not_count_twice(city_zone_trips):
    """Trips of groups are in the totals too; how many lie between zones is told of groups."""
    zones = city_zone_trips.parent / "zones.parquet"
    flows = fv.build_flows(city_zone_trips, zones=zones, hierarchy="ward", unit="person_id", by="sex")
    release = fv.anonymize(flows, k=5, totals=True)

    found = fv.reconstruct(release, zones)

    assert found.published == release.metrics()["trips"]
    assert found.share == pytest.approx(1.0, abs=1e-3)


@pytest.mark.slow
def test_keys_come_from_the_manifest(city_zone_trips):
    """A group may have the name of a measure: what divides a release stands in its manifest."""
    zones = city_zone_trips.parent / "zones.parquet"
    trips = pq.read_table(city_zone_trips).rename_columns({"sex": "nonnegative"})
    time = "hour-of-day<part-of-day<day"
    flows = fv.build_flows(trips, zones=zones, hierarchy="ward", by="nonnegative", time_hierarchy=time)
    release = fv.anonymize(flows, k=5)
    found = fv.reconstruct(release, zones)

    assert found.flows.column_names == ["origin", "destination", "time", "time_end", "nonnegative", "trips"]
    assert found.share == pytest.approx(1.0, abs=1e-3)

    release.manifest["options"]["by"] = ["age"]
    with pytest.raises(fv.InputError, match="lacks columns"):
        fv.reconstruct(release, zones)


@pytest.fixture(scope="module")
def noisy(city_trips, tmp_path_factory):
    """Write a release with all columns that stand beside noisy counts, at an epsilon that makes many negative."""
    matrix = fv.build_tile_matrix(city_trips, CITY_BBOX, "h3:7")
    release = fv.add_noise(matrix, "noisy-mosaic", 0.5, options={"consistent": "true"})
    return release.write(tmp_path_factory.mktemp("noise") / "out")


class TestNoise:
    """Releases with noise: counts are added up as they are."""

    @pytest.fixture
    def zones(self):
        """Return a map of squares over the city."""
        edges = [np.linspace(CITY_BBOX[axis], CITY_BBOX[axis + 2], 7) for axis in (0, 1)]
        squares = [
            shapely.box(edges[0][x], edges[1][y], edges[0][x + 1], edges[1][y + 1]) for x in range(6) for y in range(6)
        ]
        return pa.table({"zone_id": [f"z{n:02}" for n in range(36)], "geometry": shapely.to_wkb(squares)})

    @pytest.mark.slow
    def test_unbiased(self, noisy, zones, city_trips):
        """The estimates add up to what was published, negative ones among them, and lie near the truth."""
        found = fv.reconstruct(noisy, zones)
        trips = np.array(found.flows["trips"].to_pylist())

        assert found.flows.column_names == ["origin", "destination", "trips", "noise"]
        assert (trips < 0).any()
        assert trips.sum() == pytest.approx(found.placed, rel=1e-6)
        assert 0.9 < found.share < 1.01
        assert np.abs(trips - self.true(city_trips, found.flows)).sum() < 0.6 * 20_000
        assert any("negative" in text for text in found.notes)

    @staticmethod
    def true(path, flows):
        """Return the true trips of pairs of squares."""
        trips = pq.read_table(path)
        cell = {}
        for end in ("start", "end"):
            column, row = (
                np.clip(
                    (trips[f"{end}_{name}"].to_numpy() - CITY_BBOX[axis]) / (CITY_BBOX[axis + 2] - CITY_BBOX[axis]) * 6,
                    0,
                    5,
                ).astype(int)
                for axis, name in enumerate(("lon", "lat"))
            )
            cell[end] = column * 6 + row
        counts = np.bincount(cell["start"] * 36 + cell["end"], minlength=36**2)
        ends = [np.array([int(name[1:]) for name in flows[side].to_pylist()]) for side in ("origin", "destination")]
        return counts[ends[0] * 36 + ends[1]]

    @pytest.mark.slow
    def test_command_line(self, noisy, city_trips, tmp_path, zones, capsys):
        """The command tells what the estimates are, and never a share above all trips."""
        pq.write_table(zones, tmp_path / "zones.parquet")
        options = ["--zones", str(tmp_path / "zones.parquet")]

        assert run(["reconstruct", str(noisy), *options]) == 0
        out, err = capsys.readouterr()
        assert out.startswith("origin destination trips noise\n")
        assert "published trips lie between the zones" in err
        assert "may be negative" in err

        cells = fv.add_noise(fv.build_matrix(city_trips, CITY_BBOX, 8), "uniform", 1.0).write(tmp_path / "cells")
        assert run(["reconstruct", str(cells), *options]) == 0
        assert capsys.readouterr().out.startswith("origin destination trips noise\n")

    def test_positive_counts_do_not_add_up(self, city_trips, tmp_path, zones):
        """A release that lists only counts above zero is refused, as for queries."""
        matrix = fv.build_tile_matrix(city_trips, CITY_BBOX, "h3:6")
        listed = fv.add_noise(matrix, "laplace", 1.0).write(tmp_path / "out")

        with pytest.raises(fv.InputError, match="too large"):
            fv.reconstruct(listed, zones)


class TestNothingOverlaps:
    """Zones in which no published trip can lie are an error, and nothing is written."""

    def test_points(self, tmp_path, capsys):
        """Points have no area; with the ids of the release's own zones none is needed."""
        names = [f"a{number}" for number in range(4)]
        points = [shapely.Point(number, 0) for number in range(4)]
        trips = pa.table({"origin": np.repeat(names, 4), "destination": np.tile(names, 4), "count": [12] * 16})
        squares = pa.table({"zone_id": names, "geometry": shapely.to_wkb([point.buffer(0.4) for point in points])})
        fv.anonymize(fv.build_flows(trips, zones=squares), "suppression").write(tmp_path / "out")
        for name, ids in (("own", names), ("other", ["w", "x", "y", "z"])):
            pq.write_table(pa.table({"zone_id": ids, "geometry": shapely.to_wkb(points)}), tmp_path / f"{name}.parquet")
        command = ["reconstruct", str(tmp_path / "out"), "-o", str(tmp_path / "flows.csv"), "--zones"]

        assert run([*command, str(tmp_path / "other.parquet")]) == 2
        assert "the zones have no outlines" in capsys.readouterr().err
        assert not (tmp_path / "flows.csv").exists()

        assert run([*command, str(tmp_path / "own.parquet")]) == 0
        assert pyarrow.csv.read_csv(tmp_path / "flows.csv")["trips"].to_pylist() == [12] * 16

    def test_another_region(self):
        """Zones far from all areas are an error, and so are zones that hold one end of flows only."""
        release = make_release([(0, 0, 4, 4), (6, 6, 8, 8)], [(0, 1, 40)])

        for zones in ([(20, 20, 24, 24)], [(0, 0, 4, 4)]):
            with pytest.raises(fv.InputError, match="no published flow lies between the zones"):
                fv.reconstruct(release, zone_table(zones))

    def test_notes(self):
        """Zones without an outline get nothing, and zones that overlap count twice: both are told."""
        square = shapely.to_wkb(shape((0, 0, 4, 4)))
        zones = pa.table({"zone_id": ["a", "b", "c"], "geometry": pa.array([square, square, None], pa.binary())})

        found = fv.reconstruct(make_release([(0, 0, 4, 4)], [(0, 0, 40)]), zones)

        assert found.share == pytest.approx(1, abs=1e-6)
        assert sum(found.flows["trips"].to_pylist()) == pytest.approx(160)
        assert found.notes[0] == "1 of 3 zones have no outline, so nothing is placed there"
        assert found.notes[1].startswith("zones overlap")
