"""Where a reader thinks that published trips begin and end: sites, the smallest areas that a release names.

Areas of different flows may lie inside each other. A reader who spreads the trips of a flow evenly over the sites in
its areas has a table from sites to sites: an estimate of who goes where.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pyproj
import shapely

from flowveil._arrays import texts
from flowveil._folder import AREAS, ELSEWHERE

if TYPE_CHECKING:
    import pyarrow as pa
    from scipy import sparse

    from flowveil._arrays import BoolArray, FloatArray, IntArray
    from flowveil._folder import Files

_SQUARE_METERS = 1e6  # of a square kilometer


@dataclass(frozen=True, eq=False)
class Sites:
    """The sites of one end of flows."""

    area: list[str]  # ids of the sites
    small: BoolArray  # whether a site is no larger than a place
    inside: dict[str, IntArray]  # by area of this end: the sites in it

    def spread(self, names: list[str]) -> sparse.csr_array:
        """Return a matrix of flows by sites: each flow, given by its area, evenly over the sites inside."""
        from scipy import sparse  # noqa: PLC0415  slow to import

        columns = [self.inside[name] for name in names]
        row = np.repeat(np.arange(len(names)), [len(column) for column in columns])
        share = np.concatenate([np.zeros(0), *(np.full(len(column), 1 / len(column)) for column in columns)])
        column = np.concatenate([np.zeros(0, np.int64), *columns])
        return sparse.csr_array((share, (row, column)), shape=(len(names), len(self.area)))


def find_sites(files: Files, side: str, place_km2: float) -> Sites:
    """Return the sites of an end of flows, origin or destination; place_km2: how large a place is at most."""
    table = files.tables[AREAS]
    table = table.filter(np.array([name == side for name in texts(table["side"])], bool))
    names = texts(table["area"])
    holds = _holds(table, names)
    alone = [area for area, held in enumerate(holds) if len(held) == 1]
    number = np.full(len(names), -1, np.int64)
    number[alone] = np.arange(len(alone))
    inside = {name: number[held][number[held] >= 0] for name, held in zip(names, holds, strict=True)}
    return Sites([names[area] for area in alone], _is_place(table, place_km2)[alone], inside)


def _holds(table: pa.Table, names: list[str]) -> list[IntArray]:
    """Return by area the areas that lie in it, itself among them: by one point (or zone) of each, and no larger."""
    size = np.array([np.inf if tiles is None else tiles for tiles in table["tiles"].to_pylist()])
    size[[name == ELSEWHERE for name in names]] = -1  # it lies nowhere, and nothing in it
    if "members" in table.column_names:
        pairs = _of_zones(table["members"].to_pylist())
    else:
        shape = shapely.from_wkb(np.array(table["geometry"].to_pylist(), object))
        center = shapely.points(np.column_stack([table["lon"].to_numpy(), table["lat"].to_numpy()]))
        pairs = shapely.STRtree(np.asarray(center)).query(shape, predicate="contains").T
    whole, part = pairs[size[pairs[:, 1]] <= size[pairs[:, 0]]].T
    found = [{area} for area in range(len(names))]
    for area, other in zip(whole.tolist(), part.tolist(), strict=True):
        if size[other] < size[area] and size[other] >= 0:
            found[area].add(other)
    top = [area for area in range(len(names)) if np.isinf(size[area])]
    for area in top:
        found[area] |= {other for other in range(len(names)) if 0 <= size[other] < np.inf}
    return [np.array(sorted(held), np.int64) for held in found]


def _of_zones(members: list[list[str] | None]) -> IntArray:
    """Return pairs of areas of which the first has the first zone of the second."""
    of_zone: dict[str, list[int]] = {}
    for area, zones in enumerate(members):
        for zone in zones or []:
            of_zone.setdefault(zone, []).append(area)
    pairs = [(whole, part) for part, zones in enumerate(members) if zones for whole in of_zone[zones[0]]]
    return np.array(pairs, np.int64).reshape(-1, 2)


def _is_place(table: pa.Table, place_km2: float) -> BoolArray:
    """Return which areas are no larger than a place; one without an outline, if it is a single zone."""
    shape = shapely.from_wkb(np.array(table["geometry"].to_pylist(), object))
    ellipsoid = pyproj.Geod(ellps="WGS84")
    size: FloatArray = np.array(
        [np.nan if one is None else abs(ellipsoid.geometry_area_perimeter(one)[0]) / _SQUARE_METERS for one in shape]
    )
    single = np.array([tiles == 1 for tiles in table["tiles"].to_pylist()], bool)
    small: BoolArray = np.where(np.isnan(size) | (size == 0), single, size <= place_km2)
    return small
