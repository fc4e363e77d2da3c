"""The ground: shores of seas and lakes from GSHHG (LGPL), cut to a view.

Python and NumPy only, so that the same view gives the same numbers with every version of every library.
"""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import TypeAlias

    from flowveil._arrays import BoolArray, FloatArray

    Ring: TypeAlias = tuple[FloatArray, tuple[float, ...]]  # open, and west, south, east, north


def cut(
    rings: Iterable[Ring], box: list[float], step: float, *, near: list[float], fine: float
) -> list[list[list[float]]]:
    """Return the rings of land inside a box of degrees as [[lon, lat], ...]; fill them by the even-odd rule.

    Lakes are rings inside the land, and islands rings inside lakes. step: points closer together than so many degrees
    are left out, and so are smaller rings; inside the box `near`, `fine` takes its place.
    """
    found = []
    for ring, bounds in rings:
        if not _meet(bounds, box):
            continue
        if max(bounds[2] - bounds[0], bounds[3] - bounds[1]) < (fine if _meet(bounds, near) else step):
            continue
        part = clip_to_box(_thin(ring, step, near, fine), box)
        if len(part) > 2:
            found.append(part.round(5).tolist())
    return found


def _meet(one: tuple[float, ...], other: list[float]) -> bool:
    return one[0] <= other[2] and one[2] >= other[0] and one[1] <= other[3] and one[3] >= other[1]


@cache
def world_rings() -> list[Ring]:
    """Return all rings, open (the last point is not the first again), with their bounds."""
    path = files("flowveil._report").joinpath("assets", "shore.npz")
    with path.open("rb") as file, np.load(file) as stored:
        unit, points, steps = float(stored["unit"]), stored["points"], stored["steps"]
    rings = []
    for part in np.split(steps, np.cumsum(points)[:-1]):
        ring = np.cumsum(part, axis=0)[:-1] * unit
        rings.append((ring, (*ring.min(axis=0).tolist(), *ring.max(axis=0).tolist())))
    return rings


def _thin(ring: FloatArray, step: float, near: list[float], fine: float) -> FloatArray:
    """Leave out points that fall into the same cell of a grid as the one before them; the grid is finer near a view."""
    moved = np.ones(len(ring), bool)
    moved[1:] = _enter_cells(ring, step)
    low, high = np.array(near[:2]), np.array(near[2:])
    inside: BoolArray = np.all((ring >= low) & (ring <= high), axis=1)
    moved[1:] |= _enter_cells(ring, fine) & inside[1:]
    kept: FloatArray = ring[moved]
    return kept


def _enter_cells(ring: FloatArray, size: float) -> BoolArray:
    """Return which points but the first lie in another cell than the one before."""
    cell = np.floor(ring / size)
    entered: BoolArray = (cell[1:] != cell[:-1]).any(axis=1)
    return entered


def clip_to_box(ring: FloatArray, box: list[float]) -> FloatArray:
    """Return the part of a ring inside a box."""
    for axis, limit, keeps_above in ((0, box[0], True), (0, box[2], False), (1, box[1], True), (1, box[3], False)):
        ring = clip(ring, axis, limit, keeps_above=keeps_above)
    return ring


def clip(ring: FloatArray, axis: int, limit: float, *, keeps_above: bool) -> FloatArray:
    """Cut a ring along one straight line (Sutherland and Hodgman)."""
    if not len(ring):
        return ring
    inside = ring[:, axis] >= limit if keeps_above else ring[:, axis] <= limit
    if inside.all():
        return ring
    before = np.roll(ring, 1, axis=0)
    crosses = inside != np.roll(inside, 1)
    part = (limit - before[crosses, axis]) / (ring[crosses, axis] - before[crosses, axis])
    edge = before[crosses] + part[:, None] * (ring[crosses] - before[crosses])
    edge[:, axis] = limit
    # Each point is preceded by where its edge crosses the line, if it does.
    order = np.concatenate([np.flatnonzero(crosses) * 2, np.flatnonzero(inside) * 2 + 1])
    clipped: FloatArray = np.concatenate([edge, ring[inside]])[np.argsort(order)]
    return clipped
