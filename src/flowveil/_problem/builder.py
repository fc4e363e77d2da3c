"""Finding the publishable cells of a problem, from the top down, the matrices of one at the same time."""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass, replace
from itertools import chain, pairwise, product
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from flowveil._errors import InputError
from flowveil._flows import Crowds
from flowveil._places import ROOT
from flowveil._problem.crowd_cells import cells_of_crowds
from flowveil._problem.cube import Cube
from flowveil._problem.links import find_links, join_links
from flowveil._problem.losses import Batch, loss_function
from flowveil._problem.memory import check_cells
from flowveil._processes import at_once

if TYPE_CHECKING:
    from flowveil._arrays import BoolArray, FloatArray, IntArray
    from flowveil._flows import Flows
    from flowveil._problem.problem import Problem

_RUN = 2**15  # records of matrices that are worked on together: what is computed stays in the cache of a core
_NOTHING = np.zeros(0, np.int64)
_Cells = tuple["IntArray", "IntArray", "FloatArray"]  # matrix and nodes, trips, and loss of some cells


@dataclass(frozen=True, eq=False)
class _Groups:
    """Records by matrix and cell of the axes before the last; in a group they are sorted by leaf of the last axis."""

    node: IntArray  # the matrix, then one row an axis that is settled
    start: IntArray
    order: IntArray  # records


def build_cube(problem: Problem) -> Cube:
    """Find all publishable cells of a problem."""
    if prod([problem.flows.matrix_count, *(len(dimension.family) for dimension in problem.dimensions)]) >= 2**63:
        raise InputError("the hierarchies are too large to be combined", "use coarser tiles or fewer axes")
    if isinstance(problem.flows.people, Crowds):
        return _link(problem, [0, 1], [cells_of_crowds(problem, problem.flows.people)])
    return _Builder(problem).build()


class _Builder:
    def __init__(self, problem: Problem) -> None:
        from flowveil._problem import kernels  # noqa: PLC0415 numba is slow to import

        self.kernels = kernels
        self.problem = problem
        # Time comes first: destinations, the last axis, have all their records side by side.
        self.rows = sorted(range(len(problem.axes)), key=lambda row: problem.axes[row].is_place)
        self.dimensions = [problem.dimensions[row] for row in self.rows]
        self.weight = _tested_weight(problem)
        self.visits = kernels.Visits(*_visits(problem.flows), _NOTHING)
        self.sizes: list[int] = []  # of the batches of all searches

    def build(self) -> Cube:
        runs = _runs(self.problem.flows)
        choices = list(product(*(range(len(dimension.axes)) for dimension in self.dimensions)))
        searches = [_Search(self, choice) for choice in choices]
        work = list(product(runs, searches))
        batches = at_once(lambda pair: pair[1].find(pair[0]), work)
        starts = range(0, len(work), len(searches))
        of_runs = [list(chain.from_iterable(batches[start : start + len(searches)])) for start in starts]
        batches.clear()
        return _join(at_once(lambda cells: _link(self.problem, self.rows, cells), of_runs))


