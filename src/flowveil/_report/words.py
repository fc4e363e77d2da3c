"""What a report says in words: what is not protected, and the command that makes such a release."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

from flowveil._folder import COUNTED_PERSON, KNOWN_POINTS, NOISE, TRIP, Kind

if TYPE_CHECKING:
    from collections.abc import Mapping

    from flowveil._folder import Json

_OF_THE_COMMAND = (
    "grid",
    "groups",
    "hierarchy",
    "bbox",
    "method_options",
    "areas_from",
    "same_areas",
    "places",
    "place_names",
)  # written in a way of their own
_DIVIDES = ("mosaic", "nested")  # methods that divide a flow wherever every part has a crowd or is empty


def not_protected(manifest: Mapping[str, Json]) -> list[str]:
    """Return what the promise does not cover, in plain words."""
    promise = manifest["promise"]
    if promise["kind"] == NOISE:
        return _limits_of_noise(promise)
    if manifest["format"] == Kind.TRAJECTORIES.format:
        users = users_of(manifest)
        if promise["kind"] == KNOWN_POINTS:
            return _limits_of_points(promise, users)
        seen = f"Not all {users} of a group were in each of its boxes: only that one of them was is certain."
        return [
            f"What all {users} of a group have in common: if all were at a clinic, the release says so of each.",
            *(() if "support" in promise else (seen,)),
            f"Two releases of the same {users} can be compared with each other.",
            f"Someone who knows that one of the {users} is in a group knows the whole path of the group.",
        ]
    limits = []
    if promise["unit"] == COUNTED_PERSON:
        limits.append("Persons whom the table counts twice: k holds where each person is counted once.")
    elif promise["unit"] == TRIP:
        limits.append("Persons: k counts trips here, and one person may have made all trips of a flow.")
    else:
        limits.append("Shares within a crowd: few of the travelers of a flow may have made most of its trips.")
    limits.append(
        "What a whole crowd has in common: if all travelers of a flow go to a clinic, the release says so of each."
    )
    limits += _limits_of_choice(manifest)
    limits.append("Two releases of the same trips: they can be subtracted from each other.")
    if "protect_margins" not in promise:
        limits.append("Totals known from elsewhere: minus the published flows they tell how many trips were left out.")
    if "remainders" in promise:
        limits.append(
            "Where the trips of a remainder were not: finer flows inside it are taken out, which leaves less than its "
            "two areas for them."
        )
    if "weight" in promise:
        limits.append("Extreme weights: a person who stands for far more people than others can be recognized by it.")
    return limits


def _limits_of_points(promise: Mapping[str, Json], users: str) -> list[str]:
    more = f"More than {promise['known_points']} points: they may fit one trajectory alone, which tells where else"
    return [
        f"{more} one of the {users} was.",
        f"What all {users} have in common whom known points fit: if all were at a clinic, the release says so of each.",
        "Places that somebody is known not to have been at, and how often somebody was at a place.",
        f"Two releases of the same {users} can be compared with each other.",
    ]


def users_of(manifest: Mapping[str, Json]) -> str:
    """Return what groups of trajectories are made of: as the publisher calls it."""
    return str(manifest.get("description", {}).get("unit_label", "users"))


def _limits_of_choice(manifest: Mapping[str, Json]) -> list[str]:
    """Say what the choice of areas tells."""
    options, limits = manifest["options"], []
    if manifest["method"] in _DIVIDES and "hidden_choice" not in manifest["promise"] and not options.get("areas_from"):
        limits.append(
            "Why an area was not divided: whoever knows the method can tell that one of its parts would have had a "
            "crowd that is too small to be published. flowveil risk counts such cases, and --hide-choice hides them."
        )
    if options.get("same_areas"):
        limits.append(
            "Where a step of time or a group lacks a pair of areas that others have: it had fewer there than a flow "
            "needs, perhaps nobody."
        )
    if str(options.get("hierarchy", "")).partition(":")[0] == "lattice" and not options.get("areas_from"):
        limits.append(
            "Where trips were that were left out: areas are rectangles drawn around all trips, so that an edge may be "
            "where somebody was seen who is in no published flow."
        )
    return limits


def credits_of(manifest: Mapping[str, Json]) -> list[str]:
    """Return whose data a page shows beside that of the release, as their licenses ask for."""
    credit = ["Shores: GSHHG 2.3.6 (Wessel and Smith), LGPL."]
    if str(manifest["options"].get("place_names", "")).startswith("geonames"):
        credit.append("Names of places: GeoNames (geonames.org), CC BY 4.0.")
    return credit


def _limits_of_noise(promise: Mapping[str, Json]) -> list[str]:
    limits = []
    if promise["unit"] == TRIP:
        limits.append("Persons with many trips: one trip is protected, so n trips are protected at n times epsilon.")
    if (span := protected_span(promise)) is not None:
        limits.append(f"Habits: what somebody does again and again is hidden {span}, not over all of time.")
    limits += [
        "What is true of the population as a whole: that many people go somewhere is no secret here.",
        "Further releases about the same people: their epsilons add up.",
    ]
    return limits


def protected_span(promise: Mapping[str, Json]) -> str | None:
    """Return of which time the trips of a person are hidden together; None where it is all of time, or one trip."""
    name, _, window = str(promise.get("protects", "")).partition(":")
    if window:
        return f"within any {window} steps of time in a row"
    period = name.partition("-")[2]
    return f"within each {period}" if period else None


def command(manifest: Mapping[str, Json]) -> str:
    """Return the command that makes such a release, with INPUT in place of what it was made from.

    Only what is in the manifest: names of columns and conditions on rows are private.
    """
    options, promise = manifest["options"], manifest["promise"]
    if manifest["format"] == Kind.SYNTHETIC.format:
        listed = ("bbox", "step", "days", "timezone", "min_samples", "users", "seed")
        typed = [_option(name.replace("_", "-"), options[name]) for name in listed if name in options]
        return " ".join(
            ["flowveil trajectories synthesize INPUT -o DIR", _option("epsilon", promise["epsilon"]), *typed]
        )
    if manifest["format"] == Kind.TRAJECTORIES.format:
        return " ".join(
            ["flowveil trajectories anonymize INPUT -o DIR", f"-k {promise['k']}", *_trajectories(manifest)]
        )
    parts = ["flowveil anonymize INPUT -o DIR", *_where(options), f"--method {shlex.quote(str(manifest['method']))}"]
    if promise["unit"] == COUNTED_PERSON:
        parts.append("--counts persons")
    elif promise["unit"] != TRIP:
        parts.append(_option("unit", promise["unit"]))
    names = {
        "weight": "weight",
        "k_weight": "k-weight",
        "min_tiles": "min-tiles",
        "max_share": "max-share",
        "sensitive_tiles": "sensitive PLACES --sensitive-tiles",
        "max_suppression": "max-suppression",
        "epsilon": "epsilon",
        "max_trips_per_person": "max-trips-per-person",
        "elsewhere": "elsewhere",
        "totals": "totals",
        "remainders": "remainders",
        "rounding": "rounding",
        "cell_key": "cell-key",
        "protect_margins": "protect-margins",
        "hidden_choice": "hide-choice",
    }
    if promise["kind"] != NOISE:
        parts.append(f"-k {promise['k']}")
    parts += [_option(option, promise[name]) for name, option in names.items() if promise.get(name) is not None]
    parts += _of_noise(options, promise)
    parts += [
        _option(name.replace("_", "-"), value)
        for name, value in options.items()
        if name not in _OF_THE_COMMAND and value is not None
    ]
    if len(options.get("places", ())) == 1:
        parts.append(_option("ends", options["places"][0]))
    if options.get("place_names") == "own":
        parts.append("--places PLACES")
    if options.get("areas_from"):
        parts.append("--areas-from EARLIER")
    if options.get("same_areas"):
        parts.append("--same-areas")
    typed = options.get("method_options", {})
    parts += [
        _option(name.replace("_", "-"), value) if name in ("loss", "max_gbar") else _option("option", f"{name}={value}")
        for name, value in typed.items()
    ]
    return " ".join(parts)


def _of_noise(options: Mapping[str, Json], promise: Mapping[str, Json]) -> list[str]:
    """Return what only noise takes: what is protected, and the values of groups."""
    protect = [] if protected_span(promise) is None else [_option("protect", promise["protects"])]
    groups = options.get("groups", {}).items()
    listed = [(column, ",".join("" if value is None else value for value in values)) for column, values in groups]
    return protect + [_option("groups", f"{column}={values}") for column, values in listed]


def _where(options: Mapping[str, Json]) -> list[str]:
    parts = []
    if options.get("grid"):
        parts.append(_option("grid", options["grid"]))
        if options.get("hierarchy") is not None:
            parts.append(_option("hierarchy", options["hierarchy"]))
    elif options.get("hierarchy") is not None:
        parts += ["--zones ZONES", _option("hierarchy", options["hierarchy"])]
    if options.get("bbox"):
        parts.append(_option("bbox", options["bbox"]))
    return parts


def _trajectories(manifest: Mapping[str, Json]) -> list[str]:
    options, method = manifest["options"], manifest["method"]
    grid = ("bbox", "step", "caps", "weights", "cut_into", "timezone", "min_samples")
    groups = ("variant", "max_extent", "max_duration", "min_support", "known_points", "max_suppression", "blocks")
    names = [name for name in (*grid, *groups) if options.get(name) is not None]
    typed = [_option(name.replace("_", "-"), options[name]) for name in names]
    typed = typed if method == "glove" else [_option("method", method), *typed]
    return [*typed, *(["--no-reshape"] if options.get("reshape") is False else [])]


def _option(name: str, value: Json) -> str:
    if value is True:
        return f"--{name}"
    text = ",".join(map(str, value)) if isinstance(value, list) else str(value)
    return f"--{name}={shlex.quote(text)}" if text.startswith("-") else f"--{name} {shlex.quote(text)}"
