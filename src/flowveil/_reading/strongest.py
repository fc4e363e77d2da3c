"""The strongest published flows, as they are."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from flowveil._folder import SIDES
from flowveil._options import parse_whole
from flowveil._reading.frames import centers, flows_and_areas
from flowveil._reading.questions import Answers, notes_of
from flowveil._reading.told import tell

if TYPE_CHECKING:
    from flowveil._folder import Files

_CONFIDENCE = 1.96  # standard deviations: 95 %


def strongest(files: Files, count: int) -> Answers:
    """Return the flows with most trips, with bounds: of an exact release these are all the same."""
    count = parse_whole(count, "count", "give a whole number from 1 up", 1)
    told = tell(files)
    order = np.argsort(-told.trips, kind="stable")[:count]
    trips, off = told.trips[order], float(told.off_by)
    spread = _CONFIDENCE * np.sqrt(told.variance[order]) if told.noisy else np.full(len(order), off)
    open_ended = told.manifest["promise"].get("volumes") == "lower-bound"
    columns: dict[str, object] = {}
    for side, end, rows in zip(SIDES, told.ends, (told.origin, told.destination), strict=True):
        columns[side] = pa.array([end.ids[row] for row in rows[order].tolist()], pa.string())
    for name in told.keys.column_names:
        columns[name] = told.keys[name].take(told.matrix[order])
    low, high = trips - spread, trips + spread
    columns |= {"sure": low, "likely_low": low, "estimate": trips, "likely_high": high}
    columns["at_most"] = pa.nulls(len(order), pa.float64()) if open_ended else high
    columns["left_out"] = np.zeros(len(order))
    names = {area: name for end in told.ends for area, name in zip(end.ids, end.names, strict=True) if name is not None}
    return Answers(pa.table(columns), notes_of(told), names, centers(flows_and_areas(files)[1]))
