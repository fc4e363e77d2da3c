"""What a method answers."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from flowveil._places import NodeAreas, RectangleAreas

if TYPE_CHECKING:
    from flowveil._arrays import IntArray
    from flowveil._flows import Flows
    from flowveil._places import Areas, Numbered, Rectangles


@dataclass(frozen=True, eq=False)
class Solution:
    """The answer of a method: pairs of nodes (or rectangles) to publish, and which tile pairs each counts."""

    origin: IntArray  # by flow: node of the origins' tree, area of their family, or number of a rectangle
    destination: IntArray
    group: IntArray  # by tile pair: the flow that counts it, -1 where suppressed
    matrix: IntArray  # by flow, ascending
    exact: bool = True  # every flow counts all trips of its area pair
    notes: tuple[str, ...] = ()  # choices the method made, for the audit file
    first: int = 0  # the axis that comes first: 0 origins, 1 destinations
    areas: tuple[IntArray, ...] | None = None  # by matrix: nodes of the first axis, where they are one map
    time: IntArray | None = None  # by flow: node of the hierarchy of time, where there is one
    rectangles: Rectangles | None = None  # of both ends, in place of nodes
    numbered: tuple[Numbered, Numbered] | None = None  # what numbers of areas mean, if not nodes of the trees
    above: IntArray | None = None  # by flow, with remainders: the smallest flow that holds it, -1 for none
    overlapping: bool = False  # rectangles of different flows may overlap: only `group` says where a trip is counted

    def part(self, flows: Flows, matrix: int) -> Solution:
        """Return the answer for one matrix by itself."""
        start, stop = np.searchsorted(self.matrix, [matrix, matrix + 1]).tolist()
        rows = slice(*flows.edges[[matrix, matrix + 1]].tolist())
        group = self.group[rows]
        return replace(
            self,
            origin=self.origin[start:stop],
            destination=self.destination[start:stop],
            group=np.where(group < 0, -1, group - start),
            areas=None if self.areas is None else (self.areas[matrix],),
            matrix=self.matrix[start:stop] - matrix,
            time=None if self.time is None else self.time[start:stop],
            above=None if self.above is None else np.maximum(self.above[start:stop] - start, -1),
        )

    def sides(self, flows: Flows) -> tuple[Areas, Areas]:
        """Return what the areas of origins and destinations are."""
        if self.rectangles is None:
            first, second = self.numbered or (flows.origins, flows.destinations)
            return NodeAreas(flows.places, first), NodeAreas(flows.places, second)
        return (
            RectangleAreas(self.rectangles, flows.places, flows.origins),
            RectangleAreas(self.rectangles, flows.places, flows.destinations),
        )
