"""The first map of a report against the truth: rank correlation of what it shows with true departures, tile by tile.

python -m benchmarks map prints the rows of docs/report.md "How true the map is". It asks the page, in a browser.
"""

from __future__ import annotations

import shutil
import tempfile
from collections import Counter
from pathlib import Path

import h3
import numpy as np
import pyarrow.parquet as pq
from playwright.sync_api import sync_playwright

from benchmarks.data import CABS
from flowveil import anonymize, build_flows
from flowveil.synthetic import CITY_BBOX, write_city

FLAGS = ["--headless", "--no-sandbox", "--disable-gpu"]


def main():
    print("rank correlation of the map with true departures")
    with tempfile.TemporaryDirectory() as folder:
        city = Path(folder) / "city.parquet"
        write_city(city, trips=200_000, persons=5_000)
        measure("synthetic city", city, Path(folder) / "out", "h3:9", bbox=CITY_BBOX, unit="person_id")
        if CABS.is_file():
            measure("SF cabs", CABS, Path(folder) / "cabs", "h3:10")


def measure(name, trips, folder, grid, **options):
    """Print how the ranks of tiles on the map agree with those of their true departures."""
    anonymize(build_flows(trips, grid, **options)).write(folder, report=True)
    table = pq.read_table(trips, columns=["start_lat", "start_lon"])
    starts = zip(table["start_lat"].to_pylist(), table["start_lon"].to_pylist(), strict=True)
    true = Counter(h3.latlng_to_cell(lat, lon, int(grid[3:])) for lat, lon in starts)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=FLAGS)
        page = browser.new_page()
        page.goto((folder / "report.html").as_uri())
        shown = page.evaluate(
            "(places) => places.map(([lat, lon]) => flowveil.density(lon, lat))", [h3.cell_to_latlng(c) for c in true]
        )
        browser.close()
    agreement = np.corrcoef(ranks(list(true.values())), ranks(shown))[0, 1]
    print(f"  {name}, {grid}: {agreement:.2f} over {len(true):,} tiles with a departure")


def ranks(values):
    """Return ranks, the mean of their ranks for equal values."""
    _, place, count = np.unique(values, return_inverse=True, return_counts=True)
    return (np.cumsum(count) - (count - 1) / 2)[place]
