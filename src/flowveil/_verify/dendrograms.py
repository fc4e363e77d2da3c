"""Trees of zones that follow from their centers, computed again."""

from __future__ import annotations

from functools import cache, cached_property
from math import sqrt
from typing import TYPE_CHECKING, Literal

import numpy as np
import pyproj

from flowveil._errors import InputError

if TYPE_CHECKING:
    from flowveil._arrays import FloatArray, IntArray

    Criterion = Literal["ward", "average", "complete"]
    Way = Criterion | Literal["kd"]

_MOST_ZONES = 20_000  # all distances are needed at once: 1.6 GB
_PLANES = {  # the plane as it is, and stretched to twice its length along a direction
    "": np.eye(2),
    "-ew": np.array([[2.0, 0.0], [0.0, 1.0]]),
    "-ns": np.array([[1.0, 0.0], [0.0, 2.0]]),
    "-ne": np.array([[2.0, 2.0], [-1.0, 1.0]]) / sqrt(2),
    "-nw": np.array([[2.0, -2.0], [1.0, 1.0]]) / sqrt(2),
}
_WAYS: dict[Way, tuple[str, ...]] = {  # in which zones are joined or parted, and on which planes
    "ward": tuple(_PLANES),
    "average": tuple(_PLANES),
    "complete": ("", "-ew", "-ns"),
    "kd": ("", "-ew", "-ns"),
}
# By name: way and plane. An area has the name of the first tree that has it.
TREES: dict[str, tuple[Way, str]] = {f"{way}{plane}": (way, plane) for way, planes in _WAYS.items() for plane in planes}


class Dendrogram:
    """A binary tree over zones: its nodes are the zones, then areas of two parts each, the last of all."""

    def __init__(self, zones_total: int, parts: IntArray) -> None:
        """Take the two parts of each area; parts may come after the area that they make up."""
        self._zones_total = zones_total
        self._parts = parts

    @cached_property
    def _spans(self) -> tuple[IntArray, IntArray, IntArray]:
        """Zones in an order in which those of every node follow each other; first and end of each node in it."""
        nodes_total = self._zones_total + len(self._parts)
        order: list[int] = []
        first, end = np.zeros(nodes_total, np.int64), np.zeros(nodes_total, np.int64)
        waiting = [(nodes_total - 1, False)] if nodes_total else []
        while waiting:
            node, is_done = waiting.pop()
            if is_done:
                end[node] = len(order)
                continue
            first[node] = len(order)
            waiting.append((node, True))
            if node < self._zones_total:
                order.append(node)
            else:
                waiting += [(part, False) for part in self._parts[node - self._zones_total].tolist()[::-1]]
        return np.array(order, np.int64), first, end

    @cached_property
    def _node_of_span(self) -> dict[tuple[int, int], int]:
        _, first, end = self._spans
        return {span: node for node, span in enumerate(zip(first.tolist(), end.tolist(), strict=True))}

    @cached_property
    def _above(self) -> dict[int, int]:
        made = self._zones_total + np.arange(len(self._parts))
        return dict(zip(self._parts.ravel().tolist(), np.repeat(made, 2).tolist(), strict=True))

    @cached_property
    def position(self) -> IntArray:
        """By zone: its place in an order in which the zones of every node follow each other."""
        order, _, _ = self._spans
        place = np.empty(len(order), np.int64)
        place[order] = np.arange(len(order))
        return place

    def path(self, node: int) -> list[int]:
        """Return a node and those above it, the top left out."""
        path = [node]
        while path[-1] in self._above:
            path.append(self._above[path[-1]])
        return path[:-1] if len(path) > 1 else path

    def zones(self, node: int) -> IntArray | None:
        """Return the zones under a node, ascending; None if there is no such node below the top."""
        top = self._zones_total + max(len(self._parts) - 1, 0)  # a lone zone is not the top
        if not 0 <= node < top:
            return None
        order, first, end = self._spans
        return np.sort(order[first[node] : end[node]])

    def has(self, zones: IntArray) -> bool:
        """Whether some node has exactly these zones."""
        places = self.position[zones]
        first, last = int(places.min()), int(places.max())
        return last - first + 1 == len(zones) and (first, last + 1) in self._node_of_span


class Dendrograms:
    """The trees of zones by name, each made when it is asked for."""

    def __init__(self, lon: FloatArray, lat: FloatArray) -> None:
        if len(lon) > _MOST_ZONES or not np.isfinite([lon, lat]).all():
            raise InputError(
                "these zones have no dendrogram: they are too many, or one has no center",
                "give the zones that the release was made with",
            )
        self._points = _in_meters(lon, lat) if len(lon) else np.zeros((0, 2))
        self.tree = cache(self._make)

    def _make(self, name: str) -> Dendrogram:
        way, plane = TREES[name]
        points = self._points @ _PLANES[plane].T if plane else self._points
        if len(points) < 2:
            return Dendrogram(len(points), np.zeros((0, 2), np.int64))
        return Dendrogram(len(points), _medians(points) if way == "kd" else _linkage(points, way))


def _linkage(points: FloatArray, criterion: Criterion) -> IntArray:
    """Return the parts of areas as SciPy joins points."""
    from scipy.cluster.hierarchy import linkage  # noqa: PLC0415  slow to import

    return linkage(points, method=criterion)[:, :2].astype(np.int64)


def _medians(points: FloatArray) -> IntArray:
    """Return the parts of areas that are halved across their wider side, the smaller half lower; ties by number.

    Areas get their numbers from the last on: those of the two halves of an area, the lower first, before any inside
    them; then all inside the upper half, then all inside the lower.
    """
    total = len(points)
    parts = np.zeros((total - 1, 2), np.int64)
    unused = iter(range(2 * total - 3, total - 1, -1))

    def number(zones: IntArray) -> int:
        return int(zones[0]) if len(zones) == 1 else next(unused)

    waiting = [(2 * total - 2, np.arange(total))]
    while waiting:
        area, zones = waiting.pop()
        width, height = np.ptp(points[zones], axis=0)
        along = points[zones, 1 if height > width else 0]
        zones = zones[np.lexsort((zones, along))]
        halves = zones[: len(zones) // 2], zones[len(zones) // 2 :]
        numbers = [number(half) for half in halves]
        parts[area - total] = numbers
        waiting += [(node, half) for node, half in zip(numbers, halves, strict=True) if len(half) > 1]
    return parts


def _in_meters(lon: FloatArray, lat: FloatArray) -> FloatArray:
    """Project to the equal-area plane around the middle of all points."""
    middle = [(float(values.min()) + float(values.max())) / 2 for values in (lon, lat)]
    plane = pyproj.CRS.from_dict({"proj": "laea", "lon_0": middle[0], "lat_0": middle[1], "datum": "WGS84"})
    to_plane = pyproj.Transformer.from_crs("EPSG:4326", plane, always_xy=True)
    return np.column_stack(to_plane.transform(lon, lat))
