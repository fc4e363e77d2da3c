"""The answers of a release: what its readers can compute from it, and nothing else."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from flowveil._arrays import texts
from flowveil._folder import SIDES, TOTAL
from flowveil._places import Zones, choose_places
from flowveil._questions.compared import Facts
from flowveil._questions.truth import between
from flowveil._reading import reconstruct_flows, sample_trips

if TYPE_CHECKING:
    from collections.abc import Sequence

    from flowveil._arrays import BoolArray, FloatArray
    from flowveil._folder import Files
    from flowveil._places import ZoneTable
    from flowveil._questions.truth import Truth

_DRAWN = 20_000  # synthetic trips: lengths and hours are known to half a percent
_SEED = 0  # the same trips each time
_HOUR, _DAY = 3600, 24  # seconds, hours


def told_facts(files: Files, districts: ZoneTable, truth: Truth) -> Facts:
    """Return what a release tells of trips between districts: estimates, and lengths and hours of synthetic trips."""
    table = districts.as_table()
    drawn = sample_trips(files, _DRAWN, _SEED)
    if "start_lon" in drawn.column_names:
        ends = [np.stack([drawn[f"{end}_{axis}"].to_numpy() for axis in ("lon", "lat")]) for end in ("start", "end")]
        inside = _inside(table, ends[0]) & _inside(table, ends[1])
        ends = [truth.snapped(end) for end in ends]
    else:
        ends = [truth.center_of(texts(drawn[f"{side}_zone"])) for side in SIDES]
        inside = np.ones(len(drawn), bool)
    kilometers = between(ends[0], ends[1])
    known = inside & np.isfinite(kilometers)
    far, weights = (kilometers[known], np.ones(int(known.sum()))) if known.any() else (None, None)
    hours = _hours(drawn.filter(inside), truth.options.get("timezone")) if truth.timed else None
    return Facts(_estimates(files, table, districts.ids), far, weights, hours)


def _estimates(files: Files, zones: pa.Table, ids: list[str]) -> FloatArray:
    """Return trips between zones as a reader estimates them, what was left out included; noise as it is."""
    flows = reconstruct_flows(files, zones).flows
    if "totals" in files.manifest["promise"]:
        groups = flows[files.manifest["options"]["by"][0]].to_pylist()
        flows = flows.filter(np.array([group != TOTAL for group in groups], bool))
    number = {zone: row for row, zone in enumerate(ids)}
    row, column = (np.array([number[zone] for zone in texts(flows[side])], np.int64) for side in SIDES)
    trips = flows["trips"].to_numpy()
    if "left_out" in flows.column_names:
        trips = trips + flows["left_out"].to_numpy()
    matrix = np.zeros((len(ids), len(ids)))
    np.add.at(matrix, (row, column), trips)
    return matrix


def _inside(zones: pa.Table, points: FloatArray) -> BoolArray:
    """Which points lie in a zone."""
    places = choose_places(None, zones, "ward")
    if not isinstance(places, Zones) or not places.table.has_outlines:
        return np.ones(points.shape[1], bool)
    known = places.index(pa.array(points[0]), pa.array(points[1])).is_valid()
    return np.asarray(known.to_numpy(zero_copy_only=False), bool)


def _hours(drawn: pa.Table, timezone: str | None) -> FloatArray | None:
    """Return synthetic trips by hour of the day, on the clock of the release."""
    if "depart" in drawn.column_names:
        hour = drawn["depart"].to_numpy() // _HOUR % _DAY
    elif "start_time" in drawn.column_names:
        moments: Sequence[object] = drawn["start_time"].cast(pa.timestamp("us", timezone or "UTC")).to_pylist()
        hour = np.array([moment.hour for moment in moments if isinstance(moment, datetime)])
    else:
        return None
    return np.asarray(np.bincount(hour.astype(np.int64), minlength=_DAY), np.float64)
