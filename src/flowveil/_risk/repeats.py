"""Trips that are one more than persons: exactly one of them traveled twice."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from flowveil._folder import FLOWS
from flowveil._risk.finding import HOLDS, TELLS, Finding

if TYPE_CHECKING:
    from flowveil._risk.case import Case


def find_repeats(case: Case) -> Finding | None:
    """Count the flows whose trips are one more than their persons."""
    if not case.counts_persons:
        return None
    table = case.files.tables[FLOWS]
    trips, persons = (table[name].to_numpy() for name in ("trips", "persons"))
    # A difference of numbers that are rounded, or changed, by chance tells nothing for certain.
    repeats = 0 if case.slack else int(np.count_nonzero(trips - persons == 1))
    told = "Whoever is in such a flow and made two trips knows that all others made one."
    return Finding(
        "repeats",
        repeats,
        "flows in which exactly one person made two trips",
        TELLS if repeats else HOLDS,
        f"{repeats:,} of {table.num_rows:,} flows have one trip more than persons. {told}"
        if repeats
        else "Numbers are rounded or changed by chance: a difference of trips and persons tells nothing for certain."
        if case.slack
        else "No flow has one trip more than persons.",
        "It tells no place that the flow does not tell. Leave out persons, or round trips, if this matters."
        if repeats
        else "",
    )
