"""A program that counts and solves with Spark, and tells what others could see meanwhile: TRIPS PERSONS FOLDER..."""

from __future__ import annotations

import json
import os
import sys
from contextlib import suppress
from pathlib import Path

from pyspark import SparkContext

import flowveil as fv
from flowveil._engine import counting
from flowveil._flows.build import make_request
from flowveil._places import choose_places


def family(process):
    """Return a process and all that it started."""
    children = [name for path in Path(f"/proc/{process}/task").glob("*/children") for name in path.read_text().split()]
    return [process, *(found for child in children for found in family(child))]


def listening():
    """Return the addresses at which this process and its children listen, as in /proc/net."""
    ours = set()
    for process in family(os.getpid()):
        for descriptor in Path(f"/proc/{process}/fd").iterdir():
            with suppress(FileNotFoundError):
                ours.add(str(descriptor.readlink()))
    rows = [line.split() for name in ("tcp", "tcp6") for line in Path(f"/proc/net/{name}").read_text().splitlines()]
    return [row[1].split(":")[0] for row in rows if row[3] == "0A" and f"socket:[{row[9]}]" in ours]


def look(root, persons):
    """Return all files below a folder: name, whether others could read it there, whether it names a person."""
    found = []
    for path in filter(Path.is_file, root.rglob("*")):
        folders = [folder for folder in path.parents if folder.is_relative_to(root) and folder != root]
        shown = path.stat().st_mode & 0o044 and all(folder.stat().st_mode & 0o011 for folder in folders)
        content = path.read_bytes()
        found.append((path.name, bool(shown), any(person in content for person in persons)))
    return found


def main(trips, persons, *roots):
    """Print what can be seen in the middle of counting, and whether the results are those of one machine."""
    known = Path(persons).read_bytes().split()
    places = choose_places("h3:6", None, None, None, None, {})
    request = make_request(fv.read_trips(trips), places, "person_id", None, None)
    with counting(request, places.index, engine="spark", persons_stay=True):
        files = [file for root in roots for file in look(Path(root), known)]
        asked = SparkContext.getOrCreate().getConf().get("spark.authenticate")
        seen = {"files": files, "listening": listening(), "authenticated": asked == "true"}
    releases = []
    for engine in ("duckdb", "spark"):
        flows = fv.build_flows(trips, "h3:6", unit="person_id", time="hour-of-day", engine=engine)
        releases.append(fv.anonymize(flows, "odkanon", 5, max_suppression=0.9, engine=engine))
    seen["same"] = releases[0].flows.equals(releases[1].flows)
    sys.stdout.write(json.dumps(seen) + "\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
