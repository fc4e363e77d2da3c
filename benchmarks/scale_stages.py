"""The stages of a release, measured in this process: python -m benchmarks.scale_stages STAGE FILE."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from pathlib import Path

import numpy as np
import psutil
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
POINTS = {"grid": "h3:10", "hierarchy": "h3", "bbox": CITY_BBOX}


def main(stage, *paths):
    known = {
        "release": release,
        "zones": zones,
        "verify": verify,
        "pandas": pandas,
        "duckdb": count,
        "spark": partial(count, engine="spark"),
    }
    print(json.dumps(known[stage](*paths)))


def release(path):
    """Make a release of trips with coordinates, and verify it."""
    few = first_trips(path)
    fv.anonymize(fv.build_flows(few, "h3:8", hierarchy="h3"))  # compiles
    stages = Stages()
    reading = ingesting(path)
    stages.measure("ingest", reading)
    return floor(path) | make(path, stages, POINTS)


def zones(path, table):
    """Make a release of trips between zones, and verify it; table: the file of the zones."""
    options = {"zones": table, "hierarchy": "zone_id,district,region"}
    few = first_trips(path)
    fv.anonymize(fv.build_flows(few, **options))  # compiles
    return make(path, Stages(), options)


def make(path, stages, options):
    """Read, solve, write and verify; return what each stage took, and how much there was."""
    build = problem.build_cube
    problem.build_cube = lambda problem: stages.measure("cube", lambda: build(problem))
    flows = stages.measure("flows", lambda: fv.build_flows(path, unit="person_id", memory=MEMORY, **options))
    found = {"pairs": len(flows), "visits": len(flows.people.pair), "trips": flows.total}
    made = stages.measure("solve", lambda: fv.anonymize(flows))
    with tempfile.TemporaryDirectory(prefix="benchmark-") as folder:
        stages.measure("write", lambda: made.write(Path(folder) / "out"))
        found["published"] = made.flows.num_rows
        verified = run_stages("verify", Path(folder) / "out", path)
    return found | {"stages": stages.taken() | verified}


class Stages:
    """What stages took: seconds, seconds of the processor, and the peak of the process's memory in MB."""

    def __init__(self):
        self._taken = {}

    def measure(self, name, work):
        """Do the work of a stage."""
        Path("/proc/self/clear_refs").write_text("5")  # Linux begins a new peak
        began, busy = time.perf_counter(), processor_seconds()
        result = work()
        self._taken[name] = [time.perf_counter() - began, processor_seconds() - busy, peak_memory()]
        return result

    def taken(self):
        """Return all stages; the cube is made while solving, and counted by itself."""
        found = dict(self._taken)
        if "cube" in found:
            (seconds, work, peak), cube = found["solve"], found["cube"]
            found["solve"] = [seconds - cube[0], work - cube[1], peak]
        return found


def processor_seconds():
    """Return the processor time of this process and of all that it started."""
    total = sum(os.times()[:4])
    for process in psutil.Process().children(recursive=True):
        with suppress(psutil.Error):
            total += sum(process.cpu_times()[:4])
    return total


def ingesting(path):
    """Return what reads, cleans and indexes every trip, and forgets it."""
    places = choose_places("h3:10", None, None, None, CITY_BBOX, {})
    request = make_request(fv.read_trips(path), places, "person_id", None, CITY_BBOX)
    cores = len(os.sched_getaffinity(0))

    def run():
        with connection(request.source, 4 * 10**9) as con:
            con.execute(f"SET threads = {cores}")
            batches = key_batches(con, request, places.index, None, Tally(), cores=cores)
            return sum(batch.num_rows for batch in batches)

    return run


def floor(path):
    """Return seconds of the processor for a million points: of the bare index, and of h3 point by point."""
    names = ("start_lon", "start_lat")
    table = next(pq.ParquetFile(path).iter_batches(SAMPLE, columns=names))
    lon, lat = (np.resize(table[name].to_numpy(), SAMPLE) for name in names)
    cores = os.cpu_count()

    def chunk(start):
        return cells_of_points(lon[start : start + CHUNK], lat[start : start + CHUNK], 10)

    def all_chunks():
        with ThreadPoolExecutor(cores) as pool:
            list(pool.map(chunk, range(0, SAMPLE, CHUNK)))

    million = SAMPLE / 1e6
    plain = busy(lambda: cells_of_points_reference(lon[:CHUNK], lat[:CHUNK], 10)) / (CHUNK / 1e6)
    return {"floor": min(busy(all_chunks) for _ in range(3)) / million, "plain": plain}


def pandas(path):
    """Count the same with pandas, and h3 point by point."""
    import pandas as pd

    def run():
        frame = pd.read_parquet(path)
        for name, end in (("origin", "start"), ("destination", "end")):
            points = (frame[f"{end}_{axis}"].to_numpy() for axis in ("lon", "lat"))
            frame[name] = cells_of_points_reference(*points, 10)
        return frame.groupby(["origin", "destination"]).agg(trips=("trip_id", "size"), persons=("person_id", "nunique"))

    return {"pandas": busy(run)}


def verify(folder, path):
    """Verify a release, in a process that did not make it."""
    stages = Stages()
    stages.measure("verify", lambda: fv.verify(folder, path))
    return stages.taken()


def count(path, engine="duckdb"):
    """Count trips with an engine, as a command does: what it starts is part of it."""
    stages = Stages()
    flows = stages.measure("flows", lambda: fv.build_flows(path, unit="person_id", engine=engine, **POINTS))
    digest = hashlib.sha256(b"".join(part.tobytes() for part in (flows.origin, flows.destination, flows.trips)))
    return {"taken": stages.taken()["flows"], "flows": digest.hexdigest()}


def run_stages(stage, *paths):
    """Run stages in a process of their own and return what it measured."""
    command = [sys.executable, "-m", "benchmarks.scale_stages", stage, *map(str, paths)]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)  # noqa: S603  our own module
    return json.loads(done.stdout.splitlines()[-1])


def first_trips(path):
    return next(pq.ParquetFile(path).iter_batches(20_000))


def busy(work):
    """Return the seconds of the processor that some work takes."""
    began = processor_seconds()
    work()
    return processor_seconds() - began


if __name__ == "__main__":
    main(*sys.argv[1:])
