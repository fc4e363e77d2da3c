"""Every metric of flows as its paper defines it: a few plain lines from raw trips and published tables, no shared code.

Places are H3 cells of the library h3, distances and sizes are pyproj's.
"""

from __future__ import annotations

from collections import Counter

import h3.api.basic_str as h3
import numpy as np
import pandas as pd
import pyproj
import pytest
import shapely

import flowveil as fv
from flowveil._cli.figures import print_figures
from flowveil._folder import Kind
from flowveil.synthetic import CITY_BBOX

RESOLUTION, K = 7, 5
EARTH = pyproj.Geod(ellps="WGS84")
CASES = {
    "mosaic": {"elsewhere": True},
    "knapsack": {"elsewhere": True},
    "odkanon": {"options": {"filter_budget": 0.05}},
    "suppression": {},
    "mondrian": {},
    "glove-sk": {},
}


def random_trips(seed):
    """Trips of persons with weights between a few hot spots, at random places around them."""
    chance = np.random.default_rng(seed)
    west, south, east, north = CITY_BBOX
    spots = chance.uniform((west + 0.05, south + 0.05), (east - 0.05, north - 0.05), (6, 2))
    ends = [spots[chance.integers(0, 6, 250)] + chance.normal(0, 0.012, (250, 2)) for _ in range(2)]
    person = chance.integers(0, 60, 250)
    weight = chance.integers(1, 50, 60)[person]
    columns = dict(zip(["start_lon", "start_lat", "end_lon", "end_lat"], np.hstack(ends).T, strict=True))
    return pd.DataFrame({**columns, "person": person.astype(str), "w": weight})


def cell(lon, lat):
    """Return the cell of a point."""
    return h3.latlng_to_cell(lat, lon, RESOLUTION)


def middle(place):
    """Return longitude and latitude of the middle of a cell."""
    return h3.cell_to_latlng(place)[::-1]


def meters(one, other):
    """Return the meters between two points."""
    return EARTH.inv(*one, *other)[2]


def square_kilometers(shape):
    """Return the size of a shape on the ellipsoid."""
    return abs(EARTH.geometry_area_perimeter(shape)[0]) / 1e6


def outline(place):
    """Return the outline of a cell."""
    return shapely.Polygon([point[::-1] for point in h3.cell_to_boundary(place)])


class Seen:
    """A release as a reader sees it, beside the raw trips: which cells an area has, which flow a trip is in."""

    def __init__(self, trips, release):
        """Look at every trip."""
        self.ends = [
            [cell(*point) for point in trips[[f"{side}_lon", f"{side}_lat"]].to_numpy()] for side in ("start", "end")
        ]
        self.axes = [sorted(set(cells)) for cells in self.ends]
        table = release.flows.to_pylist()
        self.flows = [row for row in table if "elsewhere" not in (row["origin"], row["destination"])]
        self.rest = [row for row in table if "elsewhere" in (row["origin"], row["destination"])]
        shapes = shapely.from_wkb(release.areas["geometry"].to_pylist())
        self.shape = dict(zip(release.areas["area"].to_pylist(), shapes, strict=True))
        points = zip(release.areas["lon"].to_pylist(), release.areas["lat"].to_pylist(), strict=True)
        self.center = dict(zip(release.areas["area"].to_pylist(), points, strict=True))
        self.cells = [[self.inside(row[end], axis) for row in self.flows] for end, axis in self.sides()]
        counted = None
        if release.assignment is not None:
            rows = release.assignment.to_pylist()
            counted = {
                (row["origin_tile"], row["destination_tile"]): (row["origin"], row["destination"]) for row in rows
            }
        self.flow = [self.find(pair, counted) for pair in zip(*self.ends, strict=True)]

    def sides(self):
        """Return both ends with the cells seen there."""
        return zip(("origin", "destination"), self.axes, strict=True)

    def inside(self, area, axis):
        """Return the cells of an axis that an area holds."""
        if area == "world":
            return set(axis)
        if not area.startswith("r:"):
            return {place for place in axis if h3.cell_to_parent(place, h3.get_resolution(area)) == area}
        west, south, east, north = np.rint(np.array(self.shape[area].bounds) * 1e7)  # to a centimeter, as published
        points = {place: np.rint(np.array(middle(place)) * 1e7) for place in axis}
        return {place for place, (lon, lat) in points.items() if west < lon <= east and south < lat <= north}

    def find(self, pair, counted):
        """Return the number of the flow that counts a pair of cells, None if none does."""
        for number, row in enumerate(self.flows):
            if counted is not None:
                if counted.get(pair) == (row["origin"], row["destination"]):
                    return number
            elif pair[0] in self.cells[0][number] and pair[1] in self.cells[1][number]:
                return number
        return None


