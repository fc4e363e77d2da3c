"""Compiled search for sets of places that too few users share.

A record is what is kept of a user: cells, each once, in the order they were settled. Cells are numbered by how many
users were seen there, the most visited first, and settled in this order.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from flowveil._compiled import compiled

if TYPE_CHECKING:
    from flowveil._arrays import BoolArray, IntArray


class Records(NamedTuple):
    """What is kept of each user so far."""

    cells: IntArray  # by user, ascending
    first: IntArray  # by user: where the cells begin
    end: IntArray  # by user: where they end


class Visits(NamedTuple):
    """Who was seen in each cell."""

    users: IntArray  # by cell
    first: IntArray  # by cell: where its users begin, and the end


@compiled
def settle(visits: Visits, records: Records, k: int, known: int) -> BoolArray:
    """Give every cell to as many of its users as can have it; return for each visit whether it is kept.

    At its turn a cell is kept by the largest part of its users such that each set of it and at most known - 1 cells
    settled before is in the records of none or at least k of them. Later turns take nothing from earlier cells, so that
    in the end every set of at most `known` cells is in no record, or in k.
    """
    users, first = visits
    kept = np.zeros(len(users), np.bool_)
    count = np.zeros((max(known - 1, 1), len(first) - 1), np.int64)
    for cell in range(len(first) - 1):
        spots = np.arange(first[cell], first[cell + 1])
        while len(spots) >= k:
            bad = _find_rare(users[spots], records, cell, known - 1, k, count)
            if not bad.any():
                break
            spots = spots[~bad]
        if len(spots) < k:
            continue
        for spot in spots:
            kept[spot] = True
            records.cells[records.end[users[spot]]] = cell
            records.end[users[spot]] += 1
    return kept


@compiled
def _find_rare(users: IntArray, records: Records, below: int, more: int, k: int, count: IntArray) -> BoolArray:
    """Return which of some users have a set of at most `more` cells below one that fewer than k of them have.

    count: a row of zeros by cell for each of `more`; it is left as it was.
    """
    bad = np.zeros(len(users), np.bool_)
    if more < 1:
        return bad
    own = count[more - 1]
    cells, whose = _cells_of(users, records, below)
    for cell in cells:
        own[cell] += 1
    for cell, spot in zip(cells, whose):  # noqa: B905  numba knows no strict
        bad[spot] |= own[cell] < k
    if more > 1 and not bad.any():
        for cell in np.unique(cells):
            if own[cell] < len(users):  # a cell that all have tells nothing that was not counted here
                spots = _having(users, records, cell, own[cell])
                rare = _find_rare(users[spots], records, cell, more - 1, k, count)
                for place, spot in enumerate(spots):
                    bad[spot] |= rare[place]
    for cell in cells:
        own[cell] = 0
    return bad


@compiled
def _cells_of(users: IntArray, records: Records, below: int) -> tuple[IntArray, IntArray]:
    """Return the cells below one of all records of some users, and for each where its user is among them."""
    many = 0
    for user in users:
        many += records.end[user] - records.first[user]
    cells, whose = np.empty(many, np.int64), np.empty(many, np.int64)
    found = 0
    for spot, user in enumerate(users):
        for entry in range(records.first[user], records.end[user]):
            if records.cells[entry] >= below:
                break
            cells[found], whose[found] = records.cells[entry], spot
            found += 1
    return cells[:found], whose[:found]


@compiled
def _having(users: IntArray, records: Records, cell: int, many: int) -> IntArray:
    """Return where the users are who have a cell; there are so many."""
    spots = np.empty(many, np.int64)
    found = 0
    for spot, user in enumerate(users):
        own = records.cells[records.first[user] : records.end[user]]
        place = np.searchsorted(own, cell)
        if place < len(own) and own[place] == cell:
            spots[found] = spot
            found += 1
    return spots
