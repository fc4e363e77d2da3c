"""What the app's worker does: look at columns, count flows, follow a frontier, make a release."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq

import flowveil as fv
from flowveil._app.picture import picture
from flowveil._places import read_zones
from flowveil._release import read_flows

if TYPE_CHECKING:
    from collections.abc import Callable

    from flowveil._folder import Json

    Tell = Callable[[str], None]

RELEASE = "out"
_POINTS = 40  # of a frontier: close enough for a slider
_KEPT_FLOWS = 2  # counted tables kept at a time: those of the two sides of a comparison
_MOST_ROWS = {"trips": 2_000_000_000, "zones": 5_000_000}  # a few kilobytes of Parquet can claim any number of rows
_MOST_BYTES = {"trips": 1_000_000_000_000, "zones": 4_000_000_000}
_SHARE_OF_MEMORY = 0.9  # a file that unfolds beyond all bounds must not take the computer with it


def do_task(order: tuple[str, dict[str, Json]], tell: Tell) -> dict[str, Json]:
    """Do one task, given its kind and arguments; `tell` hears what is being done."""
    kind, arguments = order
    return _tasks().run(kind, arguments, tell)


@cache
def _tasks() -> Tasks:
    """Return what this process keeps from task to task, and bound the memory that it may take."""
    try:
        import resource  # noqa: PLC0415  not on Windows

        most = int(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") * _SHARE_OF_MEMORY)
        resource.setrlimit(resource.RLIMIT_DATA, (most, most))
    except (ImportError, OSError, ValueError):
        pass
    return Tasks()


@dataclass(frozen=True)
class Tasks:
    """The tasks by name, with the flows that were counted last."""

    counted: dict[str, fv.Flows] = field(default_factory=dict)

    def run(self, kind: str, arguments: dict[str, Json], tell: Tell) -> dict[str, Json]:
        """Do one task; `tell` hears what is being done."""
        tasks: dict[str, Callable[..., dict[str, Json]]] = {
            "columns": self.columns,
            "zones": self.zones,
            "count": self.count,
            "frontier": self.frontier,
            "anonymize": self.anonymize,
        }
        return tasks[kind](tell, **arguments)

    def columns(self, tell: Tell, path: str) -> dict[str, Json]:
        """Return the columns of a file of trips and which of them are understood."""
        tell("looking at the columns")
        _refuse_bombs(path, "trips")
        trips = fv.read_trips(path)
        return {"columns": list(trips.available), "known": trips.columns}

    def zones(self, tell: Tell, path: str, columns: dict[str, str]) -> dict[str, Json]:
        """Return how many zones a file holds and its columns."""
        tell("looking at the zones")
        _refuse_bombs(path, "zones")
        table = read_zones(path, None, columns)
        drawn = sum(shape is not None for shape in table.geometry)
        return {"zones": len(table.ids), "columns": list(table.columns), "shapes": drawn}

    def count(self, tell: Tell, places: dict[str, Json]) -> dict[str, Json]:
        """Count the flows and return what was found and what could not be used."""
        flows = self._flows(tell, places)
        story = flows.provenance
        return {
            "rows": story.rows,
            "dropped": story.dropped,
            "outside_bbox": story.outside_bbox,
            "notes": list(story.notes),
            "trips": flows.total,
            "pairs": len(flows),
            "persons": None if flows.people is None else int(flows.people.person.max()) + 1,
        }

    def frontier(self, tell: Tell, places: dict[str, Json], demand: dict[str, Json]) -> dict[str, Json]:
        """Return the frontier as rows."""
        flows = self._flows(tell, places)
        tell(f"following the frontier of {demand['method']}")
        return {"trips": flows.total, "points": fv.frontier(flows, points=_POINTS, **demand).to_pylist()}

    def anonymize(
        self,
        tell: Tell,
        places: dict[str, Json],
        demand: dict[str, Json],
        steer: dict[str, Json],
        folder: str,
        *,
        report: bool,
    ) -> dict[str, Json]:
        """Make, write, verify and measure a release; draw its map from what was written."""
        flows = self._flows(tell, places)
        tell(f"anonymizing {flows.total:,} trips with {demand['method']}")
        release = fv.anonymize(flows, **demand, **steer)
        tell("writing the release")
        written = release.write(Path(folder) / RELEASE, report=report)
        tell("verifying the release against the trips")
        verification = fv.verify(written, places["trips"])
        tell("drawing the map")
        (Path(folder) / "picture.json").write_text(json.dumps(picture(read_flows(written))), encoding="utf-8")
        return {
            "metrics": release.metrics(),
            "total": flows.total,
            "promise": release.manifest["promise_text"],
            "absence": release.manifest["absence"],
            "checks": list(verification.checks),
            "notes": list(release.notes),
        }

    def _flows(self, tell: Tell, places: dict[str, Json]) -> fv.Flows:
        key = json.dumps(places, sort_keys=True)
        if key not in self.counted:
            tell("counting trips")
            while len(self.counted) >= _KEPT_FLOWS:
                del self.counted[next(iter(self.counted))]
            self.counted[key] = _count(**places)
        return self.counted[key]


def _count(
    trips: str,
    columns: dict[str, str],
    grid: str | None,
    zones: str | None,
    by: str | None,
    **options: Any,  # of build_flows
) -> fv.Flows:
    _refuse_bombs(trips, "trips")
    if zones is not None:
        _refuse_bombs(zones, "zones")
    return fv.build_flows(fv.read_trips(trips, columns or None), grid, zones=zones, by=by or (), **options)


def _refuse_bombs(path: str, kind: str) -> None:
    """Raise if a Parquet file claims more rows or bytes than anyone has."""
    if not path.endswith((".parquet", ".pq")):
        return
    try:
        about = pq.read_metadata(path)
    except (pa.ArrowException, OSError, ValueError) as error:
        raise fv.InputError(f"the Parquet file cannot be read: {error}", "write the file again") from None
    expanded = sum(about.row_group(group).total_byte_size for group in range(about.num_row_groups))
    if about.num_rows > _MOST_ROWS[kind] or expanded > _MOST_BYTES[kind]:
        raise fv.InputError(
            f"the file claims {about.num_rows:,} rows and {expanded / 1e9:,.0f} GB", "use the command line for it"
        )
