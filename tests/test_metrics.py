"""Metrics in closed form against plain loops over every pair of tiles."""

from __future__ import annotations

import itertools

import h3.api.basic_str as h3
import numpy as np
import pyproj
import pytest
import shapely
from hypothesis import given, settings
from hypothesis import strategies as st

from flowveil import InputError, anonymize, build_flows
from flowveil._flows import Flows
from flowveil._measure import Published, cover, metrics
from flowveil.synthetic import CITY_BBOX
from tests.strategies import small_flows


class Nowhere:
    """Places without geometry."""

    def centers(self, _tree, nodes):
        """Return no centre for any node."""
        return np.full(len(nodes), np.nan), np.full(len(nodes), np.nan)

    def square_kilometers(self, _tree, nodes):
        """Return no size for any node."""
        return np.full(len(nodes), np.nan)


def below(tree, area):
    """Return the leaves at or under a node."""
    found = []
    for leaf in np.flatnonzero(tree.is_leaf).tolist():
        node = leaf
        while node > area:
            node = int(tree.parent[node])
        if node == area:
            found.append(leaf)
    return found


@st.composite
def published_flows(draw):
    """Flows and disjoint node pairs that hold trips, some of them counting fewer than all trips."""
    flows = draw(small_flows())
    flows = Flows(**{**vars(flows), "places": Nowhere()})
    chosen, taken = [], set()
    nodes = [range(len(flows.origins)), range(len(flows.destinations))]
    for pair in draw(st.lists(st.tuples(*map(st.sampled_from, nodes)), min_size=1, max_size=6, unique=True)):
        tiles = set(itertools.product(below(flows.origins, pair[0]), below(flows.destinations, pair[1])))
        trips = sum(
            int(t) for o, d, t in zip(flows.origin, flows.destination, flows.trips, strict=True) if (o, d) in tiles
        )
        if trips and not tiles & taken:
            chosen.append((*pair, draw(st.integers(1, trips))))
            taken |= tiles
    if not chosen:
        pair = int(flows.origin[0]), int(flows.destination[0])
        chosen = [(*pair, int(flows.trips[0]))]
    origin, destination, trips = map(np.array, zip(*chosen, strict=True))
    return flows, Published(origin, destination, trips, np.zeros_like(trips))


@pytest.mark.slow
@settings(max_examples=300, deadline=None)
@given(published_flows(), st.integers(1, 9))
def test_closed_forms_equal_loops(case, k):
    """gbar, e, d, c_dm, c_avg and suppressed equal sums over every tile pair, empty ones included."""
    flows, published = case
    true = {(int(o), int(d)): int(t) for o, d, t in zip(flows.origin, flows.destination, flows.trips, strict=True)}
    spread, sizes = {}, []
    for origin, destination, trips in zip(published.origin, published.destination, published.trips, strict=True):
        tiles = list(itertools.product(below(flows.origins, origin), below(flows.destinations, destination)))
        sizes.append(len(below(flows.origins, origin)) + len(below(flows.destinations, destination)))
        spread |= {tile: trips / len(tiles) for tile in tiles}
    total, kept = sum(true.values()), int(published.trips.sum())

    actual = metrics(flows, published, k)

    keys = true.keys() | spread.keys()
    assert actual["e"] == pytest.approx(sum(abs(spread.get(p, 0) - true.get(p, 0)) for p in keys) / total)
    assert actual["d"] == pytest.approx(sum(abs(spread.get(p, 0) / kept - true.get(p, 0) / total) for p in keys))
    assert actual["gbar"] == pytest.approx(np.average(sizes, weights=published.trips))
    assert actual["suppressed"] == pytest.approx(1 - kept / total)
    assert actual["c_dm"] == sum(int(t) ** 2 for t in published.trips) + total * (total - kept)
    assert actual["c_avg"] == pytest.approx(kept / len(published.trips) / k)
    assert actual["gdm"] is None
    assert actual["mao"] is None


@pytest.mark.slow
@settings(max_examples=200, deadline=None)
@given(published_flows())
def test_cover_equals_walking_up(case):
    """Every tile pair is found in the one flow that holds it."""
    flows, published = case
    expected = []
    for origin, destination in zip(flows.origin, flows.destination, strict=True):
        holds = [
            number
            for number, (a, b) in enumerate(zip(published.origin, published.destination, strict=True))
            if origin in below(flows.origins, a) and destination in below(flows.destinations, b)
        ]
        expected.append(holds[0] if holds else -1)

    assert cover(flows, published.origin, published.destination).tolist() == expected


def test_distances_and_sizes_on_the_city(city_trips):
    """gdm, mao and mad equal a plain computation from the published ids with h3, pyproj and shapely."""
    flows = build_flows(city_trips, "h3:8", bbox=CITY_BBOX, unit="person_id")
    release = anonymize(flows, "odkanon", options={"filter_budget": 0.0})
    ellipsoid = pyproj.Geod(ellps="WGS84")
    areas = set(release.flows["origin"].to_pylist()), set(release.flows["destination"].to_pylist())
    meters = []
    for tree, leaf, names in (
        (flows.origins, flows.origin, areas[0]),
        (flows.destinations, flows.destination, areas[1]),
    ):
        for tile, trips in zip(leaf.tolist(), flows.trips.tolist(), strict=True):
            cell = h3.int_to_str(int(tree.key[tile]))
            area = next(a for r in range(9) if (a := h3.cell_to_parent(cell, r)) in names)
            (lat, lon), (area_lat, area_lon) = h3.cell_to_latlng(cell), h3.cell_to_latlng(area)
            meters += [ellipsoid.inv(lon, lat, area_lon, area_lat)[2]] * trips

    actual = release.metrics()

    assert actual["gdm"]["mean"] == pytest.approx(np.mean(meters))
    assert actual["gdm"]["sd"] == pytest.approx(np.std(meters))
    assert actual["gdm"]["median"] == pytest.approx(np.median(meters), rel=1e-6)
    sizes = {
        area: abs(ellipsoid.geometry_area_perimeter(shapely.Polygon([p[::-1] for p in h3.cell_to_boundary(area)]))[0])
        for area in areas[0]
    }
    expected = np.average(
        [sizes[a] / 1e6 for a in release.flows["origin"].to_pylist()], weights=release.flows["trips"].to_numpy()
    )
    assert actual["mao"] == pytest.approx(expected)
    assert actual["min_persons"] == release.flows["persons"].to_numpy().min()


def test_all_tiles_counts_unseen_ones(city_trips):
    """tiles="all" counts every tile of an area, so gbar grows; other words are refused."""
    release = anonymize(build_flows(city_trips, "h3:8", bbox=CITY_BBOX), "odkanon")

    assert release.metrics("all")["gbar"] > release.metrics("tree")["gbar"]
    assert release.metrics("all")["tiles"] == "all"
    with pytest.raises(InputError):
        release.metrics("most")
