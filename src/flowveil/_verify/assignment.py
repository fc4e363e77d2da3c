"""Flows between rectangles that may overlap: the private assignment says which flow counts a pair of tiles."""

from __future__ import annotations

from collections import Counter
from threading import Lock
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from flowveil._arrays import texts
from flowveil._folder import ASSIGNMENT
from flowveil._verify.boxes import Centers
from flowveil._verify.broken import broken, shown
from flowveil._verify.forest import NONE
from flowveil._verify.hidden import telling, tells
from flowveil._verify.parquet import read_parquet

if TYPE_CHECKING:
    from pathlib import Path

    from flowveil._arrays import BoolArray, IntArray
    from flowveil._verify.boxes import Boxes
    from flowveil._verify.elsewhere import Elsewhere
    from flowveil._verify.ground import Ground
    from flowveil._verify.hidden import Sums
    from flowveil._verify.tables import FlowTable

_COLUMNS = ("origin_tile", "destination_tile", "origin", "destination")
_FAR = 2**40  # ten-millionths of a degree: beyond the globe
_ROUNDING = 1  # of them, between machines
_HINT = "keep the assignment file that anonymize wrote beside the folder, in private"


def load_assignment(folder: Path) -> pa.Table:
    """Return the assignment beside a folder: sorted by pair of tiles, each pair once."""
    path = folder.with_name(folder.name + ASSIGNMENT)
    if not path.is_file():
        raise broken(f"areas overlap, so that this release can only be checked with {shown(path.name)!r}", _HINT)
    table = read_parquet(path, pa.schema({name: pa.string() for name in _COLUMNS}))
    if any(table[name].null_count for name in _COLUMNS):
        raise broken("the assignment has a null")
    pairs = list(zip(table["origin_tile"].to_pylist(), table["destination_tile"].to_pylist(), strict=True))
    for place in range(1, len(pairs)):
        if pairs[place] == pairs[place - 1]:
            raise broken("the assignment counts a pair of tiles twice")
        if pairs[place] < pairs[place - 1]:
            raise broken("the assignment is not sorted by pair of tiles")
    return table


