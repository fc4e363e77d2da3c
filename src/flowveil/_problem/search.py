"""Finding the publishable cells of sheets of records."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from flowveil._errors import InputError
from flowveil._places import ROOT
from flowveil._problem.losses import LOSSES_OF_NODES, Batch, in_order, loss_function
from flowveil._problem.memory import check_cells

if TYPE_CHECKING:
    from collections.abc import Callable

    from flowveil._arrays import BoolArray, FloatArray, IntArray
    from flowveil._flows import Flows
    from flowveil._problem.axis import Dimension
    from flowveil._problem.cube import LinkArray
    from flowveil._problem.problem import Problem
    from flowveil._problem.search_kernels import Areas, Desk, Found
    from flowveil._problem.sheets import Groups

_ROOM = 2**16  # cells, at first
_ROOM_FOR_RECORDS = 2**20  # in the orders of all trees
_NOTHING = np.zeros(0, np.int64)


@dataclass(frozen=True, eq=False)
class Cells:
    """Publishable cells, sorted by sheet, origin and destination."""

    edges: IntArray  # by sheet: its first cell; and the number of cells
    origin: LinkArray
    destination: LinkArray
    trips: IntArray
    loss: FloatArray


class Search:
    """The search for the publishable cells of a problem."""

    def __init__(self, problem: Problem) -> None:
        from flowveil._problem import search_kernels  # noqa: PLC0415 numba is slow to import

        self.kernels = kernels = search_kernels
        self.problem = problem
        flows, least = problem.flows, problem.requirement.least
        self.origins, self.destinations = problem.dimensions[:2]
        self.axes = kernels.Axes(*(_areas(dimension, least.tiles) for dimension in problem.dimensions[:2]))
        tile = self.destinations.first.rank
        weight = _tested_weight(problem)
        self.records = kernels.Records(tile, _ranks(self.destinations), flows.trips, weight)
        self.visits = kernels.Visits(*_visits(flows), _NOTHING)
        self.dominated = _dominated(problem, self.visits.start)
        self.loss = loss_function(problem)
        self.with_records = flows.people is not None or problem.loss not in LOSSES_OF_NODES
        self.rank = [np.stack([axis.rank for axis in dimension.axes]) for dimension in in_order(problem.dimensions)]
        self.split_counts = [np.diff(dimension.family.ways.first_way) for dimension in in_order(problem.dimensions)]
        self.found: dict[int, tuple[int, int]] = {}  # cells and splits of runs of matrices, by the first of these

    def find(self, sheets: Groups) -> Cells:
        """Return the cells of sheets."""
        kernels, losses = self.kernels, []
        orders = zip(*(sheets.sorted_by(rank) for rank in self.rank[-2]), strict=True)
        given = kernels.Sheets(sheets.start, *(np.stack(rows) for rows in orders))
        visits = self.visits._replace(seen=_nobody(self.problem.flows))
        tests = kernels.Tests(self.problem.requirement.least, visits)
        desk, found = self._desk(len(sheets.start)), self._room(_ROOM, _ROOM_FOR_RECORDS)
        needed, done = 0, 0
        while needed >= 0:
            needed = kernels.find_cells(given, self.axes, self.records, tests, kernels.Work(desk, found))
            new = slice(done, int(desk.at[kernels.CELLS]))
            losses.append(self._price(sheets, _sheet_of(new, desk), found, new))
            done, desk.at[kernels.FILLED] = new.stop, 0
            found = self._with_room(found, done, needed)
        origin, destination, trips = found.origin[:done], found.destination[:done], found.trips[:done]
        return Cells(desk.edges, origin.copy(), destination.copy(), trips.copy(), np.concatenate(losses))

    def _desk(self, edges: int) -> Desk:
        origins, destinations = (len(areas.whole) for areas in self.axes)
        trees, tiles = self.records.rank.shape
        words = (tiles >> self.kernels.WORD_BITS) + 1
        sums = 3 if len(self.records.weight) else 1 + self.with_records
        return self.kernels.Desk(
            at=np.zeros(5, np.int64),
            edges=np.zeros(edges, np.int64),
            row=np.zeros((2, origins), np.int64),
            tiles=np.zeros(tiles, np.int64),
            next_place=np.zeros(tiles, np.int64),
            sums=np.zeros((3, tiles), np.int64),
            running=np.zeros((sums, trees, tiles + 1), np.int64),
            words=np.zeros((trees, words), np.uint64),
            before=np.zeros((trees, words), np.int64),
            every=np.arange(destinations, dtype=np.int32),
            passed=np.zeros(destinations, np.int64),
            good=np.zeros(destinations, bool),
        )

    def _room(self, cells: int, records: int) -> Found:
        spans = cells if self.with_records else 0
        return self.kernels.Found(
            np.empty(cells, np.int32),
            np.empty(cells, np.int32),
            np.empty(cells, np.int64),
            np.empty(spans, np.int64),
            np.empty(spans, np.int64),
            np.empty(records if self.with_records else 0, np.int64),
        )

    def _with_room(self, found: Found, count: int, needed: int) -> Found:
        """Return room for the cells of another origin, and the records that it needs in order."""
        room, most = len(found.destination), len(self.axes.destinations.whole)
        if needed < 0 or (room - count >= most and len(found.order) >= needed):
            return found
        larger = self._room(max(2 * room, room + most) if room - count < most else room, max(needed, len(found.order)))
        larger.origin[:count] = found.origin[:count]
        larger.destination[:count] = found.destination[:count]
        larger.trips[:count] = found.trips[:count]
        return larger

    def settle(self, sheets: Groups, cells: int, splits: int) -> None:
        """Note how many cells and splits there are of sheets; raise if all do not fit into the memory allowed."""
        self.found[int(sheets.node[0, 0])] = (cells, splits)
        cells, splits = (sum(column) for column in zip(*self.found.copy().values(), strict=True))
        check_cells(self.problem.flows, cells, splits)

    def _price(self, sheets: Groups, sheet: IntArray, found: Found, new: slice) -> FloatArray:
        """Return the loss of new cells, given the sheet of each."""
        flows, others = self.problem.flows, sheets.node[1:, sheet]
        node = np.vstack([others, found.origin[new], found.destination[new]])
        cells, splits = self.found.get(int(sheets.node[0, 0]), (0, 0))
        more = sum(int(count[row].sum()) for count, row in zip(self.split_counts, node, strict=True))
        self.settle(sheets, cells + node.shape[1], splits + more)
        spans = found.begin[new], found.end[new], found.order
        loss = self.loss(Batch(node, found.trips[new], *spans, flows.trips, self.rank))
        if self.dominated is not None:
            whole = found.destination[new] == ROOT
            loss[self.dominated(*spans, found.trips[new], whole)] = np.inf  # such a cell may only be split
        barred = self.problem.bars(found.origin[new], found.destination[new])
        if barred is not None:
            loss[barred] = np.inf
        return loss


def _sheet_of(cells: slice, desk: Desk) -> IntArray:
    started = desk.edges[: int(desk.at[0]) + 1]
    return np.searchsorted(started, np.arange(cells.start, cells.stop), side="right") - 1


def _areas(dimension: Dimension, least_tiles: int) -> Areas:
    """Return the areas of an axis, each in the first tree that has it."""
    from flowveil._problem import search_kernels  # noqa: PLC0415 numba is slow to import

    family = dimension.family
    tree, ways = family.first_tree, family.ways
    whole, low = np.full(len(family), -1, np.int64), np.zeros(len(family), np.int64)
    for place, (hierarchy, number) in enumerate(zip(family.trees, family.number, strict=True)):
        own = np.flatnonzero(tree[number] == place)
        low[number[own]] = hierarchy.low[own]
        below = own[own != ROOT]
        whole[number[below]] = number[hierarchy.parent[below]]
    fine = family.tiles >= least_tiles if dimension.is_place else np.ones(len(family), bool)
    return search_kernels.Areas(whole, tree, low, low + family.tiles, fine, ways.first_above, ways.above)


def _ranks(dimension: Dimension) -> IntArray:
    """Return by tree (the rows) and rank in the first tree the rank of each tile."""
    family = dimension.family
    first = family.trees[0]
    leaf = np.flatnonzero(first.is_leaf)
    leaf = leaf[np.argsort(first.low[leaf])]
    area = family.number[0][leaf]
    return np.stack([tree.low[nodes[area]] for tree, nodes in zip(family.trees, family.nodes, strict=True)])


def _tested_weight(problem: Problem) -> IntArray:
    """Return the weight of every record where it is tested; none without such a test, or where persons have weights."""
    people = problem.flows.people
    weights = problem.flows.weight if people is None else people.weight
    if problem.requirement.k_weight is None:
        return _NOTHING
    if weights is None:
        raise InputError("k_weight needs weights", "name the weight column with weight=")
    return weights if people is None else _NOTHING


def _visits(flows: Flows) -> tuple[IntArray, IntArray, IntArray]:
    """Return by record its first visit, by visit the person, and by person the weight."""
    people = flows.people
    if people is None:
        return _NOTHING, _NOTHING, _NOTHING
    start = np.searchsorted(people.pair, np.arange(len(flows) + 1))
    return start, people.person, _NOTHING if people.weight is None else people.weight


def _dominated(
    problem: Problem, start: IntArray
) -> Callable[[IntArray, IntArray, IntArray, IntArray, BoolArray], BoolArray] | None:
    """Return what finds the cells in which one person makes too many of the trips; None where that does not matter.

    start: by record its first visit. Cells are given by their spans of records, their trips, and whether they are the
    first of their origin.
    """
    requirement, people = problem.requirement, problem.flows.people
    if requirement.max_share is None or people is None or people.trips is None:
        return None
    from flowveil._problem import share_kernels  # noqa: PLC0415 numba is slow to import

    visits = share_kernels.Visits(start, people.person, people.trips)
    persons = int(people.person.max(initial=-1)) + 1

    def find(begin: IntArray, end: IntArray, order: IntArray, trips: IntArray, whole: BoolArray) -> BoolArray:
        spans = share_kernels.Spans(begin, end, order, trips, whole)
        dominated: BoolArray = share_kernels.find_dominated(
            spans, visits, requirement.share_parts, np.zeros(persons, np.int64)
        )
        return dominated

    return find


def _nobody(flows: Flows) -> IntArray:
    """Return an entry for each person, and one more; none without a unit."""
    return np.zeros(0 if flows.people is None else int(flows.people.person.max(initial=-1)) + 2, np.int64)
