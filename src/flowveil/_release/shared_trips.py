"""The trips of several releases laid over each other by their marks: which flows of each count the same trips."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from flowveil._errors import InputError
from flowveil._flows import People

if TYPE_CHECKING:
    from collections.abc import Sequence

    from flowveil._arrays import IntArray, KeyArray
    from flowveil._flows import Flows
    from flowveil._register import Layer, StoredTrips

NONE = -1


@dataclass(frozen=True, eq=False)
class OtherLayer:
    """Flows of earlier releases of which none have a trip in common: one layer, though of several releases."""

    flow: IntArray  # by atom; -1 for none
    release: list[int]  # by flow: which of the earlier releases it is of
    names: list[str]  # by flow
    same: list[bool]  # by flow: its release is of the same trips as the new one


@dataclass(frozen=True, eq=False)
class SharedTrips:
    """Atoms: the trips that are in the same flows of all releases."""

    new: tuple[IntArray, ...]  # by layer of the new release, by atom: its flow, -1 for none
    others: list[OtherLayer]
    counted: Flows  # an entry an atom: its trips, persons and weight


def lay_together(flows: Flows, new: StoredTrips, earlier: Sequence[StoredTrips]) -> SharedTrips:
    """Return the atoms of a new release and of earlier ones; flows: the new ones, whose crowds are counted alike."""
    releases = [new, *earlier]
    universe, place = _universe(releases)
    layers = [
        _spread(layer.flow, spot, len(universe))
        for trips, spot in zip(releases, place, strict=True)
        for layer in trips.layers
    ]
    _check_alike(universe, layers, [len(trips.layers) for trips in releases])
    keys, atom = np.unique(np.column_stack(layers), axis=0, return_inverse=True)
    atom = atom.ravel()
    own = len(new.layers)
    return SharedTrips(
        tuple(keys[:, :own].T),
        _merge(
            keys[:, own:],
            [(number, layer, _equal(trips, new)) for number, trips in enumerate(earlier) for layer in trips.layers],
        ),
        _count(flows, releases, place, atom, len(keys)),
    )


def _universe(releases: Sequence[StoredTrips]) -> tuple[KeyArray, list[IntArray]]:
    """Return the mark of every trip of some release, sorted, and by release the place of each of its trips.

    Trips with the same mark are told apart by their order.
    """
    marks, code = np.unique(np.concatenate([trips.mark for trips in releases]), return_inverse=True)
    edges = np.cumsum([len(trips.mark) for trips in releases])[:-1]
    codes = np.split(code, edges)
    times = np.zeros(len(marks), np.int64)
    for own in codes:
        np.maximum(times, np.bincount(own, minlength=len(marks)), out=times)
    first = np.cumsum(times) - times
    return np.repeat(marks, times), [first[own] + _occurrence(own) for own in codes]


def _occurrence(code: IntArray) -> IntArray:
    """Return for sorted numbers how many equal ones come before each."""
    starts = np.flatnonzero(np.append(True, code[1:] != code[:-1])) if len(code) else code
    return np.arange(len(code)) - np.repeat(starts, np.diff(np.append(starts, len(code))))


def _spread(flow: IntArray, place: IntArray, count: int) -> IntArray:
    spread = np.full(count, NONE, np.int64)
    spread[place] = flow
    return spread


def _check_alike(universe: KeyArray, layers: Sequence[IntArray], sizes: Sequence[int]) -> None:
    """Raise where trips with one mark are in different flows of two releases: which is which cannot be told."""
    again = np.append(universe[1:] == universe[:-1], False) if len(universe) else np.zeros(0, bool)
    group = np.cumsum(np.append(True, ~again[:-1])) - 1 if len(universe) else np.zeros(0, np.int64)
    several = np.zeros(len(universe), np.int64)  # by mark: releases in which its trips are in different flows
    start = 0
    for size in sizes:
        differs = np.zeros(len(universe), bool)
        for layer in layers[start : start + size]:
            differs[:-1] |= again[:-1] & (layer[1:] != layer[:-1])
        several[np.unique(group[differs])] += 1
        start += size
    if bad := int(np.count_nonzero(several > 1)):
        raise InputError(
            f"{bad:,} groups of trips look alike in all that trips are known by, but are in different flows of two "
            "releases: which trips these have in common cannot be told",
            "name the persons with --unit, or give times to the second",
        )


def _equal(one: StoredTrips, other: StoredTrips) -> bool:
    return len(one.mark) == len(other.mark) and bool((one.mark == other.mark).all())


def _merge(keys: IntArray, layers: Sequence[tuple[int, Layer, bool]]) -> list[OtherLayer]:
    """Put layers together that have no trip in common: months that are a quarter are one layer beside it."""
    merged: list[OtherLayer] = []
    for (release, layer, same), flow in zip(layers, keys.T, strict=True):
        fits = (other for other in merged if not ((other.flow >= 0) & (flow >= 0)).any())
        here = next(fits, None)
        if here is None:
            here = OtherLayer(np.full(len(flow), NONE, np.int64), [], [], [])
            merged.append(here)
        here.flow[flow >= 0] = flow[flow >= 0] + len(here.names)
        here.release.extend([release] * len(layer.names))
        here.names.extend(layer.names)
        here.same.extend([same] * len(layer.names))
    return merged


def _count(flows: Flows, releases: Sequence[StoredTrips], place: list[IntArray], atom: IntArray, count: int) -> Flows:
    """Return trips, persons and weights by atom."""
    size, weight = np.zeros(len(atom), np.int64), np.zeros(len(atom), np.int64)
    owner = np.zeros(len(atom), np.uint64)
    for trips, spot in zip(releases, place, strict=True):
        size[spot] = trips.trips
        if trips.weight is not None:
            weight[spot] = trips.weight
        if trips.owner is not None:
            owner[spot] = trips.owner
    people = None
    if flows.people is not None:
        persons, person = np.unique(owner, return_inverse=True)
        pairs = np.unique(atom * len(persons) + person)
        of_person = np.zeros(len(persons), np.int64)
        of_person[person] = weight
        people = People(*np.divmod(pairs, len(persons)), None if flows.weight is None else of_person)
    nowhere = np.zeros(count, np.int64)
    return replace(
        flows,
        origin=nowhere,
        destination=nowhere,
        trips=np.bincount(atom, size, count).astype(np.int64),
        edges=np.array([0, count]),
        weight=None if flows.weight is None else np.bincount(atom, weight, count).astype(np.int64),
        people=people,
        matrices=pa.table({}),
        time=None,
        times=None,
    )