class _Search:
    """The search for cells along one tree an axis. A cell is found by the first trees that have its areas."""

    def __init__(self, builder: _Builder, choice: tuple[int, ...]) -> None:
        self.builder = builder
        self.kernels = builder.kernels
        self.problem = builder.problem
        self.axes = [dimension.axes[tree] for dimension, tree in zip(builder.dimensions, choice, strict=True)]
        families = [dimension.family for dimension in builder.dimensions]
        self.area = [family.number[tree] for family, tree in zip(families, choice, strict=True)]
        self.own = [
            family.first_tree[area] == tree for family, area, tree in zip(families, self.area, choice, strict=True)
        ]
        self.rank = [axis.rank for axis in self.axes]
        self.loss = loss_function(self.problem, self.axes)
        self.trees = [
            self.kernels.Tree(axis.hierarchy.tiles, axis.low, axis.hierarchy.first_child, axis.hierarchy.end_child)
            for axis in self.axes
        ]
        self.visits = builder.visits
        self.batches: list[_Cells] = []

    def find(self, groups: _Groups) -> list[_Cells]:
        """Return the cells of some matrices."""
        search = copy(self)
        search.batches = []
        search.visits = self.visits._replace(seen=_nobody(self.problem.flows))
        search.visit(replace(groups, order=self._sorted(groups)))
        return search.batches

    def _sorted(self, groups: _Groups) -> IntArray:
        """Return the records of groups, sorted by leaf of the last axis in each."""
        number = np.repeat(np.arange(len(groups.start) - 1), np.diff(groups.start))
        key = number * len(self.axes[-1].hierarchy) + self.rank[-1][groups.order]
        return groups.order[np.argsort(key, kind="stable")]

    def visit(self, groups: _Groups) -> BoolArray:
        """Find the cells of groups on the axes that are not settled; return which groups are publishable as a whole."""
        if len(groups.node) == len(self.axes):
            return self.descend(groups)
        whole = None
        level = _Groups(_with_row(groups.node, ROOT), groups.start, groups.order)
        while level.node.shape[1]:
            alive = self.visit(level)
            whole = alive if whole is None else whole
            level = self._split(level, alive)
        return np.zeros(groups.node.shape[1], bool) if whole is None else whole

    def _split(self, level: _Groups, alive: BoolArray) -> _Groups:
        """Part the living groups by the children of their nodes on the axis settled last."""
        row = len(level.node) - 2
        order, start, node, source = self.kernels.split_groups(
            level.order, level.start, level.node[-1], alive, self.rank[row], self.trees[row]
        )
        return _Groups(np.vstack([level.node[:-1, source], node]), start, order)

    def descend(self, groups: _Groups) -> BoolArray:
        """Find the cells of groups on the last axis, where each node's records lie side by side."""
        order, flows, least = groups.order, self.problem.flows, self.problem.requirement.least
        fine = np.ones(groups.node.shape[1], bool)
        own = np.ones(groups.node.shape[1], bool)
        for row, axis, mine in zip(groups.node[1:], self.axes, self.own, strict=False):
            own &= mine[row]
            if axis.is_place:
                fine &= axis.hierarchy.tiles[row] >= least.tiles
        running = _running(flows.trips[order])
        tested = self.builder.weight
        weight = _NOTHING if tested is None else _running(tested[order])
        records = self.kernels.Records(order, groups.start, self.rank[-1][order], running, weight)
        group, node, begin, end = self.kernels.descend(records, fine, ~own, self.visits, least, self.trees[-1])
        alive = np.zeros(len(fine), bool)
        alive[group] = True
        mine = np.flatnonzero(own[group] & self.own[-1][node])
        self._keep(np.vstack([groups.node[:, group[mine]], node[mine]]), begin[mine], end[mine], order, running)
        return alive

    def _keep(self, node: IntArray, begin: IntArray, end: IntArray, order: IntArray, running: IntArray) -> None:
        """Add cells, given by matrix and nodes, and their records."""
        flows, sizes = self.problem.flows, self.builder.sizes
        sizes.append(node.shape[1])
        check_cells(flows, sum(sizes))
        trips = running[end] - running[begin]
        batch = Batch(node[1:], trips, begin, end, order, flows.trips, self.rank)
        loss = self.loss(batch)
        areas = [number[row] for number, row in zip(self.area, node[1:], strict=True)]
        self.batches.append((np.vstack([node[:1], *areas]), trips, loss))


def _runs(flows: Flows) -> list[_Groups]:
    """Return the records of adjacent matrices, in runs of about as many each; a matrix is a group."""
    edges = flows.edges
    marks = np.arange(0, len(flows), _RUN)
    first = np.unique(np.searchsorted(edges, marks, side="right") - 1).tolist()
    runs = []
    for low, high in pairwise([*first, flows.matrix_count]):
        start, stop = edges[low], edges[high]
        runs.append(_Groups(np.arange(low, high)[None, :], edges[low : high + 1] - start, np.arange(start, stop)))
    return runs


