"""Small reports of releases of the synthetic city, each made with its library call: the site shows them live."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow.parquet as pq

import flowveil as fv
from flowveil.synthetic import CITY_BBOX, PHONES_BBOX, City, phones, write_city
from website.examples import rides

if TYPE_CHECKING:
    from collections.abc import Callable

TRIPS, PERSONS = 40_000, 1_500
SAID = {"period": "March 2024", "publisher": "An example"}


def make_reports(folder: Path) -> list[Path]:
    """Write the reports that a folder does not have yet, and return the paths of all."""
    folder.mkdir(parents=True, exist_ok=True)
    wanted = {name: folder / f"{name}.html" for name in REPORTS}
    if not all(path.exists() for path in wanted.values()):
        with tempfile.TemporaryDirectory() as made:
            trips = Path(made) / "city.parquet"
            write_city(trips, trips=TRIPS, persons=PERSONS, seed=1)
            for name, path in wanted.items():
                release = Path(made) / name
                REPORTS[name](trips, release)
                shutil.copyfile(release / "report.html", path)
    return list(wanted.values())


def first_release(trips: Path, release: Path) -> None:
    """Make the release of the page for a first release, from the file that it offers."""
    columns = {"start_lon": "from_x", "start_lat": "from_y", "end_lon": "to_x", "end_lat": "to_y"}
    flows = fv.build_flows(fv.read_trips(rides(trips.parent), columns=columns), "h3:8", unit="member")
    said = {"title": "Rides of our city", "period": "March 2024", "unit_label": "members"}
    fv.anonymize(flows, k=10, **said).write(release, report=True)


def crowds(trips: Path, release: Path) -> None:
    """Make flows between hexagons, each shared by ten persons."""
    flows = fv.build_flows(trips, "h3:8", bbox=CITY_BBOX, unit="person_id")
    fv.anonymize(flows, k=10, title="A city in hexagons", unit_label="persons", **SAID).write(release, report=True)


def matrix(trips: Path, release: Path) -> None:
    """Make an ordinary matrix between zones: one map of origins, one of destinations."""
    zones = City(seed=1, persons=PERSONS).zones()
    flows = fv.build_flows(trips, zones=zones, unit="person_id", hierarchy="ward")
    fv.anonymize(flows, "crosscut", k=10, title="A city by its zones", unit_label="persons", **SAID).write(
        release, report=True
    )


def hours(trips: Path, release: Path) -> None:
    """Do the same by hour of the day."""
    zones = City(seed=1, persons=PERSONS).zones()
    flows = fv.build_flows(trips, zones=zones, unit="person_id", hierarchy="ward", time="hour-of-day")
    fv.anonymize(flows, k=10, title="A city by the hour", unit_label="persons", **SAID).write(release, report=True)


def noise(trips: Path, release: Path) -> None:
    """Make noisy counts in place of crowds."""
    options = {"grid": "h3:6", "bbox": CITY_BBOX, "unit": "person_id", "max_trips_per_person": 20}
    fv.add_noise(trips, epsilon=2.0, title="A city with noise", **SAID, **options).write(release, report=True)


def paths(trips: Path, release: Path) -> None:
    """Make paths of phones that four users share."""
    samples = trips.with_name("samples.parquet")
    pq.write_table(phones(80, samples=60, days=7), samples)
    options = {"bbox": PHONES_BBOX, "title": "Paths that four share"}
    fv.trajectories.anonymize(samples, k=4, **options, **SAID).write(release, report=True)


REPORTS: dict[str, Callable[[Path, Path], None]] = {
    "first-release": first_release,
    "crowds": crowds,
    "matrix": matrix,
    "hours": hours,
    "noise": noise,
    "paths": paths,
}
