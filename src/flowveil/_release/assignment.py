"""Which pair of tiles is counted in which flow, where areas overlap: private, and what the verifier needs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from flowveil._errors import InputError
from flowveil._folder import ASSIGNMENT, ELSEWHERE, Values, check_columns
from flowveil._places import area_ids

if TYPE_CHECKING:
    from pathlib import Path

    from flowveil._arrays import IntArray
    from flowveil._flows import Flows
    from flowveil._problem import Solution
    from flowveil._release.elsewhere import Elsewhere

_TILES, _AREAS = ("origin_tile", "destination_tile"), ("origin", "destination")


def make_assignment(flows: Flows, solution: Solution, elsewhere: Elsewhere | None) -> pa.Table:
    """Return one row for each tile pair that a flow counts: its tiles, and the areas of that flow; sorted."""
    if flows.divided or flows.time is not None:
        raise InputError("overlapping areas go with a single matrix", "leave out time and groups, or use mosaic")
    inside = np.flatnonzero(solution.group >= 0)
    tables = [_rows(flows, inside, *_names(flows, solution, solution.group[inside]))]
    if elsewhere is not None:
        rest = np.flatnonzero(elsewhere.group >= 0)
        area = solution.sides(flows)[elsewhere.first].ids(elsewhere.area[elsewhere.group[rest]])
        ends = [area, [ELSEWHERE] * len(rest)]
        tables.append(_rows(flows, rest, ends[elsewhere.first], ends[1 - elsewhere.first]))
    return pa.concat_tables(tables).sort_by([(name, "ascending") for name in _TILES])


def read_assignment(folder: Path) -> pa.Table:
    """Read the assignment beside a release, or raise."""
    path = folder.with_name(folder.name + ASSIGNMENT)
    try:
        table = pq.read_table(path)
    except (OSError, pa.ArrowException):
        raise InputError(
            f"areas of this release overlap, and {path.name!r} cannot be read", "keep it beside the folder, in private"
        ) from None
    check_columns(table, dict.fromkeys((*_TILES, *_AREAS), Values(pa.string())), path.name)
    return table


def flows_of_tiles(flows: Flows, assignment: pa.Table) -> list[tuple[str, str] | None]:
    """Return for each tile pair the areas of the flow that counts it, None where there is none."""
    columns = [assignment[name].to_pylist() for name in (*_TILES, *_AREAS)]
    known = {(row[0], row[1]): (row[2], row[3]) for row in zip(*columns, strict=True)}
    origin, destination = _tile_names(flows)
    return [known.get(pair) for pair in zip(origin, destination, strict=True)]


def _rows(flows: Flows, chosen: IntArray, origin: list[str], destination: list[str]) -> pa.Table:
    tiles = [np.array(names, object)[chosen].tolist() for names in _tile_names(flows)]
    columns = zip((*_TILES, *_AREAS), (*tiles, origin, destination), strict=True)
    return pa.table({name: pa.array(values, pa.string()) for name, values in columns})


def _names(flows: Flows, solution: Solution, group: IntArray) -> tuple[list[str], list[str]]:
    origins, destinations = solution.sides(flows)
    return origins.ids(solution.origin[group]), destinations.ids(solution.destination[group])


def _tile_names(flows: Flows) -> tuple[list[str], list[str]]:
    origin = area_ids(flows.places, flows.origins, flows.origin)
    return origin, area_ids(flows.places, flows.destinations, flows.destination)
