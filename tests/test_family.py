"""Releases whose areas may be split in several ways: recounted by plain code, and never coarser than on one tree."""

from __future__ import annotations

import collections

import h3
import numpy as np
import pyarrow.parquet as pq
import pytest

import flowveil as fv
from flowveil._errors import InputError
from flowveil.synthetic import City
from tests.cells import holds

BOX = (4.0, 50.2, 4.8, 50.7)


@pytest.fixture(scope="module")
def city(tmp_path_factory):
    """Return trips of a small city between points and between zones, each as a file, and the zones."""
    city = City(persons=400, seed=5)
    folder = tmp_path_factory.mktemp("family")
    for ends in ("points", "zones"):
        pq.write_table(city.trips(4_000, ends=ends), folder / f"{ends}.parquet")
    return folder / "points.parquet", folder / "zones.parquet", city.zones()


@pytest.mark.slow
def test_every_trip_is_counted_once_by_plain_code(city):
    """Each flow counts just the trips between its two areas, of ten persons or more; no trip is in two flows."""
    path, _, _ = city
    release = fv.anonymize(fv.build_flows(path, "h3:7", hierarchy="lattice", unit="person_id"), k=10)
    trips = pq.read_table(path).to_pylist()
    ends = [
        tuple(h3.latlng_to_cell(trip[f"{end}_lat"], trip[f"{end}_lon"], 7) for end in ("start", "end"))
        for trip in trips
    ]
    inside = collections.defaultdict(set)
    for place, side in enumerate(("origin", "destination")):
        for area in set(release.flows[side].to_pylist()):
            inside[side, area] = {cell for cell in {end[place] for end in ends} if holds(area, cell)}

    counted = np.zeros(len(trips), int)
    for flow in release.flows.to_pylist():
        origin, destination = inside["origin", flow["origin"]], inside["destination", flow["destination"]]
        rows = [row for row, end in enumerate(ends) if end[0] in origin and end[1] in destination]
        counted[rows] += 1
        assert len(rows) == flow["trips"]
        assert len({trips[row]["person_id"] for row in rows}) == flow["persons"] >= 10

    assert counted.max() == 1
    assert 1 - counted.mean() == pytest.approx(release.metrics()["suppressed"])


@pytest.mark.slow
@pytest.mark.parametrize("method", ["mosaic", "nested"])
def test_more_ways_are_finer(city, method):
    """A lattice is finer than H3's own trees, many trees of zones finer than one; the default is the finest."""
    path, by_zone, zones = city
    gbar = {
        hierarchy: fv.anonymize(fv.build_flows(path, "h3:7", hierarchy=hierarchy), method, 10).metrics()["gbar"]
        for hierarchy in ("h3", "h3-binary", "lattice", None)
    }
    of_zones = {
        hierarchy: fv.anonymize(fv.build_flows(by_zone, zones=zones, hierarchy=hierarchy), method, 10).metrics()["gbar"]
        for hierarchy in ("ward", "many", None)
    }

    assert gbar[None] == gbar["lattice"] < gbar["h3-binary"] < gbar["h3"]
    assert of_zones[None] == of_zones["many"] < of_zones["ward"]


@pytest.mark.slow
def test_what_is_left_open_follows_what_is_asked(city):
    """Methods and options that need one tree take one, and say so in the manifest."""
    path, by_zone, zones = city
    flows = fv.build_flows(path, "h3:6", unit="person_id")

    def hierarchy(of, **options):
        return fv.anonymize(of, k=5, **options).manifest["options"]["hierarchy"]

    assert hierarchy(flows) == hierarchy(flows, method="nested") == "lattice"
    assert hierarchy(flows, method="odkanon", max_suppression=0.3) == hierarchy(flows, elsewhere=True) == "h3"
    assert hierarchy(fv.build_flows(by_zone, zones=zones)) == "many"
    assert hierarchy(fv.build_flows(by_zone, zones=zones), elsewhere=True) == "ward"
    assert hierarchy(fv.build_flows(path, "quadtree:4000", bbox=BOX)) == "lattice"


@pytest.mark.slow
@pytest.mark.parametrize("places", ["h3:6", "quadtree:4000", "zones"])
def test_next_month_on_the_same_areas(city, tmp_path, places):
    """The areas of an earlier release serve other trips, whose smallest areas may differ."""
    path, by_zone, zones = city
    where = {"zones": zones} if places == "zones" else {"grid": places}
    where |= {"bbox": BOX} if places.startswith("quadtree") else {}
    file = by_zone if places == "zones" else path
    trips = fv.read_trips(file, where="trip_id % 2 = 0"), fv.read_trips(file, where="trip_id % 2 = 1")
    earlier = fv.anonymize(fv.build_flows(trips[0], **where), k=10).write(tmp_path / "earlier")

    later = fv.anonymize(fv.build_flows(trips[1], **where), k=10, areas_from=earlier, max_suppression=1.0)

    pairs = [
        set(zip(table["origin"].to_pylist(), table["destination"].to_pylist(), strict=True))
        for table in (fv.read_release(earlier).flows, later.flows)
    ]
    assert later.flows.num_rows > 10
    assert pairs[1] <= pairs[0]
    assert min(later.flows["trips"].to_pylist()) >= 10


def test_beside_a_release_that_cannot_be_compared(city, tmp_path):
    """What areas that overlap in part tell together is not checked: such a release is refused, with a reason."""
    path, _, _ = city
    earlier = fv.anonymize(fv.build_flows(path, "h3:6"), k=10).write(tmp_path / "earlier")

    with pytest.raises(InputError, match="several ways"):
        fv.anonymize(fv.build_flows(path, "h3:6", by="sex"), k=10, beside=earlier, max_suppression=1.0)


def test_noise_has_one_tree(city):
    """Noise is added along one tree: others are refused."""
    path, by_zone, zones = city
    with pytest.raises(InputError, match="one tree"):
        fv.build_tile_matrix(path, BOX, grid="h3:5", hierarchy="lattice")
    with pytest.raises(InputError, match="one tree"):
        fv.build_tile_matrix(by_zone, zones=zones, hierarchy="many")