def _tested_weight(problem: Problem) -> IntArray | None:
    """Return the weight of every record where it is tested; None without such a test, or where persons have weights."""
    people = problem.flows.people
    weights = problem.flows.weight if people is None else people.weight
    if problem.requirement.k_weight is None:
        return None
    if weights is None:
        raise InputError("k_weight needs weights", "name the weight column with weight=")
    return weights if people is None else None


def _visits(flows: Flows) -> tuple[IntArray, IntArray, IntArray]:
    """Return by record its first visit, by visit the person, and by person the weight."""
    people = flows.people
    if people is None:
        return _NOTHING, _NOTHING, _NOTHING
    start = np.searchsorted(people.pair, np.arange(len(flows) + 1))
    return start, people.person, _NOTHING if people.weight is None else people.weight


def _nobody(flows: Flows) -> IntArray:
    """Return an entry for each person, and one more; none without a unit."""
    return np.zeros(0 if flows.people is None else int(flows.people.person.max(initial=-1)) + 2, np.int64)


def _running(values: IntArray) -> IntArray:
    return np.concatenate([np.zeros(1, np.int64), np.cumsum(values)])


def _with_row(node: IntArray, value: int) -> IntArray:
    return np.vstack([node, np.full((1, node.shape[1]), value, np.int64)])


def _link(problem: Problem, rows: list[int], batches: list[_Cells]) -> Cube:
    """Return the cube of all cells: sorted, with what holds each, which is among them, and what splits withhold.

    Areas of cells are those of the dimensions `rows` of the problem, in this order. The list of batches is empty
    afterwards: their memory is free before the rest of the cube is made.
    """
    node, trips, loss = (np.concatenate(part, axis=-1) for part in zip(*batches, strict=True))
    batches.clear()
    dimensions, flows = [problem.dimensions[row] for row in rows], problem.flows
    sizes = [len(dimension.family) for dimension in dimensions]
    strides = [prod(sizes[row:]) for row in range(len(sizes) + 1)]
    key = np.asarray(sum(row * stride for row, stride in zip(node, strides, strict=True)), np.int64)
    if not (key[1:] > key[:-1]).all():
        order = np.argsort(key)
        key, node, trips, loss = key[order], node[:, order], trips[order], loss[order]
    matrix, node = node[0], node[1:]
    tiles = np.zeros(len(trips), np.int64)
    for row, dimension in zip(node, dimensions, strict=True):
        if dimension.is_place:
            tiles += dimension.family.tiles[row]
    back = np.argsort(rows)  # to the order of the problem's axes
    node = node[back]
    key_strides = [strides[1:][place] for place in back.tolist()]
    return Cube(
        node=node,
        trips=trips,
        tiles=tiles,
        loss=loss,
        links=find_links(problem.dimensions, node, trips, key, key_strides),
        edges=np.searchsorted(matrix, np.arange(flows.matrix_count + 1)),
        total=flows.total,
        price=1.0 if problem.loss == "reconstruction" else 0.0,
    )


def _join(runs: list[Cube]) -> Cube:
    """Put the cells of runs of matrices one after the other."""
    if len(runs) == 1:
        return runs[0]
    names = ("node", "trips", "tiles", "loss")
    columns = {name: [getattr(run, name) for run in runs] for name in names}
    joined = at_once(lambda parts: np.concatenate(parts, axis=-1), columns.values())
    whole: dict[str, Any] = dict(zip(columns, joined, strict=True))  # Any: fields of several types
    links = join_links([run.links for run in runs])
    return replace(runs[0], edges=np.sum([run.edges for run in runs], axis=0), links=links, **whole)
