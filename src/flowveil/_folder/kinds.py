"""The kinds of releases: what the folder of each holds, and what it is called."""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING

from flowveil._folder import names
from flowveil._folder.json import read_json

if TYPE_CHECKING:
    from pathlib import Path

    from flowveil._folder.json import Json


class Kind(Enum):
    """A kind of release: how it is called, the format that its manifest names, and its tables."""

    FLOWS = ("flows between areas", "flowveil-flows/1", (names.FLOWS, names.AREAS))
    NOISY_FLOWS = ("flows between areas with noise", "flowveil-flows/1", (names.FLOWS, names.AREAS))
    CELLS = ("boxes with noise", "flowveil-cells/1", (names.CELLS,))
    TRAJECTORIES = ("trajectories", "flowveil-trajectories/1", (names.TRAJECTORIES,))

    def __init__(self, title: str, form: str, tables: tuple[str, ...]) -> None:
        self.title = title
        self.format = form
        self.tables = tables

    @property
    def noisy(self) -> bool:
        """Whether the promise is differential privacy."""
        return self in {Kind.NOISY_FLOWS, Kind.CELLS}


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
        return Kind.CELLS if form == Kind.CELLS.format else Kind.NOISY_FLOWS
    return next((kind for kind in (Kind.FLOWS, Kind.TRAJECTORIES) if form == kind.format), None)
