"""What the app's worker does: look at columns, count flows, follow a frontier, make releases."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import flowveil as fv
from flowveil._app.checks import refuse_bombs
from flowveil._app.making import add_noise, attack, draw, export, follow_paths, merge_paths, private_report, publish
from flowveil._app.words import in_words
from flowveil._folder import AREAS, FLOWS, Files, Kind
from flowveil._places import read_zones

if TYPE_CHECKING:
    from collections.abc import Callable

    from flowveil._folder import Json

    Tell = Callable[[str], None]

_POINTS = 40  # of a frontier: close enough for a slider
_KEPT_FLOWS = 2  # counted tables kept at a time: those of the two sides of a comparison
_SHOWN_ROWS = 6
_LONGEST_VALUE = 60  # letters of a value in the preview
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
            "columns": _columns,
            "zones": _zones,
            "count": self.count,
            "frontier": self.frontier,
            "points": self.points,
            "anonymize": self.anonymize,
            "noise": add_noise,
            "paths": merge_paths,
            "path_frontier": follow_paths,
            "export": export,
            "private": private_report,
            "risk": attack,
        }
        return tasks[kind](tell, **arguments)

    def count(self, tell: Tell, places: dict[str, Json]) -> dict[str, Json]:
        """Count the flows and return what was found and what could not be used."""
        flows = self._flows(tell, places)
        story = flows.provenance
        return {
            "rows": story.rows,
            "dropped": story.dropped,
            "outside_bbox": story.outside_bbox,
            "unknown_zones": len(story.unknown_zones),
            "notes": [in_words(note) for note in (*story.notes, *story.doubts)],
            "trips": flows.total,
            "pairs": len(flows),
            "persons": None if flows.people is None else int(flows.people.person.max()) + 1,
        }

    def frontier(self, tell: Tell, places: dict[str, Json], demand: dict[str, Json]) -> dict[str, Json]:
        """Return the frontier as rows."""
        flows = self._flows(tell, places)
        tell(f"following the frontier of {demand['method']}")
        return {"trips": flows.total, "points": fv.frontier(flows, points=_POINTS, **demand).to_pylist()}

    def points(
        self,
        tell: Tell,
        places: dict[str, Json],
        demand: dict[str, Json],
        steer: dict[str, Json],
        budgets: list[float],
        folder: str,
    ) -> dict[str, Json]:
        """Draw what a few budgets give, none of which is exceeded; one that cannot be kept is left out."""
        flows = self._flows(tell, places)
        found: list[Json] = []
        for budget in budgets:
            tell(f"drawing what leaving out {budget:.3g} of the trips gives" if budget else "drawing all trips")
            try:
                release = fv.anonymize(flows, **demand, **steer | {"max_suppression": budget})
            except fv.PromiseError:
                continue
            tables = {FLOWS: release.flows, AREAS: release.areas}
            draw(Files(Kind.FLOWS, tables, release.manifest), Path(folder), str(len(found)))
            found.append({"budget": budget, "metrics": release.metrics()})
        return {"points": found}

    def anonymize(
        self,
        tell: Tell,
        places: dict[str, Json],
        demand: dict[str, Json],
        steer: dict[str, Json],
        description: dict[str, Json],
        folder: str,
        *,
        report: bool,
    ) -> dict[str, Json]:
        """Make, write, verify, draw and measure a release."""
        flows = self._flows(tell, places)
        tell(f"anonymizing {flows.total:,} trips with {demand['method']}")
        release = fv.anonymize(flows, **demand, **steer, **description)
        facts = publish(tell, release, folder, places["trips"], report=report)
        return facts | {
            "metrics": release.metrics(),
            "total": flows.total,
            "notes": [in_words(note) for note in release.notes],
        }

    def _flows(self, tell: Tell, places: dict[str, Json]) -> fv.Flows:
        key = json.dumps(places, sort_keys=True)
        if key not in self.counted:
            tell("counting trips")
            while len(self.counted) >= _KEPT_FLOWS:
                del self.counted[next(iter(self.counted))]
            self.counted[key] = _count(**places)
        return self.counted[key]


def _columns(tell: Tell, path: str) -> dict[str, Json]:
    """Return the columns of a file of trips, which of them are understood, and a few rows as they are written."""
    tell("looking at the columns")
    refuse_bombs(path, "trips")
    trips = fv.read_trips(path)
    rows = [[_short(value) for value in row.values()] for row in trips.head(_SHOWN_ROWS).to_pylist()]
    return {"columns": list(trips.available), "known": trips.columns, "rows": rows}


def _short(value: object) -> str:
    text = "" if value is None else str(value)
    return text if len(text) <= _LONGEST_VALUE else f"{text[:_LONGEST_VALUE]}…"


def _zones(tell: Tell, path: str, columns: dict[str, str]) -> dict[str, Json]:
    """Return how many zones a file holds and its columns."""
    tell("looking at the zones")
    refuse_bombs(path, "zones")
    table = read_zones(path, None, columns)
    drawn = sum(shape is not None for shape in table.geometry)
    return {"zones": len(table.ids), "columns": list(table.columns), "shapes": drawn}


def _count(
    trips: str,
    columns: dict[str, str],
    grid: str | None,
    zones: str | None,
    by: str | None,
    **options: Any,  # of build_flows
) -> fv.Flows:
    refuse_bombs(trips, "trips")
    if zones is not None:
        refuse_bombs(zones, "zones")
    return fv.build_flows(fv.read_trips(trips, columns or None), grid, zones=zones, by=by or (), **options)
