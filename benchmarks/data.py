"""Data for benchmarks: San Francisco cabs where the folder of shared data is there, else the synthetic city."""

from __future__ import annotations

import tempfile
from pathlib import Path

from flowveil import build_flows
from flowveil.synthetic import CITY_BBOX, write_city

SHARED = Path(__file__).parents[2] / "shared" / "data"
CABS = SHARED / "sf_cabspotting_trips.parquet"
CABS_BBOX = (-122.55, 37.6, -122.3, 37.9)


def cab_flows(unit=None, hierarchy="h3"):
    """Return flows at h3:10 and the name of their source."""
    if CABS.is_file():
        return build_flows(CABS, "h3:10", bbox=CABS_BBOX, unit=unit, hierarchy=hierarchy), "SF cabs, h3:10"
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "city.parquet"
        write_city(path, trips=450_000)
        unit = unit and "person_id"
        return build_flows(path, "h3:10", bbox=CITY_BBOX, unit=unit, hierarchy=hierarchy), "synthetic city, h3:10"
