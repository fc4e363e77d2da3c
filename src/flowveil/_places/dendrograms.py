"""Trees of zones that follow from their centers alone."""

from __future__ import annotations

from math import sqrt
from typing import TYPE_CHECKING, Literal

import numpy as np

from flowveil._errors import InputError
from flowveil._places.geodesy import to_meters

if TYPE_CHECKING:
    from flowveil._arrays import FloatArray, IntArray
    from flowveil._places.zone_table import ZoneTable

Criterion = Literal["ward", "average", "complete"]

_MOST_ZONES = 20_000  # a dendrogram needs all distances: 1.6 GB at this number
_MOST_ZONES_OF_MANY = 5_000  # sixteen trees; each takes a second at this number
_SHOWN = 10  # zones that a message names
_STRETCH = 2.0
# How the plane is stretched before zones are joined: areas come out long in the other direction.
_PLANES = {
    "": np.eye(2),
    "-ew": np.diag([_STRETCH, 1.0]),
    "-ns": np.diag([1.0, _STRETCH]),
    "-ne": np.array([[_STRETCH, _STRETCH], [-1.0, 1.0]]) / sqrt(2),
    "-nw": np.array([[_STRETCH, -_STRETCH], [1.0, 1.0]]) / sqrt(2),
}
_CRITERIA: dict[Criterion, tuple[str, ...]] = {
    "ward": tuple(_PLANES),
    "average": tuple(_PLANES),
    "complete": ("", "-ew", "-ns"),
}
_MEDIANS = ("", "-ew", "-ns")


def ward_tree(table: ZoneTable) -> IntArray:
    """Return the parent of every node of Ward's dendrogram: zones first, then merges in SciPy's order."""
    _check(table, "ward", _MOST_ZONES)
    return _join("ward", to_meters(table.lon, table.lat))


def many_trees(table: ZoneTable) -> dict[str, IntArray]:
    """Return the parents of the nodes of several trees by name, Ward's first; nodes are zones, then areas.

    Zones are joined by three criteria, and parted at medians; on the plane as it is, and stretched.
    """
    _check(table, "many", _MOST_ZONES_OF_MANY)
    points = to_meters(table.lon, table.lat)
    plane = {name: points @ matrix.T for name, matrix in _PLANES.items()}
    joined = {
        criterion + name: _join(criterion, plane[name]) for criterion, names in _CRITERIA.items() for name in names
    }
    return joined | {"kd" + name: _part(plane[name]) for name in _MEDIANS}


def has_many(table: ZoneTable) -> bool:
    """Return whether several trees can be made of zones."""
    return len(table.ids) <= _MOST_ZONES_OF_MANY


def _check(table: ZoneTable, name: str, most: int) -> None:
    count = len(table.ids)
    if count > most:
        raise InputError(
            f"dendrograms of {count:,} zones would need {count * count * 4 / 1e9:.0f} GB and long times",
            f"{name} takes up to {most:,} zones; use columns of the table as hierarchy",
        )
    if without := [table.ids[row] for row in np.flatnonzero(~(np.isfinite(table.lon) & np.isfinite(table.lat)))]:
        more = f" and {len(without) - _SHOWN:,} more" if len(without) > _SHOWN else ""
        raise InputError(
            f"{len(without):,} of {count:,} zones have no place: {', '.join(without[:_SHOWN])}{more}",
            f"{name} needs lon and lat columns or a geometry for every zone: give these a place, or leave them out; or "
            "use columns of the table as hierarchy",
        )


def _join(criterion: Criterion, points: FloatArray) -> IntArray:
    """Return the parents in a dendrogram; node N is SciPy's: zones first, then merges."""
    count = len(points)
    if count == 1:  # a lone zone still needs a root above it, which is never published as a place
        return np.array([1, -1])
    from scipy.cluster.hierarchy import linkage  # noqa: PLC0415  slow to import

    merges = linkage(points, method=criterion)[:, :2].astype(np.int64)
    parent = np.full(2 * count - 1, -1, np.int64)
    parent[merges.ravel()] = np.repeat(np.arange(count, 2 * count - 1), 2)
    return parent


def _part(points: FloatArray) -> IntArray:
    """Return the parents in a k-d tree: halves on both sides of the median of the wider coordinate, ties by number.

    Nodes are the zones, then areas, a part before its whole.
    """
    count = len(points)
    if count == 1:
        return np.array([1, -1])
    parent = np.full(2 * count - 1, -1, np.int64)
    waiting = [(np.arange(count), 2 * count - 2)]
    number = 2 * count - 2
    while waiting:
        zones, node = waiting.pop()
        spread = np.ptp(points[zones], axis=0)
        order = zones[np.lexsort((zones, points[zones, int(spread[1] > spread[0])]))]
        for half in (order[: len(order) // 2], order[len(order) // 2 :]):
            if len(half) == 1:
                parent[half[0]] = node
            else:
                number -= 1
                parent[number] = node
                waiting.append((half, number))
    return parent
