"""The kinds of releases: what the folder of each holds, and what it is called."""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING

from flowveil._errors import InputError
from flowveil._folder import names
from flowveil._folder.json import read_json

if TYPE_CHECKING:
    from pathlib import Path

    from flowveil._folder.json import Json


class Kind(Enum):
    """A kind of release: how it is called, the format that its manifest names, its tables, and those that some have."""

    FLOWS = ("flows between areas", "flowveil-flows/1", (names.FLOWS, names.AREAS))
    NOISY_FLOWS = (
        "flows between areas with noise",
        "flowveil-flows/1",
        (names.FLOWS, names.AREAS),
        (names.MARGINALS,),
    )
    CELLS = ("boxes with noise", "flowveil-cells/1", (names.CELLS,), (names.MARGINALS,))
    TRAJECTORIES = ("trajectories", "flowveil-trajectories/1", (names.TRAJECTORIES,))
    SYNTHETIC = ("synthetic trajectories", "flowveil-synthetic/1", (names.SAMPLES, names.PLACES, names.MODEL))

    def __init__(self, title: str, form: str, tables: tuple[str, ...], optional: tuple[str, ...] = ()) -> None:
        self.title = title
        self.format = form
        self.tables = tables
        self.optional = optional

    @property
    def noisy(self) -> bool:
        """Whether the promise is differential privacy."""
        return self in {Kind.NOISY_FLOWS, Kind.CELLS, Kind.SYNTHETIC}


_OF_FLOWS = frozenset({Kind.FLOWS, Kind.NOISY_FLOWS})
_PAIRS = frozenset({*_OF_FLOWS, Kind.CELLS})
_ENDS = "a release of origins and destinations"
_NO_ENDS = "trajectories have samples; to_pandas() has them as a table"

# What not every kind of release can do: those that can, what a release must be for it, and what to do if it is not.
NEEDS = {
    "query": (
        frozenset({Kind.NOISY_FLOWS, Kind.CELLS}),
        "a release with noise",
        "name one made with --epsilon (see flowveil methods)",
    ),
    "beside": (frozenset({Kind.FLOWS}), "a release of flows between crowds", "name one that was made without noise"),
    "reconstruct": (_PAIRS, _ENDS, _NO_ENDS),
    "between": (_PAIRS, _ENDS, _NO_ENDS),
    "departures": (_PAIRS, _ENDS, _NO_ENDS),
    "arrivals": (_PAIRS, _ENDS, _NO_ENDS),
    "top": (_PAIRS, _ENDS, _NO_ENDS),
    "sample": (_PAIRS, _ENDS, "trajectories are samples already"),
}


def check_operation(kind: Kind, operation: str) -> None:
    """Raise InputError if a kind of release cannot do something."""
    able, what, hint = NEEDS[operation]
    if kind not in able:
        raise InputError(f"{operation} asks for {what}, and this is a release of {kind.title}", hint)


def find_kind(folder: Path) -> Kind | None:
    """Return the kind of release that the manifest of a folder claims, None if it claims none."""
    try:
        return kind_of(read_json(folder / names.MANIFEST))
    except (OSError, ValueError):
        return None


def kind_of(manifest: Json) -> Kind | None:
    """Return the kind of release that a manifest, which anyone may have written, claims; None if it claims none."""
    try:
        form, noisy = manifest["format"], manifest["promise"]["kind"] == names.NOISE
    except (KeyError, TypeError):
        return None
    if noisy:
        return next((kind for kind in (Kind.CELLS, Kind.SYNTHETIC) if form == kind.format), Kind.NOISY_FLOWS)
    return next((kind for kind in (Kind.FLOWS, Kind.TRAJECTORIES) if form == kind.format), None)
