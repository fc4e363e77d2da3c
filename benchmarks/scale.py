"""From trips to a verified release at growing size: seconds and memory of each stage, against the hardware's floor.

`python -m benchmarks scale --largest 1e8` goes on to a hundred million trips: that takes 20 GB of disk and an idle
machine. Every size runs in a process of its own; the trips are made in chunks and deleted afterwards.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
import tempfile
from importlib.metadata import version
from pathlib import Path

from benchmarks.plot import growth_svg
from benchmarks.scale_stages import MEMORY
from flowveil.synthetic import write_city

SIZES = (100_000, 1_000_000, 10_000_000, 100_000_000)
DOCS = Path(__file__).parents[1] / "docs"
PAGE, PICTURE = DOCS / "benchmarks.md", DOCS / "pictures" / "scale.svg"
BEGIN, END = "<!-- scale: begin -->", "<!-- scale: end -->"
STAGES = ("ingest", "flows", "cube", "solve", "write", "verify")
WITH_PANDAS = 1_000_000  # beyond, pandas takes minutes and says nothing new

NOTES = """\
`ingest` reads, cleans and indexes every trip, by itself; `flows` does that again, counts persons by pair of tiles and
builds the trees. `cores` are those in use during `flows`. The floor is the bare H3 index on as many threads as there
are cores, measured in the same run: {:.1f} million points a second in the last row ({:.1f} million on one thread; h3
point by point: {:.2f} million). pandas does what `flows` does, with h3 point by point. `peak` is of the whole
run, verification included."""

BUSY = """
**The machine was busy with other work (load {:.0f} before the run): seconds, cores and rates say nothing; memory does.
Run it again on an idle machine.**"""


def main():
    options = argparse.ArgumentParser(prog="benchmarks")
    options.add_argument("--largest", type=float, default=1e6, help="trips of the largest size, e.g. 1e8")
    largest = options.parse_known_args()[0].largest
    rows = []
    load = os.getloadavg()[1]
    print(f"mosaic on the synthetic city, h3:10, k = 10 persons, --memory {MEMORY}; seconds")
    for size in (size for size in SIZES if size <= largest):
        with tempfile.TemporaryDirectory(prefix="benchmark-") as folder:
            path = Path(folder) / "city.parquet"
            write_city(path, trips=size)
            row = {"trips": size} | _run("release", path)
            row |= {"one core": _run("ingest", path, one_core=True)["ingest"]} if size <= WITH_PANDAS else {}
            row |= {"pandas": _run("pandas", path)["pandas"]} if size <= WITH_PANDAS else {}
        rows.append(row)
        print(_line(row), flush=True)
    PICTURE.write_text(growth_svg([(r["trips"], r["flows"], r["cube"] + r["solve"] + r["write"]) for r in rows]))
    _write(_page(rows, load))


def _run(stage, path, *, one_core=False):
    """Run stages in a process of their own and return what it measured."""
    command = [sys.executable, "-m", "benchmarks.scale_stages", stage, str(path)]
    bound = ["taskset", "--cpu-list", "0"] if one_core else []
    done = subprocess.run([*bound, *command], check=True, capture_output=True, text=True)  # noqa: S603  our own module
    return json.loads(done.stdout.splitlines()[-1])


def _line(row):
    points = 2 * row["trips"] / row["ingest"]
    cells = [f"{row['trips']:,}", *(f"{row[stage]:.1f}" for stage in STAGES)]
    cells += [f"{row['peak']:,.0f}", f"{row['cores']:.2f}", f"{points / 1e6:.2f}", f"{points / row['floor']:.0%}"]
    cells += [f"{row[name]:.1f}" if name in row else "" for name in ("one core", "pandas")]
    return f"| {' | '.join(cells)} |"


def _page(rows, load):
    last = rows[-1]
    titles = ["trips", *STAGES, "peak MB", "cores", "M points/s", "of the floor", "ingest, one core", "pandas"]
    about = f"mosaic, h3:10, k = 10 persons, 10 % suppression, `--memory {MEMORY}`, synthetic city; seconds."
    table = [f"| {' | '.join(titles)} |", "|" + "---:|" * len(titles), *map(_line, rows)]
    notes = NOTES.format(*(last[name] / 1e6 for name in ("floor", "floor one thread", "plain loop")))
    machine = _machine() + (BUSY.format(load) if load > 1 else "")
    return "\n".join([about, machine, "", *table, "", notes, "", "![Seconds by number of trips](pictures/scale.svg)"])


def _machine():
    packages = ", ".join(f"{name} {version(name)}" for name in ("duckdb", "h3ronpy", "numpy", "pyarrow", "numba"))
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    return f"{os.cpu_count()} cores, {memory:.0f} GB, Python {platform.python_version()}, {packages}."


def _write(text):
    """Put the text between its marks."""
    page = PAGE.read_text() if PAGE.exists() else f"# Benchmarks\n\n## Scale\n\n{BEGIN}\n{END}\n"
    before, rest = page.split(BEGIN)
    PAGE.write_text(f"{before}{BEGIN}\n{text}\n{END}{rest.split(END)[1]}")
