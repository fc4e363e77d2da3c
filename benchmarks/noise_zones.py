"""NYC taxi zones by hour of the week at epsilon 1 a person-week: one command, verified, with report and query.

The trips are real, the persons are not: each trip is given one of 20,000 at random, some of whom travel more than
others. Seconds are of the processor, memory is the peak of each command.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from benchmarks.data import SHARED

PERSONS = 20_000
ZONES = SHARED / "nyc_taxi_zones.parquet"
CASES = {  # what is typed beside places and unit
    "hour of the week, a person-week": ["--time", "hour-of-week", "--protect", "person-week"],
    "the same with auto and persons": ["--time", "hour-of-week", "--protect", "person-week", "--persons"],
    "hours as an axis, a person-week": ["--time-hierarchy", "hour-of-week<part-of-day<day", "--protect", "person-week"],
    "days of March 2020, any 7 in a row": ["--time", "1d", "--period", "2020-03", "--protect", "window:7"],
}


def main():
    """Run each case once."""
    trips = SHARED / "nyc_tlc_green_trips_2020_2025.parquet"
    if not trips.is_file():
        print("noise_zones: no NYC trips here, skipped")
        return
    with tempfile.TemporaryDirectory() as name:
        source = Path(name) / "trips.parquet"
        table = with_persons(pq.read_table(trips))
        pq.write_table(table, source)
        for case, options in CASES.items():
            folder = Path(name) / "out"
            bound = "auto" if "auto" in case else "3"
            asked = ["--unit", "person", "--max-trips-per-person", bound, *options]
            made = run(
                "anonymize", source, "-o", folder, "--epsilon", "1", "--zones", ZONES, *asked, "--report", "--overwrite"
            )
            checked = run("verify", folder, "--zones", ZONES)
            hour = {"hour-of-week": ["--at", "time=17"], "1d": ["--at", "time=2020-03-05T00:00:00Z"]}
            at = hour.get(options[1], [])  # Monday from 5 to 6 p.m., one day, or all of time
            asking = run("query", folder, "--origin-zones", "74,75", *at, "--json")
            size = (folder / "report.html").stat().st_size / 1e6
            flows = pq.read_metadata(folder / "flows.parquet").num_rows
            print(f"{case}: {flows:,} flows, report {size:.1f} MB")
            for what, (seconds, memory, _) in (("anonymize", made), ("verify", checked), ("query", asking)):
                print(f"  {what:9} {seconds:6.1f} s, {memory:,.0f} MB")
            found = json.loads(asking[2])
            print(f"  departures of East Harlem: {found['estimate']:,.0f}, standard deviation {found['noise']:,.0f}")


def with_persons(trips):
    """Give each trip a person: the square of a uniform number makes some travel far more than others."""
    random = np.random.default_rng(0)
    person = (random.random(trips.num_rows) ** 2 * PERSONS).astype(np.int64)
    good = pc.equal(pc.strftime(trips["start_time"], format="%Y-%m"), trips["file_month"].cast(pa.string()))
    table = trips.append_column("person", pa.array(person)).filter(good)
    return table.rename_columns(["file_month", "origin", "destination", "start_time", "end_time", "person"])


def run(*words):
    """Run a command; return processor seconds, peak memory in MB and what it prints."""
    script = "import resource, sys\nfrom flowveil._cli.commands import run\ncode = run(sys.argv[1:])\n"
    script += "used = resource.getrusage(resource.RUSAGE_SELF)\n"
    script += "print(used.ru_utime + used.ru_stime, used.ru_maxrss / 1024, file=sys.stderr)\nsys.exit(code)"
    done = subprocess.run(  # noqa: S603  our own command
        [sys.executable, "-c", script, *map(str, words)], capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise SystemExit(done.stderr)
    seconds, memory = done.stderr.splitlines()[-1].split()
    return float(seconds), float(memory), done.stdout


if __name__ == "__main__":
    main()
