"""What areas of a grid cover, from their ids alone: boxes of whole numbers, which lie in each other as the areas do."""

from __future__ import annotations

from typing import TYPE_CHECKING

import h3.api.numpy_int as h3
import numpy as np

from flowveil._errors import InputError
from flowveil._places.axial import coordinates
from flowveil._places.h3index import MAX_RESOLUTION

if TYPE_CHECKING:
    from collections.abc import Sequence

    from flowveil._arrays import IntArray

    Bounds = tuple[tuple[int, int], ...]  # from and to before, by axis

_EVERYWHERE = ((-(2**62), 2**62),) * 3
_PLACE = {digit: place for place, digit in enumerate("1345260")}  # of children, so that groups of h3-binary are runs
_TOP = "world"


def boxes_of_ids(areas: Sequence[str]) -> tuple[IntArray, IntArray]:
    """Return where areas of a grid begin and end, one row an area and one column an axis; the top holds all.

    All must be of one grid and hierarchy: H3 cells and groups of them, squares, or rectangles of a lattice of either.
    """
    on_lattice = any(area.startswith("l:") for area in areas)
    bounds = np.array([_bounds(area, on_lattice=on_lattice) for area in areas], np.int64).reshape(-1, 3, 2)
    return bounds[:, :, 0], bounds[:, :, 1]


def _bounds(area: str, *, on_lattice: bool) -> Bounds:
    if area == _TOP:
        return _EVERYWHERE
    kind, _, numbers = area.rpartition(":")
    try:
        if kind == "q":
            side, x, y = map(int, numbers.split("/"))
            return (0, 1), _run(x, side), _run(y, side)
        if kind == "l":
            *block, wide, high, x, y = map(int, numbers.split("/"))
            base = block[0] if block else 0
            return (base, base + 1), _run(x, wide), _run(y, high)
        return _lattice_cell(area) if on_lattice else _tree_cell(kind or numbers, numbers if kind else "")
    except (ValueError, KeyError):
        raise InputError(f"{area!r} is not the id of an area of a grid", "flowveil verify says what is wrong") from None


def _run(place: int, power: int) -> tuple[int, int]:
    return place << power, (place + 1) << power


def _lattice_cell(index: str) -> Bounds:
    cell = h3.str_to_int(index)
    base, x, y = (int(part[0]) for part in coordinates(np.array([cell], np.uint64), h3.get_resolution(cell)))
    return (base, base + 1), (x, x + 1), (y, y + 1)


def _tree_cell(index: str, group: str) -> Bounds:
    """Return the run of a cell, or of a group of its children, among all cells of the finest resolution."""
    cell = h3.str_to_int(index)
    resolution = h3.get_resolution(cell)
    path = h3.get_base_cell_number(cell)
    for level in range(1, resolution + 1):
        path = 7 * path + _PLACE[str(cell >> 3 * (MAX_RESOLUTION - level) & 7)]
    places = sorted(_PLACE[digit] for digit in group)
    first, end = (7 * path + places[0], 7 * path + places[-1] + 1) if group else (path, path + 1)
    size = 7 ** (MAX_RESOLUTION - resolution - bool(group))
    return (0, 1), (first * size, end * size), (0, 1)
