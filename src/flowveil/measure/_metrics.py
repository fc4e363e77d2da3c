"""How much a release lost: every metric once, in closed form."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from flowveil._errors import InputError
from flowveil.flows import WEIGHT_UNIT, add_by_group
from flowveil.measure._cover import cover
from flowveil.places import ROOT, NodeAreas, meters_between

if TYPE_CHECKING:
    from flowveil._arrays import FloatArray, IntArray
    from flowveil.flows import Flows
    from flowveil.places import Areas


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
    areas: tuple[Areas, Areas] | None = None  # what the numbers above mean, if not nodes
    group: IntArray | None = None  # by tile pair: the flow that holds it, where it does not follow from nodes

    def sides(self, flows: Flows) -> tuple[Areas, Areas]:
        """Return what the areas of origins and destinations are."""
        return self.areas or (NodeAreas(flows.places, flows.origins), NodeAreas(flows.places, flows.destinations))

    def sorted(self) -> Published:
        """Return the same flows in the order of their nodes, so that sums of floats do not depend on their order."""
        order = np.lexsort((self.destination, self.origin))
        place = np.full(len(order) + 1, -1, np.int64)
        place[order] = np.arange(len(order))
        return replace(
            self,
            origin=self.origin[order],
            destination=self.destination[order],
            trips=self.trips[order],
            group=None if self.group is None else place[self.group],
        )


def metrics(flows: Flows, published: Published, k: int, tiles: str = "tree") -> dict[str, Any]:
    """Return all metrics of k-anonymous flows (docs/metrics.md), None where one does not apply.

    tiles: "tree" counts the leaves of each axis' hierarchy, "all" counts every tile of an area, seen or not.
    """
    if tiles not in {"tree", "all"}:
        raise InputError(f"tiles cannot be counted as {tiles!r}", "count tiles as tree or all")
    published = published.sorted()
    group = published.group
    if group is None:
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
        "mao": _mean_size(published.sides(flows)[0], published.origin, published.trips),
        "mad": _mean_size(published.sides(flows)[1], published.destination, published.trips),
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
    area = _count_tiles(NodeAreas(flows.places, trees[rest.first]), rest.area, tiles)
    whole = _count_tiles(NodeAreas(flows.places, trees[1 - rest.first]), np.full(len(rest.area), ROOT), tiles)
    reported = int(rest.trips.sum())
    kept = int(published.trips.sum()) + reported
    return {
        "flows": len(rest.trips),
        "trips": reported,
        "suppressed": (flows.total - kept) / flows.total,
        "gbar": _number(((sizes * published.trips).sum() + ((area + whole) * rest.trips).sum()) / kept),
    }


def _tiles(flows: Flows, published: Published, tiles: str) -> tuple[FloatArray, FloatArray]:
    origins, destinations = published.sides(flows)
    return _count_tiles(origins, published.origin, tiles), _count_tiles(destinations, published.destination, tiles)


def _count_tiles(areas: Areas, numbers: IntArray, tiles: str) -> FloatArray:
    distinct, position = np.unique(numbers, return_inverse=True)
    known = areas.tiles(distinct) if tiles == "tree" else areas.describe(distinct).tiles
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
    sides = published.sides(flows)
    for hierarchy, leaf, areas, area in (
        (flows.origins, flows.origin[inside], sides[0], published.origin[group[inside]]),
        (flows.destinations, flows.destination[inside], sides[1], published.destination[group[inside]]),
    ):
        width = int(area.max(initial=0)) + 1
        distinct, position = np.unique(leaf * width + area, return_inverse=True)
        tile, number = np.divmod(distinct, width)
        tiles = NodeAreas(flows.places, hierarchy)
        meters = meters_between(*_centers(tiles, tile), *_centers(areas, number))
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


def _centers(areas: Areas, numbers: IntArray) -> tuple[FloatArray, FloatArray]:
    distinct, position = np.unique(numbers, return_inverse=True)
    lon, lat = areas.centers(distinct)
    return lon[position], lat[position]


def _mean_size(areas: Areas, numbers: IntArray, trips: IntArray) -> float | None:
    """Return the size of the areas at one end in square kilometers, averaged over trips."""
    distinct, position = np.unique(numbers, return_inverse=True)
    sizes = areas.square_kilometers(distinct)
    return _number(np.average(sizes[position], weights=trips))


def _number(value: float) -> float | None:
    """Return a float, None for NaN: a metric that does not apply is null."""
    return None if np.isnan(value) else float(value)