@pytest.fixture(scope="module", params=[(name, seed) for seed, name in enumerate(CASES)], ids=str)
def case(request):
    """Make a release of random trips by one method, and look at it."""
    name, seed = request.param
    trips = random_trips(seed)
    flows = fv.build_flows(trips, f"h3:{RESOLUTION}", bbox=CITY_BBOX, hierarchy="h3", weight="w")
    release = fv.anonymize(flows, name, K, **CASES[name])
    return trips, release, Seen(trips, release), release.metrics(raw=True, k_weight=100)


@pytest.mark.parametrize("of", ["trips", "people"])
def test_losses_by_volume(case, of):
    """gbar, e, d, c_dm, c_avg, suppressed, g_delta and t-closeness, of trips and of the people they stand for."""
    trips, _, seen, figures = case
    actual, least = (figures, K) if of == "trips" else (figures["population"], 100)
    amount = np.ones(len(trips)) if of == "trips" else trips["w"].to_numpy()
    volume = np.zeros(len(seen.flows))
    true = Counter()
    for pair, number, one in zip(zip(*seen.ends, strict=True), seen.flow, amount, strict=True):
        true[pair] += one
        if number is not None:
            volume[number] += one
    spread = Counter()
    for v, origins, destinations in zip(volume, *seen.cells, strict=True):
        for o in origins:
            for d in destinations:
                spread[o, d] += v / len(origins) / len(destinations)
    total, kept = amount.sum(), volume.sum()
    tiles = np.array([[len(cells) for cells in side] for side in seen.cells])

    assert actual["gbar"] == pytest.approx((tiles.sum(axis=0) * volume).sum() / kept)
    assert actual["e"] == pytest.approx(sum(abs(spread[p] - true[p]) for p in {*spread, *true}) / total)
    assert actual["d"] == pytest.approx(sum(abs(spread[p] / kept - true[p] / total) for p in {*spread, *true}))
    assert actual["suppressed"] == pytest.approx(1 - kept / total)
    assert actual["c_dm"] == pytest.approx((volume**2).sum() + total * (total - kept))
    assert actual["c_avg"] == pytest.approx(kept / len(volume) / least)
    axes = [len(axis) for axis in seen.axes]
    error = sum(v * (o / axes[0] + d / axes[1]) for v, (o, d) in zip(volume, tiles.T, strict=True))
    assert actual["g_delta"] == pytest.approx(error + 0.01 * 2 * (total - kept))
    rows = pd.DataFrame(
        [
            (row["origin"], d, v / len(cells))
            for row, cells, v in zip(seen.flows, seen.cells[1], volume, strict=True)
            for d in cells
        ],
        columns=["area", "cell", "v"],
    )
    shares = rows.pivot_table(index="area", columns="cell", values="v", aggfunc="sum", fill_value=0)
    apart = (shares.div(shares.sum(axis=1), axis=0) - shares.sum() / shares.to_numpy().sum()).abs().sum(axis=1) / 2
    assert actual["t_closeness"] == pytest.approx({"max": apart.max(), "mean": apart.mean()})


