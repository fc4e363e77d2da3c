"""What was checked of a release of flows, in words."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from flowveil._folder import Json
    from flowveil._verify.manifest import Promise
    from flowveil._verify.options import Options


def checks_in_words(promise: Promise, options: Options, audit: Mapping[str, Json]) -> list[str]:
    """Say what was checked."""
    volume, apart = _counting(promise)
    checks = [
        "the folder, its tables, their metadata and the manifest hold nothing but what the format lists",
        "the areas are exactly those of the flows; their tiles, centers, geometry and names follow from their ids",
        apart,
        f"every flow has {volume}",
        f"every flow has at least {promise.k} {promise.counted}",
    ]
    if options.aspect is not None and not (promise.rectangles or options.areas_from):
        checks.append("every area is the smallest around the tiles seen in it, and none but the top holds all of them")
    checks += _further_tests(promise)
    if promise.max_suppression is not None:
        checks.append(f"at most {100 * promise.max_suppression:g} % of the usable trips are left out")
    checks += _more(promise)
    if promise.hidden_choice and audit:
        checks.append("the audit file has the secret that areas were drawn by, and no file of the folder has it")
    if "suppressed_trips" in audit:
        checks.append("as many trips are left out as the audit file says")
    return checks


def _further_tests(promise: Promise) -> list[str]:
    """Say what every flow was found to keep beside its crowd."""
    checks = []
    if promise.k_weight is not None:
        checks.append(f"every flow stands for at least {float(promise.k_weight):g} people")
    if promise.times_mean is not None:
        times = f"{float(promise.times_mean):.15g}"
        checks.append(f"every flow stands for at least {times} times the people of the mean weight")
    if promise.min_tiles > 1:
        checks.append(f"both areas of every flow have at least {promise.min_tiles} tiles")
    if promise.max_share is not None:
        checks.append(f"nobody makes more than {100 * float(promise.max_share):g} % of the trips of a flow")
    if promise.sensitive_tiles:
        checks.append(f"every area that touches a sensitive place has at least {promise.sensitive_tiles} tiles")
    return checks


def _more(promise: Promise) -> list[str]:
    """Say what was checked of flows that are told in addition, and of numbers that others know."""
    checks = []
    if promise.rounding > 1:
        checks.append(
            f"sums over areas, times and groups, and in all, differ from true ones by less than {promise.rounding}"
        )
    if promise.protect_margins:
        checks.append("trips from or to an area that are in none of its flows are nobody or a crowd")
    if promise.same_areas:
        checks.append("all steps of time and groups have their pairs of areas in common, of which no two overlap")
    if promise.totals:
        checks.append(
            "totals and groups leave no smaller crowd when they are subtracted from each other, and not nobody"
        )
    if promise.elsewhere:
        checks.append("every flow to or from elsewhere counts the trips of its area that are in no other flow")
        checks.append("every pair of areas that is hidden in a flow to or from elsewhere may be without trips")
    return checks


def _counting(promise: Promise) -> tuple[str, str]:
    """Say what the volume of a flow is, and in what sense flows are apart."""
    if promise.overlapping:
        return (
            "exactly the volume that the assignment file gives it",
            "no trip is counted twice, and each lies in the areas of its flow, as the assignment file says",
        )
    volume = f"{'exactly' if promise.exact else 'at most'} the volume that the input has"
    if promise.rounding > 1:
        volume = f"the numbers that the input has, rounded up or down to a multiple of {promise.rounding}"
    if promise.cell_key:
        volume = f"the numbers that the input has, changed by at most {promise.cell_key}"
    if promise.remainders:
        return volume, "two flows overlap only where a remainder holds a finer flow, whose trips are not counted in it"
    return volume, "no two flows overlap, and no trip is counted twice"
