"""A secret draw that keeps some cells from being divided, so that an area that is whole tells nothing for certain.

Only divisions that would leave out nobody are closed: those are the ones whose absence tells of a small part. Each of
them is closed with some chance and open with some chance, by itself: docs/decisions/0046 says why that is enough.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt

    from flowveil._arrays import BoolArray, FloatArray, IntArray, KeyArray
    from flowveil._problem.axis import Dimension
    from flowveil._problem.cube import Cube

    Words = npt.NDArray[np.uint64]

_NEAR = 2  # times k: with a part of fewer trips, a division is closed with the full chance
_OTHERS = 0.1  # of that chance, for all other divisions
_FEW_TILES = 64  # of both areas; the chance of larger ones is less, as being whole would cost more
_UNIT = 2.0**-64
# SipHash-2-4 (Aumasson and Bernstein, 2012): what its four words begin with, and by how much they are turned.
_START = np.array([0x736F6D6570736575, 0x646F72616E646F6D, 0x6C7967656E657261, 0x7465646279746573], np.uint64)
_LAST = np.uint64(0xFF)
_LENGTH_SHIFT = np.uint64(56)
_WORD_BYTES = 8
_ROUNDS, _LAST_ROUNDS = 2, 4


@dataclass(frozen=True)
class Chance:
    """A secret draw."""

    share: float  # the largest chance that a division is closed
    secret: bytes  # 16 of them
    first: int = 0  # the number of the first matrix, where a problem has some of several

    def close(self, cube: Cube, matrix: IntArray, dimensions: Sequence[Dimension], k: int) -> Cube:
        """Return a cube without the divisions that are closed; matrix: by cell."""
        links = cube.links
        cell = np.repeat(np.arange(len(cube)), np.diff(links.first_split))
        way = np.arange(len(cell)) - links.first_split[cell]
        keys = [dimension.family.key[row] for dimension, row in zip(dimensions, cube.node, strict=True)]
        words = [(matrix + self.first).astype(np.uint64), *keys, *[np.zeros(len(cube), np.uint64)] * (3 - len(keys))]
        drawn = hash_words(self.secret, [*(word[cell] for word in words), way.astype(np.uint64)])
        closed = drawn * _UNIT < self.chances(cube, cell, k)
        return replace(cube, links=links._replace(splittable=links.splittable & ~closed))

    def chances(self, cube: Cube, cell: IntArray, k: int) -> FloatArray:
        """Return by split the chance that it is closed: none if it would leave out trips."""
        links = cube.links
        smallest = np.full(len(cell), np.iinfo(np.int64).max)
        split = np.repeat(np.arange(len(cell)), np.diff(links.first_part))
        np.minimum.at(smallest, split, cube.trips[links.part])
        near: BoolArray = smallest < _NEAR * k
        size = np.minimum(1.0, _FEW_TILES / cube.tiles[cell])
        chances: FloatArray = self.share * np.where(near, 1.0, _OTHERS) * size
        return np.where(links.withheld == 0, chances, 0.0)


def hash_words(secret: bytes, words: Sequence[Words]) -> KeyArray:
    """Return SipHash-2-4 of rows of words, which are given by column, under a secret of 16 bytes."""
    key = np.frombuffer(secret, "<u8").astype(np.uint64)
    rows = len(words[0])
    state = [np.full(rows, start ^ part) for start, part in zip(_START, [*key, *key], strict=True)]
    length = np.uint64(_WORD_BYTES * len(words) % 256) << _LENGTH_SHIFT
    for word in [*words, np.full(rows, length)]:
        state[3] ^= word
        _mix(state, _ROUNDS)
        state[0] ^= word
    state[2] ^= _LAST
    _mix(state, _LAST_ROUNDS)
    hashed: KeyArray = state[0] ^ state[1] ^ state[2] ^ state[3]
    return hashed


def _mix(state: list[Words], rounds: int) -> None:
    for _ in range(rounds):
        _add_and_turn(state, 0, 1, 13)
        state[0] = _turned(state[0], 32)
        _add_and_turn(state, 2, 3, 16)
        _add_and_turn(state, 0, 3, 21)
        _add_and_turn(state, 2, 1, 17)
        state[2] = _turned(state[2], 32)


def _add_and_turn(state: list[Words], one: int, other: int, bits: int) -> None:
    state[one] = state[one] + state[other]
    state[other] = _turned(state[other], bits) ^ state[one]


def _turned(word: Words, bits: int) -> Words:
    turned: Words = (word << np.uint64(bits)) | (word >> np.uint64(64 - bits))
    return turned
