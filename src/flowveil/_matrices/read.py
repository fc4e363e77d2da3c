"""Reading a release with noise back."""

from __future__ import annotations

from typing import TYPE_CHECKING

from flowveil._folder import Kind, read_files
from flowveil._matrices.release import NoisyRelease

if TYPE_CHECKING:
    from pathlib import Path

_KINDS = {Kind.NOISY_FLOWS, Kind.CELLS}
_HINT = "name a folder made with --epsilon (see flowveil methods)"


def read_noisy(path: str | Path) -> NoisyRelease:
    """Read a release with noise; raise InputError for one of another kind, or that is not as the format says."""
    files = read_files(path, _KINDS, "a release with noise", _HINT)
    return NoisyRelease(files.tables, files.manifest)
