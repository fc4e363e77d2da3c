"""mosaic where areas may be split in several ways, against one tree: python -m benchmarks families [--largest 1e7].

Seconds are of processor time, the least of three runs.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from pathlib import Path

import flowveil as fv
from benchmarks.data import SHARED, cab_flows
from flowveil._methods import mosaic
from flowveil._methods.cuts import mosaic_splits
from flowveil._methods.in_runs import steer_in_runs
from flowveil._problem import Problem, Requirement
from flowveil._processes import peak_memory
from flowveil.synthetic import CITY_BBOX, write_city

TREES = ("h3", "h3-binary", "lattice")
SIZES = (100_000, 1_000_000, 10_000_000)
REPEATS = 3
TRIPS, ZONES = SHARED / "nyc_tlc_green_trips_2020_2025.parquet", SHARED / "nyc_taxi_zones.parquet"
HEADER = f"{'hierarchy':10} {'cells':>11} {'splits':>11} {'cube':>8} {'solve':>8} {'flows':>8} {'together':>9}"


def main():
    options = argparse.ArgumentParser(prog="benchmarks")
    options.add_argument("--largest", type=float, default=1e6, help="trips of the largest city, e.g. 1e7")
    largest = options.parse_known_args()[0].largest
    print(f"  {HEADER}")
    compare("h3:10, k 10, 10 %", {name: cab_flows(hierarchy=name)[0] for name in TREES})
    for size in SIZES:
        if size <= largest:
            compare(f"synthetic city, {size:,} trips, h3:9", {name: city(size, name) for name in TREES[1:]})
    if TRIPS.is_file():
        where = "dayofweek(start_time) = 4 AND hour(start_time) = 18"
        one = {name: nyc(name, where=where) for name in ("ward", "many")}
        compare("NYC green taxis, one hour of the week", one)
        weeks()


def compare(title, flows):
    """Print cells and seconds of hierarchies, and how many times those of the last but one the last one takes."""
    print(title)
    seconds = {}
    for name, of in flows.items():
        seconds[name] = measure(name, of)
    *_, before, last = seconds.values()
    print(f"  {last / before:.2f} times")


def measure(name, flows):
    """Print a line, and return seconds."""
    times = []
    for _ in range(REPEATS + 1):  # the first one also compiles
        problem = Problem(flows, Requirement(10), flows.total // 10, several=True)
        start = time.process_time()
        cube = problem.cube
        built = time.process_time()
        cut = steer_in_runs(problem, mosaic_splits)
        solved = time.process_time()
        mosaic.solution_of(problem, cut)
        times.append((built - start, solved - built, time.process_time() - solved))
    parts = [min(column) for column in zip(*times[1:], strict=True)]
    counts = f"{len(cube):11,} {len(cube.links.axis):11,}"
    print(f"  {name:10} {counts} {' '.join(f'{part:6.2f} s' for part in parts)} {sum(parts):7.2f} s", flush=True)
    return sum(parts[:2])


def city(size, hierarchy):
    """Return the flows of a synthetic city."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "city.parquet"
        write_city(path, trips=size)
        return fv.build_flows(path, "h3:9", bbox=CITY_BBOX, hierarchy=hierarchy)


def nyc(hierarchy, **options):
    """Return the flows of green taxis between zones."""
    trips = fv.read_trips(TRIPS, where=options.pop("where", None))
    return fv.build_flows(trips, zones=ZONES, hierarchy=hierarchy, **options)


def weeks():
    """Print what all hours of the week take, never with all cells at once."""
    flows = nyc("many", time="hour-of-week")
    problem = Problem(flows, Requirement(10), flows.total // 10, several=True)
    before, wall, start = peak_memory(), time.perf_counter(), time.process_time()
    mosaic.solve(problem)
    seconds, wall = time.process_time() - start, time.perf_counter() - wall
    more = peak_memory() - before
    print(
        f"NYC green taxis, {flows.matrix_count} hours of the week, many: {seconds:.1f} s ({wall:.1f} s), {more:,.0f} MB"
    )


if __name__ == "__main__":
    main()
