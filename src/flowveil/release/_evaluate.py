"""Metrics of a written release against its input."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import shapely

from flowveil._errors import InputError
from flowveil.flows import build_flows
from flowveil.measure import Published, Rest, cover_boxes, metrics
from flowveil.places import UNIT, RectangleAreas, Rectangles, make_frame
from flowveil.release._elsewhere import ELSEWHERE
from flowveil.release._read import read_audit, read_release
from flowveil.trips import Trips, read_trips

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    import pyarrow as pa

    from flowveil._arrays import BoolArray, IntArray
    from flowveil.flows import Flows
    from flowveil.places import Hierarchy
    from flowveil.release._release import Release


def evaluate(
    release: str | Path,
    trips: Any,
    *,
    zones: Any = None,
    columns: Mapping[str, str] | None = None,
    where: str | None = None,
    tiles: str = "tree",
) -> dict[str, Any]:
    """Return the metrics of a written release against its trips.

    Input options (columns, where, zones) come from the audit file beside the release unless they are given.
    """
    content = read_release(release)
    if content.manifest["promise"]["kind"] == "differential-privacy":
        raise InputError("the metrics of crowds do not fit a release with noise", "ask it with flowveil query")
    story = read_audit(release).get("input", {})
    if not isinstance(trips, Trips):
        trips = read_trips(trips, columns or story.get("columns"), where or story.get("where"))
    options, promise = content.manifest["options"], content.manifest["promise"]
    flows = build_flows(
        trips,
        options.get("grid"),
        zones=(zones if zones is not None else story.get("zones")) if options.get("grid") is None else None,
        hierarchy=None if (options.get("grid") or "").startswith("quadtree") else options.get("hierarchy"),
        crs=options.get("crs"),
        bbox=options.get("bbox"),
        unit=None if promise["unit"] == "trip" else promise["unit"],
        weight=promise.get("weight"),
    )
    if "shapes" in promise:
        return metrics(flows, _between_rectangles(flows, content), promise["k"], tiles)
    return metrics(flows, _published(flows, content.flows, reports="elsewhere" in promise), promise["k"], tiles)


def _between_rectangles(flows: Flows, content: Release) -> Published:
    """Return the flows of a release between rectangles."""
    areas = content.areas
    shape = dict(zip(areas["area"].to_pylist(), shapely.from_wkb(areas["geometry"].to_pylist()), strict=True))
    names = sorted(shape, key=lambda name: int(name.removeprefix("r:")))
    bounds = np.rint(shapely.bounds(np.array([shape[name] for name in names], object)) * UNIT).astype(np.int64)
    bbox = flows.provenance.bbox
    rectangles = Rectangles(bounds, make_frame(bbox), closed=bbox is not None)
    origin, destination = (
        np.array([int(name.removeprefix("r:")) for name in content.flows[end].to_pylist()], np.int64)
        for end in ("origin", "destination")
    )
    group = cover_boxes(flows, rectangles, origin, destination)
    sides = tuple(RectangleAreas(rectangles, flows.places, tree) for tree in (flows.origins, flows.destinations))
    trips = np.asarray(content.flows["trips"].to_numpy(), np.int64)
    rest = Rest(0, np.zeros(0, np.int64), np.zeros(0, np.int64)) if "elsewhere" in content.manifest["promise"] else None
    return Published(origin, destination, trips, rest, (sides[0], sides[1]), group)


def _published(flows: Flows, table: pa.Table, *, reports: bool) -> Published:
    """Return the flows of a table as nodes, those to or from elsewhere apart."""
    ends = [table["origin"].to_pylist(), table["destination"].to_pylist()]
    trees = flows.origins, flows.destinations
    trips = np.asarray(table["trips"].to_numpy(), np.int64)
    apart = [np.array([name == ELSEWHERE for name in names], bool) for names in ends]
    kept = ~(apart[0] | apart[1])
    nodes = [_nodes(flows, tree, names, kept) for tree, names in zip(trees, ends, strict=True)]
    published = Published(nodes[0], nodes[1], trips[kept])
    if not reports:
        return published
    first = 1 if apart[0].any() else 0
    rest = apart[1 - first]
    return replace(published, elsewhere=Rest(first, _nodes(flows, trees[first], ends[first], rest), trips[rest]))


def _nodes(flows: Flows, hierarchy: Hierarchy, areas: list[str], chosen: BoolArray) -> IntArray:
    names = flows.places.ids(hierarchy, np.arange(len(hierarchy)))
    node = {name: number for number, name in enumerate(names)}
    try:
        return np.array([node[areas[row]] for row in np.flatnonzero(chosen).tolist()], np.int64)
    except KeyError as error:
        raise InputError(
            f"the area {error.args[0]!r} of the release does not occur in these trips",
            "evaluate a release against the trips it was made from",
        ) from None
