"""Dimensions of the records: a tree, or a family of areas, and the leaf of each record."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from flowveil._arrays import IntArray
    from flowveil._places import Family, Hierarchy


@dataclass(frozen=True, eq=False)
class Axis:
    """A hierarchy with the leaf node of every record."""

    hierarchy: Hierarchy
    leaf: IntArray
    is_place: bool = True  # an end of trips; otherwise their time
    weight: float = 1.0  # of one tile (or step of time) in the loss

    @property
    def low(self) -> IntArray:
        """By node: the rank of its first leaf, leaves being ranked so that every node's are adjacent."""
        return self.hierarchy.low

    @property
    def rank(self) -> IntArray:
        """By record: the rank of its leaf."""
        return self.low[self.leaf]


@dataclass(frozen=True, eq=False)
class Dimension:
    """A family of areas with the leaf of every record in its first tree."""

    family: Family
    first: Axis

    @property
    def is_place(self) -> bool:
        """Whether this is an end of trips; otherwise it is their time."""
        return self.first.is_place

    @cached_property
    def axes(self) -> tuple[Axis, ...]:
        """The records in each tree."""
        if len(self.family.trees) == 1:
            return (self.first,)
        area = self.family.number[0][self.first.leaf]
        return tuple(
            Axis(tree, nodes[area], self.first.is_place, self.first.weight)
            for tree, nodes in zip(self.family.trees, self.family.nodes, strict=True)
        )
