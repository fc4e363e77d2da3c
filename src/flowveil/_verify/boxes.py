"""Rectangles `r:N` as areas: a trip lies in a flow if the centers of its two tiles lie in the flow's two rectangles.

Bounds and centers are compared as whole ten-millionths of a degree. A rectangle holds what is above its west and south,
up to its east and north; the bounds of the frame (the bbox, or the globe) belong to it, and centers outside the frame
are moved onto it.
"""

from __future__ import annotations

from threading import Lock
from typing import TYPE_CHECKING

import numpy as np
import shapely

from flowveil._verify.apart import find_overlap
from flowveil._verify.broken import broken, shown
from flowveil._verify.forest import NONE
from flowveil._verify.geo import TOLERANCE, read_shapes

if TYPE_CHECKING:
    from shapely.geometry.base import BaseGeometry

    from flowveil._arrays import BoolArray, IntArray
    from flowveil._verify.ground import Ground
    from flowveil._verify.members import Members
    from flowveil._verify.tables import AreasTable, FlowTable

_PARTS = 10_000_000  # of a degree
_MOST_SEARCHED = 2_000  # rectangles whose tiles are looked up together, to bound memory
_GLOBE = (-180.0, -90.0, 180.0, 90.0)


class Boxes:
    """The rectangles of a release: west, south, east and north by number."""

    def __init__(self, areas: AreasTable, bbox: tuple[float, float, float, float] | None) -> None:
        self.frame = np.array([round(edge * _PARTS) for edge in bbox or _GLOBE], np.int64)
        self._closed = bbox is not None
        self.number: dict[str, int] = {}
        edges_of: dict[str, tuple[int, ...]] = {}
        for area, shape in zip(areas.area, read_shapes(areas.geometry), strict=True):
            edges = self._edges(area, shape)
            if edges_of.setdefault(area, edges) != edges:
                raise broken(f"the area {shown(area)} has another geometry as origin than as destination")
        # Numbers follow the bounds, so that they say nothing else.
        order = sorted(edges_of, key=lambda area: edges_of[area])
        if order != [f"r:{number}" for number in range(len(order))] or len(set(edges_of.values())) < len(edges_of):
            raise broken("the rectangles are not numbered by their bounds")
        self.number = {area: number for number, area in enumerate(order)}
        self.bounds = np.array([edges_of[area] for area in order], np.int64)
        self._check_rows(areas)

    def _edges(self, area: str, shape: BaseGeometry | None) -> tuple[int, ...]:
        if shape is None or shape.is_empty:
            raise broken(f"the area {shown(area)} has no geometry")
        edges = tuple(round(edge * _PARTS) for edge in shape.bounds)
        west, south, east, north = edges
        plain = shapely.box(west / _PARTS, south / _PARTS, east / _PARTS, north / _PARTS)
        inside = (np.array(edges[:2]) >= self.frame[:2]).all() and (np.array(edges[2:]) <= self.frame[2:]).all()
        if not shapely.equals_exact(shape, plain, TOLERANCE) or not (west < east and south < north and inside):
            raise broken(f"the geometry of the area {shown(area)} is not a rectangle of the release")
        return edges

    def _check_rows(self, areas: AreasTable) -> None:
        """Check centers and numbers of tiles: those of zones are their members, those of a grid are not told."""
        for row, area in enumerate(areas.area):
            edges = self.bounds[self.number[area]]
            is_open = not self._closed and bool((edges == self.frame).any())
            middle = (None, None) if is_open else tuple(((edges[:2] + edges[2:]) / (2 * _PARTS)).tolist())
            said = (areas.lon[row], areas.lat[row])
            if not all(_is_same(value, expected) for value, expected in zip(said, middle, strict=True)):
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


def _is_same(value: float | None, expected: float | None) -> bool:
    """Whether two degrees are the same but for rounding, or both missing; NaN is not like anything."""
    if value is None or expected is None:
        return value is expected
    return abs(value - expected) <= TOLERANCE


