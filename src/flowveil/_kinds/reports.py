"""The report of a release of any kind: the public page in its folder, the private one beside it, and its numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from flowveil._errors import InputError
from flowveil._folder import (
    PRIVATE_REPORT,
    REPORT,
    add_private,
    add_report,
    addition,
    find_release,
    read_audit,
    read_files,
    remembered,
)
from flowveil._kinds.operations import check_options
from flowveil._kinds.records import RECORDS
from flowveil._questions import answer_rows
from flowveil._report import choose_ground, make_private_report, make_report
from flowveil._risk import QUICK, risk
from flowveil._trips import Trips

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from flowveil._folder import Json
    from flowveil._options import Keywords
    from flowveil._places import ZonesLike
    from flowveil._questions import Answered
    from flowveil._trips import TripsLike

_ASKING = (
    "The same questions put to the input and to the release. In common: 100 % is the same answer, 0 % has nothing in "
    "common. {} flowveil evaluate --questions has all numbers."
)


def report(
    release: str | Path,
    trips: TripsLike | None = None,
    *,
    zones: ZonesLike | None = None,
    columns: str | Mapping[str, str] | None = None,
    where: str | None = None,
    ground: str | None = None,
    context: ZonesLike | None = None,
    overwrite: bool = False,
) -> Path:
    """Write the report of a release folder and return its path.

    Without trips it is report.html in the folder and shows only what can be computed from there: safe to publish. With
    the trips it is written beside the folder as DIR.private.html, adds what was lost and what known attacks learn, and
    must not be published. Input options (zones, columns, where) come from the audit file beside the release unless
    they are given. Of a release on a grid, zones are the districts that questions are about.
    overwrite: replace a report that is there. ground: the shores that it is drawn on: "world" (default), or with the
    extra `maps` "full", which is as fine far from cities as near them. context: rivers, roads and the like to show, a
    table or file of lines and areas, whose column `layer` says what they are; `verify` then needs it, too.

    >>> fv.report("release", overwrite=True).name
    'report.html'
    >>> fv.report("release", "trips.parquet", overwrite=True).name
    'release.private.html'
    """
    folder = find_release(release)
    path = folder / REPORT if trips is None else folder.with_name(folder.name + PRIVATE_REPORT)
    check = addition(folder, path, overwrite=overwrite)
    files = read_files(release)
    check()
    record = RECORDS[files.kind]
    if trips is None:
        if zones is not None or columns or where:
            raise InputError("options of the input were given, but no input", "add --against INPUT, or leave them out")
        chosen = choose_ground("world" if ground is None else ground, context)
        return add_report(folder, check, make_report(record.show, files, chosen))
    if ground is not None or context is not None:
        raise InputError("a ground was given with the input", "leave it out: the private report has its own")
    read_as: Keywords = {"columns": columns, "where": where}
    districts, of_input = (zones, None) if files.manifest["options"].get("grid", "") is not None else (None, zones)
    options = check_options(record.losses, files.kind, {"zones": of_input, **read_as})
    losses = record.losses(folder, trips, **options)
    losses["tables"] += _input(folder, trips, where)
    losses["questions"] = _questions(record.ask, folder, trips, {"zones": districts or of_input, **read_as})
    losses["risk"] = risk(folder, trips, attacks=QUICK, zones=of_input, columns=columns, where=where).in_full()
    return add_private(folder, check, make_private_report(record.show, files, losses))


def _questions(ask: Callable[..., Answered], folder: Path, trips: TripsLike, options: Keywords) -> dict[str, Json]:
    """Return what people ask, as the report shows it; a release that tells no places has no answers."""
    try:
        answered = ask(folder, trips, **options)
    except InputError as error:
        return {"rows": [["Not answered", error.message]], "charts": [], "note": _ASKING.format("")}
    rows = [list(row) for row in answer_rows(answered.figures)]
    return {"rows": rows, "charts": answered.charts, "note": _ASKING.format(answered.after)}


def _input(folder: Path, trips: TripsLike, where: str | None) -> list[dict[str, Json]]:
    """Return a table with the condition on the input, none if there is no condition."""
    condition = trips.where if isinstance(trips, Trips) else where or remembered(read_audit(folder)).where
    if condition is None:
        return []
    return [{"title": "Input", "rows": [["where", condition, "only rows that fulfill this condition were looked at"]]}]


def report_numbers(release: str | Path) -> dict[str, Json]:
    """Return the JSON twin of a report: every number that it shows."""
    files = read_files(release)
    return RECORDS[files.kind].show(files).numbers()
