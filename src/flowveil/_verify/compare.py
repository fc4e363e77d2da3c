"""The promise against the counts."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from flowveil._verify.broken import broken

if TYPE_CHECKING:
    from collections.abc import Mapping
    from fractions import Fraction

    from flowveil._arrays import BoolArray, IntArray
    from flowveil._folder import Json
    from flowveil._verify.count import Counts
    from flowveil._verify.manifest import Promise
    from flowveil._verify.tables import FlowTable

_MILLION = 1_000_000
_OTHER_INPUT = "verify against the trips that the release was made from, with the same columns and condition"


def check_published_crowd(flows: FlowTable, promise: Promise) -> None:
    """Check what the release itself says of its crowds."""
    crowd = flows.trips if flows.persons is None else flows.persons
    least_crowd = promise.k - promise.k % promise.rounding - promise.cell_key
    _raise_first(flows, crowd < least_crowd, f"has fewer than k = {promise.k} {promise.counted}")
    if promise.k_weight is not None and flows.weight is not None:
        least = (promise.least_weight + _MILLION // 2) // _MILLION
        least -= least % promise.rounding
        _raise_first(flows, flows.weight < least, "has a weight below k_weight")


def check_volumes(flows: FlowTable, counts: Counts, promise: Promise) -> None:
    """Check the published numbers against those of the input."""
    measures = [("trips", flows.trips, counts.trips), ("persons", flows.persons, counts.persons)]
    if counts.weight is not None:
        measures.append(("weight", flows.weight, (counts.weight + _MILLION // 2) // _MILLION))
    for name, published, true in measures:
        if published is None or true is None:
            continue
        if promise.off:
            _raise_first(
                flows, np.abs(published - true) > promise.off, f"has {name} too far from the input", _OTHER_INPUT
            )
        elif promise.exact or promise.overlapping:  # what the assignment gives to a flow is known exactly
            _raise_first(flows, published != true, f"does not have the {name} of the input", _OTHER_INPUT)
        else:
            _raise_first(flows, published > true, f"has more {name} than the input", _OTHER_INPUT)


def check_crowd(
    flows: FlowTable, counts: Counts, promise: Promise, origin_tiles: IntArray, destination_tiles: IntArray
) -> None:
    """Check every test of the promise on the input; tiles are those of the two areas of each flow."""
    crowd = counts.trips if counts.persons is None else counts.persons
    _raise_first(flows, crowd < promise.k, f"has fewer than k = {promise.k} {promise.counted} in the input")
    if counts.crowd_weight is not None:
        asked = "k_weight" if promise.times_mean is None else f"{float(promise.times_mean):.15g} times the mean weight"
        few = counts.crowd_weight < least_weight(counts, promise)
        _raise_first(flows, few, f"stands for fewer people than {asked}")
    if promise.max_share is not None and counts.most is not None:
        asked = f"{100 * float(promise.max_share):g} %"
        bad = _above(promise.max_share, counts.most, counts.trips)
        _raise_first(flows, bad, f"has somebody who makes more than {asked} of its trips")
    few = np.minimum(origin_tiles, destination_tiles) < promise.min_tiles
    _raise_first(flows, few, f"has an area with fewer than {promise.min_tiles} tiles of the input")


def _above(share: Fraction, most: IntArray, trips: IntArray) -> BoolArray:
    """Return in which flows one person makes more than a share of the trips, by whole numbers."""
    totals, place = np.unique(trips, return_inverse=True)
    allowed = np.array([math.floor(share * total) for total in totals.tolist()], np.int64)
    above: BoolArray = most > allowed[place]
    return above


def least_weight(counts: Counts, promise: Promise) -> int:
    """Return the weight that every crowd must have, in millionths."""
    return promise.least_weight if promise.times_mean is None else math.ceil(promise.times_mean * counts.mean_weight)


def hidden_sums(counts: Counts, promise: Promise) -> list[tuple[IntArray, int]]:
    """Return the crowd of each flow by each measure that is tested, and the most that fails the test."""
    crowd = counts.trips if counts.persons is None else counts.persons
    sums = [(crowd, promise.k - 1)]
    if counts.crowd_weight is not None:
        sums.append((counts.crowd_weight, least_weight(counts, promise) - 1))
    return [(size, largest) for size, largest in sums if largest > 0]


def check_suppression(kept: int, counts: Counts, promise: Promise, audit: Mapping[str, Json]) -> None:
    """Check that no more trips are left out than was promised, and those that the audit file says."""
    left_out = counts.usable_trips - kept
    if promise.max_suppression is not None:
        budget = math.floor(promise.max_suppression * counts.usable_trips + 1e-9)
        if left_out > budget:
            raise broken(f"more than {promise.max_suppression:.4%} of the trips are left out", _OTHER_INPUT)
    for key, value in (("trips", counts.usable_trips), ("suppressed_trips", left_out)):
        if key in audit and audit[key] != value:
            raise broken(f"{key!r} of the audit file does not go with the release and the input", _OTHER_INPUT)


def _raise_first(flows: FlowTable, bad: BoolArray, what: str, hint: str | None = None) -> None:
    if bad.any():
        message = f"the flow {flows.name(int(np.argmax(bad)))} {what}"
        raise broken(message) if hint is None else broken(message, hint)
