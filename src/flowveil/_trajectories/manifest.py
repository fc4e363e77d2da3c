"""What the manifest of a release of trajectories says and promises."""

from __future__ import annotations

from importlib.metadata import version
from typing import TYPE_CHECKING, cast

from flowveil._folder import CROWDS, KNOWN_POINTS, Kind, Manifest
from flowveil._trajectories.options import GATHER, KM

if TYPE_CHECKING:
    from flowveil._folder import Description, Promise, Settings
    from flowveil._trajectories.read import Trajectories

_PROMISED = ("max_extent", "max_duration", "min_support", "known_points", "max_suppression")  # options that are kept
_GRID = ("projection", "parallel", "step", "bbox")  # settings that every grid has
_ABSENCE = "Users and samples that are not listed were not seen, or were suppressed."


def make_manifest(
    trajectories: Trajectories,
    method: str,
    options: dict[str, str | int | float | bool],
    k: int,
    description: dict[str, str],
) -> Manifest:
    """Return the manifest of a release: what was typed, and what is promised."""
    promise: Promise = {
        "kind": KNOWN_POINTS if method == KM else CROWDS,
        "k": k,
        "unit": "user",
        "records": "trajectories",
        "samples": "generalized",
    }
    asked = cast("Promise", {name: options[name] for name in _PROMISED if name in options})
    promise |= asked
    settings = trajectories.grid.settings()
    settings = (
        {name: settings.pop(name) for name in _GRID} | {"min_samples": trajectories.min_samples} | options | settings
    )
    if method == KM or options.get("reshape") is False:
        promise["spans"] = "overlapping"
    if is_complete(method, options):
        promise["support"] = "complete"
    if trajectories.cut_into is not None and trajectories.timezone is not None:
        promise["cut_into"] = trajectories.cut_into
        settings |= {"cut_into": trajectories.cut_into, "timezone": trajectories.timezone}
    manifest: Manifest = {
        "format": Kind.TRAJECTORIES.format,
        "software": f"flowveil {version('flowveil')}",
        "method": method,
        "options": cast("Settings", settings),
        "promise": promise,
        "promise_text": promise_text(promise, description.get("unit_label", "users")),
        "absence": _ABSENCE,
    }
    if description:
        manifest["description"] = cast("Description", description)
    return manifest


def is_complete(method: str, options: dict[str, str | int | float | bool]) -> bool:
    """Whether every member of a group was seen in every sample."""
    return method == GATHER or bool(options.get("complete_support"))


def promise_text(promise: Promise, label: str = "users") -> str:
    """Say the promise in plain words; label: what users are."""
    of_points = promise["kind"] == KNOWN_POINTS
    say = _points_text if of_points else _complete_text if "support" in promise else _crowds_text
    text = say(promise, label)
    period = promise.get("cut_into")
    if period is None:
        text += "Nobody's samples are in two trajectories."
    else:
        text += (
            f"Trajectories are cut into {period}s, and all of this holds for each {period} by itself: "
            f"nobody's samples of a {period} are in two trajectories, and no trajectory counts anybody twice. "
            f"No id goes from one {period} to another, but places may show which trajectories of different {period}s "
            f"are of the same {label}: what several of them tell together is not promised."
        )
    if promise.get("spans") == "overlapping" and not of_points:
        text += " Time spans of a trajectory may overlap: whoever was seen then was in one of their boxes."
    return text


def _crowds_text(promise: Promise, label: str) -> str:
    least = promise.get("min_support", 1)
    seen = f"one of its {label} was" if least == 1 else f"{least} of its {label} were"
    return (
        f"Every trajectory is the common record of at least {promise['k']} {label}, who cannot be told apart by it. "
        f"In every box and time span of a trajectory at least {seen} seen; "
        "not all of them need to have been, and its support says how many were. "
    )


def _points_text(promise: Promise, label: str) -> str:
    many = promise["known_points"]
    points = "one point" if many == 1 else f"at most {many} points"
    return (
        f"Whoever knows {points} (place and time) of one of the {label} finds that no trajectory holds them all, or "
        f"those of at least {promise['k']} {label} do. A trajectory may be that of one of the {label} alone, who was "
        "seen in all of its boxes and time spans: whoever knows more points may recognize it. "
        f"{_budget_text(promise['max_suppression'], label)}"
    )


def _complete_text(promise: Promise, label: str) -> str:
    least, left = promise.get("min_support"), promise.get("max_suppression")
    return (
        f"Every trajectory is the common record of at least {promise['k']} {label}, who cannot be told apart by it. "
        f"In every box and time span of a trajectory all of its {label} were seen"
        f"{'' if least is None else f', at least {least}'}. "
        f"{'' if left is None else _budget_text(left, label)}"
    )


def _budget_text(share: float, label: str) -> str:
    """Say the budget; samples outside the box, and those of users with fewer than min_samples, were never in it."""
    return (
        f"At most {100 * share:.10g} % of the samples in the bounding box, of {label} with enough of them, "
        "were left out. "
    )
