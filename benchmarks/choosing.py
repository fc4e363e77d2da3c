"""The figures of docs/start/choosing.md: what counting trips hides, what k costs, what a method costs."""

from __future__ import annotations

import tempfile
from pathlib import Path

import flowveil as fv
from benchmarks.data import CABS, CABS_BBOX

K = (2, 5, 10, 15, 20, 50, 100)
METHODS = ("mosaic", "nested", "crosscut")


def main():
    with tempfile.TemporaryDirectory() as folder:
        city = Path(folder) / "city.parquet"
        fv.synthetic.write_city(city, trips=100_000, persons=5_000)
        sources = [("city", city, fv.synthetic.CITY_BBOX, "person_id")]
        if CABS.exists():
            sources.insert(0, ("cabs", CABS, CABS_BBOX, "vehicle_id"))
        for name, source, bbox, unit in sources:
            flows = fv.build_flows(source, "h3:9", bbox=bbox, unit=unit)
            print(f"{name}: {flows.total:,} trips, h3:9, at most 10 % left out")
            for k in K:
                print(f"  k = {k:3}, {told(fv.anonymize(flows, k=k))}", flush=True)
            for method in METHODS:
                print(f"  {method:8}, {told(fv.anonymize(flows, method, k=10))}", flush=True)
            release = fv.anonymize(fv.build_flows(source, "h3:9", bbox=bbox), k=10)
            below = fv.evaluate(release.write(Path(folder) / name), source, unit=unit, k=10)
            few = f"{below['below_k']:,} below 10 persons, fewest {below['min_persons']}"
            print(f"  k counts trips: {told(release)}; {few}")


def told(release):
    figures = release.metrics()
    size = (figures["mao"] + figures["mad"]) / 2
    return (
        f"{len(release.flows):6,} flows, gbar {figures['gbar']:6.2f}, {figures['gdm']['mean']:5.0f} m, {size:5.2f} km2"
    )
