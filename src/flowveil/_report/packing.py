"""Whole numbers and outlines as short texts, so that a page stays small and is the same with every library.

A number is written to base 32, lowest digit first: a digit that others follow is one of the second 32 characters. The
sign is the lowest bit. An outline mostly repeats a few ways from corner to corner (those of its grid), and each of the
most frequent ways is one character.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterable

    from flowveil._arrays import BoolArray, IntArray
    from flowveil._folder import Json

_CHARACTERS = "".join(
    chr(code) for code in range(33, 127) if chr(code) not in '"&<>\\'
)  # as they stand in JSON and HTML
_ESCAPE = _CHARACTERS[-1]
_WAYS = len(_CHARACTERS) - 1
_BASE = 32


def pack(values: Iterable[int] | IntArray | BoolArray) -> str:
    """Return whole numbers as a text."""
    return "".join(map(_digits, np.asarray(values, np.int64).tolist()))


def pack_steps(values: Iterable[int] | IntArray) -> str:
    """Return whole numbers as a text of the steps from one to the next: shorter where these are small."""
    return pack(np.diff(np.asarray(values, np.int64), prepend=0))


def pack_outlines(outlines: list[list[list[int]]]) -> dict[str, Json]:
    """Return outlines: a text of all rings, and the ways that have a character of their own.

    A ring is x, y of its first corner and then the way to each next one. First corners are told from the one before.
    """
    ways = Counter(way for rings in outlines for ring in rings for way in _ways(ring))
    frequent = [way for way, _ in sorted(ways.items(), key=lambda item: (-item[1], item[0]))[:_WAYS]]
    code = {way: _CHARACTERS[number] for number, way in enumerate(frequent)}
    parts: list[str] = []
    x = y = 0
    for rings in outlines:
        parts.append(_digits(len(rings)))
        for ring in rings:
            parts += [_digits(len(ring) // 2), _digits(ring[0] - x), _digits(ring[1] - y)]
            parts += [code.get(way) or _ESCAPE + _digits(way[0]) + _digits(way[1]) for way in _ways(ring)]
            x, y = ring[0], ring[1]
    return {"count": len(outlines), "ways": pack([part for way in frequent for part in way]), "rings": "".join(parts)}


def pack_boxes(boxes: IntArray) -> dict[str, Json]:
    """Return rectangles along the axes, one row each: x and y told from the one before, width, height."""
    steps = np.column_stack([np.diff(boxes[:, :2], axis=0, prepend=0), boxes[:, 2:]])
    return {"count": len(boxes), "boxes": pack(steps.ravel())}


def _ways(ring: list[int]) -> Iterable[tuple[int, int]]:
    return zip(ring[2::2], ring[3::2], strict=True)


def _digits(value: int) -> str:
    left = value << 1 if value >= 0 else (-value << 1) - 1
    text = ""
    while left >= _BASE:
        text += _CHARACTERS[_BASE + left % _BASE]
        left //= _BASE
    return text + _CHARACTERS[left]
