"""Reading and counting: flowveil against pandas with the h3 package, and against the bare index."""

from __future__ import annotations

import tempfile
import time
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow.parquet as pq

import flowveil as fv
from flowveil._places.h3index import cells_of_points, cells_of_points_reference
from flowveil.synthetic import CITY_BBOX, write_city

TRIPS = 1_000_000
ENDS = (("start_lon", "start_lat"), ("end_lon", "end_lat"))


def main():
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "city.parquet"
        write_city(path, trips=TRIPS)
        ours, flows = _timed(lambda: fv.build_flows(path, "h3:10", bbox=CITY_BBOX, unit="person_id"))
        plain, counted = _timed(lambda: _pandas(path))
        table = pq.read_table(path)
        points = [np.concatenate([table[end[axis]].to_numpy() for end in ENDS]) for axis in (0, 1)]
        bare, _ = _timed(lambda: cells_of_points(*points, 10))
    assert len(counted) == len(flows)
    assert int(counted["trips"].sum()) == flows.total
    print(f"reading {TRIPS:,} trips to {len(flows):,} flows with distinct persons, h3:10")
    print(f"  flowveil {ours:.1f} s; pandas and h3 point by point {plain:.1f} s: {plain / ours:.1f} times")
    print(f"  bare index of all points on one thread {bare:.1f} s: {bare / ours:.0%} of the whole")


def _pandas(path):
    frame = pd.read_parquet(path)
    for name, (lon, lat) in zip(("origin", "destination"), ENDS, strict=True):
        frame[name] = cells_of_points_reference(frame[lon].to_numpy(), frame[lat].to_numpy(), 10)
    groups = frame.groupby(["origin", "destination"])
    return groups.agg(trips=("trip_id", "size"), persons=("person_id", "nunique"))


def _timed(work):
    start = time.perf_counter()
    result = work()
    return time.perf_counter() - start, result
