"""Flows that pin down a sensitive place: an end so small that everybody knows where they went."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import shapely

from flowveil._arrays import texts
from flowveil._folder import AREAS, FLOWS
from flowveil._places import read_sensitive
from flowveil._risk.finding import BREAKS, HOLDS, TELLS, Finding

if TYPE_CHECKING:
    import numpy.typing as npt
    import pyarrow as pa

    from flowveil._arrays import BoolArray
    from flowveil._risk.case import Case

_TILES = 7  # an area of fewer is small: a cell of H3 and its neighbors are seven
_FILLS = 0.1  # share of an area that a sensitive place fills at most
_ADVICE = "Make the release with --sensitive FILE: areas that touch these places then have more tiles."


def find_sensitive(case: Case) -> Finding | None:
    """Count the flows with an end that is hardly more than a sensitive place; None where no such places were given."""
    if case.sensitive is None:
        return None
    shape = read_sensitive(case.sensitive)
    table, areas = case.files.tables[FLOWS], case.files.tables[AREAS]
    promised = int(case.files.manifest["promise"].get("sensitive_tiles", 0))
    tiles = max(promised, _TILES)
    few, filled = _touched(areas, shape, tiles), _filled(areas, shape)
    pinned = _flows_at(table, areas, few | filled)
    broken = _flows_at(table, areas, _touched(areas, shape, promised))
    crowd = table["persons" if case.counts_persons else "trips"].to_numpy()
    who = "persons" if case.counts_persons else "trips"
    held = int(crowd[pinned].sum())
    figure = int(pinned.sum())
    some = ", some more than once" if case.counts_persons else ""
    return Finding(
        "sensitive",
        figure,
        "flows with an end that is hardly more than a sensitive place",
        BREAKS if broken.any() else TELLS if figure else HOLDS,
        f"{figure:,} of {table.num_rows:,} flows begin or end in an area that touches a sensitive place and has fewer "
        f"than {tiles} tiles, or is filled by it; they count {held:,} {who}{some}."
        if figure
        else "No flow begins or ends in a small area that touches a sensitive place.",
        _ADVICE if figure else "",
        {"tiles": tiles, "fills": _FILLS, "places": len(shape)},
        {who: held, "flows": table.num_rows, "flows_against_the_promise": int(broken.sum())},
        private=True,  # the places may be a secret, and the figure is about them
    )


def _shapes(areas: pa.Table) -> npt.NDArray[np.object_]:
    shapes: npt.NDArray[np.object_] = shapely.from_wkb(np.array(areas["geometry"].to_pylist(), object))
    return shapes


def _touched(areas: pa.Table, shape: npt.NDArray[np.object_], tiles: int) -> BoolArray:
    """Return which areas have fewer tiles than these and touch a sensitive place."""
    touched = np.zeros(areas.num_rows, bool)
    touched[shapely.STRtree(shape).query(_shapes(areas), predicate="intersects")[0]] = True
    few: BoolArray = np.array([count is not None and count < tiles for count in areas["tiles"].to_pylist()], bool)
    return touched & few


def _filled(areas: pa.Table, shape: npt.NDArray[np.object_]) -> BoolArray:
    """Return which areas sensitive places fill, each by itself, more than they may."""
    shapes = _shapes(areas)
    area, place = shapely.STRtree(shape).query(shapes, predicate="intersects")
    filled = np.zeros(len(shapes), bool)
    share = shapely.area(shapely.intersection(shapes[area], shape[place])) / np.maximum(
        shapely.area(shapes[area]), 1e-18
    )
    filled[area[share > _FILLS]] = True
    return filled


def _flows_at(flows: pa.Table, areas: pa.Table, chosen: BoolArray) -> BoolArray:
    """Return which flows begin or end in some of the areas."""
    ends = list(zip(texts(areas["side"]), texts(areas["area"]), strict=True))
    known = {ends[row] for row in np.flatnonzero(chosen).tolist()}
    pairs = zip(texts(flows["origin"]), texts(flows["destination"]), strict=True)
    return np.array([("origin", one) in known or ("destination", other) in known for one, other in pairs], bool)
