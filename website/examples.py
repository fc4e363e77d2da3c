"""The files that the first pages work with, made from the synthetic city: readers download them, tests run on them."""

from __future__ import annotations

import json
from datetime import timedelta
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pacsv
import shapely

from flowveil.synthetic import City, phones

if TYPE_CHECKING:
    from pathlib import Path

RIDES = 12_000
MEMBERS = 700
ANSWERS = 6_000
PHONES = 60


def make_examples(folder: Path) -> list[Path]:
    """Write all example files into a folder and return their paths."""
    folder.mkdir(parents=True, exist_ok=True)
    return [make(folder) for make in (rides, january, february, survey, zones, calls)]


def rides(folder: Path) -> Path:
    """Write rides of a bike-sharing system, with names of columns that nobody has seen before."""
    return _write_rides(folder / "rides.csv", _trips())


def january(folder: Path) -> Path:
    """Write rides of January: in our city, of its first week, 60 days earlier."""
    return _write_rides(folder / "january.csv", _week(_trips(), 4, 11), earlier=timedelta(days=60))


def february(folder: Path) -> Path:
    """Write rides of February: in our city, of its second week, 33 days earlier."""
    return _write_rides(folder / "february.csv", _week(_trips(), 11, 18), earlier=timedelta(days=33))


def survey(folder: Path) -> Path:
    """Write answers to a survey of travel: one row a trip, each person with a weight."""
    city = City(seed=3, persons=500)
    trips = city.trips(ANSWERS)
    columns = {
        "respondent": trips["person_id"],
        "left_from": city.zone_of(trips["start_lon"].to_numpy(), trips["start_lat"].to_numpy()),
        "went_to": city.zone_of(trips["end_lon"].to_numpy(), trips["end_lat"].to_numpy()),
        "sex": trips["sex"],
        "stands_for": trips["weight"],
    }
    return _write(pa.table(columns), folder / "survey.csv")


def zones(folder: Path) -> Path:
    """Write the zones of the survey, with outlines and names."""
    table = City(seed=3, persons=500).zones()
    features = [
        {
            "type": "Feature",
            "properties": {"zone_id": row["zone_id"], "name": row["name"]},
            "geometry": json.loads(shapely.to_geojson(shapely.from_wkb(row["geometry"]))),
        }
        for row in table.to_pylist()
    ]
    path = folder / "zones.geojson"
    path.write_text(json.dumps({"type": "FeatureCollection", "features": features}), encoding="utf-8")
    return path


def calls(folder: Path) -> Path:
    """Write phone records: who was seen where and when."""
    table = phones(PHONES, samples=80, days=7)
    return _write(table.rename_columns(["subscriber", "x", "y", "seen_at"]), folder / "calls.csv")


def _trips() -> pa.Table:
    return City(seed=1, persons=MEMBERS).trips(RIDES)


def _week(trips: pa.Table, first: int, end: int) -> pa.Table:
    day = pc.day(trips["start_time"])
    return trips.filter(pc.and_(pc.greater_equal(day, first), pc.less(day, end)))


def _write_rides(path: Path, trips: pa.Table, earlier: timedelta = timedelta()) -> Path:
    times = pc.subtract(trips["start_time"], pa.scalar(earlier, pa.duration("us")))
    columns = {
        "ride": trips["trip_id"],
        "member": trips["person_id"],
        "picked_up": pc.strftime(times, "%d/%m/%Y %H:%M"),
        "from_x": trips["start_lon"],
        "from_y": trips["start_lat"],
        "to_x": trips["end_lon"],
        "to_y": trips["end_lat"],
    }
    return _write(pa.table(columns), path)


def _write(table: pa.Table, path: Path) -> Path:
    pacsv.write_csv(table, path, pacsv.WriteOptions(quoting_style="none"))
    return path
