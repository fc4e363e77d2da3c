"""The manifest: what a release promises, as data and in words."""

from __future__ import annotations

from importlib.metadata import version
from typing import TYPE_CHECKING, cast

from flowveil._folder import COUNTED_PERSON, NO_COLUMN, TRIP
from flowveil._options import times_mean_weight

if TYPE_CHECKING:
    from collections.abc import Mapping

    from flowveil._flows import Flows
    from flowveil._folder import Description, Json, Manifest, Promise, Settings
    from flowveil._methods import Method, Value
    from flowveil._problem import Requirement

FORMAT = "flowveil-flows/1"
ABSENCE = "Between two places that no listed flow covers there were no trips, or they were left out."

ABSENCE_INSIDE = (
    "Inside a remainder a finer flow that is not listed need not be empty: its trips, if any, are in the remainder."
)


_VOLUME = {
    "exact": "The volume of a flow is the true number of trips between its two areas.",
    "lower-bound": "The volume of a flow is at most the true number of trips between its two areas.",
    "rounded": "The volume of a flow is the number of trips between its two areas, rounded.",
    "perturbed": "The volume of a flow is the number of trips between its two areas, changed a little.",
}


def make_manifest(
    flows: Flows,
    method: Method,
    typed: Mapping[str, Value],
    requirement: Requirement,
    *,
    exact: bool,
    max_suppression: float | None,
    elsewhere: bool = False,
    rectangles: bool = False,
    overlapping: bool = False,
    totals: bool = False,
    remainders: bool = False,
    protect_margins: bool = False,
    rounding: int | None = None,
    cell_key: int | None = None,
    hidden_choice: float | None = None,
    areas_from: bool = False,
    same_areas: bool = False,
    sensitive_tiles: int | None = None,
    description: Mapping[str, str] | None = None,
) -> Manifest:
    """Return the manifest; it holds nothing but what the user typed and constants."""
    said = {
        "weight": flows.provenance.weight,
        "trip_weight": flows.provenance.trip_weight,
        "k_weight": requirement.k_weight if requirement.typed is None else requirement.typed,
        "min_tiles": requirement.min_tiles if requirement.min_tiles > 1 else None,
        "max_share": requirement.max_share,
        "sensitive_tiles": sensitive_tiles,
        "max_suppression": max_suppression,
        "elsewhere": elsewhere or None,
        "shapes": "rectangles" if rectangles else None,
        "totals": totals or None,
        "remainders": remainders or None,
        "rounding": rounding,
        "cell_key": cell_key,
        "protect_margins": protect_margins or None,
        "hidden_choice": hidden_choice,
        "same_areas": same_areas or None,
    }
    promise: Promise = {
        "kind": "k-anonymity",
        "k": requirement.k,
        "unit": flows.provenance.unit or (COUNTED_PERSON if flows.provenance.counted_persons else TRIP),
        "volumes": _kind_of_volumes(exact=exact, rounded=rounding is not None, changed=cell_key is not None),
        "areas": "overlapping" if overlapping else "disjoint",
        **cast("Promise", {name: value for name, value in said.items() if value is not None}),
    }
    described = description or {}
    manifest: Manifest = {
        "format": FORMAT,
        "software": f"flowveil {version('flowveil')}",
        "method": method.name,
        "options": _options(flows, typed, areas_from=areas_from, same_areas=same_areas),
        "promise": promise,
        "promise_text": promise_text(promise, described.get("unit_label")),
        "absence": f"{ABSENCE} {ABSENCE_INSIDE}" if remainders else ABSENCE,
    }
    if described:
        manifest["description"] = cast("Description", dict(described))
    return manifest


def _kind_of_volumes(*, exact: bool, rounded: bool, changed: bool) -> str:
    if rounded or changed:
        return "rounded" if rounded else "perturbed"
    return "exact" if exact else "lower-bound"


def _options(flows: Flows, typed: Mapping[str, Value], *, areas_from: bool, same_areas: bool) -> Settings:
    """Return what the user typed to choose places, times and groups, and the options of the method."""
    story = flows.provenance
    options: dict[str, Json] = {
        "bbox": None if story.bbox is None else list(story.bbox),
        "time": story.time,
        "time_hierarchy": story.time_hierarchy,
        "timezone": story.timezone,
        "by": list(story.by) or None,
        "areas_from": areas_from or None,
        "same_areas": same_areas or None,
        "method_options": dict(sorted(typed.items())) or None,
    }
    told = {name: value for name, value in options.items() if value is not None}
    return cast("Settings", flows.places.settings() | told)


def _people(promise: Promise) -> str:
    weight = promise["k_weight"]
    if not isinstance(weight, str):
        return f"{weight:g} people of the population"
    times = times_mean_weight(weight, promise["k"])
    one = promise["unit"] if promise["unit"] in NO_COLUMN else f"value of {promise['unit']}"
    return f"{float(times):.15g} times as many people of the population as one {one} does on average"


