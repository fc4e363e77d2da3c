"""Compiled upkeep of nearest neighbors: rows of a triangular matrix, or bounded lists."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from flowveil._compiled import Whole, compiled
from flowveil._trajectories.kernels import Groups, stretch

if TYPE_CHECKING:
    from flowveil._arrays import BoolArray, FloatArray, IntArray


class State(NamedTuple):
    """Groups, which of them take part, which are finished, and the loop that compares them."""

    groups: Groups
    sweep: bool
    alive: BoolArray
    done: BoolArray


class Lists(NamedTuple):
    """The nearest of every row among larger ids, ordered by stretch, then id."""

    values: FloatArray  # one row a group, one column an entry: stretch
    ids: IntArray  # by entry: the other group
    stamps: IntArray  # by entry: the stamp of that group when it was entered
    stamp: IntArray  # by group: grows when the group changes, so that entries of what it was do not count
    counts: IntArray  # by row: entries
    cut_value: FloatArray  # by row: stretch and id of the last that fitted; what is not listed comes after
    cut_id: IntArray


class Fronts(NamedTuple):
    """The nearest of every row among larger ids: its stretch and id; a lower bound and -1 where it is not known."""

    value: FloatArray
    group: IntArray


@compiled
def list_row(
    state: State,
    group: int,
    first: int,
    step: int,
    values: FloatArray,
    ids: IntArray,
) -> tuple[int, int]:
    """Fill `values` and `ids` with the nearest of groups first, first + step, ...; return how many, out of how many.

    Ordered by stretch, then id. What does not fit comes after the last.
    """
    alive, done = state.alive, state.done
    length, count, seen = len(values), 0, 0
    for other in range(first, len(alive), step):
        if not alive[other] or other == group or (done[group] and done[other]):
            continue
        seen += 1
        most = values[length - 1] if count == length else np.inf
        value = stretch(state.groups, group, other, most, state.sweep)
        if count == length and value >= most:
            continue
        spot = count if count < length else length - 1
        while spot > 0 and values[spot - 1] > value:
            values[spot], ids[spot] = values[spot - 1], ids[spot - 1]
            spot -= 1
        values[spot], ids[spot] = value, other
        count = min(count + 1, length)
    return count, seen


@compiled
def list_rows(
    state: State,
    first: int,
    last: int,
    step: int,
    lists: Lists,
) -> None:
    """Fill the lists of rows first, first + step, ... with larger ids."""
    values, ids, counts, cut_value, cut_id = lists.values, lists.ids, lists.counts, lists.cut_value, lists.cut_id
    next_one: Whole = np.int64(1)
    for row in range(first, last, step):
        counts[row], seen = list_row(state, row, row + 1, next_one, values[row], ids[row])
        if seen > counts[row]:
            cut_value[row], cut_id[row] = values[row, counts[row] - 1], ids[row, counts[row] - 1]
        else:
            cut_value[row], cut_id[row] = np.inf, len(state.alive)


@compiled
def offer(
    state: State,
    group: int,
    first: int,
    step: int,
    lists: Lists,
) -> None:
    """Enter a new group into the lists of rows first, first + step, ... below it, where it belongs there."""
    values, ids, stamps, stamp, counts, cut_value, cut_id = lists
    alive, done = state.alive, state.done
    length = values.shape[1]
    for row in range(first, group, step):
        if not alive[row] or (done[group] and done[row]):
            continue
        value = stretch(state.groups, row, group, cut_value[row], state.sweep)
        if value > cut_value[row] or (value == cut_value[row] and group > cut_id[row]):
            continue
        count = 0
        for entry in range(counts[row]):  # entries of groups that are gone make room
            other = ids[row, entry]
            if alive[other] and stamps[row, entry] == stamp[other]:
                values[row, count], ids[row, count], stamps[row, count] = values[row, entry], other, stamp[other]
                count += 1
        if count == length:
            count -= 1
            last_value, last_id = values[row, count], ids[row, count]
            if value > last_value or (value == last_value and group > last_id):
                cut_value[row], cut_id[row] = value, group
                counts[row] = length
                continue
            cut_value[row], cut_id[row] = last_value, last_id
        spot = count
        while spot > 0 and (
            values[row, spot - 1] > value or (values[row, spot - 1] == value and ids[row, spot - 1] > group)
        ):
            values[row, spot], ids[row, spot] = values[row, spot - 1], ids[row, spot - 1]
            stamps[row, spot] = stamps[row, spot - 1]
            spot -= 1
        values[row, spot], ids[row, spot], stamps[row, spot] = value, group, stamp[group]
        counts[row] = count + 1


@compiled
def list_fronts(
    alive: BoolArray,
    lists: Lists,
    fronts: Fronts,
) -> None:
    """Set the nearest of every row; where its list has run out, a bound and -1."""
    values, ids, stamps, stamp, counts, cut_value, _ = lists
    for row in range(len(alive)):
        fronts.value[row], fronts.group[row] = np.inf, -1
        if not alive[row]:
            continue
        fronts.value[row] = cut_value[row]
        for entry in range(counts[row]):
            other = ids[row, entry]
            if alive[other] and stamps[row, entry] == stamp[other]:
                fronts.value[row], fronts.group[row] = values[row, entry], other
                break


@compiled
def matrix_rows(
    state: State,
    first: int,
    step: int,
    matrix: FloatArray,
) -> None:
    """Fill rows first, first + step, ... of the triangle of stretches, right of the diagonal."""
    count = state.groups.place.shape[1]
    for row in range(first, count, step):
        spot = row * count - row * (row + 1) // 2 - row - 1
        for other in range(row + 1, count):
            matrix[spot + other] = stretch(state.groups, row, other, np.inf, state.sweep)


@compiled
def matrix_update(
    state: State,
    group: int,
    first: int,
    step: int,
    matrix: FloatArray,
    fronts: Fronts,
) -> None:
    """Compare a new group with groups first, first + step, ... and note it where it is now the nearest."""
    alive, done = state.alive, state.done
    count = len(alive)
    for other in range(first, count, step):
        if other == group or not alive[other]:
            continue
        low, high = min(other, group), max(other, group)
        value = np.inf
        if not (done[group] and done[other]):
            value = stretch(state.groups, low, high, np.inf, state.sweep)
        matrix[low * count - low * (low + 1) // 2 - low - 1 + high] = value
        if other < group and (
            value < fronts.value[other] or (value == fronts.value[other] and fronts.group[other] > group)
        ):
            fronts.value[other], fronts.group[other] = value, group


@compiled
def matrix_front(alive: BoolArray, row: int, matrix: FloatArray) -> tuple[float, int]:
    """Return the nearest of a row's larger ids."""
    count = len(alive)
    spot = row * count - row * (row + 1) // 2 - row - 1
    least, nearest = np.inf, -1
    for other in range(row + 1, count):
        if alive[other] and matrix[spot + other] < least:
            least, nearest = matrix[spot + other], other
    return least, nearest
