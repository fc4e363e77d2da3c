"""Rows of zone ids by the hundred million, from a file to a verified release: python -m benchmarks rows --rows 3e8.

Every person of an operator goes again and again the same few ways between the 300 zones of the synthetic city: that is
what makes a billion rows a table of visits that fits into memory. The file takes 5 bytes a row.
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.scale_stages import run_stages
from flowveil.synthetic import City

ROWS_A_PERSON = 50
WAYS = 5  # between two zones, of each person
BATCH = 1_000_000
STAGES = ("flows", "cube", "solve", "write", "verify")


def main():
    options = argparse.ArgumentParser(prog="benchmarks")
    options.add_argument("--rows", type=float, default=1e7, help="how many, e.g. 3e8")
    count = int(options.parse_known_args()[0].rows)
    with tempfile.TemporaryDirectory(prefix="benchmark-") as folder:
        path, zones = Path(folder) / "rows.parquet", Path(folder) / "zones.parquet"
        table = City().zones()
        pq.write_table(table, zones)
        write_rows(path, count, table["zone_id"].combine_chunks())
        print(
            f"{count:,} rows of zone ids, {path.stat().st_size / 1e9:.2f} GB of Parquet, k = 10 persons, --memory 4GB"
        )
        found = run_stages("zones", path, zones)
    print(f"{found['visits']:,} visits, {found['pairs']:,} pairs of zones, {found['published']:,} flows published")
    for name in STAGES:
        seconds, busy, peak = found["stages"][name]
        print(
            f"{name:>7} {busy:8.1f} s of the processor, {seconds:8.1f} s by the clock, peak {peak:7,.0f} MB", flush=True
        )


def write_rows(path, count, zones):
    """Write rows of origin, destination and person, many to few zones and few to many."""
    chance = np.random.default_rng(0)
    persons = max(count // ROWS_A_PERSON, 1)
    ends = (len(zones) * chance.random((2, persons * WAYS), np.float32) ** 3).astype(np.int16)
    schema = pa.schema({"origin": pa.string(), "destination": pa.string(), "person_id": pa.int64()})
    with pq.ParquetWriter(path, schema, use_dictionary=["origin", "destination"]) as writer:
        for start in range(0, count, BATCH):
            way = chance.integers(0, persons * WAYS, min(BATCH, count - start), np.int64)
            columns = [zones.take(pa.array(side[way])) for side in ends]
            writer.write_batch(pa.record_batch([*columns, pa.array(way // WAYS)], schema=schema))


if __name__ == "__main__":
    main()
