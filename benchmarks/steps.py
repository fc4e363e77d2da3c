"""NYC green taxis by hour of the week and by calendar hour: many matrices in one release, on one core and on two."""

from __future__ import annotations

import os
import subprocess
import sys
import time

import flowveil as fv
from benchmarks.data import SHARED
from flowveil._methods import find_method
from flowveil._problem import Problem, Requirement

TRIPS, ZONES = SHARED / "nyc_tlc_green_trips_2020_2025.parquet", SHARED / "nyc_taxi_zones.parquet"
STEPS = ("hour-of-week", "1h")


def main():
    if not TRIPS.is_file():
        print("steps: no NYC trips here, skipped")
        return
    for step in STEPS:
        seconds = {}
        for cores in (1, 2):
            command = [sys.executable, "-m", "benchmarks.steps", step, str(cores)]
            line = subprocess.run(command, check=True, capture_output=True, text=True).stdout  # noqa: S603
            matrices, cells, *parts = line.split()
            seconds[cores] = [float(part) for part in parts]
        one, two = sum(seconds[1]), sum(seconds[2])
        print(f"NYC green taxis, {step}: {int(matrices):,} matrices, {int(cells):,} cells")
        print(f"  cube and solve on one core  {seconds[1][0]:.2f} s + {seconds[1][1]:.2f} s")
        print(
            f"  cube and solve on two cores {seconds[2][0]:.2f} s + {seconds[2][1]:.2f} s, {one / two:.2f} times faster"
        )


def measure(step, cores):
    """Print matrices, cells, and the best seconds of seven for cube and solve, on so many cores."""
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:cores])
    flows = fv.build_flows(TRIPS, zones=ZONES, time=step)
    best = []
    for _ in range(8):  # the first one also loads compiled code
        problem = Problem(flows, Requirement(10), flows.total // 10)
        start = time.perf_counter()
        cells = len(problem.cube)
        middle = time.perf_counter()
        find_method("mosaic").run(problem, {})
        best.append((middle - start, time.perf_counter() - middle))
    cube, solve = (min(seconds) for seconds in zip(*best[1:], strict=True))
    print(flows.matrix_count, cells, cube, solve)


if __name__ == "__main__":
    measure(sys.argv[1], int(sys.argv[2]))
