"""Reading a release: errors between districts, and how often bounds hold: python -m benchmarks reading.

Districts are squares of 0.02 and 0.04 degrees; in New York, taxi zones whose centers lie in such a square. Errors are
the sum of differences over the sum of true trips, at 10 % left out. docs/reading.md says what
settings were chosen on.
"""

from __future__ import annotations

import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import shapely

import flowveil as fv
from benchmarks.data import CABS, CABS_BBOX, SHARED
from flowveil.synthetic import CITY_BBOX, write_city

DEGREES = (0.02, 0.04)
TAXIS, ZONES = SHARED / "nyc_tlc_green_trips_2020_2025.parquet", SHARED / "nyc_taxi_zones.parquet"
# Seed, trips, persons, grid and hierarchy of cities: sparse and dense, commuters and strangers.
CITIES = [
    (0, 300_000, None, "h3:9", "h3"),
    (1, 1_000_000, None, "h3:10", "h3"),
    (5, 450_000, 300_000, "h3:10", "h3"),
    (6, 450_000, 300_000, "h3:9", "lattice"),
]
MONTHS = ("2020-03", "2023-01", "2025-11")  # the first, the last, and one between
CABS_GRIDS = [("h3:10", "h3"), ("h3:10", "lattice")]


def main():
    only = [name for name in ("cities", "cabs", "taxis") if name in sys.argv]
    heads = [
        "even",
        "learned",
        "ratio",
        "bias",
        "bias",
        "always",
        "likely",
        "always",
        "likely",
        "wide",
        "of",
        "seconds",
    ]
    print(f"{'release':36} {'degrees':>7} " + " ".join(f"{head:>8}" for head in heads))
    if not only or "cities" in only:
        with tempfile.TemporaryDirectory() as folder:
            for seed, trips, persons, grid, hierarchy in CITIES:
                path = Path(folder) / "city.parquet"
                write_city(path, trips=trips, seed=seed, persons=persons)
                of_points(f"city {seed}, {trips:,} trips, {grid} {hierarchy}", path, grid, hierarchy, CITY_BBOX)
    if CABS.is_file() and (not only or "cabs" in only):
        for grid, hierarchy in CABS_GRIDS:
            of_points(f"SF cabs, {grid} {hierarchy}", CABS, grid, hierarchy, CABS_BBOX)
    if TAXIS.is_file() and (not only or "taxis" in only):
        of_taxis()


def of_points(title, path, grid, hierarchy, bbox):
    """Measure a release of trips with coordinates."""
    release = fv.anonymize(fv.build_flows(path, grid, bbox=bbox, hierarchy=hierarchy), k=10, max_suppression=0.1)
    for degrees in DEGREES:
        squares = Squares(bbox, degrees)
        measure(title, degrees, release, squares.table(), squares.truth(path))


def of_taxis():
    """Measure releases of trips between zones: districts are sets of zones.

    Of all months together 4.4 % of the trips go between zones with fewer than ten: with k = 10 no more is left out.
    """
    zones = pq.read_table(ZONES)
    zones = zones.filter(pc.is_valid(zones["geometry"]))
    for k in (10, 50):
        of_taxis_in(zones, f"NYC taxis, all months, k = {k}", None, k)
    for month in MONTHS:
        of_taxis_in(zones, f"NYC taxis, {month}", f"file_month = '{month}'", 10)


def of_taxis_in(zones, title, where, k):
    """Measure the release of some months."""
    table = fv.read_trips(TAXIS, where=where)
    release = fv.anonymize(fv.build_flows(table, zones=zones, hierarchy="ward"), k=k, max_suppression=0.1)
    bounds = shapely.total_bounds(shapely.from_wkb(zones["geometry"].to_pylist()))
    trips = pq.read_table(TAXIS, columns=["origin_zone", "destination_zone", "file_month"])
    if where is not None:
        trips = trips.filter(pc.equal(trips["file_month"], where.split("'")[1]))
    for degrees in DEGREES:
        squares = Squares(bounds, degrees)
        of = squares.cells(zones["centroid_lon"].to_numpy(), zones["centroid_lat"].to_numpy())
        shapes = shapely.from_wkb(np.array(zones["geometry"].to_pylist(), object))
        used = np.unique(of)
        merged = [shapely.to_wkb(shapely.union_all(shapes[of == cell])) for cell in used]
        place = {
            zone: int(np.searchsorted(used, cell)) for zone, cell in zip(zones["zone_id"].to_pylist(), of, strict=True)
        }
        ends = [
            np.array([place.get(zone, -1) for zone in trips[f"{end}_zone"].to_pylist()])
            for end in ("origin", "destination")
        ]
        known = (ends[0] >= 0) & (ends[1] >= 0)
        truth = np.bincount(ends[0][known] * len(used) + ends[1][known], minlength=len(used) ** 2).reshape(
            len(used), -1
        )
        table = pa.table({"zone_id": np.arange(len(used)).astype(str), "geometry": merged})
        measure(title, degrees, release, table, truth)


