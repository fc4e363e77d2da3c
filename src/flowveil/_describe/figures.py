"""What papers print first of their data: tiles, pairs, density, and how much of it is anonymous already. Private."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from flowveil._errors import InputError
from flowveil._flows import People

if TYPE_CHECKING:
    from collections.abc import Sequence

    from flowveil._arrays import IntArray
    from flowveil._flows import Flows


@dataclass(frozen=True)
class Figures:
    """Private figures of trips between tiles or zones."""

    trips: int
    tiles: int  # in which a trip starts or ends
    origin_tiles: int
    destination_tiles: int
    pairs: int
    density: float  # pairs, of all between tiles in which trips start and tiles in which trips end
    anonymous: list[dict[str, float]]  # for each k: the share of pairs with so many persons (trips), and of their trips
    persons: int | None
    trips_a_person: dict[str, float] | None  # mean, median, most


def measure(flows: Flows, ks: Sequence[int]) -> Figures:
    """Return the figures of flows between tiles; of k persons where there is a unit, else of k trips."""
    origins = np.unique(flows.origins.key[flows.origin])
    destinations = np.unique(flows.destinations.key[flows.destination])
    made = _trips_made(flows)
    measures = flows.measure(np.arange(len(flows)), len(flows))
    crowd = measures.trips if measures.persons is None else measures.persons
    return Figures(
        trips=flows.total,
        tiles=len(np.union1d(origins, destinations)),
        origin_tiles=len(origins),
        destination_tiles=len(destinations),
        pairs=len(flows),
        density=len(flows) / (len(origins) * len(destinations)),
        anonymous=[
            {
                "k": k,
                "flows": float((crowd >= k).mean()),
                "volume": float(flows.trips[crowd >= k].sum() / flows.total),
            }
            for k in ks
        ],
        persons=None if made is None else len(made),
        trips_a_person=_spread(made),
    )


def find_totals(flows: Flows) -> list[str]:
    """Return areas that are no places but sums: from (or to) each go the trips of all others together, end by end."""
    totals: dict[str, None] = {}
    sides = ((flows.origins, flows.origin), (flows.destinations, flows.destination))
    for (tree, own), (_, other) in (sides, sides[::-1]):
        used, place = np.unique(own, return_inverse=True)
        by_end = np.bincount(other, flows.trips)
        for number in np.flatnonzero(2 * np.bincount(place, flows.trips) == flows.total).tolist():
            inside = place == number
            alone = np.bincount(other[inside], flows.trips[inside], minlength=len(by_end))
            if len(used) > 2 and (2 * alone == by_end).all():  # of two, each is the sum of the other
                totals[flows.places.ids(tree, used[[number]])[0].partition("=")[2]] = None
    return list(totals)


def _trips_made(flows: Flows) -> IntArray | None:
    """Return the trips of each person; None where persons are not known."""
    people = flows.people
    if people is None:
        return None
    if not isinstance(people, People) or people.trips is None:
        raise InputError("how many trips each person makes is not known", "build the flows from trips with a unit")
    return np.bincount(people.person, people.trips).astype(np.int64)


def _spread(made: IntArray | None) -> dict[str, float] | None:
    if made is None:
        return None
    return {"mean": float(made.mean()), "median": float(np.median(made)), "most": float(made.max())}
