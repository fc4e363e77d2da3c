"""Distinct persons by flow, whatever their ids look like.

Ids become numbers, many rows at a time: a hash table of all ids so far is built anew each time, so that the more ids
there are, the more rows wait. A person on a flow is then one number, and sorting finds those that come twice.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from flowveil._arrays import filled
from flowveil._errors import InputError
from flowveil._verify.forest import NONE

if TYPE_CHECKING:
    from flowveil._arrays import ChunkedColumn, Column, IntArray

_PERSON_BITS = 38  # persons and flows share 63 bits
_FEWEST_ROWS = 1_000_000  # that wait for numbers
_ROWS_A_PERSON = 4  # that wait for each id known: more take more memory and less time


class Persons:
    """Who was seen on which flow."""

    def __init__(self, *, shares: bool = False) -> None:
        """shares: count also how many trips each makes on a flow."""
        self._shares = shares
        self._ids: Column = pa.array([], pa.string())  # by person
        self._weight = np.zeros(0, np.int64)  # by person, in millionths
        self._visits = np.zeros(0, np.int64)  # flow and person, distinct and sorted
        self._trips = np.zeros(0, np.int64)  # of each visit, where shares are counted
        self._recent: list[tuple[IntArray, IntArray]] = []  # visits and their trips, not merged yet
        self._waiting: list[tuple[Column, IntArray, IntArray | None]] = []

    def add(self, ids: Column, flow: IntArray, weight: IntArray | None) -> None:
        """Note who makes trips, on which flows (-1 for none), and what they weigh, where that is asked for."""
        if weight is None:
            inside = flow != NONE
            ids, flow = ids.filter(pa.array(inside)), flow[inside]
        self._waiting.append((ids, flow, weight))
        if sum(len(rows) for rows, _, _ in self._waiting) >= max(_FEWEST_ROWS, _ROWS_A_PERSON * len(self._ids)):
            self._number()

    def count(self, flows_total: int) -> tuple[IntArray, IntArray]:
        """Return distinct persons and the sum of their weights, by flow."""
        self._number()
        self._merge()
        weight = np.zeros(flows_total, np.int64)
        if len(self._weight):
            flow, person = self._visits >> _PERSON_BITS, self._visits & ((1 << _PERSON_BITS) - 1)
            np.add.at(weight, flow, self._weight[person])
        return np.diff(np.searchsorted(self._visits, np.arange(flows_total + 1) << _PERSON_BITS)), weight

    def most(self, flows_total: int) -> IntArray:
        """Return by flow how many trips the person makes who makes most; `count` comes first."""
        most = np.zeros(flows_total, np.int64)
        np.maximum.at(most, self._visits >> _PERSON_BITS, self._trips)
        return most

    def weights(self) -> tuple[int, int]:
        """Return the weight of all persons together, published or not, and how many they are."""
        return int(self._weight.sum()), len(self._ids)

    def _number(self) -> None:
        """Give those who wait their numbers."""
        if not self._waiting:
            return
        ids = pa.chunked_array([rows for rows, _, _ in self._waiting])
        flow = np.concatenate([rows for _, rows, _ in self._waiting])
        weights = [rows for _, _, rows in self._waiting if rows is not None]
        self._waiting = []
        person = _places(ids, self._ids)
        if (new := np.flatnonzero(person == NONE)).size:
            unknown = ids.take(pa.array(new, pa.int64())).combine_chunks()
            names = unknown.unique()
            person[new] = len(self._ids) + _places(unknown, names)
            self._ids = pa.concat_arrays([self._ids, names])
        if weights:
            self._note_weights(person, np.concatenate(weights))
        inside = flow != NONE
        visits = (flow[inside] << _PERSON_BITS) | person[inside]
        self._recent.append(self._added_up(visits, np.ones(len(visits) if self._shares else 0, np.int64)))
        if sum(len(part) for part, _ in self._recent) > len(self._visits):  # only when it doubles: the work is linear
            self._merge()

    def _merge(self) -> None:
        parts = [(self._visits, self._trips), *self._recent]
        self._recent, self._visits, self._trips = [], self._visits[:0], self._trips[:0]
        visits, trips = (np.concatenate(column) for column in zip(*parts, strict=True))
        del parts
        self._visits, self._trips = self._added_up(visits, trips)

    def _added_up(self, visits: IntArray, trips: IntArray) -> tuple[IntArray, IntArray]:
        """Return the visits that differ, sorted, and the trips of each, which are none unless shares are counted."""
        if not self._shares:
            return _unique(visits), trips[:0]
        order = np.argsort(visits)
        visits, trips = visits[order], trips[order]
        first = np.flatnonzero(np.append(True, visits[1:] != visits[:-1])) if len(visits) else np.zeros(0, np.int64)
        return visits[first], np.add.reduceat(trips, first) if len(first) else trips

    def _note_weights(self, person: IntArray, weight: IntArray) -> None:
        room = np.full(len(self._ids), NONE, np.int64)
        room[: len(self._weight)] = self._weight
        new = room[person] == NONE
        room[person[new]] = weight[new]
        if (room[person] != weight).any():
            raise InputError(
                "a person has several weights", "a person has one weight; average it first, or give weights of trips"
            )
        self._weight = room


def _places(ids: Column | ChunkedColumn, names: Column) -> IntArray:
    """Return where ids are among names, -1 for nowhere."""
    return filled(pc.index_in(ids, value_set=names), NONE)


def _unique(values: IntArray) -> IntArray:
    """Sort values in place and return those that differ from the one before."""
    values.sort()
    return values[np.append(True, values[1:] != values[:-1])] if len(values) else values
