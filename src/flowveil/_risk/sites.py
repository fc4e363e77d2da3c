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
    size = np.array([np.inf if tiles is None else tiles for tiles in table["tiles"].to_pylist()], np.float64)
    size[[name == ELSEWHERE for name in names]] = -1  # it lies nowhere, and nothing in it
    holds = _holds(table, size)
    number, inside = np.full(len(names), -1, np.int64), {}
    site: list[int] = []
    for area in np.argsort(size, kind="stable").tolist():
        held = number[holds[area]]
        if not (held >= 0).any():  # it holds no smaller site, so it is one
            number[area] = len(site)
            site.append(area)
            held = number[[area]]
        inside[names[area]] = held[held >= 0]
    return Sites([names[area] for area in site], _is_place(table, place_km2)[site], inside)


def _holds(table: pa.Table, size: FloatArray) -> list[IntArray]:
    """Return by area the smaller ones that lie in it, going by one point (or zone) of each."""
    if "members" in table.column_names:
        pairs = _of_zones(table["members"].to_pylist())
    else:
        shape = shapely.from_wkb(np.array(table["geometry"].to_pylist(), object))
        center = shapely.points(np.column_stack([table["lon"].to_numpy(), table["lat"].to_numpy()]))
        pairs = shapely.STRtree(np.asarray(center)).query(shape, predicate="contains").T
    somewhere = np.flatnonzero((size >= 0) & (size < np.inf))
    whole, part = pairs.T
    good = (size[part] < size[whole]) & (size[part] >= 0)
    whole, part = whole[good], part[good]
    order = np.lexsort((part, whole))
    held = np.split(part[order], np.searchsorted(whole[order], np.arange(1, len(size))))
    return [somewhere if np.isinf(own) else inside for own, inside in zip(size, held, strict=True)]


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
