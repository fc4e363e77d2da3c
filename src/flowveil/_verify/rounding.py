"""Rounded numbers: multiples of the base, with sums that are as close to the true ones as single numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from flowveil._verify.broken import broken

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from flowveil._arrays import IntArray
    from flowveil._verify.count import Counts
    from flowveil._verify.tables import FlowTable

_MILLION = 1_000_000


def check_multiples(flows: FlowTable, base: int) -> None:
    """Raise unless every published number is a multiple of the base."""
    for name, values in (("trips", flows.trips), ("persons", flows.persons), ("weight", flows.weight)):
        if values is not None and (values % base).any():
            flow = flows.name(int(np.argmax(values % base > 0)))
            raise broken(f"the flow {flow} has {name} that are not a multiple of {base}")


def check_sums(flows: FlowTable, counts: Counts, slot: IntArray, base: int) -> None:
    """Raise unless sums of trips and weights differ from the true ones by less than the base.

    slot: by flow its step of time and group. Single numbers are checked elsewhere.
    """
    pairs = [("trips", flows.trips, counts.trips)]
    if flows.weight is not None and counts.weight is not None:
        pairs.append(("weight", flows.weight, (counts.weight + _MILLION // 2) // _MILLION))
    for name, published, true in pairs:
        for what, group in _groups(flows, slot):
            off = np.bincount(group, (published - true).astype(np.float64))
            if (np.abs(off) >= base).any():
                raise broken(f"the sum of the {name} of {what} differs from the true one by {base} or more")


def _groups(flows: FlowTable, slot: IntArray) -> Iterator[tuple[str, IntArray]]:
    """Yield what sums are of, and by flow the number of its sum."""
    yield "all flows", np.zeros(len(flows), np.int64)
    yield "a time and group", slot
    for what, ids in (("all flows from an area", flows.origin), ("all flows to an area", flows.destination)):
        yield what, _number(list(zip(slot.tolist(), ids, strict=True)))


def _number(keys: Sequence[tuple[int, str]]) -> IntArray:
    number: dict[tuple[int, str], int] = {}
    return np.array([number.setdefault(key, len(number)) for key in keys], np.int64)
