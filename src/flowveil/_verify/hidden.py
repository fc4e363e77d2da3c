"""What flows to elsewhere tell of the trips that are hidden in them.

Whatever a place has no flow with is below a crowd, or it would have been published. So the sum of all hidden trips of
an area may be told only if each of the parts they may be in could still be empty: all but one of them must have room
for the sum. Parts are counted from the release alone, and rather too few: for some place of the area, the largest areas
of the other end that it has no flow with, among those that the release names.
"""

from __future__ import annotations

from collections import defaultdict
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from flowveil._verify.broken import broken
from flowveil._verify.forest import NONE

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable, Mapping, Sequence

    from flowveil._arrays import IntArray
    from flowveil._errors import VerificationError
    from flowveil._verify.elsewhere import Elsewhere
    from flowveil._verify.forest import Forest
    from flowveil._verify.ground import Ground
    from flowveil._verify.tables import FlowTable

    Sums = Sequence[tuple[IntArray, int]]  # persons (or trips) or weight of each flow, and the most of a part


def check_elsewhere(
    flows: FlowTable, elsewhere: Elsewhere, forest: Forest, area: IntArray, slot: IntArray, ground: Ground, sums: Sums
) -> None:
    """Raise if a flow to elsewhere tells that a part of it is not empty.

    forest, area: the areas of the end that is not elsewhere, and that of each flow. slot: the matrix of each flow.
    """
    others = flows.destination if elsewhere.first == 0 else flows.origin
    for matrix in np.unique(slot[elsewhere.flows]).tolist():
        rows = np.flatnonzero(slot == matrix)
        rest = {int(area[row]): row for row in rows[elsewhere.flows[rows]].tolist()}
        reached: dict[int, list[str]] = defaultdict(list)
        for row in rows[~elsewhere.flows[rows]].tolist():
            reached[int(area[row])].append(others[row])
        places = _Places(forest, {*rest, *reached}, set(rest))
        parts = _Parts(ground, {other for ends in reached.values() for other in ends})
        for here, flow in rest.items():
            seen = (parts.count([end for holder in above for end in reached[holder]]) for above in places.of(here))
            if tells(flow, seen, sums):
                raise telling(flows, flow)


def telling(flows: FlowTable, flow: int) -> VerificationError:
    """Return the error that a flow to elsewhere tells too much."""
    return broken(f"the flow {flows.name(flow)} may hide in so few pairs of areas that it tells of single ones")


def tells(flow: int, parts: Iterable[int], sums: Sums) -> bool:
    """Whether a sum has no room in all parts but one, however many some place has."""
    return not any(all(size[flow] <= (count - 1) * largest for size, largest in sums) for count in parts)


class _Places:
    """The smallest areas that a release names, by the area whose flow to elsewhere counts their hidden trips."""

    def __init__(self, forest: Forest, named: set[int], reporting: set[int]) -> None:
        self._above = {area: _next_above(forest, area, named) for area in named}
        self._of: dict[int, list[int]] = defaultdict(list)
        holds_others = {NONE}
        for area in sorted(named, key=lambda area: -int(forest.first[area])):  # what is inside comes first
            places = self._of[area] if area in holds_others else [area]
            self._of[area] = places
            holds_others.add(self._above[area])
            if area not in reporting:
                self._of[self._above[area]] += places

    def of(self, area: int) -> Iterable[list[int]]:
        """Yield for each smallest area the areas that hold it, itself first."""
        for place in self._of[area]:
            holders = [place]
            while self._above[holders[-1]] != NONE:
                holders.append(self._above[holders[-1]])
            yield holders


def _next_above(forest: Forest, area: int, named: set[int]) -> int:
    above = int(forest.parent[area])
    while above != NONE and above not in named:
        above = int(forest.parent[above])
    return above


class _Parts:
    """The tree above the areas of one end, as far as a release names them."""

    def __init__(self, ground: Ground, areas: Iterable[str]) -> None:
        self._paths: Mapping[str, Sequence[Hashable]] = {area: ground.path(area) for area in areas}
        below: dict[Hashable, set[Hashable]] = defaultdict(set)
        for path in self._paths.values():
            for lower, upper in pairwise(path):
                below[upper].add(lower)
        self._children = {node: len(nodes) for node, nodes in below.items()}

    def count(self, own: Sequence[str]) -> int:
        """Return how many areas, each as large as can be, hold none of some areas and lie in none of them."""
        if not own:
            return 1
        ends = {self._paths[area][0] for area in own}
        touched = {node for area in own for node in self._paths[area]}
        return sum(self._children[node] for node in touched - ends) - (len(touched) - 1)
