"""What the manifest of synthetic trajectories says and promises."""

from __future__ import annotations

from importlib.metadata import version
from typing import TYPE_CHECKING, cast

from flowveil._folder import NOISE, Kind, Manifest
from flowveil._synthesis.parts import UNITS

if TYPE_CHECKING:
    from flowveil._folder import Description, Promise, Settings
    from flowveil._noise import Ledger
    from flowveil._synthesis.model import Model

METHOD = "routines"
_GRID = ("projection", "parallel", "step", "bbox")
_ABSENCE = "Every sample is synthetic. Nothing is missing: nobody's own samples are in the release."


def make_manifest(
    model: Model, ledger: Ledger, epsilon: float, typed: dict[str, int], description: dict[str, str]
) -> Manifest:
    """Return the manifest: what was typed, and what is promised."""
    promise: Promise = {
        "kind": NOISE,
        "epsilon": epsilon,
        "delta": 0,
        "unit": "user",
        "neighbours": "one user added or removed",
        "records": "trajectories",
        "samples": "synthetic",
        "budget": [{"spend": spend.name, "epsilon": spend.epsilon * UNITS} for spend in ledger.spends],
    }
    grid = model.grid.settings()
    settings = {name: grid[name] for name in _GRID}
    settings |= {"days": model.days.typed(), "timezone": model.days.timezone, **typed}
    manifest: Manifest = {
        "format": Kind.SYNTHETIC.format,
        "software": f"flowveil {version('flowveil')}",
        "method": METHOD,
        "options": cast("Settings", settings),
        "promise": promise,
        "promise_text": promise_text(promise, description.get("unit_label")),
        "absence": _ABSENCE,
    }
    if description:
        manifest["description"] = cast("Description", description)
    return manifest


def promise_text(promise: Promise, label: str | None) -> str:
    """Say the promise in plain words; label: what users are."""
    one = "user" if label is None else f"of the {label}"
    return (
        "All trajectories are synthetic: they were drawn from noisy counts, and from nothing else. The presence or "
        f"absence of any one {one}, with all samples, changes the probability of any release by a factor of at most "
        f"exp({promise['epsilon']:g}). In every part of the counts one {one} weighs at most 1, however many samples "
        "there are. The extent of the map and the days were chosen without the data. A trajectory may resemble a true "
        "one by chance. Every further release about the same people adds its own epsilon to this one."
    )
