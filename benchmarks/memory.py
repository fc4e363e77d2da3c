"""Peaks of memory against what `--memory` is checked with: python -m benchmarks memory [--largest 1e7].

Every case runs in a process of its own; peaks are counted from what Python and its libraries have before.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path

import pyarrow.parquet as pq

import flowveil as fv
from flowveil._engine import visits
from flowveil._options import REST
from flowveil._problem import memory, search
from flowveil._processes import peak_memory
from flowveil.synthetic import CITY_BBOX, write_city

CASES = [  # trips, grid, unit, k
    (1_000_000, "h3:10", "person_id", 10),
    (1_000_000, "h3:10", "", 10),
    (1_000_000, "h3:10", "person_id", 3),
    (10_000_000, "h3:10", "person_id", 10),
    (10_000_000, "h3:10", "", 10),
    (10_000_000, "h3:9", "person_id", 10),
]
MEMORY = "1GB"
COLUMNS = ("visits", "pairs", "cells", "flows MB", "solving MB", "estimate", "writing MB", "estimate")


def main():
    options = argparse.ArgumentParser(prog="benchmarks")
    options.add_argument("--largest", type=float, default=1e6, help="trips of the largest city, e.g. 1e7")
    largest = options.parse_known_args()[0].largest
    print("| trips | grid | unit | k | " + " | ".join(COLUMNS) + " |\n|" + "---|" * (4 + len(COLUMNS)))
    with tempfile.TemporaryDirectory(prefix="benchmark-") as folder:
        for trips, grid, unit, k in CASES:
            path = Path(folder) / f"{trips}.parquet"
            if trips > largest:
                continue
            if not path.exists():
                write_city(path, trips=trips)
            command = [sys.executable, "-m", "benchmarks.memory", path, grid, unit, str(k)]
            done = subprocess.run(command, check=True, capture_output=True, text=True)  # noqa: S603  our own module
            cells = [
                f"{trips:,}",
                grid,
                unit or "trip",
                str(k),
                *(f"{value:,.0f}" for value in json.loads(done.stdout)),
            ]
            print(f"| {' | '.join(cells)} |", flush=True)


def measure(path, grid, unit, k):
    """Return counts, then peaks in MB with their estimates: the last of those that are made on the way."""
    options = {"unit": unit or None, "bbox": CITY_BBOX}
    few = next(pq.ParquetFile(path).iter_batches(20_000))
    with tempfile.TemporaryDirectory(prefix="benchmark-") as folder:
        fv.anonymize(fv.build_flows(few, "h3:8", **options), k=2).write(Path(folder) / "few")  # compiles, loads
        start_again()
        base = peak_memory()
        later, solve, cells = [], [], []
        visits.check_memory = lambda _, needed, *__: later.append((needed + REST) / 1e6)
        memory.check_memory = lambda _, needed, *__: solve.append((needed + REST) / 1e6)
        check_cells = search.check_cells
        search.check_cells = lambda flows, count, splits: cells.append(count) or check_cells(flows, count, splits)
        flows = fv.build_flows(path, grid, memory=MEMORY, **options)
        reading = start_again() - base
        release = fv.anonymize(flows, k=int(k))
        solving = start_again() - base
        release.write(Path(folder) / "out")
        writing = peak_memory() - base
    number = 0 if flows.people is None else len(flows.people.pair)
    return [number, len(flows), cells[-1], reading, solving, solve[-1], writing, later[-1]]


def start_again():
    """Return the peak so far, and let Linux begin a new one."""
    peak = peak_memory()
    Path("/proc/self/clear_refs").write_text("5")
    return peak


if __name__ == "__main__":
    print(json.dumps(measure(*sys.argv[1:])))