class Centers:
    """Centers of the tiles of both ends, moved into the frame."""

    def __init__(self, boxes: Boxes, ground: Ground) -> None:
        self._boxes = boxes
        self._ground = ground
        self._lock = Lock()
        self._points: list[dict[int, tuple[int, int]]] = [{}, {}]  # by end: center of each tile seen

    def look_up(self, end: int, tiles: IntArray) -> dict[int, tuple[int, int]]:
        """Return the center of each tile of one end, those looked up before included; notes the tiles as seen."""
        low, high = self._boxes.frame[:2], self._boxes.frame[2:]
        with self._lock:
            new = np.array([tile for tile in tiles.tolist() if tile not in self._points[end]], np.int64)
            lon, lat = self._ground.centers(new)
            points = np.clip(np.rint(np.column_stack([lon, lat]) * _PARTS).astype(np.int64), low, high)
            self._points[end].update(zip(new.tolist(), map(tuple, points.tolist()), strict=True))
        return self._points[end]

    def around(self, end: int, tiles: IntArray) -> IntArray:
        """Return the smallest rectangles around tiles and their centers, inside the frame, one row a tile."""
        points = self.look_up(end, tiles)
        center = np.array([points[tile] for tile in tiles.tolist()], np.int64).reshape(-1, 2)
        edges, frame = self._ground.bounds(tiles) * _PARTS, self._boxes.frame
        low = np.fmin(np.floor(edges[:, :2]), center - 1).astype(np.int64)
        high = np.fmax(np.ceil(edges[:, 2:]), center).astype(np.int64)
        low = np.clip(low, frame[:2], frame[2:] - 1)
        return np.concatenate([low, np.maximum(np.clip(high, frame[:2], frame[2:]), low + 1)], axis=1)

    def tiles(self, end: int) -> IntArray:
        """Return by rectangle how many tiles it holds: zones, or tiles of the grid that were seen at that end."""
        held = self.inside(end, np.arange(len(self._boxes.bounds)))
        return np.array([len(tiles) for tiles in held], np.int64)

    def total(self, end: int) -> int:
        """Return how many tiles there are at one end."""
        return len(self._all(end))

    def inside(self, end: int, numbers: IntArray) -> list[list[int]]:
        """Return the tiles that some rectangles hold; -1, for none, holds none."""
        points = self._all(end)
        tiles = list(points)
        places = np.array(list(points.values()), np.int64).reshape(-1, 2)
        frame = self._boxes.frame
        tree = shapely.STRtree(np.asarray(shapely.points(places), object))
        held: list[list[int]] = [[] for _ in numbers]
        rows = np.flatnonzero(numbers != NONE)
        for start in range(0, len(rows), _MOST_SEARCHED):
            some = self._boxes.bounds[numbers[rows[start : start + _MOST_SEARCHED]]]
            box, place = tree.query(shapely.box(*some.T))
            low = some[box, :2]
            inside = ((places[place] > low) | (low == frame[:2])).all(axis=1)  # the tree counts all edges in
            for row, tile in zip(rows[start + box[inside]].tolist(), place[inside].tolist(), strict=True):
                held[row].append(tiles[tile])
        return held

    def _all(self, end: int) -> dict[int, tuple[int, int]]:
        tiles = self._ground.all_tiles()
        return self.look_up(end, np.zeros(0, np.int64) if tiles is None else tiles)


class BoxIndex:
    """Flows between rectangles, checked to be disjoint, searchable by pair of tiles."""

    def __init__(self, flows: FlowTable, boxes: Boxes, ground: Ground) -> None:
        self._flows = flows
        self._boxes = boxes
        if not all(area in boxes.number for area in (*flows.origin, *flows.destination)):
            raise broken("a flow between rectangles that do not overlap starts or ends elsewhere")
        self._ends = [
            np.array([boxes.number[area] for area in ids], np.int64) for ids in (flows.origin, flows.destination)
        ]
        self._centers = Centers(boxes, ground)
        self._check_disjoint()

    def locate(self, origin: IntArray, destination: IntArray, _: list[IntArray]) -> IntArray:
        """Return the flow that holds each pair of tiles, -1 for none."""
        points = [self._centers.look_up(end, np.unique(tiles)) for end, tiles in enumerate((origin, destination))]
        pairs, position = np.unique(np.column_stack([origin, destination]), axis=0, return_inverse=True)
        flow_of_pair = np.full(len(pairs), NONE, np.int64)
        starts = np.flatnonzero(np.append(True, pairs[1:, 0] != pairs[:-1, 0])) if len(pairs) else np.zeros(0, np.int64)
        for start, stop in zip(starts.tolist(), [*starts[1:].tolist(), len(pairs)], strict=False):
            lon, lat = points[0][int(pairs[start, 0])]
            near = np.flatnonzero(self._boxes.hold(self._ends[0], lon, lat))
            for row in range(start, stop):
                lon, lat = points[1][int(pairs[row, 1])]
                held = near[self._boxes.hold(self._ends[1][near], lon, lat)]
                if len(held) > 1:
                    self._raise_overlap(int(held[0]), int(held[1]))
                flow_of_pair[row] = held[0] if len(held) else NONE
        flow: IntArray = flow_of_pair[position.ravel()]
        return flow

    def tiles(self) -> tuple[IntArray, IntArray]:
        """Return by flow the tiles of its areas."""
        origins, destinations = (self._centers.tiles(end)[number] for end, number in enumerate(self._ends))
        return origins, destinations

    def _check_disjoint(self) -> None:
        """Raise unless any two flows are apart along one of the four axes."""
        bounds = [self._boxes.bounds[number] for number in self._ends]
        low = np.concatenate([box[:, :2] for box in bounds], axis=1)
        high = np.concatenate([box[:, 2:] for box in bounds], axis=1)
        if (pair := find_overlap(low, high)) is not None:
            self._raise_overlap(*pair)

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
