"""What a release with noise promises, as data and in words."""

from __future__ import annotations

from importlib.metadata import version
from typing import TYPE_CHECKING, cast

from flowveil._folder import NOISE
from flowveil._matrices.methods import LAPLACE

if TYPE_CHECKING:
    from collections.abc import Mapping

    from flowveil._folder import Description, Kind, Manifest, Promise, Settings, Spending
    from flowveil._matrices.points import Matrix
    from flowveil._methods import Value
    from flowveil._noise import Ledger

_ABSENCE = (
    "Every box is listed, empty or not: nothing is missing. A count is noisy, and a small one may stand for none."
)
_POSITIVE_ABSENCE = (
    "Noise was added to every pair of tiles, and those below one are not listed. A listed pair may have had no trips, "
    "and one that is not listed may have had some."
)
_NEGATIVE = "they may be negative"
_POSITIVE = "those below one are not listed, so that sums over many pairs are too large"


def make_manifest(
    matrix: Matrix,
    method: str,
    epsilon: float,
    ledger: Ledger,
    typed: Mapping[str, Value],
    kind: Kind,
    description: Mapping[str, str],
) -> Manifest:
    """Return the manifest; it holds what the user typed, and the budget, which depends on noisy counts only."""
    most = matrix.max_trips_per_person
    promise: Promise = {
        "kind": NOISE,
        "epsilon": epsilon,
        "delta": 0,
        "unit": matrix.unit or "trip",
        "neighbours": f"one {'person' if matrix.unit else 'trip'} added or removed",
        "max_trips_per_person": most if matrix.unit else None,
        "budget": budget(ledger, most),
    }
    options = matrix.grid.settings()
    if typed:
        options["method_options"] = dict(typed)
    manifest: Manifest = {
        "format": kind.format,
        "software": f"flowveil {version('flowveil')}",
        "method": method,
        "options": cast("Settings", options),
        "promise": promise,
        "promise_text": promise_text(promise, description.get("unit_label"), positive_only=method == LAPLACE),
        "absence": _POSITIVE_ABSENCE if method == LAPLACE else _ABSENCE,
    }
    if description:
        manifest["description"] = cast("Description", dict(description))
    return manifest


def budget(ledger: Ledger, most: int) -> list[Spending]:
    """Return what a path spends before its count is published, in order, for a whole unit."""
    spends = {spend.name: spend.epsilon for spend in ledger.spends if spend.name != "cells"}
    return [{"spend": name, "epsilon": epsilon * most} for name, epsilon in spends.items()]


def promise_text(promise: Promise, label: str | None = None, *, positive_only: bool = False) -> str:
    """Say a promise in plain words; label: what the unit tells apart; positive_only: no counts below one are listed."""
    epsilon, most = promise["epsilon"], promise["max_trips_per_person"]
    if most is None:
        who = (
            "The presence or absence of any one trip changes the probability of any release by a factor of at most "
            f"exp({epsilon:g}). One trip is protected, not a person: someone who made n trips is protected at n times "
            "that epsilon."
        )
    else:
        one = "person" if label is None else f"of the {label}"
        who = (
            f"The presence or absence of any one {one} (a value of {promise['unit']}) changes the probability of any "
            f"release by a factor of at most exp({epsilon:g}). At most {most} trips of each {one} are counted, drawn "
            "at random from their trips."
        )
    return (
        f"{who} Counts are whole numbers with discrete Laplace noise of the scale stated beside each; "
        f"{_POSITIVE if positive_only else _NEGATIVE}. The extent of the grid was chosen without the data; the number "
        "of trips is not published but for the noisy counts. Every further release about the same people adds its own "
        "epsilon to this one."
    )
