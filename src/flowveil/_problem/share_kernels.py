"""Compiled loops that find cells in which one person makes too many of the trips. Imported only when that is asked for.

Each is compiled from a plain Python function of the same name with an underscore, which tests run as it stands.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from flowveil._compiled import compiled

if TYPE_CHECKING:
    from flowveil._arrays import BoolArray, CountArray, IntArray

_WHOLE = 1_000_000  # shares are in millionths


class Visits(NamedTuple):
    """Who travels on each record, and how often."""

    start: IntArray  # by record: its first visit; and the number of visits
    person: IntArray  # by visit
    trips: CountArray  # by visit


class Spans(NamedTuple):
    """Cells and their records: `order[begin]` to `order[end - 1]`."""

    begin: IntArray
    end: IntArray
    order: IntArray
    trips: IntArray  # by cell


def _is_dominated(cell: int, spans: Spans, visits: Visits, most: int, made: IntArray) -> bool:
    """Return whether somebody makes more than `most` trips of a cell.

    `made` is by person, all 0, and is so again afterwards. It ends early where nobody can reach that number any more.
    """
    left, largest = spans.trips[cell], 0
    position = spans.begin[cell]
    while position < spans.end[cell] and largest <= most < largest + left:
        record = spans.order[position]
        for visit in range(visits.start[record], visits.start[record + 1]):
            who = visits.person[visit]
            made[who] += visits.trips[visit]
            left -= visits.trips[visit]
            largest = max(largest, made[who])
        position += 1
    for place in range(spans.begin[cell], position):
        record = spans.order[place]
        for visit in range(visits.start[record], visits.start[record + 1]):
            made[visits.person[visit]] = 0
    return bool(largest > most)


is_dominated = compiled(_is_dominated)


def _find_dominated(spans: Spans, visits: Visits, parts: int, made: IntArray) -> BoolArray:
    """Return which cells have somebody who makes more than so many millionths of their trips; made: 0 by person."""
    dominated = np.zeros(len(spans.begin), np.bool_)
    for cell in range(len(dominated)):
        dominated[cell] = is_dominated(cell, spans, visits, parts * spans.trips[cell] // _WHOLE, made)
    return dominated


find_dominated = compiled(_find_dominated)
