"""Rectangles of tiles on a lattice as a family: 2**a tiles wide and 2**b high, halved along either side.

Tiles have whole coordinates from 0 on, in blocks that are not joined but by the root. Along one order of halving, say
across, down, across, ..., the rectangles form a binary tree. With |a - b| up to an aspect there are two such trees for
each step of it; every rectangle in that range, and every way to halve it that stays in the range, is in one of them.

A rectangle matters only for the tiles seen in it: of those that hold the same ones, the smallest stands for all.
That one is unique, since the rectangle that two of them share is in the family too.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple
from weakref import WeakKeyDictionary

import numpy as np

from flowveil._places.family import Family, Listed
from flowveil._places.hierarchy import ROOT, Hierarchy

if TYPE_CHECKING:
    from collections.abc import Sequence

    from flowveil._arrays import IntArray, KeyArray

ASPECT = 2  # twice as wide as high twice over, or the reverse: more cost time and gain little (decision 36)
MOST_ASPECT = 8
_ROOT_KEY = np.uint64(0)
_NO_KEY = np.uint64(2**64 - 1)
_NUMBER = re.compile("-?[0-9]{1,9}")
_FAMILIES: WeakKeyDictionary[Hierarchy, Family] = WeakKeyDictionary()  # by first tree: many matrices share one


class Rectangle(NamedTuple):
    """Rectangles of the lattice: `block`, powers of two of width and height, and place in rectangles of that size."""

    block: IntArray
    wide: IntArray
    high: IntArray
    x: IntArray
    y: IntArray


class Lattice:
    """All rectangles over tiles with coordinates of so many bits.

    A rectangle's key packs block, x and y; a side of 2**a tiles at place i is the number (2 i + 1) 2**a.
    """

    def __init__(self, bits: int, aspect: int = ASPECT) -> None:
        self.bits = bits
        self.aspect = aspect

    def trees(self, block: IntArray, x: IntArray, y: IntArray, most: int | None = None) -> list[Hierarchy]:
        """Return the trees over distinct tiles, or the first of them; equal rectangles have equal keys."""
        return [self._tree(block, x, y, last) for last in self._orders()[:most]]

    def first_tree(self, block: IntArray, x: IntArray, y: IntArray) -> tuple[Hierarchy, IntArray]:
        """Return the first tree over distinct tiles, and the leaf of each."""
        (tree,) = self.trees(block, x, y, most=1)
        leaf = np.flatnonzero(tree.is_leaf)
        leaf = leaf[np.argsort(tree.key[leaf])]
        none = np.zeros_like(x)
        return tree, leaf[np.searchsorted(tree.key[leaf], self.pack(Rectangle(block, none, none, x, y)))]

    def family(self, block: IntArray, x: IntArray, y: IntArray) -> Family:
        """Return the family over distinct tiles."""
        return Family.join(self.trees(block, x, y))

    def family_above(self, tree: Hierarchy) -> Family:
        """Return the family over the leaves of a tree, which is the first of its trees."""
        if tree not in _FAMILIES:
            tiles = self.unpack(tree.key[tree.is_leaf])
            _FAMILIES[tree] = self.family(tiles.block, tiles.x, tiles.y)
        return _FAMILIES[tree]

    def listed(self, tree: Hierarchy, keys: Sequence[int | None]) -> tuple[Listed, IntArray]:
        """Return rectangles by key, with the leaves of a tree in them, and the number of each; the root's key is 0.

        The number is -1 for no key, and for a rectangle without leaves.
        """
        given = np.array([_NO_KEY if key is None else key for key in keys], np.uint64)
        distinct, number = np.unique(given, return_inverse=True)
        place, leaf = self._leaves_in(tree, distinct)
        count = np.bincount(place, minlength=len(distinct))
        order = np.lexsort((distinct, -count))  # as a family has them
        rank = np.empty(len(order), np.int64)
        rank[order] = np.arange(1, len(order) + 1)
        every = np.flatnonzero(tree.is_leaf)  # the root holds all
        place, leaf = np.append(np.zeros_like(every), rank[place]), np.append(every, leaf)
        sorting = np.argsort(place, kind="stable")
        tiles, key = np.append(len(every), count[order]), np.append(_ROOT_KEY, distinct[order])
        listed = Listed(tree, tiles, key, place[sorting], leaf[sorting])
        number = np.where(count > 0, rank, -1)[number]
        return listed, np.where(given == _ROOT_KEY, ROOT, number)

    def _leaves_in(self, tree: Hierarchy, keys: KeyArray) -> tuple[IntArray, IntArray]:
        """Return the place of a key, and a leaf in its rectangle, for each such leaf of a tree; sorted by place."""
        leaf = np.flatnonzero(tree.is_leaf)
        tiles, wanted = self.unpack(tree.key[leaf]), self.unpack(keys)
        proper = (keys != _ROOT_KEY) & (keys != _NO_KEY)
        places, leaves = [np.zeros(0, np.int64)], [np.zeros(0, np.int64)]
        for wide, high in sorted(set(zip(wanted.wide.tolist(), wanted.high.tolist(), strict=True))):
            here = np.flatnonzero((wanted.wide == wide) & (wanted.high == high) & proper)
            size = np.full_like(leaf, wide), np.full_like(leaf, high)
            around = self.pack(Rectangle(tiles.block, *size, tiles.x >> size[0], tiles.y >> size[1]))
            place = np.searchsorted(keys[here], around)  # keys ascend
            held = np.flatnonzero(place < len(here))
            held = held[keys[here][place[held]] == around[held]]
            places.append(here[place[held]])
            leaves.append(leaf[held])
        order = np.argsort(np.concatenate(places), kind="stable")
        return np.concatenate(places)[order], np.concatenate(leaves)[order]

    def pack(self, rectangle: Rectangle) -> KeyArray:
        """Return the keys of rectangles."""
        sides = [
            ((2 * place + 1) << power).astype(np.uint64)
            for place, power in ((rectangle.x, rectangle.wide), (rectangle.y, rectangle.high))
        ]
        width = np.uint64(self.bits + 1)
        return (rectangle.block.astype(np.uint64) << (width + width)) | (sides[0] << width) | sides[1]

    def pack_one(self, block: int, powers: tuple[int, int], place: tuple[int, int]) -> int | None:
        """Return the key of a rectangle, None if there is none of that size at that place."""
        x, y = (one << power for one, power in zip(place, powers, strict=True))
        if not (0 <= min(powers) <= max(powers) <= self.bits and 0 <= min(x, y) <= max(x, y) < 1 << self.bits):
            return None
        parts = (np.array([value]) for value in (block, *powers, *place))
        return int(self.pack(Rectangle(*parts))[0])

    def unpack(self, key: KeyArray) -> Rectangle:
        """Return the rectangles of keys."""
        width = np.uint64(self.bits + 1)
        mask = (np.uint64(1) << width) - np.uint64(1)
        x, y = (((key >> shift) & mask).astype(np.int64) for shift in (width, np.uint64(0)))
        wide, high = _lowest_bit(x), _lowest_bit(y)
        return Rectangle((key >> (width + width)).astype(np.int64), wide, high, x >> (wide + 1), y >> (high + 1))

    def _orders(self) -> list[tuple[int, int]]:
        """Return for each tree how many halvings across, or down, come last of all: one of the two is 0."""
        return [order for step in range(1, self.aspect + 1) for order in ((step, 0), (0, step))]

    def _tree(self, block: IntArray, x: IntArray, y: IntArray, last: tuple[int, int]) -> Hierarchy:
        """Return the tree of one order of halving."""
        code = self._interleave(x, y, last) | (block.astype(np.uint64) << np.uint64(2 * self.bits))
        order = np.argsort(code)
        code, block, x, y = code[order], block[order], x[order], y[order]
        parent, low, high = _trie(code, 2 * self.bits)
        rectangle = self._smallest(block, x, y, low, high)
        key = np.append(self.pack(rectangle), _ROOT_KEY)
        tree, _ = Hierarchy.from_parents(parent, key)
        return tree

    def _interleave(self, x: IntArray, y: IntArray, last: tuple[int, int]) -> KeyArray:
        """Return coordinates as one number, whose lowest bits are those of the last halvings."""
        code = np.zeros(len(x), np.uint64)
        place, done = 0, [0, 0]
        turn = 0 if last[0] else 1
        run = max(last)
        while place < 2 * self.bits:
            for _ in range(run):
                if done[turn] < self.bits:
                    bit = ((x, y)[turn] >> done[turn]) & 1
                    code |= bit.astype(np.uint64) << np.uint64(place)
                    done[turn] += 1
                    place += 1
            turn, run = 1 - turn, 1
        return code

    def _smallest(self, block: IntArray, x: IntArray, y: IntArray, low: IntArray, high: IntArray) -> Rectangle:
        """Return the smallest rectangle that holds the tiles from place `low` to `high`, for each pair of these."""
        bounds = np.column_stack([low, high + 1]).ravel()
        least, most = (
            [extreme.reduceat(np.append(side, side[-1:]), bounds)[::2].astype(np.int64) for side in (x, y)]
            for extreme in (np.minimum, np.maximum)
        )
        wide, tall = (_bit_length(first ^ last) for first, last in zip(least, most, strict=True))
        wide, tall = np.maximum(wide, tall - self.aspect), np.maximum(tall, wide - self.aspect)
        return Rectangle(block[low], wide, tall, least[0] >> wide, least[1] >> tall)


def parse_rectangle(area: str, count: int) -> list[int] | None:
    """Return the numbers of an id like `l:A/B/X/Y`, None if it has not so many."""
    numbers = area.removeprefix("l:").split("/")
    if not area.startswith("l:") or len(numbers) != count or not all(_NUMBER.fullmatch(number) for number in numbers):
        return None
    return [int(number) for number in numbers]


def lattice_name(aspect: int) -> str:
    """Return the name of the hierarchy as it is typed."""
    return "lattice" if aspect == ASPECT else f"lattice:{aspect}"


def _trie(code: KeyArray, bits: int) -> tuple[IntArray, IntArray, IntArray]:
    """Return the binary tree of sorted codes: the parent of each node, and its first and last code.

    Nodes are the codes, then one for each place where two adjacent codes of a block part, then the root, which has no
    first and last code. A node that would hold all codes is the root.
    """
    count = len(code)
    level = _bit_length((code[1:] ^ code[:-1]).astype(np.int64))  # by boundary: one more than the bit that differs
    level[level > bits] = bits + 1  # between blocks
    top = level.max(initial=0)
    level[level == top] = bits + 1  # the root parts here
    outside = bits + 2
    around = np.concatenate([[outside], level, [outside]])  # boundary i is at i + 1
    inner = np.flatnonzero(level <= bits)
    number = np.full(count + 1, -1, np.int64)  # by boundary plus one: its node; -1 for those of the root
    number[inner + 1] = count + np.arange(len(inner))
    left, right = np.empty(len(inner), np.int64), np.empty(len(inner), np.int64)
    for height in np.unique(level[inner]).tolist():
        here = np.flatnonzero(level[inner] == height)
        higher = np.flatnonzero(around > height)
        place = np.searchsorted(higher, inner[here] + 1)
        left[here], right[here] = higher[place - 1], higher[place]
    lefts = np.concatenate([np.arange(count), left])  # by node: the boundaries around it, plus one
    rights = np.concatenate([np.arange(1, count + 1), right])
    nearer = np.where(around[lefts] < around[rights], lefts, rights)
    nodes = count + len(inner)
    parent = np.where(around[nearer] <= bits, number[nearer % (count + 1)], nodes)
    return np.append(parent, -1), lefts, rights - 1


def _bit_length(values: IntArray) -> IntArray:
    """Return how many bits numbers have, 0 for 0."""
    length = np.zeros(len(values), np.int64)
    rest = values.copy()
    for step in (32, 16, 8, 4, 2, 1):
        more = rest >= (1 << step)
        length[more] += step
        rest[more] >>= step
    return length + (rest > 0)


def _lowest_bit(values: IntArray) -> IntArray:
    """Return the place of the lowest bit that is set."""
    return _bit_length(values & -values) - 1
