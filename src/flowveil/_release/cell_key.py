"""The cell-key method: numbers are changed by a little that depends on which trips they count, and on a secret.

Fraser and Wooton (2005), as the Australian Bureau of Statistics and European offices use it. Every record has a key, a
whole number below 2**64 that cannot be told from chance. The keys of all records of a flow are added (modulo 2**64),
and the sum looks up by how much the number is changed. So the same trips are changed alike wherever they are published,
and to publish them again gives no second draw. A record is a pair of tiles with its number of trips: it does not matter
which areas, times or groups it is counted in.
"""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from flowveil._arrays import FloatArray, IntArray, KeyArray
    from flowveil._flows import Flows

_UNIT = 2.0**-64
_STEPS = 200  # of bisection: more than doubles can tell apart


def cell_keys(flows: Flows, group: IntArray, count: int, secret: bytes) -> KeyArray:
    """Return the key of each flow, given by tile pair the flow that counts it, -1 for none."""
    inside = np.flatnonzero(group >= 0)
    ends = [
        tree.key[leaf[inside]].astype(np.uint64)
        for tree, leaf in ((flows.origins, flows.origin), (flows.destinations, flows.destination))
    ]
    records = np.column_stack([*ends, flows.trips[inside].astype(np.uint64)]).astype(">u8")
    keyed = hashlib.blake2b(b"record", key=secret, digest_size=8)
    keys = np.empty(len(records), np.uint64)
    for place, record in enumerate(records):
        one = keyed.copy()
        one.update(record.tobytes())
        keys[place] = int.from_bytes(one.digest(), "big")
    sums = np.zeros(count, np.uint64)
    np.add.at(sums, group[inside], keys)  # wraps around, as it should
    return sums


def look_up(keys: KeyArray, most: int, secret: bytes, label: str) -> IntArray:
    """Return by how much numbers are changed: whole numbers from -most to most, 0 on average."""
    below = np.cumsum(perturbations(most))
    keyed = hashlib.blake2b(label.encode(), key=secret, digest_size=8)
    words = np.empty(len(keys), np.uint64)
    for place, key in enumerate(keys.tolist()):
        one = keyed.copy()
        one.update(key.to_bytes(8, "big"))
        words[place] = int.from_bytes(one.digest(), "big")
    found: IntArray = np.searchsorted(below[:-1], words * _UNIT, side="right") - most
    return found


def change_persons(change: IntArray, more: IntArray, keys: KeyArray, most: int, secret: bytes) -> IntArray:
    """Return by how much numbers of persons are changed, given the change of trips: by at most `most`, 0 on average.

    more: trips of a flow beyond its persons, or `most` if there are more. Persons are changed like trips, and by up to
    so much more or less: never to more than trips, and such that the difference of both is not told.
    """
    apart = np.zeros(len(change), np.int64)
    for size in np.unique(more[more > 0]).tolist():
        rows = np.flatnonzero(more == size)
        apart[rows] = look_up(keys[rows], size, secret, "persons")
    bounded: IntArray = np.clip(change + apart, -most, most)
    return bounded


def perturbations(most: int) -> FloatArray:
    """Return how likely each change from -most to most is.

    Of all distributions with mean 0 and half the variance of an even one it has the largest entropy: it falls with the
    square of the change (Giessing, 2016), and how fast is found by bisection.
    """
    change = np.arange(-most, most + 1)
    wanted = most * (most + 1) / 6
    low, high = 0.0, 50.0
    for _ in range(_STEPS):
        middle = (low + high) / 2
        likely = np.exp(-middle * change**2)
        low, high = (middle, high) if (likely @ change**2) / likely.sum() > wanted else (low, middle)
    likely = np.exp(-low * change**2)
    shares: FloatArray = likely / likely.sum()
    return shares
