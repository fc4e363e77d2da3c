"""From trips to a verified release at growing size: processor seconds and memory of each stage.

`python -m benchmarks scale --largest 1e8` goes on to a hundred million trips: that takes 20 GB of disk and the better
part of an hour. Every size runs in a process of its own; the trips are made in chunks and deleted afterwards.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import tempfile
from importlib.metadata import version
from pathlib import Path

from benchmarks.plot import growth_svg
from benchmarks.scale_stages import MEMORY, run_stages
from flowveil.synthetic import write_city

SIZES = (100_000, 1_000_000, 10_000_000, 100_000_000)
DOCS = Path(__file__).parents[1] / "docs"
PAGE, PICTURE = DOCS / "benchmarks.md", DOCS / "pictures" / "scale.svg"
BEGIN, END = "<!-- scale: begin -->", "<!-- scale: end -->"
STAGES = ("ingest", "flows", "cube", "solve", "write", "verify")
WITH_PANDAS = 1_000_000  # beyond, pandas takes minutes and says nothing new

NOTES = """\
`ingest` reads, cleans and indexes every trip, by itself; `flows` does that again, counts persons by pair of tiles and
builds the trees. The floor is the bare H3 index, measured in the same run: {:.2f} processor seconds for a million
points in the last row (h3 point by point: {:.2f}); `of the floor` is its share of `ingest`. pandas does what `flows`
does, with h3 point by point. `wall` is what all stages took by the clock{}.

Peaks of memory in MB, Python and its libraries (0.4 GB) included; `verify` is a process of its own:
"""


def main():
    options = argparse.ArgumentParser(prog="benchmarks")
    options.add_argument("--largest", type=float, default=1e6, help="trips of the largest size, e.g. 1e8")
    largest = options.parse_known_args()[0].largest
    rows = []
    print(f"mosaic on the synthetic city, h3:10, k = 10 persons, --memory {MEMORY}; processor seconds")
    load = os.getloadavg()[1]
    for size in (size for size in SIZES if size <= largest):
        with tempfile.TemporaryDirectory(prefix="benchmark-") as folder:
            path = Path(folder) / "city.parquet"
            write_city(path, trips=size)
            row = {"size": size} | run_stages("release", path)
            row |= run_stages("pandas", path) if size <= WITH_PANDAS else {}
        rows.append(row)
        print(json.dumps(row), flush=True)
    shown = [
        (row["size"], *(sum(row["stages"][name][1] for name in names) for names in (STAGES[1:2], STAGES[2:5])))
        for row in rows
    ]
    PICTURE.write_text(growth_svg(shown))
    _write(_page(rows, load))


def _seconds(row):
    stages = row["stages"]
    share = 2 * row["size"] / 1e6 * row["floor"] / stages["ingest"][1]
    cells = [f"{row['size']:,}", *(f"{stages[name][1]:.1f}" for name in STAGES)]
    cells += [f"{sum(stage[0] for stage in stages.values()):,.0f}", f"{share:.0%}"]
    return _line([*cells, f"{row['pandas']:.1f}" if "pandas" in row else ""])


def _peaks(row):
    amounts = (row[name] for name in ("visits", "pairs", "published"))
    peaks = (row["stages"][name][2] for name in STAGES)
    return _line([f"{row['size']:,}", *(f"{amount:,}" for amount in amounts), *(f"{peak:,.0f}" for peak in peaks)])


def _line(cells):
    return f"| {' | '.join(cells)} |"


def _table(titles, lines):
    return [_line(titles), "|" + "---:|" * len(titles), *lines]


def _page(rows, load):
    last = rows[-1]
    options = f"mosaic, h3:10, `--hierarchy h3`, k = 10 persons, 10 % suppression, `--memory {MEMORY}`"
    about = f"{options}, synthetic city; processor seconds."
    busy = f", on a machine that was busy with other work (load {load:.0f} before the run)" if load > 1 else ""
    notes = NOTES.format(last["floor"], last["plain"], busy)
    seconds = _table(["trips", *STAGES, "wall", "of the floor", "pandas"], map(_seconds, rows))
    peaks = _table(["trips", "visits", "pairs", "flows published", *STAGES], map(_peaks, rows))
    picture = "![Processor seconds by number of trips](pictures/scale.svg)"
    return "\n".join([about, _machine(), "", *seconds, "", notes, *peaks, "", picture])


def _machine():
    packages = ", ".join(f"{name} {version(name)}" for name in ("duckdb", "h3ronpy", "numpy", "pyarrow", "numba"))
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    return f"{os.cpu_count()} cores, {memory:.0f} GB, Python {platform.python_version()}, {packages}."


def _write(text):
    """Put the text between its marks."""
    page = PAGE.read_text() if PAGE.exists() else f"# Benchmarks\n\n## Scale\n\n{BEGIN}\n{END}\n"
    before, rest = page.split(BEGIN)
    PAGE.write_text(f"{before}{BEGIN}\n{text}\n{END}{rest.split(END)[1]}")
