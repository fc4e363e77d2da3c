"""Separate matrices: one for each step of time and group."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from flowveil._errors import InputError
from flowveil._options import parse_choice

if TYPE_CHECKING:
    from collections.abc import Sequence

    from flowveil import _engine as engine
    from flowveil._arrays import Column, IntArray
    from flowveil._times import TimeSteps

# Columns of a release that a group cannot be called by, in any case: SQL does not tell Trips from trips.
_RESERVED = frozenset({"origin", "destination", "time", "time_end", "trips", "persons", "weight", "remainder"})


def check_groups(by: Sequence[str], available: Sequence[str], unit: str | None) -> None:
    """Raise unless groups can be told apart by these columns."""
    for column in by:
        parse_choice(column, "column", available)
        if column.lower() in _RESERVED:
            raise InputError(f"a group cannot be called {column!r}: releases use that name", "rename the column")
        if column == unit:
            raise InputError(f"{column!r} is both unit and group", "every person would be a group of its own")
    if len({column.lower() for column in by}) < len(by):
        raise InputError("a column of groups is named twice", "name each column once")


def number_matrices(
    counted: engine.Aggregate, steps: TimeSteps | None, by: Sequence[str]
) -> tuple[list[IntArray], IntArray, pa.Table]:
    """Return what entries are sorted by, edges of matrices and their keys: `time` if there are steps, then groups.

    Entries are sorted by their matrix, one array; by nothing where there is a single one. Keys are sorted.
    """
    codes: list[IntArray] = []
    columns: list[tuple[str, Column]] = []
    if steps is not None and counted.time is not None:
        distinct, code = np.unique(counted.time, return_inverse=True)
        codes.append(code)
        columns.append(("time", steps.values(distinct)))
    for name, labels in zip(by, counted.by, strict=True):
        codes.append(labels.code)
        columns.append((name, pa.array(labels.values, pa.string())))
    if not codes:
        return [], np.array([0, len(counted.trips)]), pa.table({})
    key = np.zeros(len(counted.trips), np.int64)
    for code, (_, values) in zip(codes, columns, strict=True):
        key = key * len(values) + code
    _, first, matrix = np.unique(key, return_index=True, return_inverse=True)
    keys = {
        name: values.take(pa.array(code[first], pa.int64()))
        for code, (name, values) in zip(codes, columns, strict=True)
    }
    return [matrix], np.append(0, np.cumsum(np.bincount(matrix))), pa.table(keys)
