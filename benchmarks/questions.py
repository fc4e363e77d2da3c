"""How wrong answers to a reader's questions are, by hierarchy, loss and remainders: python -m benchmarks questions.

Districts are squares of 2 and 4 km. An answer comes from the release alone: trips of a flow are spread evenly over both
of its areas. What is asked: trips between districts, departures of a district, the ten strongest pairs of districts.
Errors are the sum of differences over the sum of true trips.
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import shapely

import flowveil as fv
from benchmarks.data import CABS, CABS_BBOX
from flowveil.synthetic import CITY_BBOX, write_city

KILOMETERS = (2, 4)
TOP = 10
SETTINGS = [
    ("mosaic", "h3", {}),
    ("mosaic", "h3-binary", {}),
    ("mosaic", "h3-binary", {"loss": "metres"}),
    ("mosaic", "lattice", {}),
    ("mosaic", "lattice", {"loss": "metres"}),
    ("mosaic", "lattice", {"remainders": True}),
    ("nested", "lattice", {}),
    ("glove-od", "h3", {}),
]
ENDS = ("start", "end")


def main():
    options = argparse.ArgumentParser(prog="benchmarks")
    options.add_argument("--peer", action="store_true", help="glove-od too: minutes")
    peer = options.parse_known_args()[0].peer
    settings = [setting for setting in SETTINGS if peer or setting[0] != "glove-od"]
    with tempfile.TemporaryDirectory() as folder:
        city = Path(folder) / "city.parquet"
        write_city(city, trips=300_000)
        sources = [("synthetic city, h3:9, k = 10, 10 %", city, "h3:9", CITY_BBOX)]
        if CABS.is_file():
            sources.append(("SF cabs, h3:10, k = 10, 10 %", CABS, "h3:10", CABS_BBOX))
        for title, path, grid, bbox in sources:
            ask(title, path, grid, bbox, settings)


def ask(title, path, grid, bbox, settings):
    """Print a table for one source."""
    print(title)
    columns = [column for km in KILOMETERS for column in (f"between {km} km", f"leave {km} km", f"top {TOP}, {km} km")]
    heads = " ".join(f"{column:>13}" for column in columns)
    print(f"  {'setting':32} {'gbar':>7} {'gdm, m':>7} {'e':>6} {'areas':>7} {heads}")
    asked = [(Districts(bbox, km), km) for km in KILOMETERS]
    truths = [districts.truth(path) for districts, _ in asked]
    for method, hierarchy, options in settings:
        flows = fv.build_flows(path, grid, bbox=bbox, hierarchy=hierarchy)
        release = fv.anonymize(flows, method, k=10, max_suppression=0.1, **options)
        metrics = release.metrics()
        answers = [districts.answers(release, truth) for (districts, _), truth in zip(asked, truths, strict=True)]
        name = " ".join([method, hierarchy, *(f"{key} {value}" for key, value in options.items())])
        shown = " ".join(f"{pairs:13.3f} {leave:13.3f} {top:13d}" for pairs, leave, top in answers)
        print(f"  {name:32} {measures(metrics)} {shown}", flush=True)


def measures(metrics):
    """Return precision, error in meters, error of counts and the number of areas, as text."""
    areas = metrics["origin_areas"] + metrics["destination_areas"]
    gdm = "" if metrics["gdm"]["mean"] is None else f"{metrics['gdm']['mean']:.0f}"
    e = "" if metrics["e"] is None else f"{metrics['e']:.3f}"
    return f"{metrics['gbar']:7.2f} {gdm:>7} {e:>6} {areas:7,}"


class Districts:
    """Squares of some kilometers over a bbox."""

    def __init__(self, bbox, kilometers):
        self.west, self.south, east, north = bbox
        self.height = kilometers / 111.32
        self.width = self.height / np.cos(np.radians((self.south + north) / 2))
        self.columns, self.rows = (
            int(np.ceil((high - low) / step))
            for low, high, step in ((self.west, east, self.width), (self.south, north, self.height))
        )

    def __len__(self):
        return self.columns * self.rows

    def table(self):
        """Return the squares as zones."""
        number = np.arange(len(self))
        west = self.west + number % self.columns * self.width
        south = self.south + number // self.columns * self.height
        shapes = shapely.box(west, south, west + self.width, south + self.height)
        return pa.table({"zone_id": number.astype(str), "geometry": shapely.to_wkb(shapes).tolist()})

    def truth(self, path):
        """Return the true trips between squares, as a matrix, of those that begin and end inside."""
        columns = pq.read_table(path, columns=[f"{end}_{axis}" for end in ENDS for axis in ("lon", "lat")])
        cells = []
        for end in ENDS:
            column = np.floor((columns[f"{end}_lon"].to_numpy() - self.west) / self.width).astype(int)
            row = np.floor((columns[f"{end}_lat"].to_numpy() - self.south) / self.height).astype(int)
            inside = (column >= 0) & (column < self.columns) & (row >= 0) & (row < self.rows)
            cells.append(np.where(inside, row * self.columns + column, -1))
        kept = (cells[0] >= 0) & (cells[1] >= 0)
        pair = cells[0][kept] * len(self) + cells[1][kept]
        return np.bincount(pair, minlength=len(self) ** 2).reshape(len(self), -1)

    def answers(self, release, truth):
        """Return the errors between districts and of departures, and how many of the strongest pairs are found."""
        flows = fv.reconstruct(release, self.table()).flows
        estimate = np.zeros_like(truth, float)
        ends = [np.array(flows[end].to_pylist()).astype(int) for end in ("origin", "destination")]
        np.add.at(estimate, tuple(ends), flows["trips"].to_numpy())
        off = np.abs(estimate - truth).sum() / truth.sum()
        leave = np.abs(estimate.sum(axis=1) - truth.sum(axis=1)).sum() / truth.sum()
        strongest = [set(np.argsort(-matrix.ravel(), kind="stable")[:TOP].tolist()) for matrix in (truth, estimate)]
        return off, leave, len(strongest[0] & strongest[1])


if __name__ == "__main__":
    main()
