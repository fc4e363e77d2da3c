"""What the parts of published flows truly hold, to see which statements about them are true."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from flowveil._flows import People

if TYPE_CHECKING:
    from flowveil._arrays import IntArray
    from flowveil._places import Family
    from flowveil._risk.case import Case


class TrueParts:
    """The parts of one end of flows, by way to divide it, counted on the true trips. Private."""

    def __init__(self, case: Case, end: int) -> None:
        """end: 0 for origins, 1 for destinations."""
        self.flows, published = case.flows, case.published
        group = np.zeros(0, np.int64) if published.group is None else published.group
        self.order = np.argsort(group, kind="stable")
        self.start = np.searchsorted(group[self.order], np.arange(len(published.trips) + 1))
        tree = (self.flows.origins, self.flows.destinations)[end]
        self.leaf = (self.flows.origin, self.flows.destination)[end]
        self.family: Family = self.flows.places.family(tree)

    def counts(self, flow: int, area: str, way: int) -> IntArray | None:
        """Return the trips (persons) of the parts that a way divides the area of a flow into; None without such a way.

        Parts without trips may be missing. Of a remainder, what it counts itself is divided. A way that parts the tiles
        seen like an earlier one is not there by itself: the earlier one stands for it.
        """
        ways, number = self.family.ways, self._number[area]
        split = min(int(ways.first_way[number]) + way, int(ways.first_way[number + 1]) - 1)
        if (node := int(ways.way[split])) < 0:
            return None
        records = self.order[self.start[flow] : self.start[flow + 1]]
        rank = self._ranks[int(ways.tree[node])][records]
        part = np.searchsorted(ways.low[ways.first_child[node] : ways.end_child[node]], rank, side="right") - 1
        people = self.flows.people
        if not isinstance(people, People):
            return np.bincount(part, self.flows.trips[records]).astype(np.int64)
        start, stop = (np.searchsorted(people.pair, records, side) for side in ("left", "right"))
        who = np.concatenate([people.person[low:high] for low, high in zip(start, stop, strict=True)])
        pairs = np.unique(np.column_stack([np.repeat(part, stop - start), who]), axis=0)
        return np.bincount(pairs[:, 0])

    @cached_property
    def _number(self) -> dict[str, int]:
        names = self.flows.places.ids(self.family, np.arange(len(self.family)))
        return {name: number for number, name in enumerate(names)}

    @cached_property
    def _ranks(self) -> list[IntArray]:
        """By tree and tile pair: the rank of its tile in that tree."""
        area = self.family.number[0][self.leaf]
        return [tree.low[nodes[area]] for tree, nodes in zip(self.family.trees, self.family.nodes, strict=True)]
