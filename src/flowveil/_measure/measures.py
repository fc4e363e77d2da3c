"""How much a release lost: every metric once, for the trips and for the people that they stand for."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from flowveil._errors import InputError
from flowveil._flows import WEIGHT_UNIT, add_by_group
from flowveil._measure.covering import cover
from flowveil._measure.elsewhere import with_rest
from flowveil._measure.losses import Extent, Volumes, losses
from flowveil._measure.matrices import over_matrices
from flowveil._measure.overlapping import Spread
from flowveil._measure.raw import raw_distances
from flowveil._measure.sizes import axis_tiles, centers, count_tiles, leaf_places, sizes
from flowveil._measure.tight import as_papers
from flowveil._options import AUTO, shown
from flowveil._places import NodeAreas, RectangleAreas, meters_between
from flowveil._problem import Requirement, make_requirement, mean_weight

if TYPE_CHECKING:
    from flowveil._arrays import FloatArray, IntArray
    from flowveil._flows import Flows
    from flowveil._measure.figures import Metrics, OfRectangles, OfRows, WithElsewhere
    from flowveil._places import Areas


@dataclass(frozen=True, eq=False)
class Rest:
    """What is reported of the trips left out: flows between areas of one axis and elsewhere."""

    first: int  # the axis of the areas: 0 origins, 1 destinations
    area: IntArray
    trips: IntArray
    matrix: IntArray


@dataclass(frozen=True, eq=False)
class Published:
    """The flows of a release as nodes of the trees of the input."""

    origin: IntArray
    destination: IntArray
    trips: IntArray  # as published: a lower bound where filtered trips were not counted again
    matrix: IntArray
    elsewhere: Rest | None = None  # what is reported of the trips left out, if anything is
    areas: tuple[Areas, Areas] | None = None  # what the numbers above mean, if not nodes
    group: IntArray | None = None  # by tile pair: the flow that holds it, where it does not follow from nodes
    overlapping: bool = False  # a tile pair may lie in several flows, though one counts it
    time: IntArray | None = None  # node of the hierarchy of time, where there is one
    above: IntArray | None = None  # with remainders, the smallest flow that holds it, -1 for none
    totals: IntArray | None = None  # trips of the flows of all groups together, which are not among the others

    def sides(self, flows: Flows) -> tuple[Areas, Areas]:
        """Return what the areas of origins and destinations are."""
        return self.areas or (NodeAreas(flows.places, flows.origins), NodeAreas(flows.places, flows.destinations))

    def sorted(self) -> Published:
        """Return the same flows in the order of their nodes, so that sums of floats do not depend on their order."""
        keys = [self.destination, self.origin, *([] if self.time is None else [self.time]), self.matrix]
        order = np.lexsort(keys)
        place = np.full(len(order) + 1, -1, np.int64)
        place[order] = np.arange(len(order))
        return replace(
            self,
            origin=self.origin[order],
            destination=self.destination[order],
            trips=self.trips[order],
            group=None if self.group is None else place[self.group],
            matrix=self.matrix[order],
            time=None if self.time is None else self.time[order],
            above=None if self.above is None else place[self.above[order]],
        )


def check_tiles(tiles: object) -> None:
    """Raise unless this is a way to count tiles."""
    if tiles not in ("tree", "all"):
        raise InputError(f"tiles cannot be counted as {shown(tiles)}", "count tiles as tree or all")


def metrics(
    flows: Flows,
    published: Published,
    k: int,
    tiles: str = "tree",
    *,
    k_weight: float | str | None = None,
    raw: bool = False,
) -> Metrics:
    """Return all metrics of k-anonymous flows (docs/metrics.md), None where one does not apply.

    k, k_weight: what flows are held against, whatever they were made to reach; without a k_weight, k times the mean.
    tiles: "tree" counts the leaves of each axis' hierarchy, "all" counts every tile of an area, seen or not.
    raw: read the input once more, to measure from the coordinates of trips.
    """
    check_tiles(tiles)
    published = published.sorted()
    extent = _extent(flows, published, tiles)
    measures = flows.measure(extent.group, len(published.trips))
    crowd = measures.trips if measures.persons is None else measures.persons
    asked = _asked(flows, k, k_weight)
    people = _people(flows, published, extent.group, asked)
    rest: WithElsewhere = {}
    if published.elsewhere is not None:
        rest["elsewhere"] = with_rest(flows, published, extent, tiles)
    boxes: OfRectangles = {}
    if isinstance(extent.areas[0], RectangleAreas):
        boxes["tight"] = as_papers(flows, published.trips, extent.group)
    rows: OfRows = {"gdm_raw": raw_distances(flows, extent)} if raw else {}
    return {
        **losses(Volumes(flows.trips, published.trips, k), extent),
        "flows": len(published.trips),
        "origin_areas": len(np.unique(published.origin)),
        "destination_areas": len(np.unique(published.destination)),
        "trips": int(published.trips.sum()),
        "min_trips": int(published.trips.min()),
        "min_persons": None if measures.persons is None else int(measures.persons.min()),
        "min_weight": None if measures.weight is None else float(measures.weight.min() / WEIGHT_UNIT),
        "k": k,
        "k_weight": None if asked.k_weight is None else float(asked.k_weight),
        "below_k": int((crowd < k).sum()),
        "below_k_weight": None if measures.weight is None else int((measures.weight < asked.least_weight).sum()),
        "tiles": tiles,
        "population": None if people is None else losses(people, extent),
        **over_matrices(flows, published, extent),
        **rest,
        **boxes,
        **rows,
    }


def _asked(flows: Flows, k: int, k_weight: float | str | None) -> Requirement:
    """Return what flows are held against; nothing is asked of their weights where these are missing or all 0."""
    of_persons = flows.weight is not None and flows.provenance.trip_weight is None
    if k_weight is None and of_persons and mean_weight(flows):
        return make_requirement(flows, k, AUTO)
    return make_requirement(flows, k, k_weight)


def _people(flows: Flows, published: Published, group: IntArray, asked: Requirement) -> Volumes | None:
    """Return the people that tile pairs and flows stand for; a flow that counts some trips only, for their share."""
    if flows.weight is None or asked.k_weight is None:
        return None
    weight = add_by_group(group, flows.weight, len(published.trips))
    trips = add_by_group(group, flows.trips, len(published.trips))
    part = np.rint(weight * (published.trips / np.maximum(trips, 1))).astype(np.int64)
    part = np.where(trips == published.trips, weight, part)
    return Volumes(flows.weight, part, asked.k_weight, WEIGHT_UNIT) if part.any() else None


def _extent(flows: Flows, published: Published, tiles: str) -> Extent:
    group = published.group
    if group is None:
        group = cover(flows, published.origin, published.destination, published.matrix, published.time)
    areas, ends = published.sides(flows), (published.origin, published.destination)
    spread = None
    if published.overlapping:
        pairs = leaf_places(flows.origins, flows.origin), leaf_places(flows.destinations, flows.destination)
        spread = Spread(ends, areas, pairs, (int(flows.origins.is_leaf.sum()), int(flows.destinations.is_leaf.sum())))
    return Extent(
        group,
        ends,
        areas,
        (count_tiles(areas[0], ends[0], tiles), count_tiles(areas[1], ends[1], tiles)),
        (axis_tiles(flows, 0, tiles), axis_tiles(flows, 1, tiles)),
        (sizes(areas[0], ends[0]), sizes(areas[1], ends[1])),
        _meters(flows, areas, ends, group),
        spread,
        None if flows.times is None else flows.times.hierarchy.tiles[published.time].astype(np.float64),
        published.above,
    )


def _meters(flows: Flows, sides: tuple[Areas, Areas], ends: tuple[IntArray, IntArray], group: IntArray) -> FloatArray:
    """Return the meters from tile center to area center of the tile pairs in flows, one end after the other."""
    inside = group >= 0
    distances = []
    for hierarchy, leaf, areas, area in (
        (flows.origins, flows.origin, sides[0], ends[0]),
        (flows.destinations, flows.destination, sides[1], ends[1]),
    ):
        width = int(area.max(initial=0)) + 1
        distinct, position = np.unique(leaf[inside] * width + area[group[inside]], return_inverse=True)
        tile, other = np.divmod(distinct, width)
        tiles = NodeAreas(flows.places, hierarchy)
        meters = meters_between(*centers(tiles, tile), *centers(areas, other))
        distances.append(meters[position])
    return np.concatenate(distances)
