"""Axes cut into classes: places (or times, or groups) that lie in the same parts of all that is published."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from flowveil._places import boxes_of_ids, lattice_of_runs, runs_of_ids

if TYPE_CHECKING:
    from collections.abc import Hashable, Sequence

    from flowveil._arrays import FloatArray, IntArray, KeyArray
    from flowveil._risk.exact.layers import Part

_SEED = 17  # of the numbers by which sets of parts are told apart; any will do
_MOST_TILES = 4_000_000  # cells of H3 that are listed one by one, where two of its hierarchies meet


class Axis(NamedTuple):
    """Parts of an axis as sets of classes."""

    number: dict[Part, int]  # of a part
    classes: list[IntArray]  # by number of a part: those in it, ascending
    size: int  # how many classes there are: the last class lies outside of all parts but everywhere


def cut_axis(parts: Sequence[Part], resolution: int | None = None) -> Axis:
    """Return the classes of an axis on which these parts occur; resolution: of the H3 grid that ids are of."""
    proper = [part for part in dict.fromkeys(parts) if part is not None]
    names = [part for part in proper if isinstance(part, str)]
    spans = [part for part in proper if isinstance(part, tuple)]
    if names and resolution is not None and _is_mixed(names, resolution):
        classes, count = cut_sets(_mixed(names, resolution))
    elif names:
        classes, count = cut_boxes(*boxes_of_ids(names, resolution))
    elif spans:
        edges = np.array(spans, np.int64)
        classes, count = cut_boxes(edges[:, :1], edges[:, 1:])
    else:
        classes, count = cut_sets([part for part in proper if isinstance(part, frozenset)])
    number = {part: place for place, part in enumerate(proper)} | {None: len(proper)}
    return Axis(number, [*classes, np.arange(count)], count)


def cut_sets(parts: Sequence[frozenset[Hashable]]) -> tuple[list[IntArray], int]:
    """Return the classes of each set, and how many there are with the one outside of all sets, which is the last."""
    member = {name: place for place, name in enumerate(dict.fromkeys(name for part in parts for name in part))}
    inside = [np.fromiter((member[name] for name in part), np.int64, len(part)) for part in parts]
    return merge(inside, len(member) + 1)


def cut_boxes(low: IntArray, high: IntArray) -> tuple[list[IntArray], int]:
    """Return the same of boxes: rows of bounds, one column for each of their axes."""
    boxes = _Boxes.cut(low, high)
    return [boxes.inside(row) for row in range(len(low))], len(boxes.spot) + 1


def merge(inside: Sequence[IntArray], count: int) -> tuple[list[IntArray], int]:
    """Merge elements that lie in the same sets, of which the last lies in none; return sets of classes, and how many.

    Sets are told apart by sums of random numbers of 64 bits, one a set: two sums are equal by chance in one of 10**19
    cases.
    """
    sign = np.zeros(count, np.uint64)
    for mark, elements in zip(_marks(len(inside)), inside, strict=True):
        sign[elements] += mark
    values, number = np.unique(sign, return_inverse=True)  # the first value is 0: the last element has it
    number = np.where(number == 0, len(values), number) - 1
    return [np.unique(number[elements]) for elements in inside], len(values)


def _marks(count: int) -> KeyArray:
    """Return so many random numbers, always the same ones."""
    return np.random.default_rng(_SEED).integers(1, 2**64 - 1, count, np.uint64)


@dataclass(frozen=True, eq=False)
class _Boxes:
    """Boxes cut at all of their edges; pieces that lie in the same boxes are a class."""

    edges: list[IntArray]  # by axis
    first: list[IntArray]  # by axis and box: the piece it begins with
    last: list[IntArray]  # and the one that comes after it
    sign: KeyArray  # by piece, as many axes as boxes have: the same for those in the same boxes
    values: KeyArray  # the sign of each class, ascending
    spot: IntArray  # by class: one of its pieces, one column an axis

    @classmethod
    def cut(cls, low: IntArray, high: IntArray) -> _Boxes:
        """Cut boxes: rows of bounds, one column an axis."""
        edges = [np.unique(np.concatenate([low[:, axis], high[:, axis]])) for axis in range(low.shape[1])]
        first = [np.searchsorted(edge, low[:, axis]) for axis, edge in enumerate(edges)]
        last = [np.searchsorted(edge, high[:, axis]) for axis, edge in enumerate(edges)]
        sign = np.zeros([len(edge) for edge in edges], np.uint64)
        mark = _marks(len(low))
        for corner in np.ndindex(*(2,) * len(edges)):
            place = tuple((first, last)[end][axis] for axis, end in enumerate(corner))
            np.add.at(sign, place, mark if sum(corner) % 2 == 0 else np.uint64(0) - mark)
        for axis in range(len(edges)):
            np.cumsum(sign, axis=axis, out=sign)
        values, example = np.unique(sign, return_index=True)
        inner = values != 0
        spot = np.column_stack(np.unravel_index(example[inner], sign.shape)).reshape(-1, len(edges))
        return cls(edges, first, last, sign, values[inner], spot.astype(np.int64))

    def inside(self, box: int) -> IntArray:
        """Return the classes in a box."""
        inside = np.ones(len(self.spot), bool)
        for axis in range(len(self.edges)):
            inside &= (self.first[axis][box] <= self.spot[:, axis]) & (self.spot[:, axis] < self.last[axis][box])
        return np.flatnonzero(inside)

    def locate(self, points: IntArray) -> IntArray:
        """Return the class of each point (a row), the number of classes for one outside of all boxes."""
        place = [np.searchsorted(edge, points[:, axis], side="right") - 1 for axis, edge in enumerate(self.edges)]
        within = np.logical_and.reduce([piece >= 0 for piece in place])
        sign = np.where(within, self.sign[tuple(np.maximum(piece, 0) for piece in place)], 0)
        return np.where(sign == 0, len(self.values), np.searchsorted(self.values, sign))

    def volumes(self) -> FloatArray:
        """Return how many points each class has, exactly unless they are very many."""
        volume = np.ones(1)
        for edge in self.edges:
            volume = np.multiply.outer(volume, np.append(np.diff(edge.astype(np.float64)), 0))
        number = np.searchsorted(self.values, self.sign.ravel())
        number[self.sign.ravel() == 0] = len(self.values)
        sums = np.bincount(number, weights=volume.ravel(), minlength=len(self.values) + 1)
        return np.asarray(sums[: len(self.values)], np.float64)


def _is_mixed(areas: Sequence[str], resolution: int) -> bool:
    """Whether some areas are rectangles of a lattice and others nodes of a tree, larger than one cell of the grid."""
    tree = [area for area in areas if not area.startswith("l:")]
    first, end = runs_of_ids(tree, resolution)
    return len(tree) < len(areas) and bool((end - first > 1).any())


def _mixed(areas: Sequence[str], resolution: int) -> list[frozenset[Hashable]]:
    """Return rectangles of a lattice and nodes of a tree over the same cells as sets of pairs of classes, one of each.

    The cells of nodes are listed, the smallest nodes first: they tell which pairs there are. Two classes that have
    cells beyond those listed may meet there or not: such a pair is taken to exist.
    """
    on_lattice = [area.startswith("l:") for area in areas]
    lattice = _Boxes.cut(*boxes_of_ids([area for area in areas if area.startswith("l:")], resolution))
    first, end = runs_of_ids([area for area in areas if not area.startswith("l:")], resolution)
    tree = _Boxes.cut(first[:, None], end[:, None])
    order = np.argsort(end - first, kind="stable")
    listed = order[np.cumsum((end - first)[order]) <= _MOST_TILES]
    cells = np.unique(np.concatenate([np.arange(0), *map(np.arange, first[listed], end[listed])]))
    pairs = lattice.locate(lattice_of_runs(cells, resolution)), tree.locate(cells[:, None])
    open_classes = []
    for boxes, found in zip((lattice, tree), pairs, strict=True):
        seen = np.bincount(found, minlength=len(boxes.values) + 1)
        full = seen[:-1] == boxes.volumes()
        open_classes.append(np.flatnonzero(np.append(~full, True)).tolist())
    distinct = {*zip(*(found.tolist() for found in pairs), strict=True)}
    distinct |= {(one, other) for one in open_classes[0] for other in open_classes[1]}
    by_class: tuple[dict[int, list[Hashable]], ...] = ({}, {})
    for pair in distinct:
        for place, number in zip(by_class, pair, strict=True):
            place.setdefault(number, []).append(pair)
    rows = [0, 0]
    sets: list[frozenset[Hashable]] = []
    for is_rectangle in on_lattice:
        side = 0 if is_rectangle else 1
        inside = (lattice, tree)[side].inside(rows[side]).tolist()
        rows[side] += 1
        sets.append(frozenset(pair for number in inside for pair in by_class[side].get(number, ())))
    return sets
