"""Five tasks of an office, from files as they come to a verified release: python -m benchmarks workflows.

The shared data has no bikes, no wide matrix and no fixes. So its trips are written in these layouts first: cab trips as
two months of a bike-sharing system (every tenth trip without a station, another encoding and other line ends in the
second month) and as cabspotting's files of fixes; commuters between towns as a wide matrix. Nothing is edited then.
"""

from __future__ import annotations

import contextlib
import io
import os
import sys
import tempfile
import time
from pathlib import Path

import duckdb
import geopandas
import numpy as np
import shapely

from benchmarks.data import CABS, SHARED
from flowveil._cli.commands import run

TAXIS, TAXI_ZONES = SHARED / "nyc_tlc_green_trips_2020_2025.parquet", SHARED / "nyc_taxi_zones.parquet"
JOBS, BLOCKS = SHARED / "us_ri_lodes_2019_block_od.parquet", SHARED / "us_ri_blocks.parquet"
BIKES = """SELECT trip_id AS ride_id,
strftime(start_time, '%Y-%m-%d %H:%M:%S') AS started_at, 'Café' AS start_station_name,
CASE WHEN trip_id % 10 > 0 THEN 'S' || trip_id % 700 END AS start_station_id, 'S1' AS end_station_id,
start_lat, start_lon AS start_lng, end_lat, end_lon AS end_lng
FROM (SELECT * REPLACE (row_number() OVER () AS trip_id) FROM '{source}') WHERE month(start_time) = {month}"""
TOWNS = """PIVOT (SELECT a.town AS home, b.town AS work, j.count FROM '{jobs}' j
JOIN '{blocks}' a ON a.block_id = j.origin_zone
JOIN '{blocks}' b ON b.block_id = j.destination_zone WHERE a.town IS NOT NULL AND b.town IS NOT NULL)
ON work USING sum(count) GROUP BY home ORDER BY home"""


def main():
    if not CABS.is_file():
        print("workflows: no shared data here, skipped")
        return
    with tempfile.TemporaryDirectory() as folder:
        here = Path.cwd()
        os.chdir(folder)
        try:
            _bikes()
            _months_of_taxis()
            _commuters()
            _wide_matrix()
            _fixes()
        finally:
            os.chdir(here)


def _bikes():
    """Take two months of bikes, in districts of the user's own, a GeoPackage in meters."""
    for month, end in ((5, "\n"), (6, "\r\n")):
        text = duckdb.sql(BIKES.format(source=CABS, month=month)).df().to_csv(index=False, lineterminator=end)
        Path(f"bikes-2008{month:02}.csv").write_bytes(text.encode("utf-8" if month == 5 else "cp1252"))
    squares = [
        shapely.box(x, y, x + 0.01, y + 0.01)
        for x in np.arange(-122.55, -122.3, 0.01)
        for y in np.arange(37.6, 37.9, 0.01)
    ]
    names = [f"D{number}" for number in range(len(squares))]
    geopandas.GeoDataFrame({"id": names}, geometry=squares, crs=4326).to_crs(26910).to_file("districts.gpkg")
    _release(
        "two months of bikes", "bikes-*.csv", "--zones", "districts.gpkg", "--hierarchy", "ward", "--time", "month"
    )


def _months_of_taxis():
    """Take 24 months by zone that can be compared, and with areas for each month."""
    asked = ["--zones", TAXI_ZONES, "--hierarchy", "ward", "--time", "month", "--timezone", "America/New_York"]
    _release("24 months, same areas", TAXIS, *asked, "--same-areas")
    _release("24 months, free areas", TAXIS, *asked)


def _commuters():
    """Take a table of counted persons, and one of what lies in what."""
    duckdb.sql(f"COPY (SELECT block_id, tract_id, town, county FROM '{BLOCKS}') TO 'blocks.csv'")
    names = "origin_zone AS h_geocode, destination_zone AS w_geocode, count AS S000"
    duckdb.sql(f"COPY (SELECT {names} FROM '{JOBS}') TO 'jobs.csv'")
    asked = ["--zones", "blocks.csv", "--hierarchy", "block_id,tract_id,town,county", "--counts", "persons"]
    _release("commuters, no shapes", "jobs.csv", *asked)


def _wide_matrix():
    """Take towns by towns, with semicolons; towns are points."""
    table = duckdb.sql(TOWNS.format(jobs=JOBS, blocks=BLOCKS)).df()
    table.to_csv("towns.csv", sep=";", index=False, encoding="utf-16")
    points = (
        f"SELECT town AS zone, avg(lon) AS lon, avg(lat) AS lat FROM '{BLOCKS}' WHERE town IS NOT NULL GROUP BY town"
    )
    duckdb.sql(f"COPY ({points}) TO 'points.csv'")
    _release("wide matrix", "towns.csv", "--zones", "points.csv", "--hierarchy", "ward")


def _fixes():
    """Take occupied fixes of cabs, an empty one after each ride, in a file for each cab, the last fix first."""
    Path("cabs").mkdir()
    start, end = (f"{name}_lat, {name}_lon, epoch({name}_time)::BIGINT" for name in ("start", "end"))
    trips = duckdb.sql(f"SELECT vehicle_id, {start}, {end} FROM '{CABS}' ORDER BY 1, 4 DESC")
    cabs = {}
    for cab, start_lat, start_lon, start, end_lat, end_lon, end in trips.fetchall():
        lines = cabs.setdefault(cab, [])
        lines += [
            f"{end_lat} {end_lon} 0 {end + 1}",
            f"{end_lat} {end_lon} 1 {end}",
            f"{start_lat} {start_lon} 1 {start}",
        ]
    for cab, lines in cabs.items():
        Path(f"cabs/new_{cab}.txt").write_text("\n".join(lines) + "\n")
    start = time.process_time()
    said = _typed("trips", "cabs", "-o", "trips.parquet", "--max-gap", "6h")
    told = next(line for line in said.splitlines() if " trips of " in line)
    print(f"trips of fixes: {time.process_time() - start:.1f} s; {told}")
    _release(
        "raw fixes", "trips.parquet", "--unit", "user_id", "--bbox", "-122.55,37.6,-122.3,37.9", "--hierarchy", "h3"
    )


def _release(name, source, *asked):
    """Make and verify a release, and print what it is; seconds are those of the processor."""
    start = time.process_time()
    said = _typed("anonymize", source, "-o", "out", "--overwrite", *asked)
    made = time.process_time()
    _typed("verify", "out", "--against", source)
    print(f"{name}: {made - start:.1f} s, verified in {time.process_time() - made:.1f} s")
    print(
        "".join(
            f"  {line}\n"
            for line in said.splitlines()
            if " flows between " in line or "generalization" in line or "pairs of tiles" in line
        ),
        end="",
    )


def _typed(*words):
    """Run a command as it is typed, and return what it says; stop if it fails."""
    said = io.StringIO()
    with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
        code = run([str(word) for word in words])
    if code:
        sys.exit(f"{' '.join(map(str, words))}\n{said.getvalue()}")
    return said.getvalue()
