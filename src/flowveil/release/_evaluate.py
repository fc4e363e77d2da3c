"""Metrics of a written release against its input."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from flowveil._errors import InputError
from flowveil.flows import build_flows
from flowveil.measure import Published, metrics
from flowveil.release._read import read_audit, read_release
from flowveil.trips import Trips, read_trips

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from flowveil._arrays import IntArray
    from flowveil.flows import Flows
    from flowveil.places import Hierarchy


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
    published = Published(
        _nodes(flows, flows.origins, content.flows["origin"].to_pylist()),
        _nodes(flows, flows.destinations, content.flows["destination"].to_pylist()),
        np.asarray(content.flows["trips"].to_numpy(), np.int64),
    )
    return metrics(flows, published, promise["k"], tiles)


def _nodes(flows: Flows, hierarchy: Hierarchy, areas: list[str]) -> IntArray:
    names = flows.places.ids(hierarchy, np.arange(len(hierarchy)))
    node = {name: number for number, name in enumerate(names)}
    try:
        return np.array([node[area] for area in areas], np.int64)
    except KeyError as error:
        raise InputError(
            f"the area {error.args[0]!r} of the release does not occur in these trips",
            "evaluate a release against the trips it was made from",
        ) from None
