"""How much a release lost: every metric once, in closed form."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from flowveil._errors import InputError
from flowveil.flows import WEIGHT_UNIT, add_by_group
from flowveil.measure._cover import cover
from flowveil.places import ROOT, meters_between

if TYPE_CHECKING:
    from flowveil._arrays import FloatArray, IntArray
    from flowveil.flows import Flows
    from flowveil.places import Hierarchy


@dataclass(frozen=True, eq=False)
class Rest:
    """What is reported of the trips left out: flows between areas of one axis and elsewhere."""

    first: int  # the axis of the areas: 0 origins, 1 destinations
    area: IntArray
    trips: IntArray


@dataclass(frozen=True, eq=False)
class Published:
    """The flows of a release as nodes of the trees of the input."""

    origin: IntArray
    destination: IntArray
    trips: IntArray  # as published: a lower bound where filtered trips were not counted again
    elsewhere: Rest | None = None  # what is reported of the trips left out, if anything is

    def sorted(self) -> Published:
        """Return the same flows in the order of their nodes, so that sums of floats do not depend on their order."""
        order = np.lexsort((self.destination, self.origin))
        return replace(self, origin=self.origin[order], destination=self.destination[order], trips=self.trips[order])


def metrics(flows: Flows, published: Published, k: int, tiles: str = "tree") -> dict[str, Any]:
    """Return all metrics of k-anonymous flows (docs/metrics.md), None where one does not apply.

    tiles: "tree" counts the leaves of each axis' hierarchy, "all" counts every tile of an area, seen or not.
    """
    if tiles not in {"tree", "all"}:
        raise InputError(f"tiles cannot be counted as {tiles!r}", "count tiles as tree or all")
    published = published.sorted()
    group = cover(flows, published.origin, published.destination)
    origin_tiles, destination_tiles = _tiles(flows, published, tiles)
    total, kept = flows.total, int(published.trips.sum())
    suppressed = total - kept
    sizes, cells = origin_tiles + destination_tiles, origin_tiles * destination_tiles
    measures = flows.measure(group, len(published.trips))
    rest = {} if published.elsewhere is None else {"elsewhere": _with_rest(flows, published, tiles)}
    return {
        "gbar": _number((sizes * published.trips).sum() / kept),
        "e": _number(_difference(flows, group, published.trips, cells, 1.0, 1.0) / total),
        "d": _number(_difference(flows, group, published.trips, cells, 1 / kept, 1 / total)),
        "suppressed": suppressed / total,
        "c_dm": int((published.trips.astype(object) ** 2).sum()) + total * suppressed,
        "c_avg": kept / len(published.trips) / k,
        "gdm": _distances(flows, published, group),
        "mao": _mean_size(flows, flows.origins, published.origin, published.trips),
        "mad": _mean_size(flows, flows.destinations, published.destination, published.trips),
        "flows": len(published.trips),
        "origin_areas": len(np.unique(published.origin)),
        "destination_areas": len(np.unique(published.destination)),
        "trips": kept,
        "min_trips": int(published.trips.min()),
        "min_persons": None if measures.persons is None else int(measures.persons.min()),
        "min_weight": None if measures.weight is None else float(measures.weight.min() / WEIGHT_UNIT),
        "tiles": tiles,
        **rest,
    }


def _with_rest(flows: Flows, published: Published, tiles: str) -> dict[str, Any]:
    """Return flows to elsewhere, their trips, and share left out and gbar with them; elsewhere is a whole axis."""
    rest = published.elsewhere
    if rest is None:
        return {}
    sizes = np.add(*_tiles(flows, published, tiles))
    trees = flows.origins, flows.destinations
    area = _count_tiles(flows, trees[rest.first], rest.area, tiles)
    whole = _count_tiles(flows, trees[1 - rest.first], np.full(len(rest.area), ROOT), tiles)
    reported = int(rest.trips.sum())
    kept = int(published.trips.sum()) + reported
    return {
        "flows": len(rest.trips),
        "trips": reported,
        "suppressed": (flows.total - kept) / flows.total,
        "gbar": _number(((sizes * published.trips).sum() + ((area + whole) * rest.trips).sum()) / kept),
    }


def _tiles(flows: Flows, published: Published, tiles: str) -> tuple[FloatArray, FloatArray]:
    return (
        _count_tiles(flows, flows.origins, published.origin, tiles),
        _count_tiles(flows, flows.destinations, published.destination, tiles),
    )


def _count_tiles(flows: Flows, hierarchy: Hierarchy, nodes: IntArray, tiles: str) -> FloatArray:
    if tiles == "tree":
        return hierarchy.tiles[nodes].astype(np.float64)
    distinct, position = np.unique(nodes, return_inverse=True)
    known = flows.places.describe(hierarchy, distinct).tiles
    return np.asarray(np.where(known < 0, np.nan, known)[position], np.float64)


def _difference(
    flows: Flows, group: IntArray, trips: IntArray, cells: FloatArray, scale: float, true_scale: float
) -> float:
    """Sum |spread volume - true volume| over all tile pairs: those seen one by one, the empty ones at once.

    A flow's trips are spread evenly over its `cells` tile pairs; a pair outside every flow is estimated as 0.
    """
    even = trips / cells
    inside = group >= 0
    spread = np.where(inside, even[np.maximum(group, 0)], 0.0)
    seen = np.abs(spread * scale - flows.trips * true_scale).sum()
    seen_pairs = add_by_group(group, np.ones(len(group), np.int64), len(trips))
    return float(seen + ((cells - seen_pairs) * even * scale).sum())


def _distances(flows: Flows, published: Published, group: IntArray) -> dict[str, float] | None:
    """Return mean, median and standard deviation of the meters from tile centre to area centre, both ends pooled."""
    inside = group >= 0
    distances = []
    for hierarchy, leaf, area in (
        (flows.origins, flows.origin[inside], published.origin[group[inside]]),
        (flows.destinations, flows.destination[inside], published.destination[group[inside]]),
    ):
        distinct, position = np.unique(leaf * len(hierarchy) + area, return_inverse=True)
        tile, node = np.divmod(distinct, len(hierarchy))
        meters = meters_between(*_centers(flows, hierarchy, tile), *_centers(flows, hierarchy, node))
        distances.append(meters[position])
    meters = np.concatenate(distances)
    if np.isnan(meters).any():  # an area without a centre: leaving it out would flatter the release
        return None
    weights = np.tile(flows.trips[inside], 2).astype(np.float64)
    mean = np.average(meters, weights=weights)
    order = np.argsort(meters)
    reached = np.cumsum(weights[order])
    median = meters[order][np.searchsorted(reached, reached[-1] / 2)]
    deviation = np.sqrt(np.average((meters - mean) ** 2, weights=weights))
    return {"mean": float(mean), "median": float(median), "sd": float(deviation)}


def _centers(flows: Flows, hierarchy: Hierarchy, nodes: IntArray) -> tuple[FloatArray, FloatArray]:
    distinct, position = np.unique(nodes, return_inverse=True)
    lon, lat = flows.places.centers(hierarchy, distinct)
    return lon[position], lat[position]


def _mean_size(flows: Flows, hierarchy: Hierarchy, nodes: IntArray, trips: IntArray) -> float | None:
    """Return the size of the areas at one end in square kilometers, averaged over trips."""
    distinct, position = np.unique(nodes, return_inverse=True)
    sizes = flows.places.square_kilometers(hierarchy, distinct)
    return _number(np.average(sizes[position], weights=trips))


def _number(value: float) -> float | None:
    """Return a float, None for NaN: a metric that does not apply is null."""
    return None if np.isnan(value) else float(value)
