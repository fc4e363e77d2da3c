"""reconstruct: even spreading over overlaps, from public data alone."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pytest
import shapely
from hypothesis import given, settings
from hypothesis import strategies as st

import flowveil as fv
from flowveil.cli._main import run
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


def make_release(found, flows, **more):
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
    return fv.Release(pa.table(columns | {"trips": [f[2] for f in flows]}), areas, {})


def overlap(one, other):
    """Return the share of a rectangle that lies in another."""
    wide = max(0, min(one[2], other[2]) - max(one[0], other[0]))
    high = max(0, min(one[3], other[3]) - max(one[1], other[1]))
    return wide * high / ((one[2] - one[0]) * (one[3] - one[1]))


@settings(max_examples=40, deadline=None)
@given(st.data())
def test_equals_the_double_sum(data):
    """Every pair of zones gets the sum over flows of volume times both overlaps."""
    areas = data.draw(st.lists(boxes(), min_size=1, max_size=4))
    zones = data.draw(st.lists(boxes(), min_size=1, max_size=3))
    ends = st.integers(0, len(areas) - 1)
    pairs = data.draw(st.lists(st.tuples(ends, ends), min_size=1, max_size=6, unique=True))
    flows = [(*pair, data.draw(st.integers(10, 99))) for pair in pairs]

    found = fv.reconstruct(make_release(areas, flows), zone_table(zones))

    actual = {(row["origin"], row["destination"]): row["trips"] for row in found.flows.to_pylist()}
    for first, one in enumerate(zones):
        for second, other in enumerate(zones):
            expected = sum(trips * overlap(areas[o], one) * overlap(areas[d], other) for o, d, trips in flows)
            assert actual.get((f"z{first}", f"z{second}"), 0) == pytest.approx(expected, rel=1e-4, abs=1e-4)


def test_time_profiles():
    """Steps with areas of their own become comparable: each pair of zones has an estimate for every step."""
    flows = [(0, 0, 40), (1, 0, 30), (0, 1, 20)]
    release = make_release([(0, 0, 4, 4), (0, 0, 2, 4)], flows, time=[8, 9, 9])

    found = fv.reconstruct(release, zone_table([(0, 0, 2, 4), (2, 0, 4, 4)])).flows

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


def test_command_line(city_zone_trips, tmp_path, capsys):
    """The command reads a folder and zones, tells what it could place, and writes CSV."""
    zones = str(city_zone_trips.with_name("zones.parquet"))
    fv.anonymize(fv.build_flows(city_zone_trips, zones=zones, unit="person_id")).write(tmp_path / "out")

    assert run(["reconstruct", str(tmp_path / "out"), "--zones", zones]) == 0
    out, err = capsys.readouterr()
    assert out.startswith("origin destination trips\n")
    assert "published trips lie between the zones" in err

    target = tmp_path / "flows.csv"
    assert run(["reconstruct", str(tmp_path / "out"), "--zones", zones, "-o", str(target)]) == 0
    assert pyarrow.csv.read_csv(target).column_names == ["origin", "destination", "trips"]
    assert run(["reconstruct", str(tmp_path / "out"), "--zones", zones, "-o", str(tmp_path / "flows.xls")]) == 2


def test_totals_do_not_count_twice(city_zone_trips):
    """Trips of groups are in the totals too; how many lie between zones is told of groups."""
    zones = city_zone_trips.parent / "zones.parquet"
    flows = fv.build_flows(city_zone_trips, zones=zones, unit="person_id", by="sex")
    release = fv.anonymize(flows, k=5, totals=True)

    found = fv.reconstruct(release, zones)

    assert found.published == release.metrics()["trips"]
    assert found.share == pytest.approx(1.0, abs=1e-3)
