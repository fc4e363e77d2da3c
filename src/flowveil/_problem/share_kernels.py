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
    """Cells and their records: `order[begin]` to `order[end - 1]`. Cells of an origin come one after the other."""

    begin: IntArray
    end: IntArray
    order: IntArray
    trips: IntArray  # by cell
    whole: BoolArray  # by cell: whether it is the first of its origin, which holds all the others


def _most_of_one(cell: int, spans: Spans, visits: Visits, bound: int, made: IntArray) -> int:
    """Return the most trips that one person makes of a cell, or fewer once it is settled whether it is above a bound.

    `made` is by person, all 0, and is so again afterwards. A bound below 0 asks for the number itself.
    """
    left, largest = spans.trips[cell], 0
    position = spans.begin[cell]
    while position < spans.end[cell] and (bound < 0 or largest <= bound < largest + left):
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
    return int(largest)


most_of_one = compiled(_most_of_one)


def _find_dominated(spans: Spans, visits: Visits, parts: int, made: IntArray) -> BoolArray:
    """Return which cells have somebody who makes more than so many millionths of their trips; made: 0 by person.

    Nobody makes more trips of a cell than of all of its origin: most cells need no look at who travels.
    """
    dominated = np.zeros(len(spans.begin), np.bool_)
    of_origin = 0
    for cell in range(len(dominated)):
        bound = parts * spans.trips[cell] // _WHOLE
        if spans.whole[cell]:
            of_origin = most_of_one(cell, spans, visits, -1, made)
            dominated[cell] = of_origin > bound
        elif of_origin > bound:
            dominated[cell] = most_of_one(cell, spans, visits, bound, made) > bound
    return dominated


find_dominated = compiled(_find_dominated)