def _changes(promise: Promise) -> list[str]:
    """Say how numbers differ from true ones."""
    if "rounding" in promise:
        return [_rounding(promise["rounding"])]
    return [_cell_key(promise["cell_key"])] if "cell_key" in promise else []


def _rounding(base: int) -> str:
    return (
        f"All numbers are multiples of {base}, rounded up or down by chance: each differs from the true one by less "
        f"than {base}, and so do sums of trips over all flows of a time and group, those from an area and those to an "
        "area of them, and over all flows. Whether a flow has its crowd was decided by true numbers."
    )


def _cell_key(most: int) -> str:
    return (
        f"All numbers were changed by chance, by at most {most}, up as often as down; the same trips are always "
        "changed alike. Sums of flows are sums of changed numbers. Whether a flow has its crowd was decided by true "
        "numbers."
    )


def _margins(promise: Promise) -> list[str]:
    """Say what departures and arrivals tell that others know."""
    if "protect_margins" not in promise:
        return []
    return [
        "Whoever knows how many trips of a time and group start and end in the areas of flows learns of no smaller",
        "crowd by taking flows away: of the trips of a time and group from an origin area (or to a destination area),",
        "those in no flow from (or to) it or a part of it are nobody or such a crowd.",
    ]


def _shares(promise: Promise, label: str | None) -> list[str]:
    """Say what one person may make of a flow, and what areas keep from sensitive places."""
    sentences = []
    if "max_share" in promise:
        one = f"value of {promise['unit']}" if label is None else f"one of the {label} ({promise['unit']})"
        sentences.append(f"No single {one} makes more than {100 * promise['max_share']:g} % of the trips of a flow.")
    if "sensitive_tiles" in promise:
        sentences.append(
            "An area that touches a sensitive place, of a list that is not published, has at least "
            f"{promise['sensitive_tiles']} tiles."
        )
    return sentences


def _volumes(promise: Promise) -> list[str]:
    """Say what the volume of a flow is."""
    true = _VOLUME[promise["volumes"]]
    if "remainders" in promise:
        return [
            true,
            "A flow marked as remainder counts all other trips between them: those in none of the finer flows inside.",
            "These others are such a crowd by themselves.",
        ]
    sentences = [true]
    if promise["areas"] == "overlapping":
        sentences.append("Areas of different flows may overlap, so that a trip may lie in several flows.")
    return sentences


def _further_tests(promise: Promise, label: str | None) -> list[str]:
    """Say what every flow keeps beside its crowd."""
    sentences = []
    if "k_weight" in promise:
        sentences.append(f"Every flow stands for at least {_people(promise)}.")
        if promise["k"] == 1:
            sentences.append("Single participants are not protected.")
    if "min_tiles" in promise:
        sentences.append(
            f"Both ends of every flow are areas of at least {promise['min_tiles']} tiles "
            "(on a grid: tiles that occur in the data at that end)."
        )
    return [*sentences, *_shares(promise, label)]


def promise_text(promise: Promise, label: str | None = None) -> str:
    """Say a promise in plain words; label: what the unit tells apart."""
    k = promise["k"]
    if promise["unit"] == COUNTED_PERSON:
        crowd = f"Every flow counts at least {k} persons, each of whom is counted once, as one trip."
    elif promise["unit"] == TRIP:
        crowd = (
            f"Every flow counts at least {k} trips. Trips are not persons: one person may have made several of them."
        )
    else:
        different = f"values of {promise['unit']}" if label is None else f"{label} ({promise['unit']})"
        crowd = f"Every flow is shared by at least {k} different {different}."
    sentences = [crowd, *_further_tests(promise, label), *_volumes(promise)]
    sentences += _changes(promise)
    sentences.append("No trip is counted in two flows.")
    if "max_suppression" in promise:
        of_groups = " of the groups" if "totals" in promise else ""
        share = f"{100 * promise['max_suppression']:g} %"
        sentences.append(f"At most {share} of the usable trips were left out{of_groups}.")
    if "shapes" in promise:
        sentences.append(
            "Areas are rectangles of longitude and latitude; a trip lies where the centers of its tiles lie."
        )
    if "totals" in promise:
        sentences.append(
            "The group total counts all groups together, where groups and totals give no smaller crowd away; "
            "what else is said of flows holds for totals and for the other groups by themselves."
        )
    if "hidden_choice" in promise:
        sentences.append(
            f"With chances of up to {100 * promise['hidden_choice']:g} % a secret draw kept areas whole that could "
            "have been divided, so that no area tells for certain of a smaller crowd in it."
        )
    if "same_areas" in promise:
        sentences.append(
            "All steps of time and groups have their pairs of areas in common: a pair that one of them lacks has "
            "fewer there than a flow needs, or was left out."
        )
    if "elsewhere" in promise:
        sentences.append(
            "A flow to or from elsewhere counts trips that were left out: all of its area that are in no other flow."
        )
    sentences += _margins(promise)
    return " ".join(sentences)
