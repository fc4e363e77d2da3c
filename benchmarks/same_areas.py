"""NYC green taxis by month as a series that can be compared: areas in common, areas for each month, areas of others."""

from __future__ import annotations

import tempfile
import time
from pathlib import Path

import flowveil as fv
from benchmarks.data import SHARED

TRIPS, ZONES = SHARED / "nyc_tlc_green_trips_2020_2025.parquet", SHARED / "nyc_taxi_zones.parquet"
HIERARCHIES = ("ward", "many")


def main():
    if not TRIPS.is_file():
        print("same_areas: no NYC trips here, skipped")
        return
    for hierarchy in HIERARCHIES:
        flows = fv.build_flows(TRIPS, zones=ZONES, hierarchy=hierarchy, time="month")
        print(f"NYC green taxis by month, {hierarchy}, k = 10: {flows.matrix_count} months, {flows.total:,} trips")
        free = show("areas for each month, 10 %", lambda flows=flows: fv.anonymize(flows, k=10))
        show("areas in common, 10 %", lambda flows=flows: fv.anonymize(flows, k=10, same_areas=True))
        show(
            "areas in common, the same precision",
            lambda flows=flows, gbar=free["gbar"]: fv.anonymize(flows, k=10, same_areas=True, max_gbar=gbar),
        )
        with tempfile.TemporaryDirectory() as folder:
            pooled = Path(folder) / "pooled"
            together = fv.build_flows(TRIPS, zones=ZONES, hierarchy=hierarchy)
            fv.anonymize(together, k=10).write(pooled)
            show("areas of all months together", lambda flows=flows: fv.anonymize(flows, k=10, areas_from=pooled))  # noqa: B023


def show(name, make):
    """Print what a release loses, and the seconds of the processor that it takes; return its metrics."""
    start = time.process_time()
    metrics = make().metrics()
    print(
        f"  {name:36} gbar {metrics['gbar']:.3f}, {metrics['suppressed']:.2%} left out,"
        f" {metrics['flows']:,} flows, {time.process_time() - start:.1f} s"
    )
    return metrics
