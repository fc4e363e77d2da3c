"""Methods that solve each matrix by itself, on one core and on two: NYC green taxis, else the synthetic city."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import flowveil as fv
from benchmarks.data import SHARED
from flowveil._methods import find_method
from flowveil._problem import Problem, Requirement
from flowveil.synthetic import write_city

TRIPS, ZONES = SHARED / "nyc_tlc_green_trips_2020_2025.parquet", SHARED / "nyc_taxi_zones.parquet"
CASES = (("atg-dual", "1d"), ("knapsack", "1d"), ("odkanon", "6h"))


def main():
    for method, step in CASES:
        seconds, results = {}, set()
        for cores in (1, 2):
            command = [sys.executable, "-m", "benchmarks.each", method, step, str(cores)]
            matrices, found, result = subprocess.run(command, check=True, capture_output=True, text=True).stdout.split()  # noqa: S603
            seconds[cores] = float(found)
            results.add(result)
        name = "NYC green taxis" if TRIPS.is_file() else "synthetic city"
        print(f"{name}, {step}, {method}: {int(matrices):,} matrices")
        same = "same result" if len(results) == 1 else "RESULTS DIFFER"
        ratio = seconds[1] / seconds[2]
        print(f"  one core {seconds[1]:.1f} s, two {seconds[2]:.1f} s, {ratio:.2f} times faster, {same}")


def measure(method, step, cores):
    """Print matrices, seconds to solve them on so many cores, and a digest of what was found."""
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:cores])
    flows = make_flows(step)
    problem = Problem(flows, Requirement(10), flows.total // 10)
    find_method(method).run(problem.part(flows.matrix_count // 2), {})  # loads compiled code
    start = time.perf_counter()
    solution = find_method(method).run(problem, {})
    seconds = time.perf_counter() - start
    digest = hashlib.sha256(b"".join([solution.origin, solution.destination, solution.group, solution.matrix]))
    print(flows.matrix_count, seconds, digest.hexdigest())


def make_flows(step):
    """Return flows with a matrix a step of time."""
    if TRIPS.is_file():
        return fv.build_flows(TRIPS, zones=ZONES, time=step)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "city.parquet"
        write_city(path, trips=2_000_000)
        return fv.build_flows(path, "h3:8", time="hour-of-week", by=["sex"])


if __name__ == "__main__":
    measure(sys.argv[1], sys.argv[2], int(sys.argv[3]))
