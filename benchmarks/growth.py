"""How the cost of a mosaic release grows with the number of trips, stage by stage, on the synthetic city."""

from __future__ import annotations

import math
import tempfile
import time
from pathlib import Path

import flowveil as fv
from benchmarks.plot import growth_svg
from flowveil.synthetic import CITY_BBOX, write_city

SIZES = (100_000, 300_000, 1_000_000, 3_000_000, 10_000_000)
PICTURE = Path(__file__).parents[1] / "docs" / "pictures" / "growth.svg"


def main():
    rows = []
    print("mosaic on the synthetic city, h3:10, k = 10 persons; seconds")
    print(f"{'trips':>12} {'read':>8} {'solve':>8} {'n log n':>8} {'flows in':>12} {'flows out':>10}")
    fv.anonymize(_flows(10_000))  # compile first
    for size in SIZES:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "city.parquet"
            write_city(path, trips=size)
            start = time.perf_counter()
            flows = fv.build_flows(path, "h3:10", bbox=CITY_BBOX, unit="person_id")
            read = time.perf_counter() - start
        start = time.perf_counter()
        release = fv.anonymize(flows)
        solve = time.perf_counter() - start
        rows.append((size, read, solve))
        first = rows[0]
        expected = (first[1] + first[2]) * size * math.log(size) / (first[0] * math.log(first[0]))
        print(f"{size:12,} {read:8.2f} {solve:8.2f} {expected:8.2f} {len(flows):12,} {release.flows.num_rows:10,}")
    PICTURE.write_text(growth_svg(rows), encoding="utf-8")


def _flows(size):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "city.parquet"
        write_city(path, trips=size)
        return fv.build_flows(path, "h3:10", bbox=CITY_BBOX, unit="person_id")
