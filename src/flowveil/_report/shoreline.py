"""The ground: shores of seas and lakes from GSHHG (LGPL), cut to a view.

Python and NumPy only, so that the same view gives the same numbers with every version of every library.
"""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from flowveil._arrays import FloatArray


def land(west: float, south: float, east: float, north: float, *, step: float) -> list[list[list[float]]]:
    """Return the rings of land inside a box of degrees as [[lon, lat], ...]; fill them by the even-odd rule.

    Lakes are rings inside the land, and islands rings inside lakes.

    step: points closer together than so many degrees are left out, and so are smaller rings; about a pixel of the view.
    """
    return [ring.round(5).tolist() for ring in _cut(west, south, east, north, step)]


def _cut(west: float, south: float, east: float, north: float, step: float) -> list[FloatArray]:
    rings = []
    for ring, bounds in _rings():
        if bounds[0] > east or bounds[2] < west or bounds[1] > north or bounds[3] < south:
            continue
        if max(bounds[2] - bounds[0], bounds[3] - bounds[1]) < step:
            continue
        clipped = _thin(ring, step)
        for axis, limit, keeps_above in ((0, west, True), (0, east, False), (1, south, True), (1, north, False)):
            clipped = clip(clipped, axis, limit, keeps_above=keeps_above)
        if len(clipped) > 2:
            rings.append(clipped)
    return rings


@cache
def _rings() -> list[tuple[FloatArray, tuple[float, ...]]]:
    """Return all rings, open (the last point is not the first again), with their bounds."""
    path = files("flowveil._report").joinpath("assets", "shore.npz")
    with path.open("rb") as file, np.load(file) as stored:
        unit, points, steps = float(stored["unit"]), stored["points"], stored["steps"]
    rings = []
    for part in np.split(steps, np.cumsum(points)[:-1]):
        ring = np.cumsum(part, axis=0)[:-1] * unit
        rings.append((ring, (*ring.min(axis=0).tolist(), *ring.max(axis=0).tolist())))
    return rings


def _thin(ring: FloatArray, step: float) -> FloatArray:
    """Leave out points that fall into the same cell of a fine grid as the one before them."""
    cell = np.floor(ring / step)
    kept: FloatArray = ring[np.append(True, (cell[1:] != cell[:-1]).any(axis=1))]
    return kept


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
