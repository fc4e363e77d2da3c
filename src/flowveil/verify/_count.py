"""Counting the trips again, row by row, in memory that does not grow with the number of trips."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from flowveil._errors import InputError
from flowveil.engine import scan
from flowveil.verify._forest import NONE
from flowveil.verify._rows import usable_rows, whole_millionths

if TYPE_CHECKING:
    import numpy.typing as npt
    import pyarrow as pa

    from flowveil._arrays import IntArray
    from flowveil.engine import Request
    from flowveil.verify._assignment import AssignedIndex
    from flowveil.verify._boxes import BoxIndex
    from flowveil.verify._elsewhere import ElsewhereIndex
    from flowveil.verify._ground import Ground
    from flowveil.verify._slots import Slots

_PERSON_BITS = 38  # persons and flows share 63 bits
_LARGEST_SUM = 2**62


@dataclass(frozen=True, eq=False)
class Counts:
    """What the input says of each published flow."""

    trips: IntArray
    persons: IntArray | None  # distinct
    weight: IntArray | None  # summed over trips, in millionths
    crowd_weight: IntArray | None  # summed over distinct persons, over trips without a unit
    usable_trips: int
    rows: int
    mean_weight: Fraction = Fraction(0)  # of persons, of trips without a unit, in millionths


def count_trips(
    request: Request,
    bbox: tuple[float, float, float, float] | None,
    ground: Ground,
    index: ElsewhereIndex | BoxIndex | AssignedIndex,
    slots: Slots,
    flows_total: int,
) -> Counts:
    """Read every trip, find the flow that holds it, and count."""
    trips = np.zeros(flows_total, np.int64)
    weight = np.zeros(flows_total, np.int64)
    persons = _Persons()
    usable_trips = rows = all_weight = 0
    for batch in scan(request):
        rows += batch.num_rows
        origin, destination, known = ground.locate(batch, usable_rows(batch, request, bbox))
        flow = index.locate(origin[known], destination[known], slots.locate(batch, known))
        inside = flow != NONE
        count = _column(batch, "count")[known].astype(np.int64) if request.count else np.ones(len(flow), np.int64)
        usable_trips += int(count.sum())
        np.add.at(trips, flow[inside], count[inside])
        millionths = None
        if request.weight:
            millionths = whole_millionths(_column(batch, "weight")[known], request.weight)
            all_weight += int(millionths.sum())
            np.add.at(weight, flow[inside], millionths[inside])
        if max(usable_trips, all_weight) > _LARGEST_SUM:
            raise InputError("the sums of counts or weights pass 64 bits", "use smaller counts or weights")
        if request.unit:
            persons.add(batch.column("unit"), np.flatnonzero(known), flow, millionths)
    distinct, crowd = persons.count(flows_total) if request.unit else (None, weight)
    return Counts(
        trips=trips,
        persons=distinct,
        weight=weight if request.weight else None,
        crowd_weight=crowd if request.weight else None,
        usable_trips=usable_trips,
        rows=rows,
        mean_weight=_mean(*(persons.weights() if request.unit else (all_weight, usable_trips))),
    )


class _Persons:
    """Who was seen on which flow."""

    def __init__(self) -> None:
        self._number: dict[str, int] = {}
        self._weight = np.full(0, NONE, np.int64)  # by person, in millionths
        self._visits = np.zeros(0, np.int64)  # distinct (flow, person)
        self._waiting: list[IntArray] = []
        self._waiting_total = 0

    def add(self, units: pa.Array, rows: IntArray, flow: IntArray, weight: IntArray | None) -> None:
        encoded = units.take(rows).dictionary_encode()
        names = encoded.dictionary.to_pylist()
        numbers = np.array([self._number.setdefault(name, len(self._number)) for name in names], np.int64)
        person = numbers[np.asarray(encoded.indices, np.int64)] if len(names) else np.zeros(0, np.int64)
        if weight is not None:
            self._note_weights(person, weight)
        inside = flow != NONE
        visits = np.unique((flow[inside] << _PERSON_BITS) | person[inside])
        self._waiting.append(visits)
        self._waiting_total += len(visits)
        if self._waiting_total > len(self._visits):  # merging only when it doubles keeps the work linear
            self._merge()

    def count(self, flows_total: int) -> tuple[IntArray, IntArray]:
        """Return distinct persons and the sum of their weights, by flow."""
        self._merge()
        flow, person = self._visits >> _PERSON_BITS, self._visits & ((1 << _PERSON_BITS) - 1)
        weight = np.zeros(flows_total, np.int64)
        if len(self._weight):
            np.add.at(weight, flow, self._weight[person])
        return np.bincount(flow, minlength=flows_total).astype(np.int64), weight

    def weights(self) -> tuple[int, int]:
        """Return the weight of all persons together, published or not, and how many they are."""
        return int(self._weight[: len(self._number)].sum()), len(self._number)

    def _merge(self) -> None:
        self._visits = np.unique(np.concatenate([self._visits, *self._waiting]))
        self._waiting, self._waiting_total = [], 0

    def _note_weights(self, person: IntArray, weight: IntArray) -> None:
        if len(self._number) > len(self._weight):
            room = np.full(2 * len(self._number), NONE, np.int64)
            room[: len(self._weight)] = self._weight
            self._weight = room
        new = self._weight[person] == NONE
        self._weight[person[new]] = weight[new]
        if (self._weight[person] != weight).any():
            raise InputError(
                "a person has several weights", "a person has one weight; average it first, or leave out the unit"
            )


def _mean(total: int, count: int) -> Fraction:
    return Fraction(total, max(count, 1))


def _column(batch: pa.RecordBatch, name: str) -> npt.NDArray[Any]:
    return np.asarray(batch.column(name).to_numpy(zero_copy_only=False))
