"""Checking a written release against the trips it was made from."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from flowveil._errors import InputError
from flowveil.matrices import is_noisy, verify_noisy
from flowveil.verify._areas import check_areas
from flowveil.verify._boxes import Boxes, BoxIndex, check_members
from flowveil.verify._cells import Cells
from flowveil.verify._compare import check_crowd, check_published_crowd, check_suppression, check_volumes
from flowveil.verify._count import count_trips
from flowveil.verify._elsewhere import ELSEWHERE, Elsewhere, ElsewhereIndex
from flowveil.verify._folder import load_audit, load_manifest, open_folder
from flowveil.verify._forest import NONE
from flowveil.verify._input import make_request, open_trips, open_zones
from flowveil.verify._manifest import parse_manifest
from flowveil.verify._members import Members
from flowveil.verify._squares import Squares
from flowveil.verify._tables import check_use, read_areas, read_flows

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from flowveil._arrays import IntArray
    from flowveil.trips import Trips
    from flowveil.verify._ground import Ground, Side
    from flowveil.verify._manifest import Promise
    from flowveil.verify._options import Options
    from flowveil.verify._tables import AreasTable, FlowTable


@dataclass(frozen=True)
class Verification:
    """What was found to hold, in plain words, and counts that are safe to print."""

    checks: tuple[str, ...]
    flows: int  # flows of the release
    trips_read: int  # rows of the input, usable or not


def verify(
    release: str | Path,
    trips: Any = None,
    *,
    zones: Any = None,
    columns: Mapping[str, str] | None = None,
    where: str | None = None,
) -> Verification:
    """Check every promise of a release folder against its trips; raise VerificationError at the first broken one.

    trips: what `read_trips` returns, or anything it takes. zones: the zones of a release about zones.
    Input options (columns, where, zones) come from the private audit file beside the folder unless they are given.
    Messages name the first offending flow, and never a count below k or a person.
    A release with noise is checked for structure and budget, without trips: noise cannot be checked.
    """
    if is_noisy(release):
        boxes, checks = verify_noisy(release)
        return Verification(checks, boxes, 0)
    if trips is None:
        raise InputError("this release is checked against its trips", "give them with --against INPUT")
    folder = open_folder(release)
    audit = load_audit(folder)
    options, promise = parse_manifest(load_manifest(folder))
    flows = read_flows(folder, promise)
    areas = read_areas(folder, by_zone=options.by_zone)
    check_use(flows, areas)
    elsewhere = Elsewhere(flows, promise)
    areas = elsewhere.trim(areas)
    check_published_crowd(flows, promise)
    table = open_trips(trips, audit, columns, where)
    ground = _ground(options, areas, zones, audit, table)
    index: BoxIndex | ElsewhereIndex
    if promise.rectangles:
        index = _box_index(flows, areas, ground, options)
    else:
        check_areas(areas, ground, options.bbox)
        index = _index(flows, ground, elsewhere)
    request = make_request(table, options, promise)
    counts = count_trips(request, options.bbox, ground, index, len(flows))
    check_volumes(flows, counts, promise)
    check_crowd(flows, counts, promise, *index.tiles())
    check_suppression(int(flows.trips[~elsewhere.flows].sum()), counts, promise, audit)
    return Verification(_sentences(promise, audit), len(flows), counts.rows)


def _ground(options: Options, areas: AreasTable, zones: Any, audit: Mapping[str, Any], trips: Trips) -> Ground:
    if options.resolution is not None:
        return Cells(options.resolution, binary=options.binary, bbox=options.bbox)
    if options.side is not None and options.crs is not None:
        return Squares(options.side, options.crs, options.bbox)
    return Members(open_zones(zones, audit, trips, options), options.columns, areas)


def _box_index(flows: FlowTable, areas: AreasTable, ground: Ground, options: Options) -> BoxIndex:
    boxes = Boxes(areas, options.bbox)
    if isinstance(ground, Members):
        check_members(areas, boxes, ground)
    return BoxIndex(flows, boxes, ground)


def _index(flows: FlowTable, ground: Ground, elsewhere: Elsewhere) -> ElsewhereIndex:
    origins, origin = _side(ground, flows.origin)
    destinations, destination = _side(ground, flows.destination)
    return ElsewhereIndex(flows, (origins, destinations), (origin, destination), elsewhere)


def _side(ground: Ground, ids: list[str]) -> tuple[Side, IntArray]:
    """Return the areas of one side, and the number of each flow's area, -1 for elsewhere."""
    areas = sorted(set(ids) - {ELSEWHERE})
    number = {area: place for place, area in enumerate(areas)} | {ELSEWHERE: NONE}
    return ground.side(areas), np.array([number[area] for area in ids], np.int64)


def _sentences(promise: Promise, audit: Mapping[str, Any]) -> tuple[str, ...]:
    """Say what was checked."""
    exactly = "exactly" if promise.exact else "at most"
    found = [
        "the folder, its tables, their metadata and the manifest hold nothing but what the format lists",
        "the areas are exactly those of the flows; their tiles, centers and geometry follow from their ids",
        "no two flows overlap, and no trip is counted twice",
        f"every flow has {exactly} the volume that the input has",
        f"every flow has at least {promise.k} {promise.counted}",
    ]
    if promise.k_weight is not None:
        found.append(f"every flow stands for at least {float(promise.k_weight):g} people")
    if promise.min_tiles > 1:
        found.append(f"both areas of every flow have at least {promise.min_tiles} tiles")
    if promise.max_suppression is not None:
        found.append(f"at most {100 * promise.max_suppression:g} % of the usable trips are left out")
    if promise.elsewhere:
        found.append("every flow to or from elsewhere counts the trips of its area that are in no other flow")
    if "suppressed_trips" in audit:
        found.append("as many trips are left out as the audit file says")
    return tuple(found)
