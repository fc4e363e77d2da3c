"""Compiled loops that find the published cell of each record. Imported only when a method runs: numba is slow.

Each is compiled from a plain Python function of the same name with an underscore, which tests run as it stands.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from flowveil._compiled import compiled

if TYPE_CHECKING:
    import numpy.typing as npt

    from flowveil._arrays import IntArray
    from flowveil._places import Ways
    from flowveil._problem import Links

    ChoiceArray = npt.NDArray[np.int8]
    LinkArray = npt.NDArray[np.int32]


class Records(NamedTuple):
    """Records, each with the cell that choices begin with, -1 for none, and by axis its ranks, one row a tree."""

    top: IntArray  # equal ones are adjacent
    rank: tuple[IntArray, ...]


class Chosen(NamedTuple):
    """The choices in a run of cells."""

    first: int  # cell of the run
    choice: ChoiceArray  # by cell of the run


class Splitters(NamedTuple):
    """What says which node a split of a cell splits."""

    first_split: LinkArray  # by cell
    axis: npt.NDArray[np.int8]  # by split
    node: IntArray  # by axis (the rows) and cell


class Desk(NamedTuple):
    """Room to work in."""

    order: IntArray  # records; those of a cell are adjacent
    child: IntArray  # by place in the order: the node that holds the record
    spare: IntArray  # two rows as long as these


def _child_holding(rank: int, first: int, end: int, low: IntArray) -> int:
    """Return which of the sibling nodes `first` to `end` - 1 holds the tile of a rank."""
    while end - first > 1:
        middle = (first + end) // 2
        if low[middle] <= rank:
            first = middle
        else:
            end = middle
    return first


child_holding = compiled(_child_holding)


def _part_records(begin: int, end: int, rank: IntArray, node: int, ways: Ways, desk: Desk) -> None:
    """Sort the records at some places of the order by the child of a node that holds each."""
    order, child, spare = desk.order, desk.child, desk.spare
    first, stop = ways.first_child[node], ways.end_child[node]
    place = np.zeros(stop - first + 1, np.int64)
    for position in range(begin, end):
        spare[0, position] = order[position]
        spare[1, position] = child_holding(rank[order[position]], first, stop, ways.low)
        place[spare[1, position] - first + 1] += 1
    place[0] = begin
    for below in range(stop - first):
        place[below + 1] += place[below]
    for position in range(begin, end):
        at = place[spare[1, position] - first]
        order[at], child[at] = spare[0, position], spare[1, position]
        place[spare[1, position] - first] += 1


part_records = compiled(_part_records)


def _node_split(cell: int, split: int, splitters: Splitters, ways: tuple[Ways, ...]) -> int:
    """Return the node whose children a split of a cell makes."""
    axis, first = splitters.axis[split], split
    while first > splitters.first_split[cell] and splitters.axis[first - 1] == axis:
        first -= 1
    return int(ways[axis].way[ways[axis].first_way[splitters.node[axis, cell]] + split - first])


node_split = compiled(_node_split)


def _part_with(area: int, low: int, high: int, part: LinkArray, areas: IntArray) -> int:
    """Return which of the parts `low` to `high` - 1 has an area, -1 for none; areas: of the axis, by cell."""
    while high - low > 1:
        middle = (low + high) // 2
        if areas[part[middle]] <= area:
            low = middle
        else:
            high = middle
    return int(part[low]) if low < high and areas[part[low]] == area else -1


part_with = compiled(_part_with)


def _cell_of_records(
    records: Records, chosen: Chosen, links: Links, node: IntArray, ways: tuple[Ways, ...]
) -> IntArray:
    """Return for every record the published cell that holds it, -1 where none does.

    node: by axis (the rows) and cell. ways: by axis. The records of a cell go down together.
    """
    top, rank = records
    splitters = Splitters(links.first_split, links.axis, node)
    count = len(top)
    desk = Desk(np.arange(count), np.zeros(count, np.int64), np.empty((2, count), np.int64))
    cell_of = np.full(count, -1, np.int64)
    waiting = [(-1, 0, 0)]  # cells, and where their records begin and end
    for end in range(1, count + 1):
        if end == count or top[end] != top[end - 1]:
            waiting.append((int(top[end - 1]), waiting[-1][2], end))
    while waiting:
        cell, begin, end = waiting.pop()
        if cell < 0 or chosen.choice[cell - chosen.first] < 0:
            continue
        if chosen.choice[cell - chosen.first] == 0:
            cell_of[desk.order[begin:end]] = cell
            continue
        split = links.first_split[cell] + chosen.choice[cell - chosen.first] - 1
        of_axis, areas = ways[links.axis[split]], node[links.axis[split]]
        splitter = node_split(cell, split, splitters, ways)
        low, high = links.first_part[split], links.first_part[split + 1]
        part_records(begin, end, rank[links.axis[split]][of_axis.tree[splitter]], splitter, of_axis, desk)
        for stop in range(begin + 1, end + 1):
            if stop == end or desk.child[stop] != desk.child[stop - 1]:
                area = of_axis.area[desk.child[stop - 1]]
                waiting.append((part_with(area, low, high, links.part, areas), begin, stop))
                begin = stop
    return cell_of


cell_of_records = compiled(_cell_of_records)
