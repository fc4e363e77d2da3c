"""Counting the trips again, row by row, in memory that does not grow with the number of trips."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from flowveil._engine import scan
from flowveil._errors import InputError
from flowveil._processes import work_ahead
from flowveil._verify.forest import NONE
from flowveil._verify.persons import Persons
from flowveil._verify.rows import usable_rows, whole_millionths

if TYPE_CHECKING:
    import numpy.typing as npt

    from flowveil._arrays import Column, IntArray
    from flowveil._engine import Request
    from flowveil._verify.assignment import AssignedIndex
    from flowveil._verify.boxes import BoxIndex
    from flowveil._verify.elsewhere import ElsewhereIndex
    from flowveil._verify.ground import Ground
    from flowveil._verify.slots import Slots

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
    most: IntArray | None = None  # trips of the one person who makes most of them, where that is promised
    mean_weight: Fraction = Fraction(0)  # of persons, of trips without a unit, in millionths


@dataclass(frozen=True, eq=False)
class _Rows:
    """Usable rows of a batch."""

    rows: int  # of the batch, usable or not
    flow: IntArray  # -1 for none
    count: IntArray
    weight: IntArray | None  # in millionths
    unit: Column | None


def count_trips(
    request: Request,
    bbox: tuple[float, float, float, float] | None,
    ground: Ground,
    index: ElsewhereIndex | BoxIndex | AssignedIndex,
    slots: Slots,
    flows_total: int,
    *,
    shares: bool = False,
) -> Counts:
    """Read every trip, find the flow that holds it, and count; shares: also the most that one person makes."""
    trips = np.zeros(flows_total, np.int64)
    weight = np.zeros(flows_total, np.int64)
    persons = Persons(shares=shares)
    usable_trips = rows = all_weight = 0
    read = partial(_read, request=request, bbox=bbox, ground=ground, index=index, slots=slots)
    for seen in work_ahead(read, scan(request)):
        rows += seen.rows
        flow, inside = seen.flow, seen.flow != NONE
        usable_trips += int(seen.count.sum())
        np.add.at(trips, flow[inside], seen.count[inside])
        if seen.weight is not None:
            all_weight += int(seen.weight.sum())
            np.add.at(weight, flow[inside], seen.weight[inside])
        if max(usable_trips, all_weight) > _LARGEST_SUM:
            raise InputError("the sums of counts or weights pass 64 bits", "use smaller counts or weights")
        if seen.unit is not None:
            persons.add(seen.unit, flow, None if request.weighs_trips else seen.weight)
    distinct, crowd = persons.count(flows_total) if request.unit else (None, weight)
    return Counts(
        trips=trips,
        persons=distinct,
        weight=weight if request.weight else None,
        crowd_weight=crowd if request.weight and not request.weighs_trips else None,
        usable_trips=usable_trips,
        rows=rows,
        most=persons.most(flows_total) if shares else None,
        mean_weight=_mean(*(persons.weights() if request.unit else (all_weight, usable_trips))),
    )


def _read(
    batch: pa.RecordBatch,
    request: Request,
    bbox: tuple[float, float, float, float] | None,
    ground: Ground,
    index: ElsewhereIndex | BoxIndex | AssignedIndex,
    slots: Slots,
) -> _Rows:
    """Find the flows of rows. Most of the time goes here, on all cores."""
    origin, destination, known = ground.locate(batch, usable_rows(batch, request, bbox))
    return _Rows(
        rows=batch.num_rows,
        flow=index.locate(origin[known], destination[known], slots.locate(batch, known)),
        count=_column(batch, "count")[known].astype(np.int64) if request.count else np.ones(known.sum(), np.int64),
        weight=whole_millionths(_column(batch, "weight")[known], request.weight) if request.weight else None,
        unit=batch.column("unit").filter(pa.array(known)) if request.unit else None,
    )


def _mean(total: int, count: int) -> Fraction:
    return Fraction(total, max(count, 1))


def _column(batch: pa.RecordBatch, name: str) -> npt.NDArray[Any]:  # Any: as the engine has it
    return np.asarray(batch.column(name).to_numpy(zero_copy_only=False))
