"""Reading a release of flows back."""

from __future__ import annotations

from typing import TYPE_CHECKING

from flowveil._errors import InputError
from flowveil._folder import AREAS, FLOWS, Kind, read_files
from flowveil._release.release import Release

if TYPE_CHECKING:
    from pathlib import Path

_COLUMNS = {"origin", "destination", "trips"}


def read_flows(path: str | Path) -> Release:
    """Read a release of flows. It does not check the promise (`verify` does), and its `metrics()` raises."""
    files = read_files(path, {Kind.FLOWS}, "a release of flows between crowds", "name one that was made without noise")
    if not {"k", "unit"} <= set(files.manifest["promise"]) or not _COLUMNS.issubset(files.tables[FLOWS].column_names):
        raise InputError(f"the release {str(path)!r} is not complete", "flowveil verify says what is wrong")
    return Release(files.tables[FLOWS], files.tables[AREAS], files.manifest)
