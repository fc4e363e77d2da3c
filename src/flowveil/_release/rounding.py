"""Rounding the numbers of a release to multiples of a base, up or down by chance, so that sums of flows agree.

Trips add up, so their sums are rounded with them (`circulation`). Persons do not: each number is rounded by itself, by
the same chance as the trips of its flow, so that a flow never has more persons than trips. Weights are refused before:
they would tell the true numbers.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from flowveil._folder import TOTAL
from flowveil._release.chance import draw_words
from flowveil._release.circulation import most_arcs, round_controlled

if TYPE_CHECKING:
    from collections.abc import Sequence

    from flowveil._arrays import BoolArray, IntArray, KeyArray


def round_table(
    table: pa.Table, base: int, secret: bytes, divided_by: Sequence[str], groups: Sequence[str]
) -> pa.Table:
    """Return flows with rounded numbers; the same table and secret give the same ones.

    divided_by: the columns that tell matrices apart, groups: those of them that say `total` in totals. Sums of what
    starts or ends in an area, of a matrix, and of all (totals by themselves) are rounded to the multiples around them.
    """
    keys = _keys(table, divided_by, groups)
    trips = _whole(table, "trips")
    up = round_controlled(trips, base, keys, draw_words(secret, "round trips", most_arcs(keys)))
    if "persons" in table.column_names:
        words = draw_words(secret, "round persons", len(trips))
        table = _put(table, "persons", _round_alike(_whole(table, "persons"), base, trips, up, words))
    return _put(table, "trips", trips - trips % base + base * up)


def _round_alike(persons: IntArray, base: int, trips: IntArray, up: BoolArray, words: KeyArray) -> IntArray:
    """Return rounded persons: each number n becomes the multiple at or below n + u.

    u is any of 0 to base - 1, as likely as the others, such that trips are rounded as they were by the same rule.
    """
    low = np.where(up, base - trips % base, 0)
    high = np.where(up, base, base - trips % base)
    u = low + (words % (high - low).astype(np.uint64)).astype(np.int64)
    rounded: IntArray = (persons + u) // base * base
    return rounded


def _keys(table: pa.Table, divided_by: Sequence[str], groups: Sequence[str]) -> list[IntArray]:
    """Return by flow whether it is a total, and the number of its matrix, origin and destination."""
    total = [value == TOTAL for value in table[groups[0]].to_pylist()] if groups else [False] * table.num_rows
    rows = list(zip(*(table[name].to_pylist() for name in divided_by), strict=True)) or [()] * table.num_rows
    columns = [rows, table["origin"].to_pylist(), table["destination"].to_pylist()]
    return [np.array(total, np.int64), *(_number(column) for column in columns)]


def _number(values: Sequence[object]) -> IntArray:
    number: dict[object, int] = {}
    return np.array([number.setdefault(value, len(number)) for value in values], np.int64)


def _whole(table: pa.Table, name: str) -> IntArray:
    return np.asarray(table[name].to_numpy(), np.int64)


def _put(table: pa.Table, name: str, values: IntArray) -> pa.Table:
    return table.set_column(table.column_names.index(name), table.schema.field(name), pa.array(values, pa.int64()))
