"""Compiled loops of remainders: what finer flows leave of a cell. Imported only when a method runs.

Each is compiled from a plain Python function of the same name with an underscore, which tests run as it stands. All
work on a run of cells, which are parts of each other only.

Trips of a cell that none of its finer flows counts are left over. If they are enough, the cell may publish them: that
is its remainder. What it does not publish is left over for a larger cell.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from flowveil._compiled import compiled
from flowveil._methods.record_kernels import child_holding, node_split, part_with

if TYPE_CHECKING:
    import numpy.typing as npt

    from flowveil._arrays import BoolArray, FloatArray, IntArray
    from flowveil._methods.kernels import Cells, ChoiceArray, LinkArray
    from flowveil._methods.record_kernels import Records, Splitters
    from flowveil._places import Ways

    FloatTable = npt.NDArray[np.float64]


class Parts(NamedTuple):
    """The parts of the splits of a run: those of its split s are `part[start[s]]` to `part[start[s + 1] - 1]`."""

    start: LinkArray
    part: LinkArray  # cells; ascending


class Given(NamedTuple):
    """A run of cells, and what a remainder needs."""

    first: int  # cell of the run
    cells: Cells
    parts: Parts  # of the splits of the run
    need: int  # the fewest trips of a remainder


def _rate_of(cell: int, cells: Cells) -> float:
    """Return what a trip costs in the flow of a cell; 0 where the cell may not be published."""
    return cells.loss[cell] / cells.trips[cell] if cells.loss[cell] < np.inf else 0.0


rate_of = compiled(_rate_of)


def _join_parts(cell: int, split: int, given: Given, left: FloatTable, rows: FloatTable) -> int:
    """Fill in what a split of a cell costs by trips left over (the columns); return the row of all parts together.

    left: by cell of the run and trips left over, the least cost. Row 0 is before any part. Trips left over count at
    their price in the flow of the cell: so the last column can stand for all numbers of trips from its own on.
    """
    first, cells, parts, need = given
    begin = cells.first_split[first]
    rate = rate_of(cell, cells)
    withheld = int(cells.withheld[split])
    rows[0, :] = np.inf
    rows[0, min(withheld, need)] = rate * withheld
    row = 0
    for entry in range(parts.start[split - begin], parts.start[split - begin + 1]):
        part = parts.part[entry] - first
        rows[row + 1, :] = np.inf
        for more in range(need):
            cost = left[part, more] + rate * more
            if cost < np.inf:
                for before in range(need - more):
                    rows[row + 1, before + more] = min(rows[row + 1, before + more], rows[row, before] + cost)
                for before in range(need - more, need + 1):
                    rows[row + 1, need] = min(rows[row + 1, need], rows[row, before] + cost)
        row += 1
    return row


join_parts = compiled(_join_parts)


def _empty_rows(given: Given) -> FloatTable:
    """Return room for the parts of any split of a run."""
    start = given.parts.start
    most = 0
    for split in range(len(start) - 1):
        most = max(most, start[split + 1] - start[split])
    return np.empty((most + 1, given.need + 1))


empty_rows = compiled(_empty_rows)


def _leave_over(stop: int, given: Given) -> FloatTable:
    """Return for every cell up to `stop` - 1, by trips left over (fewer than a remainder needs), the least loss.

    It is that of the flows inside the cell, infinite where so many trips cannot be left over.
    """
    first, cells, _, need = given
    left = np.full((stop - first, need), np.inf)
    rows = empty_rows(given)
    best = np.empty(need + 1)
    for cell in range(stop - 1, first - 1, -1):
        best[:] = np.inf
        for split in range(cells.first_split[cell], cells.first_split[cell + 1]):
            if cells.allowed[split]:
                row = join_parts(cell, split, given, left, rows)
                for column in range(need + 1):
                    best[column] = min(best[column], rows[row, column])
        rate = rate_of(cell, cells)
        here = cell - first
        for column in range(need):
            left[here, column] = best[column] - rate * column
        if cells.trips[cell] < need:
            left[here, cells.trips[cell]] = 0.0
        if cells.loss[cell] < np.inf:
            left[here, 0] = min(left[here, 0], best[need], cells.loss[cell])
    return left


leave_over = compiled(_leave_over)


def _choose_split(cell: int, over: int, given: Given, left: FloatTable, rows: FloatTable) -> tuple[int, int]:
    """Return the split and its column that `leave_over` took for so many trips left over; -1 for no split.

    The last column is the cell's remainder, which is published. Of equals the finest is taken.
    """
    _, cells, _, need = given
    if over == cells.trips[cell]:
        return -1, over
    best, best_split, best_column = np.inf, -1, over
    for split in range(cells.first_split[cell], cells.first_split[cell + 1]):
        if cells.allowed[split]:
            row = join_parts(cell, split, given, left, rows)
            if rows[row, over] < best:
                best, best_split, best_column = rows[row, over], split, over
            if over == 0 and cells.loss[cell] < np.inf and rows[row, need] < best:
                best, best_split, best_column = rows[row, need], split, need
    if over == 0 and cells.loss[cell] < best:
        best_split = -1
    return best_split, best_column


choose_split = compiled(_choose_split)


def _last_part(column: int, before: FloatArray, cost: FloatArray) -> tuple[int, int]:
    """Return the trips that a part leaves over, and the column of the parts before it, that cost least for a column.

    before: what the parts before it cost by column. cost: what it costs itself by trips left over. All at the price of
    the cell, as in `join_parts`.
    """
    need = len(cost)
    best, best_more, best_place = np.inf, -1, -1
    for more in range(need):
        low = column - more
        high = column if column == need else low
        for place in range(max(low, 0), high + 1):
            if before[place] + cost[more] < best:
                best, best_more, best_place = before[place] + cost[more], more, place
    return best_more, best_place


last_part = compiled(_last_part)


class Traced(NamedTuple):
    """How the flows inside cells are made, by cell of a run."""

    choice: ChoiceArray  # one of its splits (from 1), or none (0)
    published: BoolArray  # it publishes what finer flows leave of it
    above: IntArray  # of a published cell: the smallest published one that holds it, -1 for none


def _trace(tops: IntArray, choice: ChoiceArray, given: Given, left: FloatTable) -> Traced:
    """Return how the flows inside some cells are made of which no trip is left over.

    choice: by cell of the run, how other cells are split; it is changed in place.
    """
    first, cells, parts, need = given
    published = np.zeros(len(left), np.bool_)
    above = np.full(len(left), -1, np.int64)
    over = np.zeros(len(left), np.int64)  # by cell: trips that it leaves over
    rows = empty_rows(given)
    stack = np.empty(len(left), np.int64)
    stack[: len(tops)] = tops
    count = len(tops)
    while count:
        count -= 1
        cell = stack[count]
        here = cell - first
        split, column = choose_split(cell, over[here], given, left, rows)
        published[here] = over[here] == 0 and (split < 0 or column == need)
        choice[here] = 0
        if split < 0:
            continue
        choice[here] = split - cells.first_split[cell] + 1
        row = join_parts(cell, split, given, left, rows)
        priced = np.arange(need) * rate_of(cell, cells)
        begin = parts.start[split - cells.first_split[first]]
        while row:
            row -= 1
            part = parts.part[begin + row] - first
            over[part], column = last_part(column, rows[row], left[part] + priced)
            above[part] = cell if published[here] else above[here]
            stack[count] = part + first
            count += 1
    return Traced(choice, published, above)


trace = compiled(_trace)


class Followed(NamedTuple):
    """What was traced in a run of cells."""

    first: int  # cell of the run
    traced: Traced
    parts: Parts


def _part_holding(
    cell: int, record: int, records: Records, followed: Followed, splitters: Splitters, ways: tuple[Ways, ...]
) -> int:
    """Return the part of a cell, split as was traced, that holds a record; -1 if it is no cell."""
    first, traced, parts = followed
    split = splitters.first_split[cell] + traced.choice[cell - first] - 1
    axis, place = splitters.axis[split], split - splitters.first_split[first]
    of_axis, splitter = ways[axis], node_split(cell, split, splitters, ways)
    rank = records.rank[axis][of_axis.tree[splitter], record]
    child = child_holding(rank, of_axis.first_child[splitter], of_axis.end_child[splitter], of_axis.low)
    low, high = parts.start[place], parts.start[place + 1]
    return int(part_with(of_axis.area[child], low, high, parts.part, splitters.node[axis]))


part_holding = compiled(_part_holding)


def _flow_of_records(records: Records, followed: Followed, splitters: Splitters, ways: tuple[Ways, ...]) -> IntArray:
    """Return for every record the smallest published cell that holds it, -1 where none does; ways: by axis."""
    first, traced, _ = followed
    cell_of = np.full(len(records.top), -1, np.int64)
    for record in range(len(cell_of)):
        cell = records.top[record]
        while cell >= 0:
            if traced.published[cell - first]:
                cell_of[record] = cell
            if traced.choice[cell - first] <= 0:
                break
            cell = part_holding(cell, record, records, followed, splitters, ways)
    return cell_of


flow_of_records = compiled(_flow_of_records)
