"""Where everybody from a place goes to the same place: a crowd hides nobody then.

The figures are those of l-diversity (how many destinations, in effect) and t-closeness (how far the destinations of one
origin are from those of all): an origin is what is known of a person, a destination what is to be found out.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from flowveil._arrays import texts
from flowveil._folder import FLOWS, key_columns
from flowveil._places import NodeAreas
from flowveil._risk.finding import HOLDS, TELLS, Finding
from flowveil._risk.sites import find_sites

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pyarrow as pa

    from flowveil._arrays import FloatArray, IntArray
    from flowveil._folder import Json
    from flowveil._risk.case import Case
    from flowveil._risk.sites import Sites

_PLACE = 0.25  # square kilometers: no larger than some blocks of houses
_NEARLY = 0.9  # share of the trips of an origin that is nearly all
_SAME = 1e-9  # difference of shares that is rounding
_CHUNK = 256  # rows of a table that are there at once
_ADVICE = "Ask for larger areas with --min-tiles 2 (or more), or leave out steps of time or groups."


@dataclass(frozen=True, eq=False)
class _Origins:
    """What the table of a reader says of origins that trips leave: one entry for each, and step or group."""

    site: IntArray
    target: IntArray  # the destination that most go to
    top: FloatArray  # share of the trips that do
    effective: FloatArray  # as many destinations, all alike, would be as uncertain: e to the entropy
    distance: FloatArray  # half the sum of differences from the destinations of all trips


def find_homogeneity(case: Case) -> Finding | None:
    """Count the origins whose published trips all go to one place."""
    origins, destinations = (find_sites(case.files, side, _PLACE) for side in ("origin", "destination"))
    table, manifest = case.files.tables[FLOWS], case.files.manifest
    parts = [_look(part, origins, destinations) for part in _matrices(table, key_columns(table, manifest))]
    if not parts:
        return None
    every = _Origins(*(np.concatenate([getattr(part, name) for part in parts]) for name in _Origins.__annotations__))
    to_place = destinations.small[every.target]
    alike, nearly = to_place & (every.top > 1 - _SAME), to_place & (every.top > _NEARLY)
    figure = int(alike.sum())
    details: dict[str, Json] = {
        "origins": len(every.site),
        "nearly_all_to_one_place": int(nearly.sum()),
        "fewest_destinations_in_effect": float(every.effective.min()),
        "median_destinations_in_effect": float(np.median(every.effective)),
        "median_distance_from_all": float(np.median(every.distance)),
        "largest_distance_from_all": float(every.distance.max()),
    }
    right = ""
    if case.knows_truth and len(parts) == 1 and "shapes" not in manifest["promise"]:
        pairs = zip(every.site[nearly].tolist(), every.target[nearly].tolist(), strict=True)
        claims = [(origins.area[origin], destinations.area[destination]) for origin, destination in pairs]
        details["true_share_of_nearly_all"] = score = _score(case, claims)
        right = "" if score is None else f" Of the true trips from there {score:.0%} do."
    return Finding(
        "homogeneity",
        figure,
        "origins whose published trips all go to one place",
        TELLS if nearly.any() else HOLDS,
        _sentence(every, figure, int(nearly.sum())) + right,
        _ADVICE if nearly.any() else "",
        {"place_km2": _PLACE, "nearly_all": _NEARLY},
        details,
        private=case.knows_truth,
    )


def _sentence(every: _Origins, alike: int, nearly: int) -> str:
    there = f"{len(every.site):,} origins"
    if not nearly:
        half = f"half of them have {np.median(every.effective):,.1f} or more destinations, in effect"
        return f"From none of {there} (nearly) all published trips go to one place of {_PLACE:g} km² or less; {half}."
    return (
        f"From {alike:,} of {there} all published trips go to one place of {_PLACE:g} km² or less, and from {nearly:,} "
        f"more than {_NEARLY:.0%} do: who is known to start there is known to go there."
    )


def _matrices(table: pa.Table, keys: list[str]) -> Iterator[pa.Table]:
    """Yield the flows of each step of time and group."""
    if not keys:
        yield from [table] if table.num_rows else []
        return
    rows = list(zip(*(table[name].to_pylist() for name in keys), strict=True))
    number = {key: place for place, key in enumerate(dict.fromkeys(rows))}
    place = np.array([number[row] for row in rows], np.int64)
    for matrix in range(len(number)):
        yield table.filter(place == matrix)


def _look(flows: pa.Table, origins: Sites, destinations: Sites) -> _Origins:
    """Return what flows tell of origins, when they are spread over sites."""
    trips = flows["trips"].to_numpy().astype(np.float64)
    first, second = origins.spread(texts(flows["origin"])), destinations.spread(texts(flows["destination"]))
    overall = second.T @ trips / trips.sum()
    weighted = (first.multiply(trips[:, None])).T.tocsr()
    used = np.flatnonzero(weighted.sum(axis=1) > 0)
    found = []
    for start in range(0, len(used), _CHUNK):
        rows = (weighted[used[start : start + _CHUNK]] @ second).toarray()
        share = rows / rows.sum(axis=1, keepdims=True)
        logarithm = np.log(share, where=share > 0, out=np.zeros_like(share))
        found.append(
            (
                share.argmax(axis=1),
                share.max(axis=1),
                np.exp(-(share * logarithm).sum(axis=1)),
                np.abs(share - overall).sum(axis=1) / 2,
            )
        )
    return _Origins(used, *(np.concatenate(column) for column in zip(*found, strict=True)))


def _score(case: Case, claims: list[tuple[str, str]]) -> float | None:
    """Return which share of the true trips from these origins go where they are said to; None without any."""
    flows = case.flows
    inside = []
    for side, tree, leaf in ((0, flows.origins, flows.origin), (1, flows.destinations, flows.destination)):
        names = sorted({claim[side] for claim in claims})
        listed, number = flows.places.listed(tree, names)
        leaves = np.flatnonzero(tree.is_leaf)
        tiles = NodeAreas(flows.places, listed).inside(number) if names else []
        inside.append({name: np.isin(leaf, leaves[held]) for name, held in zip(names, tiles, strict=True)})
    right = sum(int(flows.trips[inside[0][origin] & inside[1][destination]].sum()) for origin, destination in claims)
    there = sum(int(flows.trips[inside[0][origin]].sum()) for origin, _ in claims)
    return right / there if there else None
