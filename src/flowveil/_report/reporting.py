"""Writing the report of a release that is there."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from flowveil._errors import InputError
from flowveil._folder import PRIVATE_REPORT
from flowveil._release.write import REPORT, add_private, add_report, addition, find_release
from flowveil._report.folder import read_files
from flowveil._report.make import make_report, read_content
from flowveil._report.private import make_private

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path


def report(
    release: str | Path,
    trips: Any = None,
    *,
    zones: Any = None,
    columns: str | Mapping[str, str] | None = None,
    where: str | None = None,
    overwrite: bool = False,
) -> Path:
    """Write the report of a release folder and return its path.

    Without trips it is report.html in the folder and shows only what can be computed from there: safe to publish. With
    the trips it is written beside the folder as DIR.private.html, adds what was lost, and must not be published. Input
    options (zones, columns, where) come from the audit file beside the release unless they are given.
    overwrite: replace a report that is there.
    """
    folder = find_release(release)
    path = folder / REPORT if trips is None else folder.with_name(folder.name + PRIVATE_REPORT)
    check = addition(folder, path, overwrite=overwrite)
    files = read_files(release)
    check()
    if trips is None:
        if zones is not None or columns or where:
            raise InputError("options of the input were given, but no input", "add --against INPUT, or leave them out")
        return add_report(folder, check, _made(make_report, files))
    page = make_private(folder, files, trips, zones=zones, columns=columns, where=where)
    return add_private(folder, check, page)


def report_numbers(release: str | Path) -> dict[str, Any]:
    """Return the JSON twin of a report: every number that it shows."""
    found: dict[str, Any] = _made(lambda files: read_content(files).numbers(), read_files(release))
    return found


def _made(make: Any, files: Mapping[str, Any]) -> Any:
    """Make something of a folder that may come from anyone."""
    try:
        return make(files)
    except (KeyError, TypeError, ValueError, IndexError, AttributeError) as error:
        raise InputError(
            f"the release is not as the format says ({type(error).__name__}: {error})",
            "flowveil verify says what is wrong",
        ) from None
