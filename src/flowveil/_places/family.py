"""Areas that may be split in several ways: trees over the same tiles, in which equal areas are one."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from flowveil._places.hierarchy import ROOT, Hierarchy

if TYPE_CHECKING:
    from collections.abc import Sequence

    from flowveil._arrays import IntArray, KeyArray
    from flowveil._places.places import Places


class Ways(NamedTuple):
    """How areas of a family are split, as compiled loops take it.

    Nodes of all trees are numbered through. The ways to split area `a` are the entries `first_way[a]` to
    `first_way[a + 1]` - 1, the areas that it is a part of the entries `first_above[a]` to `first_above[a + 1]` - 1; an
    area without any has one entry of -1.
    """

    tree: IntArray  # by node
    low: IntArray  # by node: the rank of its first tile in its tree, where the tiles of a node are adjacent
    first_child: IntArray  # by node
    end_child: IntArray
    area: IntArray  # by node
    first_way: IntArray  # by area
    way: IntArray  # the node that is split into its children
    first_part: IntArray  # by way: the areas that it makes are the entries from here on; and the number of entries
    part: IntArray  # ascending in a way
    first_above: IntArray  # by area
    above: IntArray  # the area that is split


@dataclass(frozen=True, eq=False)
class Family:
    """Areas of one axis, each a set of tiles, with every way that some tree splits it.

    An area that occurs in several trees is one area. Areas are numbered from the root, 0, on, a whole before its parts.
    A tree is the family of one tree, with the same numbers.
    """

    trees: tuple[Hierarchy, ...]
    number: tuple[IntArray, ...]  # by tree and node: its area
    tiles: IntArray  # by area
    key: KeyArray  # by area: what the places that built the trees know it by

    @classmethod
    def of(cls, tree: Hierarchy) -> Family:
        """Return the family of one tree."""
        return cls((tree,), (np.arange(len(tree)),), tree.tiles, tree.key)

    @classmethod
    def join(cls, trees: Sequence[Hierarchy]) -> Family:
        """Return the family of trees whose nodes have the same key exactly if they hold the same tiles."""
        keys, first = np.unique(np.concatenate([tree.key for tree in trees]), return_index=True)
        tiles = np.concatenate([tree.tiles for tree in trees])[first]
        is_part = keys != trees[0].key[ROOT]
        order = np.lexsort((keys, -tiles, is_part))
        rank = np.empty(len(order), np.int64)
        rank[order] = np.arange(len(order))
        numbers = tuple(rank[np.searchsorted(keys, tree.key)] for tree in trees)
        return cls(tuple(trees), numbers, tiles[order], keys[order])

    def __len__(self) -> int:
        return len(self.tiles)

    @property
    def tree(self) -> Hierarchy:
        """The first tree."""
        return self.trees[0]

    @cached_property
    def nodes(self) -> IntArray:
        """By tree (the rows) and area: its node there, -1 where the tree does not have it."""
        nodes = np.full((len(self.trees), len(self)), -1, np.int64)
        for row, number in zip(nodes, self.number, strict=True):
            row[number] = np.arange(len(number))
        return nodes

    @cached_property
    def first_tree(self) -> IntArray:
        """By area: the first tree that has it."""
        return np.asarray(np.argmax(self.nodes >= 0, axis=0), np.int64)

    @cached_property
    def ways(self) -> Ways:
        """How areas are split. A split that an earlier tree makes too is there once."""
        trees, before = self.trees, np.cumsum([0, *(len(tree) for tree in self.trees)])
        areas, ways, parts = [], [], []
        for place, tree in enumerate(trees):
            split = self._new_splits(place)
            areas.append(self.number[place][split])
            ways.append(before[place] + split)
            child = np.flatnonzero(np.isin(tree.parent, split))
            parts.append((self.number[place][child], before[place] + tree.parent[child]))
        first_way, way = _by_area(len(self), np.concatenate(areas), np.concatenate(ways))
        part, split_node = (np.concatenate(column) for column in zip(*parts, strict=True))
        area_of_node = np.concatenate(self.number)
        place_of_way = np.zeros(int(before[-1]), np.int64)
        place_of_way[way[way >= 0]] = np.flatnonzero(way >= 0)
        place = place_of_way[split_node]
        order = np.lexsort((part, place))
        first_above, above = _by_area(len(self), part, area_of_node[split_node])
        return Ways(
            np.repeat(np.arange(len(trees)), np.diff(before)),
            np.concatenate([tree.low for tree in trees]),
            np.concatenate([tree.first_child + start for tree, start in zip(trees, before, strict=False)]),
            np.concatenate([tree.end_child + start for tree, start in zip(trees, before, strict=False)]),
            area_of_node,
            first_way,
            way,
            np.searchsorted(place[order], np.arange(len(way) + 1)),
            part[order],
            first_above,
            above,
        )

    def _new_splits(self, place: int) -> IntArray:
        """Return the nodes of a tree that it splits like no earlier tree."""
        tree = self.trees[place]
        split = np.flatnonzero(~tree.is_leaf)
        known = np.zeros(len(split), bool)
        for earlier in range(place):
            other = self.trees[earlier]
            twin = self.nodes[earlier][self.number[place]]  # by node: the same area there
            same_above = (twin >= 0) & (tree.parent >= 0)
            same_above[same_above] = other.parent[twin[same_above]] == twin[tree.parent[same_above]]
            alike = np.bincount(tree.parent[same_above], minlength=len(tree))  # children that are children there
            here, there = split, twin[split]
            children = tree.end_child[here] - tree.first_child[here]
            as_many = np.where(there >= 0, (other.end_child - other.first_child)[there], -1)
            known |= (as_many == children) & (alike[here] == children)
        return split[~known]

    def inside(self, areas: IntArray) -> tuple[IntArray, IntArray]:
        """Return the tiles of areas: the place in `areas`, and the leaf of the first tree, one entry a tile.

        Entries are sorted by place.
        """
        order = []
        for tree in self.trees:
            leaves = np.flatnonzero(tree.is_leaf)
            order.append(leaves[np.argsort(tree.low[leaves])])
        tree_of = self.first_tree[areas]
        node = self.nodes[tree_of, areas]
        low = np.array([self.trees[t].low[n] for t, n in zip(tree_of.tolist(), node.tolist(), strict=True)], np.int64)
        size = self.tiles[areas]
        place = np.repeat(np.arange(len(areas)), size)
        rank = np.repeat(low - (np.cumsum(size) - size), size) + np.arange(len(place))
        tree_of = np.repeat(tree_of, size)
        leaf = np.empty(len(place), np.int64)
        for number, leaves in enumerate(order):
            own = tree_of == number
            leaf[own] = self.nodes[0][self.number[number][leaves[rank[own]]]]
        return place, leaf


@dataclass(frozen=True, eq=False)
class Listed:
    """Areas that were named, whatever trees the tiles seen have: from 1 on in the order of a list; 0 is the root."""

    tree: Hierarchy  # whose leaves the tiles are
    tiles: IntArray  # by area
    key: KeyArray  # by area
    place: IntArray  # by tile of an area: the area, ascending
    leaf: IntArray  # by tile of an area: its leaf

    def __len__(self) -> int:
        return len(self.tiles)

    def inside(self, areas: IntArray) -> tuple[IntArray, IntArray]:
        """Return the tiles of areas: the place in `areas`, and the leaf, one entry a tile, sorted by place."""
        start, end = (np.searchsorted(self.place, areas, side) for side in ("left", "right"))
        sizes = end - start
        place = np.repeat(np.arange(len(areas)), sizes)
        return place, self.leaf[np.repeat(start - (np.cumsum(sizes) - sizes), sizes) + np.arange(len(place))]


def list_areas(places: Places, tree: Hierarchy, wanted: Sequence[str]) -> tuple[Listed, IntArray]:
    """Return the areas over a tree with the ids wanted, and the number of each in the list, -1 for one it has not."""
    family = places.family(tree)
    area = {name: number for number, name in enumerate(places.ids(family, np.arange(len(family))))}
    known = np.array([area.get(name, -1) for name in wanted], np.int64)
    areas, number = np.unique(known, return_inverse=True)
    every = np.append(ROOT, np.maximum(areas, ROOT))
    place, leaf = family.inside(every)
    listed = Listed(family.tree, family.tiles[every], family.key[every], place, leaf)
    return listed, np.where(known > ROOT, number + 1, known)


Numbered = Hierarchy | Family | Listed  # what numbers areas, and has a key for each


def _by_area(areas: int, area: IntArray, value: IntArray) -> tuple[IntArray, IntArray]:
    """Return by area where its values begin, and the values in their order; an area without any has one of -1."""
    missing = np.setdiff1d(np.arange(areas), area)
    area = np.concatenate([area, missing])
    value = np.concatenate([value, np.full(len(missing), -1)])
    order = np.argsort(area, kind="stable")
    return np.searchsorted(area[order], np.arange(areas + 1)), value[order]
