"""Reading a release of flows back."""

from __future__ import annotations

from typing import TYPE_CHECKING

from flowveil._folder import AREAS, FLOWS, Kind, read_files
from flowveil._release.release import Release

if TYPE_CHECKING:
    from pathlib import Path


def read_flows(path: str | Path) -> Release:
    """Read a release of flows. It does not check the promise (`verify` does), and its `metrics()` raises."""
    files = read_files(path, {Kind.FLOWS}, "a release of flows between crowds", "name one that was made without noise")
    return Release(files.tables[FLOWS], files.tables[AREAS], files.manifest)
