"""How trips lie inside boxes with noise: as the marginals of single places say, and evenly where there are none.

A marginal is a noisy count of where trips start (or end, or stop), over boxes of one place that are smaller than those
of all places together. Inside a box, places are taken to be independent of each other.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from flowveil._arrays import texts
from flowveil._errors import InputError
from flowveil._folder import CELLS, MARGINALS
from flowveil._noise import variance

if TYPE_CHECKING:
    from collections.abc import Mapping

    import pyarrow as pa

    from flowveil._arrays import FloatArray, IntArray

_MOST = 5_000_000  # of squares between the edges of boxes; marginals of our own have a million at most
_FAINT = 1e-9  # of all trips: what has less is taken to be empty, as sums are rounded
_LEAST = 1e-9
_EMPTY = 1e-3  # of the mean: a zone has no less, so that no area is without weight
_CORNERS = ("low_0", "low_1", "high_0", "high_1")


class Marginal:
    """Trips at one place of the grid, of which any rectangle holds a mass.

    Each box has its count spread evenly. `_mass` is the mass south-west of every crossing of edges of boxes, linear
    between them.
    """

    def __init__(self, low: IntArray, high: IntArray, counts: IntArray) -> None:
        self._edges = [np.unique(np.append(low[:, axis], high[:, axis])) for axis in (0, 1)]
        if len(self._edges[0]) * len(self._edges[1]) > _MOST:
            raise InputError("the marginals have too many edges", "flowveil verify says what is wrong")
        density = counts / (high - low).prod(axis=1)
        first, last = ([np.searchsorted(self._edges[axis], end[:, axis]) for axis in (0, 1)] for end in (low, high))
        steps = np.zeros([len(edges) for edges in self._edges])
        for across, way in ((first[0], 1), (last[0], -1)):
            np.add.at(steps, (across, first[1]), way * density)
            np.add.at(steps, (across, last[1]), -way * density)
        wide, tall = (np.diff(edges) for edges in self._edges)
        even = np.maximum(steps.cumsum(axis=0).cumsum(axis=1)[:-1, :-1], 0) * wide[:, None] * tall
        self._mass = np.zeros(steps.shape)
        self._mass[1:, 1:] = even.cumsum(axis=0).cumsum(axis=1)

    @property
    def total(self) -> float:
        """The mass of the whole grid."""
        return float(self._mass[-1, -1])

    def mass(self, low: FloatArray, high: FloatArray) -> FloatArray:
        """Return the mass of rectangles, given as corners in cells, one row each."""
        inner = self._below(high[:, 0], high[:, 1]) + self._below(low[:, 0], low[:, 1])
        outer = self._below(low[:, 0], high[:, 1]) + self._below(high[:, 0], low[:, 1])
        return np.maximum(inner - outer, 0)

    def _below(self, x: FloatArray, y: FloatArray) -> FloatArray:
        """Return the mass south-west of points."""
        (i, right), (j, up) = (_between(edges, at) for edges, at in zip(self._edges, (x, y), strict=True))
        west = self._mass[i, j] * (1 - up) + self._mass[i, j + 1] * up
        east = self._mass[i + 1, j] * (1 - up) + self._mass[i + 1, j + 1] * up
        return np.asarray(west * (1 - right) + east * right)


def _between(edges: IntArray, at: FloatArray) -> tuple[IntArray, FloatArray]:
    """Return the edge before each coordinate, and how far it is on the way to the next; outside: the nearest edge."""
    number = np.clip(np.searchsorted(edges, at, side="right") - 1, 0, len(edges) - 2)
    way = (at - edges[number]) / (edges[number + 1] - edges[number])
    return number, np.clip(way, 0, 1)


def read_marginals(tables: Mapping[str, pa.Table]) -> dict[str, Marginal]:
    """Return the marginals of boxes by the names of their places; none if a release was made without."""
    if MARGINALS not in tables or CELLS not in tables:
        return {}
    table = tables[MARGINALS]
    places = np.array(table["place"].to_pylist(), object)
    corners = np.column_stack([table[name].to_numpy() for name in _CORNERS])
    counts = table["nonnegative"].to_numpy()
    return {
        str(place): Marginal(corners[own, :2], corners[own, 2:], counts[own])
        for place, own in ((place, places == place) for place in dict.fromkeys(places.tolist()))
    }


def read_zone_weights(tables: Mapping[str, pa.Table]) -> dict[str, dict[str, float]]:
    """Return how trips lie in zones, by end and zone: 1 for a zone with as many as others; {} without such marginals.

    Noisy counts are drawn to their mean as far as their differences may be noise (James and Stein), so that weights
    never are less even than the counts can tell. None is below zero.
    """
    if MARGINALS not in tables or CELLS in tables:
        return {}
    table = tables[MARGINALS]
    places = np.array(table["place"].to_pylist(), object)
    weights: dict[str, dict[str, float]] = {}
    for place in dict.fromkeys(places.tolist()):
        part = table.filter(places == place)
        counts = part["count"].to_numpy().astype(np.float64)
        noise, mean = float(variance(part["scale"].to_numpy()).mean()), max(float(counts.mean()), _LEAST)
        told = max(float(counts.var()) - noise, 0.0)
        drawn = mean + told / max(told + noise, _LEAST) * (counts - mean)
        weight = np.maximum(drawn / mean, _EMPTY) if told > 0 else np.ones(len(counts))
        weights[str(place)] = dict(zip(texts(part["zone"]), weight.tolist(), strict=True))
    return weights


def share_inside(
    marginal: Marginal | None, low: IntArray, high: IntArray, start: FloatArray, end: FloatArray
) -> FloatArray:
    """Return which share of the trips of boxes lies in a rectangle, at one place: all there is to say how boxes spread.

    low, high: corners of boxes in cells, one row each. start, end: corners of the rectangle, one row each or one for
    all. A marginal that is empty in a box says nothing about it.
    """
    inner, outer = np.maximum(low, start), np.minimum(high, end)
    even = (np.maximum(outer - inner, 0) / (high - low)).prod(axis=1)
    part = (even > 0) & (even < 1)
    if marginal is None or not part.any():
        return np.asarray(even)
    whole = marginal.mass(low[part].astype(np.float64), high[part].astype(np.float64))
    mass = marginal.mass(inner[part].astype(np.float64), outer[part].astype(np.float64))
    told = whole > _FAINT * marginal.total
    even[part] = np.where(told, np.minimum(mass / np.where(told, whole, 1), 1), even[part])
    return np.asarray(even)
