"""NYC green taxis by month as a series that can be compared: areas in common, areas for each month, areas of others."""

from __future__ import annotations

import tempfile
import time
from pathlib import Path

import flowveil as fv
from benchmarks.data import SHARED

TRIPS, ZONES = SHARED / "nyc_tlc_green_trips_2020_2025.parquet", SHARED / "nyc_taxi_zones.parquet"
BUDGETS = {"ward": (0.05, 0.1, 0.2), "many": (0.1,)}


def main():
    if not TRIPS.is_file():
        print("same_areas: no NYC trips here, skipped")
        return
    for hierarchy, budgets in BUDGETS.items():
        flows = fv.build_flows(TRIPS, zones=ZONES, hierarchy=hierarchy, time="month")
        print(f"NYC green taxis by month, {hierarchy}, k = 10: {flows.matrix_count} months, {flows.total:,} trips")
        for budget in budgets:
            free = show(f"areas for each month, {budget:.0%}", flows, max_suppression=budget)
            show("areas in common, the same budget", flows, max_suppression=budget, same_areas=True)
            show("areas in common, the same precision", flows, max_gbar=free["gbar"], same_areas=True)
        with tempfile.TemporaryDirectory() as folder:
            pooled = Path(folder) / "pooled"
            fv.anonymize(fv.build_flows(TRIPS, zones=ZONES, hierarchy=hierarchy), k=10).write(pooled)
            show("areas of all months together", flows, areas_from=pooled)


def show(name, flows, **options):
    """Print what a release loses, and the seconds of the processor that it takes; return its metrics."""
    start = time.process_time()
    metrics = fv.anonymize(flows, k=10, **options).metrics()
    print(
        f"  {name:36} gbar {metrics['gbar']:.3f}, {metrics['suppressed']:.2%} left out,"
        f" {metrics['flows']:,} flows, {time.process_time() - start:.1f} s"
    )
    return metrics
