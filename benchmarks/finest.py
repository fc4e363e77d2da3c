"""All methods at several budgets on the four public sets: python -m benchmarks finest [--quick] [--only NYC].

Prints the tables of docs/comparison.md: mean tiles of both ends (gbar) at 0, 1, 5 and 10 % of the trips left out, and
seconds at 10 %, each method in a process of its own, its release verified. The hierarchy is left open, so that each
method takes its own. Run it on an idle machine.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

import duckdb

import flowveil as fv
from benchmarks.data import CABS, CABS_BBOX, SHARED
from benchmarks.tracts import FLOWS as TRACT_FLOWS
from benchmarks.tracts import ZONES as TRACT_ZONES

BUDGETS = (0, 0.01, 0.05, 0.1)
TAXIS, TAXI_ZONES = SHARED / "nyc_tlc_green_trips_2020_2025.parquet", SHARED / "nyc_taxi_zones.parquet"
THURSDAY = "strftime(start_time, '%Y-%m') = file_month AND isodow(start_time) = 4 AND hour(start_time) = 18"
METHODS = ("mosaic", "nested", "glove-od", "atg-dual", "crosscut", "knapsack", "oigh")
UNSTEERED = ("mondrian", "odkanon", "uniform-tiles", "atg-soft", "suppression")  # they leave out what they leave out
WITH = "mosaic with remainders"


def main():
    options = argparse.ArgumentParser(prog="benchmarks")
    options.add_argument("--quick", action="store_true", help="mosaic alone")
    options.add_argument("--only", default="", help="sets whose title holds this")
    chosen = options.parse_known_args()[0]
    methods = ["mosaic"] if chosen.quick else [*METHODS, *UNSTEERED]
    if not CABS.is_file():
        sys.exit("this needs the shared data")
    with tempfile.TemporaryDirectory() as folder:
        for title, flows, k in sources(Path(folder)):
            if chosen.only in title:
                table(title, flows(), k, methods)


def sources(folder):
    """Yield a title, a function that gives the flows, and k for each set."""
    yield "SF cabs, h3:10, k = 10", lambda: fv.build_flows(CABS, "h3:10", bbox=CABS_BBOX), 10
    yield "SF cabs, h3:8, k = 100", lambda: fv.build_flows(CABS, "h3:8", bbox=CABS_BBOX), 100
    thursday = fv.read_trips(TAXIS, where=THURSDAY)
    yield "NYC green taxis, Thursdays 18 h, k = 10", lambda: fv.build_flows(thursday, zones=TAXI_ZONES), 10
    for query, source, name in (
        (TRACT_FLOWS, "us_ri_lodes_2019_block_od.parquet", "flows.parquet"),
        (TRACT_ZONES, "us_ri_blocks.parquet", "tracts.parquet"),
    ):
        duckdb.sql(query.format(source=SHARED / source)).write_parquet(str(folder / name))
    tracts = folder / "flows.parquet", folder / "tracts.parquet"
    yield "Rhode Island commuters by tract, k = 10", lambda: fv.build_flows(tracts[0], zones=tracts[1]), 10


def table(title, flows, k, methods):
    """Print the figures of one set, a line a method, as Markdown."""
    print(f"\n{title}: {flows.total:,} trips\n")
    print("| method | 0 % | 1 % | 5 % | 10 % | left out at 10 % | seconds | verified |\n|---|" + "---:|" * 6 + "---|")
    rows = {}
    for budget in BUDGETS:
        asked = [name for name in methods if name not in UNSTEERED or budget == BUDGETS[-1]]
        found = fv.compare(flows, asked, k, max_suppression=budget, verify=True).to_pylist()
        more = fv.compare(flows, ["mosaic"], k, max_suppression=budget, remainders=True, verify=True).to_pylist()
        for row in [*found, *({**row, "method": WITH} for row in more)]:
            rows.setdefault(row["method"], {})[budget] = row
    for name, by_budget in sorted(rows.items(), key=lambda item: item[1][BUDGETS[-1]]["gbar"] or float("inf")):
        last = by_budget[BUDGETS[-1]]
        cells = [number(by_budget.get(budget)) for budget in BUDGETS]
        left_out = "" if last["suppressed"] is None else f"{last['suppressed']:.2%}"
        seconds = "" if last["seconds"] is None else f"{last['seconds']:.1f}"
        verified = all(row["verified"] for row in by_budget.values() if row["status"] == "done")
        print(f"| {name} | {' | '.join(cells)} | {left_out} | {seconds} | {'yes' if verified else 'no'} |", flush=True)


def number(row):
    """Return gbar as text, a dash where nothing can be published within the budget."""
    if row is None:
        return ""
    return f"{row['gbar']:.4g}" if row["status"] == "done" else "-"


if __name__ == "__main__":
    main()