def measure(title, degrees, release, zones, truth):
    """Print errors and how often bounds hold."""
    errors, bias = {}, {}
    start = time.process_time()
    busy = truth >= 50
    for spread in ("even", "learned"):
        flows = fv.reconstruct(release, zones, spread=spread).flows
        trips = flows["trips"].to_numpy() + (flows["left_out"].to_numpy() if "left_out" in flows.column_names else 0)
        estimate = dense(flows, trips, truth.shape)
        errors[spread] = np.abs(estimate - truth).sum() / truth.sum()
        bias[spread] = (estimate - truth)[busy].sum() / truth[busy].sum()
    seconds = time.process_time() - start
    learned = fv_readable(release)
    between = learned.between(zones).table
    held = holds(between, truth, ("origin", "destination"))
    leave = holds(learned.departures(zones).table, truth.sum(axis=1)[:, None], ("zone",))
    figures = [errors["even"], errors["learned"], errors["learned"] / errors["even"], bias["even"], bias["learned"]]
    figures += [held[0], held[1], leave[0], leave[1], held[2], held[3], seconds]
    print(f"{title:36} {degrees:7} " + " ".join(f"{figure:8.3f}" for figure in figures), flush=True)


def fv_readable(release):
    """Return the release as a reader has it: without what is private."""
    return fv.Release(release.flows, release.areas, release.manifest)


def holds(table, truth, ends):
    """Return how often the truth lies inside sure and at most, and inside the likely range, of pairs with trips.

    Pairs that are not listed have no trip for sure, and at most what was left out.
    """

    def of(name, empty):
        values = np.full(truth.shape, empty, float)
        rows = [np.array(table[end].to_pylist()).astype(int) for end in ends] + [0] * (2 - len(ends))
        values[tuple(rows)] = table[name].to_numpy()
        return values

    rest = float(np.nanmin(table["at_most"].to_numpy()))
    sure, most, low, high = of("sure", 0), of("at_most", rest), of("likely_low", 0), of("likely_high", 1)
    used = truth > 0
    always = ((sure <= truth) & (truth <= most)).mean()
    likely = ((low <= truth) & (truth <= high))[used].mean()
    busy = truth >= 50
    return always, likely, np.median((high - low)[busy]), np.median(truth[busy])


def dense(flows, trips, shape):
    """Return estimates as a matrix."""
    matrix = np.zeros(shape)
    ends = [np.array(flows[end].to_pylist()).astype(int) for end in ("origin", "destination")]
    np.add.at(matrix, tuple(ends), trips)
    return matrix


class Squares:
    """Squares of some degrees over a box."""

    def __init__(self, bbox, degrees):
        self.west, self.south, east, north = bbox
        self.degrees = degrees
        self.columns, self.rows = (
            int(np.ceil((high - low) / degrees - 1e-9)) for low, high in ((self.west, east), (self.south, north))
        )

    def __len__(self):
        return self.columns * self.rows

    def cells(self, lon, lat):
        """Return the square of each point, -1 outside."""
        column, row = (
            np.floor((values - low) / self.degrees).astype(int) for values, low in ((lon, self.west), (lat, self.south))
        )
        inside = (column >= 0) & (column < self.columns) & (row >= 0) & (row < self.rows)
        return np.where(inside, row * self.columns + column, -1)

    def table(self):
        """Return the squares as zones."""
        number = np.arange(len(self))
        west, south = (
            self.west + number % self.columns * self.degrees,
            self.south + number // self.columns * self.degrees,
        )
        shapes = shapely.box(west, south, west + self.degrees, south + self.degrees)
        return pa.table({"zone_id": number.astype(str), "geometry": shapely.to_wkb(shapes).tolist()})

    def truth(self, path):
        """Return the true trips between squares, of those that begin and end inside."""
        trips = pq.read_table(path, columns=[f"{end}_{axis}" for end in ("start", "end") for axis in ("lon", "lat")])
        cells = [self.cells(trips[f"{end}_lon"].to_numpy(), trips[f"{end}_lat"].to_numpy()) for end in ("start", "end")]
        kept = (cells[0] >= 0) & (cells[1] >= 0)
        pair = cells[0][kept] * len(self) + cells[1][kept]
        return np.bincount(pair, minlength=len(self) ** 2).reshape(len(self), -1)


if __name__ == "__main__":
    main()
