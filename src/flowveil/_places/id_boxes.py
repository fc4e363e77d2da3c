"""What areas of a grid cover, from their ids alone: boxes of whole numbers, which lie in each other as the areas do."""

from __future__ import annotations

from typing import TYPE_CHECKING

import h3.api.numpy_int as h3
import numpy as np

from flowveil._errors import InputError
from flowveil._places.axial import coordinate_bits, coordinates
from flowveil._places.h3index import MAX_RESOLUTION, cells_of_points, digits

if TYPE_CHECKING:
    from collections.abc import Sequence

    from flowveil._arrays import FloatArray, IntArray

    Bounds = tuple[tuple[int, int], ...]  # from and to before, by axis

_ALL = (-(2**62), 2**62)
_EVERYWHERE = (_ALL,) * 3
_DIGITS = "1345260"  # of children, in the order in which groups of h3-binary are runs
_PLACE = {digit: place for place, digit in enumerate(_DIGITS)}
_TOP = "world"


def boxes_of_ids(areas: Sequence[str], resolution: int | None = None) -> tuple[IntArray, IntArray]:
    """Return where areas of a grid begin and end, one row an area and one column an axis; the top holds all.

    All must be of one grid and hierarchy: H3 cells and groups of them, squares, or rectangles of a lattice of either.
    resolution: of the H3 grid; with it the longest side of a lattice is known as the one that holds all coordinates.
    """
    on_lattice = any(area.startswith("l:") for area in areas)
    longest = None if resolution is None else coordinate_bits(resolution)
    bounds = [_bounds(area, longest, on_lattice=on_lattice) for area in areas]
    edges = np.array(bounds, np.int64).reshape(-1, 3, 2)
    return edges[:, :, 0], edges[:, :, 1]


def places_of_points(lon: FloatArray, lat: FloatArray, resolution: int, *, on_lattice: bool) -> IntArray:
    """Return where the H3 cells of points lie, one row a point: inside the boxes of the areas that hold the cells."""
    cells = cells_of_points(lon, lat, resolution)
    base, u, v = coordinates(cells, resolution)
    if on_lattice:
        return np.column_stack([base, u, v])
    place = np.array([_PLACE[str(digit)] for digit in range(7)], np.int64)
    path = base
    for level in range(1, resolution + 1):
        path = 7 * path + place[digits(cells, level)]
    return np.column_stack([np.zeros(len(cells), np.int64), path * 7 ** (MAX_RESOLUTION - resolution), 0 * path])


def runs_of_ids(areas: Sequence[str], resolution: int) -> tuple[IntArray, IntArray]:
    """Return where areas of the trees of H3 begin and end among all cells of a resolution, numbered along the trees."""
    size = 7 ** (MAX_RESOLUTION - resolution)
    low, high = boxes_of_ids(areas)
    return low[:, 1] // size, high[:, 1] // size


def lattice_of_runs(numbers: IntArray, resolution: int) -> IntArray:
    """Return base cell and two coordinates on the lattice of cells that are numbered along the trees, a row each."""
    digit = np.array([int(character) for character in _DIGITS], np.uint64)
    cells = np.zeros(len(numbers), np.uint64)
    path = numbers
    for level in range(resolution, 0, -1):
        cells |= digit[path % 7] << np.uint64(3 * (MAX_RESOLUTION - level))
        path = path // 7
    _, u, v = coordinates(cells, resolution)
    return np.column_stack([path, u, v])


def _bounds(area: str, longest: int | None, *, on_lattice: bool) -> Bounds:
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
            sides = [
                _ALL if block and power == longest else _run(place, power) for place, power in ((x, wide), (y, high))
            ]
            return (base, base + 1), sides[0], sides[1]
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
