"""Rhode Island commuters by census tract: python -m benchmarks.tracts FOLDER writes flows and zones for comparisons."""

from __future__ import annotations

import sys
from pathlib import Path

import duckdb

from benchmarks.data import SHARED

FLOWS = """
    SELECT substr(origin_zone, 1, 11) AS origin, substr(destination_zone, 1, 11) AS destination,
        CAST(sum("count") AS BIGINT) AS "count"
    FROM '{source}' GROUP BY ALL ORDER BY ALL"""
ZONES = """
    SELECT substr(block_id, 1, 11) AS zone_id, avg(lon) AS lon, avg(lat) AS lat
    FROM '{source}' GROUP BY ALL ORDER BY ALL"""


def main():
    if len(sys.argv) != 2:
        sys.exit("usage: python -m benchmarks.tracts FOLDER")
    folder = Path(sys.argv[1])
    folder.mkdir(exist_ok=True)
    for query, source, name in (
        (FLOWS, "us_ri_lodes_2019_block_od.parquet", "flows.parquet"),
        (ZONES, "us_ri_blocks.parquet", "tracts.parquet"),
    ):
        duckdb.sql(query.format(source=SHARED / source)).write_parquet(str(folder / name))


if __name__ == "__main__":
    main()
