"""Spark against DuckDB, from trips to flows: python -m benchmarks engines [--largest 1e7].

Spark runs on this machine (`local[*]`): its session, its shuffle and handing rows to and fro come on top of the same
work. So it never pays here; how many times the processor time it takes is how many times the cores a cluster needs.
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path

from benchmarks.scale_stages import run_stages
from flowveil.synthetic import write_city

SIZES = (100_000, 1_000_000, 10_000_000)
ENGINES = ("duckdb", "spark")


def main():
    options = argparse.ArgumentParser(prog="benchmarks")
    options.add_argument("--largest", type=float, default=1e6, help="trips of the largest size, e.g. 1e7")
    largest = options.parse_known_args()[0].largest
    print("from trips to flows, h3:10, unit person, session included: seconds of the processor (by the clock)")
    print(f"{'trips':>12} {'duckdb':>18} {'spark':>18} {'times':>7}  same flows")
    for size in (size for size in SIZES if size <= largest):
        with tempfile.TemporaryDirectory(prefix="benchmark-") as folder:
            path = Path(folder) / "city.parquet"
            write_city(path, trips=size)
            found = [run_stages(engine, path) for engine in ENGINES]
        taken = [f"{one['taken'][1]:9.1f} ({one['taken'][0]:6.1f})" for one in found]
        times = found[1]["taken"][1] / found[0]["taken"][1]
        print(
            f"{size:12,} {taken[0]:>18} {taken[1]:>18} {times:6.1f}x  {found[0]['flows'] == found[1]['flows']}",
            flush=True,
        )


if __name__ == "__main__":
    main()
