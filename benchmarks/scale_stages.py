"""The stages of a release, measured in this process: python -m benchmarks.scale_stages release|ingest|pandas FILE."""

from __future__ import annotations

import json
import os
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq

import flowveil as fv
from flowveil._engine.duckdb import connection
from flowveil._engine.keys import Tally, key_batches
from flowveil._flows.build import make_request
from flowveil._places import choose_places
from flowveil._places.h3index import cells_of_points, cells_of_points_reference
from flowveil._problem import problem
from flowveil._processes import peak_memory
from flowveil.synthetic import CITY_BBOX

MEMORY = "4GB"
SAMPLE = 2_000_000  # points that the floor is measured on
CHUNK = 131_072


def main(stage, path):
    print(json.dumps({"release": release, "ingest": ingest, "pandas": pandas}[stage](path)))


def release(path):
    """Make a release and verify it."""
    fv.anonymize(fv.build_flows(first_trips(path), "h3:8"))  # compiles
    found = floor(path) | ingest(path)
    cube = []
    build = problem.build_cube

    def timed_build(problem):
        seconds, result = timed(lambda: build(problem))
        cube.append(seconds)
        return result

    problem.build_cube = timed_build
    before = time.process_time()
    found["flows"], flows = timed(
        lambda: fv.build_flows(path, "h3:10", bbox=CITY_BBOX, unit="person_id", memory=MEMORY)
    )
    found["cores"] = (time.process_time() - before) / found["flows"]
    found["pairs"], found["visits"] = len(flows), len(flows.people.pair)
    seconds, made = timed(lambda: fv.anonymize(flows))
    found |= {"cube": sum(cube), "solve": seconds - sum(cube)}
    with tempfile.TemporaryDirectory(prefix="benchmark-") as folder:
        found["write"], _ = timed(lambda: made.write(Path(folder) / "out"))
        found["verify"], _ = timed(lambda: fv.verify(Path(folder) / "out", path))
    found["peak"] = peak_memory()  # no other process takes part
    return found


def ingest(path):
    """Read, clean and index every trip, and forget it."""
    places = choose_places("h3:10", None, None, None, CITY_BBOX, {})
    request = make_request(fv.read_trips(path), places, "person_id", None, CITY_BBOX)
    fv.build_flows(first_trips(path), "h3:8")  # loads what is loaded late
    cores = len(os.sched_getaffinity(0))

    def run():
        with connection(MEMORY) as con:
            con.execute(f"SET threads = {cores}")
            batches = key_batches(con, request, places.index, None, Tally(), cores=cores)
            return sum(batch.num_rows for batch in batches)

    seconds, _ = timed(run)
    return {"ingest": seconds}


def floor(path):
    """Return how many points a second the bare index does: on all cores, on one thread, and in a plain loop."""
    names = ("start_lon", "start_lat")
    table = next(pq.ParquetFile(path).iter_batches(SAMPLE, columns=names))
    lon, lat = (np.resize(table[name].to_numpy(), SAMPLE) for name in names)
    cores = os.cpu_count()

    def chunk(start):
        return cells_of_points(lon[start : start + CHUNK], lat[start : start + CHUNK], 10)

    with ThreadPoolExecutor(cores) as pool:
        many = min(timed(lambda: list(pool.map(chunk, range(0, SAMPLE, CHUNK))))[0] for _ in range(3))
    one, _ = timed(lambda: [chunk(start) for start in range(0, SAMPLE, CHUNK)])
    plain, _ = timed(lambda: cells_of_points_reference(lon[:CHUNK], lat[:CHUNK], 10))
    return {"floor": SAMPLE / many, "floor one thread": SAMPLE / one, "plain loop": CHUNK / plain}


def pandas(path):
    """Count the same with pandas, and h3 point by point."""
    import pandas as pd

    def run():
        frame = pd.read_parquet(path)
        for name, end in (("origin", "start"), ("destination", "end")):
            points = (frame[f"{end}_{axis}"].to_numpy() for axis in ("lon", "lat"))
            frame[name] = cells_of_points_reference(*points, 10)
        return frame.groupby(["origin", "destination"]).agg(trips=("trip_id", "size"), persons=("person_id", "nunique"))

    return {"pandas": timed(run)[0]}


def first_trips(path):
    return next(pq.ParquetFile(path).iter_batches(20_000))


def timed(work):
    start = time.perf_counter()
    result = work()
    return time.perf_counter() - start, result


if __name__ == "__main__":
    main(*sys.argv[1:])
