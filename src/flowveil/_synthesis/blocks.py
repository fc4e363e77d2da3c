"""Blocks: larger squares that hold several places, split where most users are."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from flowveil._synthesis.divided import interleave

if TYPE_CHECKING:
    from flowveil._arrays import IntArray
    from flowveil._synthesis.divided import Places


def make_blocks(places: Places, root: tuple[int, int, int], weight: IntArray, most: int) -> IntArray:
    """Return the block of each place: the heaviest block of several places is quartered, up to `most` or some more."""
    x0, y0, edge = root
    code = interleave(places.x - x0, places.y - y0)
    done: list[IntArray] = []
    blocks: list[tuple[IntArray, int]] = [(np.arange(len(places)), edge)]
    while blocks and len(blocks) + len(done) < most:
        heaviest = max(range(len(blocks)), key=lambda number: int(weight[blocks[number][0]].sum()))
        held, size = blocks.pop(heaviest)
        if len(held) == 1:
            done.append(held)
            continue
        quarter = code[held] // (size // 2) ** 2 % 4
        blocks += [(held[quarter == number], size // 2) for number in range(4) if (quarter == number).any()]
    of_place = np.zeros(len(places), np.int64)
    for number, held in enumerate([*done, *(held for held, _ in blocks)]):
        of_place[held] = number
    return of_place
