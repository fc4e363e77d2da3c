"""Checking a written release against the trips it was made from."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from flowveil._errors import InputError
from flowveil._folder import ELSEWHERE
from flowveil._report import CHECKED_REPORT, check_report, flows_content
from flowveil._verify.areas import check_areas
from flowveil._verify.assignment import AssignedIndex, load_assignment
from flowveil._verify.boxes import Boxes, BoxIndex, check_members
from flowveil._verify.broken import broken
from flowveil._verify.checks import checks_in_words
from flowveil._verify.compare import (
    check_crowd,
    check_published_crowd,
    check_suppression,
    check_volumes,
    hidden_sums,
    least_weight,
)
from flowveil._verify.count import count_trips
from flowveil._verify.elsewhere import Elsewhere, ElsewhereIndex
from flowveil._verify.folder import load_audit, open_folder
from flowveil._verify.forest import NONE, Forest
from flowveil._verify.grids import make_grid
from flowveil._verify.hidden import check_elsewhere
from flowveil._verify.hidden_choice import check_secret
from flowveil._verify.input import make_request, open_trips, open_zones
from flowveil._verify.layers import find_depths
from flowveil._verify.manifest import parse_manifest
from flowveil._verify.margins import check_margins
from flowveil._verify.members import Members
from flowveil._verify.names import check_names
from flowveil._verify.results import Verification
from flowveil._verify.rounding import check_multiples, check_sums
from flowveil._verify.sensitive import check_sensitive
from flowveil._verify.shape import check_maps, check_shape
from flowveil._verify.slots import Slots, check_apart, check_common
from flowveil._verify.tables import check_use, read_areas, read_flows, split_totals
from flowveil._verify.together import Layer, check_together
from flowveil._verify.written import check_written, load_manifest

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from flowveil._arrays import IntArray
    from flowveil._engine import Request
    from flowveil._folder import Json
    from flowveil._places import NamedPlacesLike, ZonesLike, ZoneTable
    from flowveil._trips import Trips, TripsLike
    from flowveil._verify.count import Counts
    from flowveil._verify.ground import Ground
    from flowveil._verify.manifest import Promise
    from flowveil._verify.options import Options
    from flowveil._verify.tables import AreasTable, FlowTable


def verify_flows(
    release: str | Path,
    trips: TripsLike,
    *,
    zones: ZonesLike | None = None,
    places: NamedPlacesLike | None = None,
    columns: str | Mapping[str, str] | None = None,
    where: str | None = None,
    beside: str | Path | None = None,
    context: ZonesLike | None = None,
    sensitive: ZonesLike | None = None,
) -> Verification:
    """Check every promise of a release of flows against its trips; raise VerificationError at the first broken one.

    Options are those of `flowveil.verify`.
    """
    folder = open_folder(release)
    audit = load_audit(folder)
    manifest = load_manifest(folder)
    options, promise = parse_manifest(manifest)
    check_secret(folder, audit, needed=promise.hidden_choice)
    flows = read_flows(folder, promise, options)
    areas = read_areas(folder, by_zone=options.by_zone)
    check_use(flows, areas)
    flows = replace(flows, called=areas.called())
    check_published_crowd(flows, promise)
    check_multiples(flows, promise.rounding)
    table = open_trips(trips, audit, columns, where)
    known = open_zones(zones, audit, table, options)
    request = make_request(table, options, promise, known)
    groups, totals = split_totals(flows, options, promise)
    elsewhere = Elsewhere(groups, promise)
    areas = elsewhere.trim(areas)
    ground = _ground(options, areas, known)
    check_sensitive(areas, promise, sensitive, audit)
    layers: tuple[Layer, ...] = ()
    if promise.rectangles:
        check_names(areas, ground, options, places, audit)
        counts = _count_rectangles(folder, request, (groups, areas, elsewhere), ground, (options, promise))
    else:
        check_areas(areas, ground, options.bbox)
        check_names(areas, ground, options, places, audit)
        layers, counts = _check_layers(request, (groups, totals), elsewhere, ground, (options, promise))
    kept = counts.trips if promise.off else groups.trips
    check_suppression(int(kept[~elsewhere.flows].sum()), counts, promise, audit)
    checks = checks_in_words(promise, options, audit)
    if beside is not None:
        if not _is_plain(promise):
            raise _not_comparable()
        other, wider = _open_beside(beside, request, options, (zones, audit, table))
        check_together(wider, layers[0], other, promise.k, least_weight(counts, promise))
        checks.append("flows of this release and of the one beside it leave no smaller crowd when they are subtracted")
    if check_report(folder, flows_content, context):
        checks.append(CHECKED_REPORT)
    for layer in layers:
        check_maps(manifest, layer, areas_from=options.areas_from)
    check_shape(manifest, options, promise)
    checks += check_written(folder, audit)
    return Verification(tuple(checks), len(flows), counts.rows, table.where, table.mapping, table.reading.typed())


def _check_layers(
    request: Request,
    tables: tuple[FlowTable, FlowTable | None],
    elsewhere: Elsewhere,
    ground: Ground,
    claims: tuple[Options, Promise],
) -> tuple[tuple[Layer, ...], Counts]:
    """Check flows between areas, and totals if there are any; return them with their true trips, and what was counted.

    tables: the flows of groups, and totals.
    """
    (groups, totals), (options, promise) = tables, claims
    layer, counts = _count_layer(
        request, _layer(groups, ground, options, elsewhere), promise, any_area=options.areas_from
    )
    least = least_weight(counts, promise)
    if promise.protect_margins:
        check_margins(request, layer, promise.k, least)
    if promise.elsewhere:
        _check_elsewhere(layer, counts, promise, elsewhere)
    if totals is None:
        return (layer,), counts
    whole = _layer(totals, ground, replace(options, by=()), Elsewhere(totals, promise))
    whole, _ = _count_layer(request, whole, promise, any_area=options.areas_from)
    check_together(request, layer, replace(whole, totals=True), promise.k, least)
    return (layer, whole), counts


def _layer(flows: FlowTable, ground: Ground, options: Options, elsewhere: Elsewhere) -> Layer:
    slots = Slots(options, flows.keys, len(flows))
    return Layer(flows, ground, slots, _index(flows, ground, elsewhere, slots), options.bbox)


def _count_layer(request: Request, layer: Layer, promise: Promise, *, any_area: bool) -> tuple[Layer, Counts]:
    """Count the trips of flows and check what is promised; any_area: areas were chosen for other trips.

    Returns the flows with their true trips, which differ from those published where these are rounded.
    """
    counts = count_trips(
        request,
        layer.bbox,
        layer.ground,
        layer.index,
        layer.slots,
        len(layer.flows),
        shares=promise.max_share is not None,
    )
    check_volumes(layer.flows, counts, promise)
    check_crowd(layer.flows, counts, promise, *layer.index.tiles())
    if not any_area:
        layer.index.check_seen(layer.ground)
    if promise.rounding > 1:
        check_sums(layer.flows, counts, layer.slots.of_flow, promise.rounding)
    if promise.off:
        layer = replace(layer, flows=replace(layer.flows, trips=counts.trips))
    return layer, counts


def _check_elsewhere(layer: Layer, counts: Counts, promise: Promise, elsewhere: Elsewhere) -> None:
    if (nested := layer.index.nested()) is not None:
        sums = hidden_sums(counts, promise)
        check_elsewhere(layer.flows, elsewhere, *nested, layer.slots.of_flow, layer.ground, sums)


def _count_rectangles(
    folder: Path,
    request: Request,
    content: tuple[FlowTable, AreasTable, Elsewhere],
    ground: Ground,
    manifest: tuple[Options, Promise],
) -> Counts:
    (flows, areas, elsewhere), (options, promise) = content, manifest
    if options.time_levels or options.by:
        raise broken("a release between rectangles has times or groups")
    slots = Slots(options, flows.keys, len(flows))
    rectangles = _rectangles(areas, ground, options)
    index: BoxIndex | AssignedIndex
    if promise.overlapping:
        index = AssignedIndex(flows, rectangles, ground, elsewhere, load_assignment(folder))
    else:
        index = BoxIndex(flows, rectangles, ground)
    counts = count_trips(request, options.bbox, ground, index, slots, len(flows), shares=promise.max_share is not None)
    if isinstance(index, AssignedIndex):
        index.check_used()
        index.check_hidden(hidden_sums(counts, promise))
    check_volumes(flows, counts, promise)
    check_crowd(flows, counts, promise, *index.tiles())
    return counts


def _open_beside(
    release: str | Path, request: Request, options: Options, sources: tuple[ZonesLike | None, Mapping[str, Json], Trips]
) -> tuple[Layer, Request]:
    """Return the flows of a release to be compared with, and a request with the columns of both."""
    zones, audit, table = sources
    folder = open_folder(release)
    there, promise = parse_manifest(load_manifest(folder))
    if not _is_plain(promise) or there.by_zone != options.by_zone:
        raise _not_comparable()
    flows = read_flows(folder, promise, there)
    areas = read_areas(folder, by_zone=there.by_zone)
    check_use(flows, areas)
    known = open_zones(zones, audit, table, there)
    ground = _ground(there, areas, known)
    own = make_request(table, there, promise, known)
    by = (*request.by, *(column for column in own.by if column not in request.by))
    slots = Slots(there, flows.keys, len(flows), [by.index(column) for column in own.by])
    layer = Layer(flows, ground, slots, _index(flows, ground, Elsewhere(flows, promise), slots), there.bbox)
    return layer, replace(request, by=by, time=request.time or own.time)


def _is_plain(promise: Promise) -> bool:
    """Whether all flows of a release are one layer of areas of a tree."""
    return not (promise.rectangles or promise.elsewhere or promise.totals or promise.remainders or promise.off)


def _not_comparable() -> InputError:
    return InputError(
        "the two releases cannot be compared",
        "both are on zones or both on a grid, without rectangles, totals, elsewhere, remainders and changed numbers",
    )


def _ground(options: Options, areas: AreasTable, zones: ZoneTable | None) -> Ground:
    return make_grid(options) if zones is None else Members(zones, options.columns, areas, many=options.many)


def _rectangles(areas: AreasTable, ground: Ground, options: Options) -> Boxes:
    boxes = Boxes(areas, options.bbox)
    if isinstance(ground, Members):
        check_members(areas, boxes, ground)
    return boxes


def _index(flows: FlowTable, ground: Ground, elsewhere: Elsewhere, slots: Slots) -> ElsewhereIndex:
    """Return what finds the flow of a trip, after checking that no two flows overlap but remainders and finer ones."""
    ids = flows.origin, flows.destination
    areas = [sorted(set(names) - {ELSEWHERE}) for names in ids]
    origin, destination = (_numbers(names, listed) for names, listed in zip(ids, areas, strict=True))
    extents = [ground.extents(listed) for listed in areas]
    depth = find_depths(flows, (extents[0], extents[1]), (origin, destination), slots)
    for layer in range(int(depth.max(initial=0)) + 1):
        rows = np.flatnonzero(~elsewhere.flows & (depth == layer))
        check_apart(flows, (extents[0], extents[1]), (origin, destination), slots, rows)
    if slots.same_areas:
        check_common(flows, (extents[0], extents[1]), (origin, destination), np.flatnonzero(~elsewhere.flows))
    forests = [Forest.of(ground, listed) for listed in areas] if elsewhere.flows.any() else [None, None]
    sides = ground.side(areas[0]), ground.side(areas[1])
    return ElsewhereIndex(flows, sides, (origin, destination), elsewhere, slots, forests[elsewhere.first], depth)


def _numbers(ids: list[str], areas: list[str]) -> IntArray:
    """Return the number of each flow's area, -1 for elsewhere."""
    number = {area: place for place, area in enumerate(areas)} | {ELSEWHERE: NONE}
    return np.array([number[area] for area in ids], np.int64)
