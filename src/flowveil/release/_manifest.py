"""The manifest: what a release promises, as data and in words."""

from __future__ import annotations

from importlib.metadata import version
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

    from flowveil.flows import Flows
    from flowveil.methods import Method
    from flowveil.problem import Requirement

FORMAT = "flowveil-flows/1"
ABSENCE = "Between two places that no listed flow covers there were no trips, or they were left out."


def make_manifest(
    flows: Flows,
    method: Method,
    typed: Mapping[str, Any],
    requirement: Requirement,
    *,
    exact: bool,
    max_suppression: float | None,
    elsewhere: bool = False,
    rectangles: bool = False,
) -> dict[str, Any]:
    """Return the manifest; it holds nothing but what the user typed and constants."""
    promise: dict[str, Any] = {
        "kind": "k-anonymity",
        "k": requirement.k,
        "unit": flows.provenance.unit or "trip",
        "volumes": "exact" if exact else "lower-bound",
        "areas": "disjoint",
    }
    if flows.provenance.weight is not None:
        promise["weight"] = flows.provenance.weight
    if requirement.k_weight is not None:
        promise["k_weight"] = requirement.k_weight
    if requirement.min_tiles > 1:
        promise["min_tiles"] = requirement.min_tiles
    if max_suppression is not None:
        promise["max_suppression"] = max_suppression
    if elsewhere:
        promise["elsewhere"] = True
    if rectangles:
        promise["shapes"] = "rectangles"
    options = flows.places.settings()
    if flows.provenance.bbox is not None:
        options["bbox"] = list(flows.provenance.bbox)
    if typed:
        options["method_options"] = dict(sorted(typed.items()))
    return {
        "format": FORMAT,
        "software": f"flowveil {version('flowveil')}",
        "method": method.name,
        "options": options,
        "promise": promise,
        "promise_text": promise_text(promise),
        "absence": ABSENCE,
    }


def promise_text(promise: Mapping[str, Any]) -> str:
    """Say a promise in plain words."""
    k = promise["k"]
    if promise["unit"] == "trip":
        crowd = (
            f"Every flow counts at least {k} trips. Trips are not persons: one person may have made several of them."
        )
    else:
        crowd = f"Every flow is shared by at least {k} different values of {promise['unit']}."
    sentences = [crowd]
    if "k_weight" in promise:
        sentences.append(f"Every flow stands for at least {promise['k_weight']:g} people of the population.")
        if k == 1:
            sentences.append("Single participants are not protected.")
    if "min_tiles" in promise:
        sentences.append(
            f"Both ends of every flow are areas of at least {promise['min_tiles']} tiles "
            "(on a grid: tiles that occur in the data at that end)."
        )
    sentences.append(
        "The volume of a flow is the true number of trips between its two areas."
        if promise["volumes"] == "exact"
        else "The volume of a flow is at most the true number of trips between its two areas."
    )
    if promise["areas"] == "disjoint":
        sentences.append("No trip is counted in two flows.")
    if "max_suppression" in promise:
        sentences.append(f"At most {100 * promise['max_suppression']:g} % of the usable trips were left out.")
    if "shapes" in promise:
        sentences.append(
            "Areas are rectangles of longitude and latitude; a trip lies where the centers of its tiles lie."
        )
    if "elsewhere" in promise:
        sentences.append(
            "A flow to or from elsewhere counts trips that were left out: all of its area that are in no other flow."
        )
    return " ".join(sentences)
