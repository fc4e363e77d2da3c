"""Rectangles `r:N` as areas: a trip lies in a flow if the centers of its two tiles lie in the flow's two rectangles.

Bounds and centers are compared as whole ten-millionths of a degree. A rectangle holds what is above its west and south,
up to its east and north; the bounds of the frame (the bbox, or the globe) belong to it, and centers outside the frame
are moved onto it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import shapely

from flowveil.verify._broken import broken, shown
from flowveil.verify._forest import NONE
from flowveil.verify._geo import TOLERANCE, read_shapes

if TYPE_CHECKING:
    from flowveil._arrays import BoolArray, IntArray
    from flowveil.verify._ground import Ground
    from flowveil.verify._members import Members
    from flowveil.verify._tables import AreasTable, FlowTable

_PARTS = 10_000_000  # of a degree
_MOST_COMPARED = 8_000_000  # pairs of flows looked at together, to bound memory
_GLOBE = (-180.0, -90.0, 180.0, 90.0)


class Boxes:
    """The rectangles of a release: west, south, east and north by number."""

    def __init__(self, areas: AreasTable, bbox: tuple[float, float, float, float] | None) -> None:
        self.frame = np.array([round(edge * _PARTS) for edge in bbox or _GLOBE], np.int64)
        self._closed = bbox is not None
        self.number: dict[str, int] = {}
        found: dict[str, tuple[int, ...]] = {}
        for area, shape in zip(areas.area, read_shapes(areas.geometry), strict=True):
            edges = self._edges(area, shape)
            if found.setdefault(area, edges) != edges:
                raise broken(f"the area {shown(area)} has another geometry as origin than as destination")
        # Numbers follow the bounds, so that they say nothing else.
        order = sorted(found, key=lambda area: found[area])
        if order != [f"r:{number}" for number in range(len(order))] or len(set(found.values())) < len(found):
            raise broken("the rectangles are not numbered by their bounds")
        self.number = {area: number for number, area in enumerate(order)}
        self.bounds = np.array([found[area] for area in order], np.int64)
        self._check_rows(areas)

    def _edges(self, area: str, shape: shapely.Geometry | None) -> tuple[int, ...]:
        if shape is None or shape.is_empty:
            raise broken(f"the area {shown(area)} has no geometry")
        edges = tuple(round(edge * _PARTS) for edge in shape.bounds)
        plain = shapely.box(*(edge / _PARTS for edge in edges))
        west, south, east, north = edges
        inside = (np.array(edges[:2]) >= self.frame[:2]).all() and (np.array(edges[2:]) <= self.frame[2:]).all()
        if not shapely.equals_exact(shape, plain, TOLERANCE) or not (west < east and south < north and inside):
            raise broken(f"the geometry of the area {shown(area)} is not a rectangle of the release")
        return edges

    def _check_rows(self, areas: AreasTable) -> None:
        """Check centers and numbers of tiles: those of zones are their members, those of a grid are not told."""
        for row, area in enumerate(areas.area):
            edges = self.bounds[self.number[area]]
            is_open = not self._closed and bool((edges == self.frame).any())
            middle = None if is_open else tuple(((edges[:2] + edges[2:]) / (2 * _PARTS)).tolist())
            if (areas.lon[row] is None) != (middle is None) or (areas.lat[row] is None) != (middle is None):
                raise broken(f"the center of the area {shown(area)} is wrong")
            if middle is not None and not np.allclose(
                [areas.lon[row] or 0.0, areas.lat[row] or 0.0], middle, rtol=0, atol=TOLERANCE
            ):
                raise broken(f"the center of the area {shown(area)} is wrong")
            members = None if areas.members is None else areas.members[row]
            if areas.tiles[row] != (None if members is None else len(members)):
                raise broken(f"the number of tiles of the area {shown(area)} is wrong")

    def hold(self, number: IntArray, lon: int, lat: int) -> BoolArray:
        """Return which of some rectangles hold a point."""
        box = self.bounds[number]
        inside = (lon <= box[:, 2]) & (lat <= box[:, 3])
        inside &= (lon > box[:, 0]) | (box[:, 0] == self.frame[0])
        inside &= (lat > box[:, 1]) | (box[:, 1] == self.frame[1])
        return inside


class BoxIndex:
    """Flows between rectangles, checked to be disjoint, searchable by pair of tiles."""

    def __init__(self, flows: FlowTable, boxes: Boxes, ground: Ground) -> None:
        self._flows = flows
        self._boxes = boxes
        self._ground = ground
        self._ends = [
            np.array([boxes.number[area] for area in ids], np.int64) for ids in (flows.origin, flows.destination)
        ]
        self._points: list[dict[int, tuple[int, int]]] = [{}, {}]  # by end: center of each tile seen
        self._check_disjoint()

    def locate(self, origin: IntArray, destination: IntArray) -> IntArray:
        """Return the flow that holds each pair of tiles, -1 for none."""
        for end, tiles in enumerate((origin, destination)):
            self._look_up(end, np.unique(tiles))
        pairs, position = np.unique(np.column_stack([origin, destination]), axis=0, return_inverse=True)
        found = np.full(len(pairs), NONE, np.int64)
        starts = np.flatnonzero(np.append(True, pairs[1:, 0] != pairs[:-1, 0])) if len(pairs) else np.zeros(0, np.int64)
        for start, stop in zip(starts.tolist(), [*starts[1:].tolist(), len(pairs)], strict=False):
            lon, lat = self._points[0][int(pairs[start, 0])]
            near = np.flatnonzero(self._boxes.hold(self._ends[0], lon, lat))
            for row in range(start, stop):
                lon, lat = self._points[1][int(pairs[row, 1])]
                held = near[self._boxes.hold(self._ends[1][near], lon, lat)]
                if len(held) > 1:
                    self._raise_overlap(int(held[0]), int(held[1]))
                found[row] = held[0] if len(held) else NONE
        flow: IntArray = found[position.ravel()]
        return flow

    def tiles(self) -> tuple[IntArray, IntArray]:
        """Return by flow the tiles of its areas: zones, or tiles of the grid that were seen at that end."""
        counts = []
        for end in range(2):
            tiles = self._ground.all_tiles()
            if tiles is not None:
                self._look_up(end, tiles)
            total = np.zeros(len(self._boxes.bounds), np.int64)
            every = np.arange(len(self._boxes.bounds))
            for lon, lat in self._points[end].values():
                total += self._boxes.hold(every, lon, lat)
            counts.append(total[self._ends[end]])
        return counts[0], counts[1]

    def _look_up(self, end: int, tiles: IntArray) -> None:
        new = np.array([tile for tile in tiles.tolist() if tile not in self._points[end]], np.int64)
        lon, lat = self._ground.centers(new)
        low, high = self._boxes.frame[:2], self._boxes.frame[2:]
        points = np.clip(np.rint(np.column_stack([lon, lat]) * _PARTS).astype(np.int64), low, high)
        self._points[end].update(zip(new.tolist(), map(tuple, points.tolist()), strict=True))

    def _check_disjoint(self) -> None:
        """Raise unless any two flows are apart along one of the four axes."""
        bounds = [self._boxes.bounds[number] for number in self._ends]
        low = np.concatenate([box[:, :2] for box in bounds], axis=1)
        high = np.concatenate([box[:, 2:] for box in bounds], axis=1)
        step = max(1, _MOST_COMPARED // max(1, len(low)))
        for start in range(0, len(low), step):
            some = slice(start, start + step)
            meets = np.ones((len(low[some]), len(low)), bool)
            for axis in range(4):
                meets &= (low[some, axis, None] < high[:, axis]) & (low[:, axis] < high[some, axis, None])
            meets[np.arange(len(meets)), np.arange(start, start + len(meets))] = False
            if meets.any():
                one, other = np.argwhere(meets)[0].tolist()
                self._raise_overlap(start + one, other)

    def _raise_overlap(self, flow: int, other: int) -> None:
        one, two = sorted((flow, other))
        raise broken(f"the flows {self._flows.name(one)} and {self._flows.name(two)} overlap")


def check_members(areas: AreasTable, boxes: Boxes, ground: Members) -> None:
    """Raise unless the members of each rectangle are the zones whose centers it holds."""
    ids = ground.zone_ids
    lon, lat = ground.centers(np.arange(len(ids)))
    points = np.clip(
        np.rint(np.column_stack([lon, lat]) * _PARTS).astype(np.int64), boxes.frame[:2], boxes.frame[2:]
    ).tolist()
    every = np.arange(len(boxes.bounds))
    held = np.array([boxes.hold(every, *point) for point in points])
    for row, area in enumerate(areas.area):
        zones = sorted(ids[zone] for zone in np.flatnonzero(held[:, boxes.number[area]]).tolist())
        if areas.members is None or areas.members[row] != zones:
            raise broken(f"the members of the area {shown(area)} are not the zones that it holds")
