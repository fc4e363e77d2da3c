"""NYC green taxis by hour of the week: every matrix by itself, mosaic against nested against ATG-Dual."""

from __future__ import annotations

import time

import numpy as np

import flowveil as fv
from benchmarks.data import SHARED
from flowveil._flows import add_by_group
from flowveil._methods import find_method
from flowveil._problem import Problem, Requirement

LEAST_TRIPS = 5_000
METHODS = ("mosaic", "nested", "atg-dual")


def main():
    trips, zones = SHARED / "nyc_tlc_green_trips_2020_2025.parquet", SHARED / "nyc_taxi_zones.parquet"
    if not trips.is_file():
        print("hours: no NYC trips here, skipped")
        return
    clean = "strftime(start_time, '%Y-%m') = file_month"  # a few clocks were wrong by years
    found = {method: [] for method in METHODS}
    seconds = dict.fromkeys(METHODS, 0.0)
    for hour in range(168):
        day, clock = divmod(hour, 24)
        where = f"{clean} AND isodow(start_time) = {day + 1} AND hour(start_time) = {clock}"
        try:
            flows = fv.build_flows(fv.read_trips(trips, where=where), zones=zones)
        except fv.InputError:
            continue
        if flows.total < LEAST_TRIPS:
            continue
        for method in METHODS:
            start = time.perf_counter()
            solution = find_method(method).solve(Problem(flows, Requirement(10), flows.total // 10))
            seconds[method] += time.perf_counter() - start
            found[method].append(gbar(flows, solution))
    count = len(found["mosaic"])
    print(f"NYC green taxis, {count} hours of the week with at least {LEAST_TRIPS:,} trips, k 10, 10 % each:")
    for method in METHODS:
        print(f"  {method:9} mean gbar {sum(found[method]) / count:.3f}, {seconds[method] / count:.3f} s a matrix")
    pairs = (("mosaic", "nested"), ("nested", "atg-dual"))
    for fine, coarse in pairs:
        held = sum(a <= b for a, b in zip(found[fine], found[coarse], strict=True))
        print(f"  {fine} <= {coarse} in {held} of {count}")


def gbar(flows, solution):
    """Return the mean tiles of both ends over published trips."""
    trips = add_by_group(solution.group, flows.trips, len(solution.origin))
    tiles = flows.origins.tiles[solution.origin] + flows.destinations.tiles[solution.destination]
    return float(np.average(tiles, weights=trips))
