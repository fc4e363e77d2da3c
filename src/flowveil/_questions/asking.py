"""Asking the input and a release of it the same questions."""

from __future__ import annotations

from typing import TYPE_CHECKING

from flowveil._folder import read_audit, read_files, remembered
from flowveil._places import read_districts
from flowveil._questions.compared import YOURS, Wording, compare_facts
from flowveil._questions.told import told_facts
from flowveil._questions.truth import Truth
from flowveil._trips import reopen_trips

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from flowveil._places import ZonesLike
    from flowveil._questions.compared import Answered
    from flowveil._trips import TripsLike

_WORDING = Wording(
    "a row of the input",
    "After: as a reader of the release estimates it, with what was left out; lengths and hours are those of 20,000 "
    "synthetic trips drawn from it.",
)


def ask(
    release: str | Path,
    trips: TripsLike,
    *,
    zones: ZonesLike | None = None,
    columns: str | Mapping[str, str] | None = None,
    where: str | None = None,
) -> Answered:
    """Return what people ask of trips, answered from the input and from a release with origins and destinations.

    zones: districts of the user's own; by default squares over where trips start and end.
    """
    files = read_files(release)
    story = remembered(read_audit(release))
    truth = Truth(reopen_trips(trips, story, columns, where), files.manifest["options"], story.zones, zones)
    if zones is None:
        districts, rule = truth.squares()
    else:
        districts, rule = read_districts(zones, truth.trips.mapping, columns), YOURS
    before, outside = truth.facts(districts)
    return compare_facts(before, told_facts(files, districts, truth), districts, rule, outside, _WORDING)