class AssignedIndex:
    """Finds the flow of a pair of tiles by the assignment, after checking that it lies in the areas of that flow."""

    def __init__(
        self, flows: FlowTable, boxes: Boxes, ground: Ground, elsewhere: Elsewhere, assignment: pa.Table
    ) -> None:
        self._flows = flows
        self._boxes = boxes
        self._centers = Centers(boxes, ground)
        self._elsewhere = elsewhere
        self._ends = [
            np.array([boxes.number.get(area, NONE) for area in ids], np.int64)
            for ids in (flows.origin, flows.destination)
        ]
        self._flow = _flows_of(flows, assignment)
        tiles = [_tiles_of(ground, assignment, name) for name in _COLUMNS[:2]]
        self._known = [np.unique(end) for end in tiles]
        key = self._keys(*tiles)
        order = np.argsort(key)
        self._key, self._flow = key[order], self._flow[order]
        if len(np.unique(self._key)) < len(self._key):
            raise broken("the assignment counts a pair of tiles twice")
        self._lock = Lock()
        self._seen = np.zeros(len(self._key), bool)
        self._left_out = np.zeros(0, np.int64)  # tiles of the first axis that trips of no flow have
        self._reached = np.zeros((0, 2), np.int64)  # (flow, tile at the other end) of flows to elsewhere
        for end, there in enumerate(tiles):
            self._check_inside(end, there[order])

    def locate(self, origin: IntArray, destination: IntArray, _: list[IntArray]) -> IntArray:
        """Return the flow that counts each pair of tiles, -1 for none."""
        ends = (origin, destination)
        for end, tiles in enumerate(ends):
            self._centers.look_up(end, np.unique(tiles))
        key = self._keys(origin, destination)
        place = np.minimum(np.searchsorted(self._key, key), len(self._key) - 1)
        hit = (self._key[place] == key) & (key != NONE)
        flow = np.where(hit, self._flow[place], NONE)
        first = self._elsewhere.first
        rest = hit & self._elsewhere.flows[flow]
        pairs = np.column_stack([flow[rest], ends[1 - first][rest]])
        with self._lock:
            self._seen[place[hit]] = True
            self._left_out = np.union1d(self._left_out, ends[first][~hit])
            self._reached = np.unique(np.concatenate([self._reached, pairs]), axis=0)
        return flow

    def tiles(self) -> tuple[IntArray, IntArray]:
        """Return by flow the tiles of its areas; elsewhere has those that its trips reach."""
        reached = np.bincount(self._reached[:, 0], minlength=len(self._flows)).astype(np.int64)
        origins, destinations = (
            np.where(number == NONE, reached, self._centers.tiles(end)[number]) for end, number in enumerate(self._ends)
        )
        return origins, destinations

    def check_used(self) -> None:
        """Raise unless every pair of the assignment has trips, and flows to elsewhere leave none of their area out."""
        if not self._seen.all():
            raise broken(
                "the assignment has a pair of tiles without trips",
                "verify against the trips that the release was made from, with the same columns and condition",
            )
        first = self._elsewhere.first
        boxes = self._ends[first][self._elsewhere.flows]
        points = self._centers.look_up(first, self._left_out)
        for tile in self._left_out.tolist():
            if self._boxes.hold(boxes, *points[tile]).any():
                raise broken("a trip is left out, though an area that holds it has a flow to or from elsewhere")

    def check_hidden(self, sums: Sums) -> None:
        """Raise if a flow to elsewhere tells of single pairs of tiles, of which a reader knows that they are few."""
        first = self._elsewhere.first
        inside = [self._centers.inside(end, self._ends[end]) for end in (0, 1)]
        alone = [len(one) == len(other) == 1 for one, other in zip(*inside, strict=True)]
        sure = Counter(next(iter(tiles)) for tiles, single in zip(inside[first], alone, strict=True) if single)
        everywhere = self._centers.total(1 - first)
        for flow in np.flatnonzero(self._elsewhere.flows).tolist():
            if tells(flow, (everywhere - sure[tile] for tile in inside[first][flow]), sums):
                raise telling(self._flows, flow)

    def _keys(self, origin: IntArray, destination: IntArray) -> IntArray:
        """Return one number for each pair of tiles, -1 where the assignment does not know one of them."""
        ranks = []
        for known, tiles in zip(self._known, (origin, destination), strict=True):
            rank = np.minimum(np.searchsorted(known, tiles), max(len(known) - 1, 0))
            ranks.append(np.where(known[rank] == tiles, rank, NONE))
        return np.where((ranks[0] == NONE) | (ranks[1] == NONE), NONE, ranks[0] * len(self._known[1]) + ranks[1])

    def _check_inside(self, end: int, tiles: IntArray) -> None:
        """Raise unless the centers of tiles lie in the areas of their flows."""
        points = self._centers.look_up(end, np.unique(tiles))
        places = np.array([points[tile] for tile in tiles.tolist()], np.int64).reshape(-1, 2)
        number = self._ends[end][self._flow]
        box, frame = self._boxes.bounds[number], self._boxes.frame
        inside: BoolArray = number == NONE  # elsewhere may be anywhere
        within = (places <= box[:, 2:]) & ((places > box[:, :2]) | (box[:, :2] == frame[:2]))
        if len(bad := np.flatnonzero(~(inside | within.all(axis=1)))):
            raise broken(f"the flow {self._flows.name(int(self._flow[bad[0]]))} counts trips outside its areas")
        self._check_tight(end, tiles)

    def _check_tight(self, end: int, tiles: IntArray) -> None:
        """Raise unless areas are the smallest around the tiles of their flows: edges must not tell anything finer."""
        distinct, position = np.unique(tiles, return_inverse=True)
        around = self._centers.around(end, distinct)[position]
        edges = np.tile(np.array([_FAR, _FAR, -_FAR, -_FAR]), (len(self._flows), 1))
        np.minimum.at(edges[:, :2], self._flow, around[:, :2])
        np.maximum.at(edges[:, 2:], self._flow, around[:, 2:])
        wrong = np.abs(edges - self._boxes.bounds[self._ends[end]]).max(axis=1) > _ROUNDING
        if len(bad := np.flatnonzero(wrong & ~self._elsewhere.flows)):
            raise broken(f"the areas of the flow {self._flows.name(int(bad[0]))} are not the smallest around its tiles")


def _flows_of(flows: FlowTable, assignment: pa.Table) -> IntArray:
    """Return the flow that each row of the assignment names."""
    number = {pair: flow for flow, pair in enumerate(zip(flows.origin, flows.destination, strict=True))}
    pairs = zip(texts(assignment["origin"]), texts(assignment["destination"]), strict=True)
    flow_of_row = np.array([number.get(pair, NONE) for pair in pairs], np.int64)
    if (flow_of_row == NONE).any() or not len(flow_of_row):
        raise broken("the assignment names a flow that the release does not have, or none at all")
    return flow_of_row


def _tiles_of(ground: Ground, assignment: pa.Table, column: str) -> IntArray:
    """Return the tiles of one end."""
    names = texts(assignment[column])
    known = {name: ground.tile(name) for name in set(names)}
    for name in names:
        if known[name] is None:
            raise broken(f"the assignment has {shown(name)!r}, which is no tile")
    return np.array([known[name] for name in names], np.int64)
