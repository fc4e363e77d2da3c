"""How areas of zones can be divided: what anyone knows who has the zones."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from flowveil._places import ROOT, Family, choose_places

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from flowveil._folder import Json
    from flowveil._places import ZonesLike

_MANY = "many"
_FIRST = "ward"  # of many trees; an area has the name of the first tree that has it


class ZoneSets:
    """Areas as sets of zones, with all ways that some tree divides them."""

    def __init__(
        self,
        zones: ZonesLike,
        hierarchy: Json,
        columns: Mapping[str, str] | None,
        areas: Iterable[str],
        *,
        one_tree: bool | None,
    ) -> None:
        """columns: what columns of the zones mean. areas: those of the release.

        one_tree: whether only the first of many trees was used. Where that is not known (None), it is told by areas
        that only another one has. Ways of the first tree there are in any case.
        """
        places = choose_places(zones=zones, hierarchy=hierarchy, columns=columns)
        tree, _ = places.hierarchy(np.zeros(0, np.uint64))
        family = places.family(tree)
        self.top = places.top
        self.strict = isinstance(hierarchy, str)  # in trees of columns, an area may have one part
        names = places.ids(family, np.arange(len(family)))
        first = all(name == self.top or name.startswith(f"{_FIRST}:") for name in areas)
        if hierarchy == _MANY and (first if one_tree is None else one_tree):
            family = Family.of(tree)
            names = places.ids(family, np.arange(len(family)))
        self.family = family
        self.number = {name: number for number, name in enumerate(names)}

    def ways(self, area: str) -> int:
        number, ways = self.number[area], self.family.ways
        own = ways.way[ways.first_way[number] : ways.first_way[number + 1]]
        return int((own >= 0).sum())

    def separates(self, area: str, way: int, inner: str) -> bool | None:
        ways = self.family.ways
        split = int(ways.first_way[self.number[area]]) + way
        parts = ways.part[ways.first_part[split] : ways.first_part[split + 1]].tolist()
        return any(self._tiles(self.number[inner]) <= self._tiles(part) for part in parts)

    def holds(self, area: str, inner: str) -> bool | None:
        return self.number[area] == ROOT or self._tiles(self.number[inner]) <= self._tiles(self.number[area])

    def overlap(self, areas: Iterable[str]) -> bool:
        sets = [self._tiles(self.number[area]) for area in set(areas)]
        return sum(map(len, sets)) > len(frozenset().union(*sets))

    def _tiles(self, area: int) -> frozenset[int]:
        if area not in self._known:
            _, leaf = self.family.inside(np.array([area]))
            self._known[area] = frozenset(leaf.tolist())
        return self._known[area]

    @cached_property
    def _known(self) -> dict[int, frozenset[int]]:
        return {}
