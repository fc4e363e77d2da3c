"""v_target=auto of atg-dual and knapsack against a fine scan: ten matrices, and two days of New York by hour."""

from __future__ import annotations

import tempfile
import time
from pathlib import Path

import duckdb
import numpy as np

import flowveil as fv
from benchmarks import tracts
from benchmarks.data import SHARED
from flowveil._methods import find_method
from flowveil._methods.targets import AUTO, BALANCED, find_target
from flowveil._methods.volumes import origin_cut
from flowveil._problem import Problem, Requirement
from flowveil.synthetic import CITY_BBOX, write_city

TRIPS, ZONES = SHARED / "nyc_tlc_green_trips_2020_2025.parquet", SHARED / "nyc_taxi_zones.parquet"
SPANS = {  # from and to, in March 2020
    "NYC, an hour at night": ("2020-03-05 04:00", "2020-03-05 05:00"),
    "NYC, an hour at noon": ("2020-03-04 12:00", "2020-03-04 13:00"),
    "NYC, an hour at six": ("2020-03-04 18:00", "2020-03-04 19:00"),
    "NYC, a day": ("2020-03-04 00:00", "2020-03-05 00:00"),
    "NYC, a week": ("2020-03-02 00:00", "2020-03-09 00:00"),
}
DAYS = ("2020-03-04 00:00", "2020-03-06 00:00")
CITIES = ((5_000, "h3:8", None), (50_000, "h3:9", None), (50_000, "h3:9", "person_id"), (200_000, "quadtree:500", None))
METHODS = ("atg-dual", "knapsack")
FINE_STEPS = 200
MOST = 1.02  # times the best gbar of the fine scan


def main():
    with tempfile.TemporaryDirectory() as folder:
        matrices = dict(make_matrices(Path(folder)))
    print(f"v_target=auto against {FINE_STEPS} targets from k to all trips, k 10, 10 % suppression:")
    worst = max(compare(method, name, flows) for method in METHODS for name, flows in matrices.items())
    print(f"  worst gbar {worst:.4f} times that of the scan")
    assert worst <= MOST
    if TRIPS.is_file():
        hours()


def make_matrices(folder):
    """Yield names and flows of ten matrices of different size, of four without the shared data."""
    for count, grid, unit in CITIES:
        path = folder / f"{count}.parquet"
        write_city(path, trips=count)
        yield (
            f"city, {count:,}, {grid}{', persons' if unit else ''}",
            fv.build_flows(path, grid, bbox=CITY_BBOX, unit=unit),
        )
    if not TRIPS.is_file():
        return
    for name, span in SPANS.items():
        yield name, taxis(span)
    for query, source, name in (
        (tracts.FLOWS, "us_ri_lodes_2019_block_od.parquet", "flows.parquet"),
        (tracts.ZONES, "us_ri_blocks.parquet", "tracts.parquet"),
    ):
        duckdb.sql(query.format(source=SHARED / source)).write_parquet(str(folder / name))
    yield "LODES by tract", fv.build_flows(folder / "flows.parquet", zones=folder / "tracts.parquet")


def taxis(span, **options):
    """Return flows of green taxis from one moment to another."""
    start, end = span
    where = f"strftime(start_time, '%Y-%m') = file_month AND start_time >= '{start}' AND start_time < '{end}'"
    return fv.build_flows(fv.read_trips(TRIPS, where=where), zones=ZONES, **options)


def compare(method, name, flows):
    """Print what auto and balanced find, and return gbar of auto as a multiple of the best of a fine scan."""
    problem = Problem(flows, Requirement(10), flows.total // 10)
    best, cuts = fine_scan(method, problem)
    start = time.perf_counter()
    gbar, target, solved = choose(method, problem, AUTO)
    seconds = time.perf_counter() - start
    balanced, at, _ = choose(method, problem, BALANCED)
    print(f"  {method:8} {name:32} {flows.total:7,} trips: scan {best:8.3f} ({cuts:3} cuts)", end="")
    print(f", auto {gbar:8.3f} at {target:6.0f} ({gbar / best:.4f}; {solved} solved, {seconds:.2f} s)", end="")
    print(f", balanced {balanced:8.3f} at {at:6.0f}")
    return gbar / best


def choose(method, problem, rule):
    """Return gbar and target by a rule, and how many targets were solved for it."""
    solved = []

    def outcome(problem, target):
        solved.append(target)
        return find_method(method).outcome(problem, target)

    target = find_target(problem, rule, outcome)
    found = find_method(method).outcome(problem, target)
    return (found.origin + found.destination) / found.trips, target, len(solved)


def fine_scan(method, problem):
    """Return the least gbar of all targets, infinite if none works, and how many different origin cuts they give."""
    found = {}
    for target in np.geomspace(min(10, problem.flows.total), problem.flows.total, FINE_STEPS):
        areas = origin_cut(problem, target)[0].tobytes()
        if areas not in found:
            found[areas] = gbar_of(method, problem, target)
    return min(found.values()), len(found)


def works(method, problem):
    """Return whether any target of the fine scan works."""
    return np.isfinite(fine_scan(method, problem)[0])


def gbar_of(method, problem, target):
    """Return gbar at one target, infinite if it does not work."""
    try:
        found = find_method(method).outcome(problem, target)
    except fv.PromiseError:
        return float("inf")
    return (found.origin + found.destination) / found.trips if found.trips else float("inf")


def hours():
    """Print how many hours of two days are published, and how fine, with a target for each and with one for all."""
    flows = taxis(DAYS, time="1h")
    problem = Problem(flows, Requirement(10), flows.total // 10)
    parts = [problem.part(matrix) for matrix in range(flows.matrix_count)]
    for method in METHODS:
        ratios = [choose(method, part, AUTO)[0] / fine_scan(method, part)[0] for part in parts if works(method, part)]
        print(f"  NYC, two days by hour, {method}: {len(ratios)} of {len(parts)} matrices have a target that works;")
        print(f"    each with its own: gbar at most {max(ratios):.4f} times that of its scan")
        assert max(ratios) <= MOST
        for options in ({}, {"one_target": True}, {"v_target": BALANCED}, {"v_target": BALANCED, "one_target": True}):
            release = fv.anonymize(flows, method, options=options)
            print(f"    {' '.join(f'{key}={value}' for key, value in options.items()) or 'auto':36}", end="")
            metrics = release.metrics()
            withheld = metrics["matrices"]["withheld"]
            print(
                f"{len(parts) - withheld} published, gbar {metrics['gbar']:.2f}, {metrics['suppressed']:.2%} left out"
            )
            assert len(parts) - withheld >= len(ratios)


if __name__ == "__main__":
    main()
