"""Whether trips lie where people are: wrong coordinates fall into the sea, the ice, or far from all others.

Ends of trips are looked at by tile, so no row is read twice. What is said is private: shares, and never a place.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from flowveil._places import kilometers_to_town, meters_between

if TYPE_CHECKING:
    from flowveil._arrays import BoolArray, FloatArray
    from flowveil._flows.flows import Flows

_FAR_FROM_TOWNS = 75.0  # kilometers; of all people, few live farther from a place of 5,000 (docs/decisions/0058)
_SOME = 0.02  # share of the ends of trips from which on places are worth a word
_MOST_BULK = 0.9  # the bulk of the ends is so many of them, around the middle
_TIMES_FARTHER = 5  # than the bulk reaches: no other end of a trip in the same country
_LEAST_FAR = 300.0  # kilometers
_FEW = 0.001  # share of ends far from the bulk, below which nothing is said: every file has some
_CELL = 0.25  # degrees, in which ends are counted; and half as far from the diagonal, both orders are the same
_NOWHERE = 0.1  # degrees around 0, 0, where nobody is, but many programs write so for nothing
_MENDED = 0.5  # of the odd ends are at home once exchanged: then they are


def doubts(flows: Flows) -> tuple[str, ...]:
    """Return what is odd about where trips start and end, the worst first; nothing if all looks well."""
    lon, lat, share = _ends(flows)
    if not len(lon):
        return ()
    said = _at_zero(lon, lat, share) or _away_from_towns(lon, lat, share, _FAR_FROM_TOWNS + _width(flows))
    said = said or _away_from_all(lon, lat, share)
    return () if said is None else (said,)


def _at_zero(lon: FloatArray, lat: FloatArray, share: FloatArray) -> str | None:
    part = share[(np.abs(lon) < _NOWHERE) & (np.abs(lat) < _NOWHERE)].sum()
    if part < _SOME:
        return None
    what = f"{part:.0%} of the ends of trips lie at longitude 0, latitude 0, as if nothing were known of them"
    return f"{what}: leave these rows out with --where, or keep to an area with --bbox"


def _away_from_towns(lon: FloatArray, lat: FloatArray, share: FloatArray, most: float) -> str | None:
    """Say which ends lie farther from towns than `most` kilometers, or would lie beside others once exchanged."""
    lonely = kilometers_to_town(lon, lat) > most
    mirrored = _mirrored(lon, lat, np.where(lonely, 0, share))
    odd = lonely | mirrored
    part = share[odd].sum()
    if part < _SOME:
        return None
    where = " in the sea, a desert or the ice" if lonely.any() else " apart from others"
    at_home = mirrored.copy()
    at_home[lonely] = _near_town(lat[lonely], lon[lonely], most)
    if share[at_home].sum() > _MENDED * part:
        what = f"{part:.0%} of the ends of trips lie{where}: their longitude and latitude look exchanged"
        return f"{what}; say which is which with --columns start_lon=COLUMN,..., or mend the rows"
    what = f"{part:.0%} of the ends of trips lie more than {most:.0f} km from any town,{where}"
    return f"{what}; check --columns, or keep to an area with --bbox"


def _away_from_all(lon: FloatArray, lat: FloatArray, share: FloatArray) -> str | None:
    part = share[_far(lon, lat, share)].sum()
    if part < _FEW:
        return None
    what = f"{part:.1%} of the ends of trips lie far from all others, and make areas large and vague"
    return f"{what}: keep to an area with --bbox"


def _ends(flows: Flows) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return where trips start and end, in cells: lon, lat, and the share of all ends, those without a place aside."""
    points, trips = [], []
    for tree, leaf in ((flows.origins, flows.origin), (flows.destinations, flows.destination)):
        node, position = np.unique(leaf, return_inverse=True)
        points.append(np.column_stack(flows.places.centers(tree, node)))
        trips.append(np.bincount(position, flows.trips))
    point, count = np.concatenate(points), np.concatenate(trips)
    placed = np.isfinite(point).all(axis=1)
    point, count = point[placed], count[placed]
    _, cell = np.unique(np.floor(point / _CELL), axis=0, return_inverse=True)
    cell = cell.ravel()
    total = np.bincount(cell, count)
    lon, lat = (np.bincount(cell, count * values) / total for values in point.T)
    return lon, lat, total / max(count.sum(), 1)


def _width(flows: Flows) -> float:
    """Return how wide a tile is, in kilometers: its center may lie so far from where a trip ends."""
    size = float(flows.places.square_kilometers(flows.origins, flows.origin[:1])[0])
    return size**0.5 if size > 0 else 0.0


def _near_town(lon: FloatArray, lat: FloatArray, most: float) -> BoolArray:
    """Whether points lie on the globe and near a town."""
    near = np.abs(lat) <= 90
    near[near] = kilometers_to_town(lon[near], lat[near]) <= most
    return near


def _mirrored(lon: FloatArray, lat: FloatArray, share: FloatArray) -> BoolArray:
    """Which ends lie where others would once exchanged, and fewer of them: half of the rows may be the other way."""
    cells = np.floor(np.column_stack([lon, lat]) / (2 * _CELL)).astype(np.int64)
    held: dict[tuple[int, int], float] = {}
    for (x, y), part in zip(cells.tolist(), share.tolist(), strict=True):
        held[x, y] = held.get((x, y), 0.0) + part
    return np.array([_is_mirror(held, x, y) for x, y in cells.tolist()], bool)


def _is_mirror(held: dict[tuple[int, int], float], x: int, y: int) -> bool:
    own, other = held[x, y], held.get((y, x), 0.0)
    return abs(x - y) > 1 and own > 0 and other > 0 and (own, x) < (other, y)


def _far(lon: FloatArray, lat: FloatArray, share: FloatArray) -> BoolArray:
    """Which ends lie much farther from the middle of all than most others."""
    middle_lon, middle_lat = (np.full(len(lon), _quantile(values, share, 0.5)) for values in (lon, lat))
    away = meters_between(middle_lon, middle_lat, lon, lat) / 1000
    far: BoolArray = away > max(_TIMES_FARTHER * _quantile(away, share, _MOST_BULK), _LEAST_FAR)
    return far


def _quantile(values: FloatArray, share: FloatArray, part: float) -> float:
    order = np.argsort(values)
    place = min(int(np.searchsorted(np.cumsum(share[order]), part)), len(order) - 1)
    return float(values[order[place]])
