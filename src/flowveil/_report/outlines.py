"""Outlines as short lists of whole numbers, so that thousands of them fit into a page."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import shapely

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt

    from flowveil._arrays import FloatArray, IntArray

_FINEST = 1e-5  # degrees: a meter
_MOST_PLACES = 6_000  # told apart along the longer side of the first view
_MOST_POINTS = 200_000  # of all outlines; beyond, corners that are close together become one


class _Thinned(NamedTuple):
    """One corner for each square of a grid."""

    width: int  # of a square, in steps
    corner: dict[tuple[int, ...], list[int]]


def find_step(extent: float) -> float:
    """Return how fine outlines are, in degrees."""
    step = _FINEST
    while step * 2 * _MOST_PLACES <= extent:
        step *= 2
    return step


def draw_boxes(shapes: npt.NDArray[np.object_], step: float) -> IntArray:
    """Return rectangles along the axes in steps: x, y, width and height, at least a step each."""
    bounds = np.rint(shapely.bounds(shapes) / step).astype(np.int64)
    boxes: IntArray = np.column_stack([bounds[:, :2], np.maximum(bounds[:, 2:] - bounds[:, :2], 1)])
    return boxes


def draw(shapes: npt.NDArray[np.object_], extent: float) -> tuple[float, list[list[list[int]]], list[int]]:
    """Return the step in degrees, the different outlines, and for each shape the number of its outline (-1: none).

    An outline is a list of rings; a ring is x, y of its first point and then the way to each next one, in steps. Points
    are put on a grid, so that neighbors still meet.
    """
    texts = [None if shape is None else shapely.to_wkb(shape) for shape in shapes]
    known: dict[bytes, int] = {}
    number = [-1 if text is None else known.setdefault(text, len(known)) for text in texts]
    distinct = [shapely.from_wkb(text) for text in known]
    step = find_step(extent)
    outlines = [_outline(shape, step) for shape in distinct]
    width = 1
    while sum(len(ring) for rings in outlines for ring in rings) > 2 * _MOST_POINTS and width * step < 1:
        width *= 2
        thinned = _thin(distinct, step, width)
        outlines = [_outline(shape, step, thinned) for shape in distinct]
    return step, outlines, number


def _thin(shapes: Sequence[shapely.Geometry], step: float, width: int) -> _Thinned:
    """Choose one corner of all shapes in each square of some steps, nearest to its middle, for all others there.

    Corners become fewer, the same ones in all shapes, so that neighbors still meet; they stay true corners, so that
    borders do not turn into stairs.
    """
    points = np.unique(np.rint(shapely.get_coordinates(shapes) / step).astype(np.int64), axis=0)
    square = points // width
    off = (np.abs(2 * (points - square * width) - width)).sum(axis=1)
    order = np.lexsort((points[:, 1], points[:, 0], off, square[:, 1], square[:, 0]))
    first = np.append(True, (np.diff(square[order], axis=0) != 0).any(axis=1))
    chosen = points[order][first]
    return _Thinned(width, dict(zip(map(tuple, square[order][first].tolist()), chosen.tolist(), strict=True)))


def draw_rings(rings: list[list[list[float]]], step: float) -> list[list[int]]:
    """Return rings of degrees as steps."""
    return [ring for ring in (_steps(np.array(points), step) for points in rings) if ring]


def _outline(shape: shapely.Geometry, step: float, thinned: _Thinned | None = None) -> list[list[int]]:
    parts = shapely.get_rings(shapely.get_parts(shape))
    rings = [_steps(shapely.get_coordinates(ring)[:-1], step, thinned) for ring in parts]
    kept = [ring for ring in rings if ring]
    return kept or [_sliver(shape, step)]


def _sliver(shape: shapely.Geometry, step: float) -> list[int]:
    """Return the thinnest triangle along a shape that is nowhere wider than a step."""
    points = shapely.get_coordinates(shapely.get_parts(shape)[0])
    (x, y), *_, (u, v) = sorted(np.rint(points / step).astype(np.int64).tolist())
    if u == x:
        return [x, y, 0, max(v - y, 1), 1, 0]
    return [x, y, u - x, v - y, 0, 1]


def _steps(points: FloatArray, step: float, thinned: _Thinned | None = None) -> list[int]:
    """Return a ring in steps without repeated points and points on a straight line; [] if nothing is left of it."""
    grid: IntArray = np.rint(points / step).astype(np.int64)
    if thinned is not None:
        squares = map(tuple, (grid // thinned.width).tolist())
        grid = np.array([thinned.corner[square] for square in squares], np.int64)
    grid = grid[np.append(True, (grid[1:] != grid[:-1]).any(axis=1))]
    kept: list[tuple[int, int]] = []
    for x, y in grid.tolist():
        while len(kept) > 1 and _straight(kept[-2], kept[-1], (x, y)):
            kept.pop()
        if not kept or kept[-1] != (x, y):
            kept.append((x, y))
    while len(kept) > 1 and kept[0] == kept[-1]:
        kept.pop()
    if len(kept) < 3:
        return []
    return [*kept[0], *(part for (x, y), (u, v) in pairwise(kept) for part in (u - x, v - y))]


def _straight(first: tuple[int, int], middle: tuple[int, int], last: tuple[int, int]) -> bool:
    return (middle[0] - first[0]) * (last[1] - middle[1]) == (middle[1] - first[1]) * (last[0] - middle[0])
