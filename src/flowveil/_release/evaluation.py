"""Metrics of a written release against its input."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import shapely

from flowveil._arrays import texts
from flowveil._errors import InputError
from flowveil._flows import build_flows
from flowveil._folder import COUNTED_PERSON, ELSEWHERE, NO_COLUMN, TOTAL, most_error, read_audit, remembered
from flowveil._measure import Published, Rest, check_tiles, cover, cover_boxes, cover_layers, metrics, metrics_of_each
from flowveil._options import check_flag, parse_k, parse_k_weight
from flowveil._places import UNIT, NodeAreas, RectangleAreas, Rectangles, make_frame
from flowveil._release.assignment import flows_of_tiles, read_assignment
from flowveil._release.keys import rows_in, times_of
from flowveil._release.read import read_flows
from flowveil._release.true_trips import with_true_trips
from flowveil._trips import reopen_trips

if TYPE_CHECKING:
    from collections.abc import Mapping

    import pyarrow as pa

    from flowveil._arrays import IntArray
    from flowveil._flows import Flows
    from flowveil._measure import Metrics
    from flowveil._places import Hierarchy, Listed, ZonesLike
    from flowveil._release.release import Release
    from flowveil._trips import TripsLike


def evaluate_flows(
    release: str | Path,
    trips: TripsLike,
    *,
    zones: ZonesLike | None = None,
    columns: str | Mapping[str, str] | None = None,
    where: str | None = None,
    unit: str | None = None,
    weight: str | None = None,
    k: int | None = None,
    k_weight: float | str | None = None,
    tiles: str = "tree",
    each: bool = False,
) -> Metrics:
    """Return the metrics of a written release against its trips.

    Input options (columns, where, zones) come from the audit file beside the release unless they are given.
    unit, weight, k, k_weight: what flows are held against, whatever the release promises; by default what it promises,
    and a k_weight of k times the mean weight. each: with a row of metrics for each step of time and group.
    """
    k, k_weight = None if k is None else parse_k(k), parse_k_weight(k_weight)
    check_tiles(tiles)
    check_flag(each, "each")
    content = read_flows(release)
    flows = recount(release, content, trips, zones=zones, columns=columns, where=where, unit=unit, weight=weight)
    promise = content.manifest["promise"]
    held = promise["k"] if k is None else k
    held_weight = promise.get("k_weight") if k_weight is None else k_weight
    published = retrace(release, content, flows)
    figures = metrics(flows, published, held, tiles, k_weight=held_weight, raw=True)
    if each:
        figures["each"] = list(metrics_of_each(flows, published, held, tiles, k_weight=held_weight))
    return figures


def recount(
    release: str | Path,
    content: Release,
    trips: TripsLike,
    *,
    zones: ZonesLike | None = None,
    columns: str | Mapping[str, str] | None = None,
    where: str | None = None,
    unit: str | None = None,
    weight: str | None = None,
    **changes: Any,  # as in build_flows
) -> Flows:
    """Count the trips again as they were for a written release; changes: other arguments of `build_flows`."""
    options, promise = content.manifest["options"], content.manifest["promise"]
    story = remembered(read_audit(release))
    if zones is not None and options.get("grid") is not None:
        raise InputError("zones were given, and the release is on a grid", "leave out --zones")
    trips = reopen_trips(trips, story, columns, where)
    keywords = {
        "zones": (zones if zones is not None else story.zones) if options.get("grid") is None else None,
        "hierarchy": options.get("hierarchy"),
        "crs": options.get("crs"),
        "bbox": options.get("bbox"),
        "unit": unit or (None if promise["unit"] in NO_COLUMN else promise["unit"]),
        "counts": "persons" if promise["unit"] == COUNTED_PERSON and unit is None else None,
        "weight": weight or promise.get("weight"),
        "trip_weight": None if weight else promise.get("trip_weight"),
        "time": options.get("time"),
        "time_hierarchy": options.get("time_hierarchy"),
        "timezone": options.get("timezone"),
        "by": options.get("by", ()),
        "max_unusable": 1,  # whoever made the release allowed what there is
    }
    return build_flows(trips, options.get("grid"), **(keywords | changes))


def retrace(release: str | Path, content: Release, flows: Flows) -> Published:
    """Return what a written release publishes of the flows between tiles that it was made from."""
    options, promise = content.manifest["options"], content.manifest["promise"]
    if "shapes" in promise:
        assignment = read_assignment(Path(release).resolve()) if promise["areas"] == "overlapping" else None
        return _between_rectangles(flows, content, assignment)
    of_totals = options["by"][0] if "totals" in promise else None
    layers, reports = "remainders" in promise, "elsewhere" in promise
    published = _published(flows, content.flows, layers=layers, reports=reports, of_totals=of_totals)
    if most_error(promise):
        return with_true_trips(flows, content.flows, published, list(options.get("by", [])))
    return published


def _between_rectangles(flows: Flows, content: Release, assignment: pa.Table | None) -> Published:
    """Return the flows of a release between rectangles; `assignment` says which tile pair each counts if they overlap.

    Flows to elsewhere have an origin area: with rectangles, origins come first.
    """
    areas = content.areas.filter(np.array(content.areas["area"].to_pylist(), object) != ELSEWHERE)
    shape = dict(zip(texts(areas["area"]), shapely.from_wkb(areas["geometry"].to_pylist()), strict=True))
    names = sorted(shape, key=lambda name: int(name.removeprefix("r:")))
    bounds = np.rint(shapely.bounds(np.array([shape[name] for name in names], object)) * UNIT).astype(np.int64)
    bbox = flows.provenance.bbox
    rectangles = Rectangles(bounds, make_frame(bbox), closed=bbox is not None)
    apart = np.array(content.flows["destination"].to_pylist(), object) == ELSEWHERE
    kept, rest = content.flows.filter(~apart), content.flows.filter(apart)
    origin, destination = _numbers(kept, "origin"), _numbers(kept, "destination")
    sides = tuple(RectangleAreas(rectangles, flows.places, tree) for tree in (flows.origins, flows.destinations))
    trips = np.asarray(kept["trips"].to_numpy(), np.int64)
    published = Published(origin, destination, trips, np.zeros_like(trips), areas=(sides[0], sides[1]))
    if "elsewhere" in content.manifest["promise"]:
        left_out = np.asarray(rest["trips"].to_numpy(), np.int64)
        published = replace(published, elsewhere=Rest(0, _numbers(rest, "origin"), left_out, np.zeros_like(left_out)))
    if assignment is None:
        return replace(published, group=cover_boxes(flows, rectangles, origin, destination))
    pairs = zip(kept["origin"].to_pylist(), kept["destination"].to_pylist(), strict=True)
    flow = {pair: number for number, pair in enumerate(pairs)}
    group = [-1 if pair is None else flow.get(pair, -1) for pair in flows_of_tiles(flows, assignment)]
    return replace(published, group=np.array(group, np.int64), overlapping=True)


def _numbers(table: pa.Table, end: str) -> IntArray:
    return np.array([int(name.removeprefix("r:")) for name in texts(table[end])], np.int64)


def _published(flows: Flows, table: pa.Table, *, layers: bool, reports: bool, of_totals: str | None) -> Published:
    """Return the flows of a table as nodes, those to or from elsewhere apart, and totals, if a column has any."""
    totals = None
    if of_totals is not None:
        is_total = np.array(table[of_totals].to_pylist(), object) == TOTAL
        totals = np.asarray(table.filter(is_total)["trips"].to_numpy(), np.int64)
        table = table.filter(~is_total)
    ends = [texts(table["origin"]), texts(table["destination"])]
    trees = flows.origins, flows.destinations
    trips = np.asarray(table["trips"].to_numpy(), np.int64)
    apart = [np.array([name == ELSEWHERE for name in names], bool) for names in ends]
    kept = ~(apart[0] | apart[1])
    listed, numbers = zip(*(_listed(flows, tree, names) for tree, names in zip(trees, ends, strict=True)), strict=True)
    nodes = [number[kept] for number in numbers]
    moment = times_of(flows, table)
    matrices = rows_in(flows.matrices, table)
    matrix = matrices[kept]
    time = None if moment is None else moment[kept]
    above = None
    if layers:
        group, above = cover_layers(flows, nodes[0], nodes[1], matrix, time, (listed[0], listed[1]))
    else:
        group = cover(flows, nodes[0], nodes[1], matrix, time, areas=(listed[0], listed[1]))
    published = Published(
        nodes[0],
        nodes[1],
        trips[kept],
        matrix,
        areas=(NodeAreas(flows.places, listed[0]), NodeAreas(flows.places, listed[1])),
        group=group,
        time=time,
        above=above,
        totals=totals,
    )
    if not reports:
        return published
    first = 1 if apart[0].any() else 0
    rest = apart[1 - first]
    return replace(published, elsewhere=Rest(first, numbers[first][rest], trips[rest], matrices[rest]))


def _listed(flows: Flows, tree: Hierarchy, names: list[str]) -> tuple[Listed, IntArray]:
    """Return the areas of one end as a list, and the number of each there, -1 for elsewhere."""
    listed, number = flows.places.listed(tree, names)
    unknown = [name for name, area in zip(names, number.tolist(), strict=True) if area < 0 and name != ELSEWHERE]
    if unknown:
        raise InputError(
            f"the area {unknown[0]!r} of the release does not occur in these trips",
            "evaluate a release against the trips it was made from",
        )
    return listed, number