def test_distances_and_sizes(case):
    """Gdm from cells and from coordinates, mao and mad."""
    trips, _, seen, actual = case
    inside = [number for number, flow in enumerate(seen.flow) if flow is not None]
    raw, tile = [], []
    for name, side, cells in (("origin", "start", seen.ends[0]), ("destination", "end", seen.ends[1])):
        points = trips[[f"{side}_lon", f"{side}_lat"]].to_numpy()
        for number in inside:
            center = seen.center[seen.flows[seen.flow[number]][name]]
            if center[0] is not None:
                raw.append(meters(points[number], center))
                tile.append(meters(middle(cells[number]), center))
    if len(raw) < 2 * len(inside):  # an area has no center
        assert actual["gdm"] is actual["gdm_raw"] is None
        return
    for figure, expected in (("gdm", tile), ("gdm_raw", raw)):
        assert actual[figure]["mean"] == pytest.approx(np.mean(expected))
        assert actual[figure]["sd"] == pytest.approx(np.std(expected))
        assert actual[figure]["median"] == pytest.approx(np.sort(expected)[(len(expected) - 1) // 2])
    volume = Counter(flow for flow in seen.flow if flow is not None)
    for figure, name in (("mao", "origin"), ("mad", "destination")):
        sizes = [square_kilometers(seen.shape[row[name]]) for row in seen.flows]
        assert actual[figure] == pytest.approx(sum(sizes[f] * v for f, v in volume.items()) / volume.total(), rel=1e-6)


def test_smallest_boxes(case, capsys):
    """Rectangles as papers measure them: boxes around the cells' middles, and all cells that these touch."""
    _, _, seen, actual = case
    print_figures(Kind.FLOWS, actual)
    assert "{" not in capsys.readouterr().out  # figures of figures are told as plainly as others
    if "r:0" not in seen.shape:
        assert "tight" not in actual
        return
    away, sizes, volume = [], np.zeros((2, len(seen.flows))), Counter(f for f in seen.flow if f is not None)
    tiles = np.zeros((2, len(seen.flows)))
    for side, cells in enumerate(seen.ends):
        for flow in volume:
            points = [middle(place) for place, own in zip(cells, seen.flow, strict=True) if own == flow]
            box = shapely.box(*shapely.MultiPoint(points).bounds)
            center = ((box.bounds[0] + box.bounds[2]) / 2, (box.bounds[1] + box.bounds[3]) / 2)
            away += [meters(point, center) for point in points]
            sizes[side, flow] = square_kilometers(box)
            tiles[side, flow] = sum(outline(place).intersects(box) for place in seen.axes[side])

    weights = [volume[flow] for flow in range(len(seen.flows))]
    assert actual["tight"]["gdm"]["mean"] == pytest.approx(np.mean(away))
    assert actual["tight"]["gbar"] == pytest.approx(np.average(tiles.sum(axis=0), weights=weights))
    assert actual["tight"]["mao"] == pytest.approx(np.average(sizes[0], weights=weights), abs=1e-9)
    assert actual["tight"]["mad"] == pytest.approx(np.average(sizes[1], weights=weights), abs=1e-9)


def test_with_elsewhere(case):
    """gbar, mao, mad and g_delta with the flows to elsewhere, as large as the axis, or as what their trips reach."""
    trips, _, seen, actual = case
    if not seen.rest:
        assert actual.get("elsewhere", {"trips": 0})["trips"] == 0
        return
    near = "origin" if seen.rest[0]["destination"] == "elsewhere" else "destination"
    side = ("origin", "destination").index(near)
    whole = [len(axis) for axis in seen.axes]
    bbox = square_kilometers(shapely.box(*CITY_BBOX))
    figures = {"": [], "_reached": []}
    for row, *cells in zip(seen.flows, *seen.cells, strict=True):
        for rows in figures.values():
            sizes = [square_kilometers(seen.shape[row[name]]) for name in ("origin", "destination")]
            rows.append((row["trips"], *map(len, cells), *sizes))
    holds = {row[near]: seen.inside(row[near], seen.axes[side]) for row in seen.rest}
    reached = {area: set() for area in holds}
    for pair, flow in zip(zip(*seen.ends, strict=True), seen.flow, strict=True):
        areas = [area for area in holds if pair[side] in holds[area]]
        if flow is None and areas:
            reached[min(areas, key=lambda area: len(holds[area]))].add(pair[1 - side])
    for row in seen.rest:
        own = (len(holds[row[near]]), square_kilometers(seen.shape[row[near]]))
        places = reached[row[near]]
        others = {
            "": (whole[1 - side], bbox),
            "_reached": (len(places), sum(square_kilometers(outline(place)) for place in places)),
        }
        for suffix, other in others.items():
            (o, a), (d, b) = (own, other) if side == 0 else (other, own)
            figures[suffix].append((row["trips"], o, d, a, b))
    for suffix, rows in figures.items():
        v, o, d, a, b = np.array(rows, float).T
        told = {name: actual["elsewhere"][f"{name}{suffix}"] for name in ("gbar", "mao", "mad", "g_delta")}
        assert told["gbar"] == pytest.approx(np.average(o + d, weights=v))
        assert told["mao"] == pytest.approx(np.average(a, weights=v), rel=1e-4)
        assert told["mad"] == pytest.approx(np.average(b, weights=v), rel=1e-4)
        error = (v * (o / whole[0] + d / whole[1])).sum() + 0.01 * 2 * (len(trips) - v.sum())
        assert told["g_delta"] == pytest.approx(error)
