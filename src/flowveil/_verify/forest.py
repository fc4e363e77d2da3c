"""Areas of one side that are nested or disjoint, as a forest: flows to elsewhere need to know what holds what."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from flowveil._verify.broken import broken, shown

if TYPE_CHECKING:
    from collections.abc import Hashable, Sequence

    from flowveil._arrays import IntArray
    from flowveil._verify.ground import Ground

NONE = -1


class Forest:
    """Areas numbered from 0, each with the smallest area that holds it (-1 for none).

    Area `b` lies in area `a` exactly if `first[a] <= first[b] < end[a]`.
    """

    def __init__(self, parent: IntArray) -> None:
        self.parent = parent
        children: list[list[int]] = [[] for _ in range(len(parent) + 1)]  # the last entry: areas that no other holds
        for area, above in enumerate(parent.tolist()):
            children[above].append(area)
        self.first = np.zeros(len(parent), np.int64)
        waiting = children[-1][::-1]
        order: list[int] = []
        while waiting:
            area = waiting.pop()
            order.append(area)
            waiting += children[area][::-1]
        self.first[order] = np.arange(len(order))
        size = np.ones(len(parent), np.int64)
        for area in reversed(order):
            if parent[area] != NONE:
                size[parent[area]] += size[area]
        self.end = self.first + size

    @classmethod
    def of(cls, ground: Ground, areas: Sequence[str]) -> Forest:
        """Return the forest of areas, or raise if they are not all of one tree."""
        paths = [ground.path(area) for area in areas]
        number: dict[Hashable, int] = {}
        for place, path in enumerate(paths):
            if number.setdefault(path[0], place) != place:
                raise _crossing(areas, place, number[path[0]])
        parent = np.array([next((number[node] for node in path[1:] if node in number), NONE) for path in paths])
        extents = ground.extents(areas)
        for area in np.unique(parent[parent != NONE]).tolist():
            inside, _ = extents.related(area)
            if len(bad := np.flatnonzero((parent == area) & ~inside)):
                raise _crossing(areas, int(bad[0]), area)
        return cls(parent.astype(np.int64))

    def __len__(self) -> int:
        return len(self.parent)


def _crossing(areas: Sequence[str], one: int, other: int) -> Exception:
    return broken(f"the areas {shown(areas[one])} and {shown(areas[other])} are neither nested nor apart")
