"""The node pairs (or tuples) that may be published, found from the top down, with what it takes to choose among them.

A pair that fails a test has no descendant that passes, so nothing below it matters; and all that matters of it is its
trips, which a split of the pair above withholds. So only publishable pairs are kept, each with the trips that a split
along each axis would withhold.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING

import numpy as np

from flowveil._errors import InputError
from flowveil.places import ROOT
from flowveil.problem._losses import Batch, loss_function

if TYPE_CHECKING:
    from collections.abc import Callable

    from flowveil._arrays import BoolArray, FloatArray, IntArray
    from flowveil.problem._axis import Axis
    from flowveil.problem._problem import Problem


@dataclass(frozen=True, eq=False)
class Cube:
    """Publishable cells, one node an axis, sorted by node numbers: a cell comes after all that hold it.

    Arrays of two dimensions have one row an axis. Cell 0, if there is one, is the root of every axis.
    """

    node: IntArray
    trips: IntArray
    tiles: IntArray  # of all nodes together
    loss: FloatArray  # infinite where the cell may only be split
    parent: IntArray  # the cell one step up the axis, -1 at the root
    splittable: BoolArray  # the node is not a leaf
    withheld: FloatArray  # trips that a split along the axis puts into cells that may not be published
    total: int  # trips of all records
    price: float  # what a withheld trip costs, apart from lambda

    def __len__(self) -> int:
        return len(self.trips)

    def part(self, kept: BoolArray) -> Cube:
        """Return the cells kept, among them cell 0; a parent that is not kept is -1."""
        number = np.full(len(self) + 1, -1, np.int64)  # the last entry is the parent of a root
        number[:-1][kept] = np.arange(int(kept.sum()))
        return Cube(
            self.node[:, kept],
            self.trips[kept],
            self.tiles[kept],
            self.loss[kept],
            number[self.parent[:, kept]],
            self.splittable[:, kept],
            self.withheld[:, kept],
            self.total,
            self.price,
        )

    def children(self, axis: int) -> tuple[IntArray, IntArray]:
        """Return for each cell where its children along an axis start, and the children of all, sorted by parent."""
        order = np.argsort(self.parent[axis], kind="stable")
        return np.searchsorted(self.parent[axis][order], np.arange(len(self) + 1)), order


@dataclass(frozen=True, eq=False)
class _Groups:
    """Records by cell of the axes before the last; inside a group they are sorted by leaf of the last axis."""

    node: IntArray  # one row an axis that is settled
    start: IntArray
    order: IntArray  # records


def build_cube(problem: Problem) -> Cube:
    """Find all publishable cells of a problem."""
    if prod(len(axis.hierarchy) for axis in problem.axes) >= 2**63:
        raise InputError("the hierarchies are too large to be combined", "use coarser tiles or fewer axes")
    return _Builder(problem).build()


class _Builder:
    def __init__(self, problem: Problem) -> None:
        from flowveil.problem import _kernels  # noqa: PLC0415 numba is slow to import

        self.kernels = _kernels
        self.problem = problem
        self.axes = problem.axes
        self.rank = [axis.rank for axis in self.axes]
        self.loss = loss_function(problem)
        self.test = _crowd_test(problem)
        self.found: list[tuple[IntArray, IntArray, FloatArray]] = []

    def build(self) -> Cube:
        order = np.argsort(self.rank[-1], kind="stable")
        self.visit(_Groups(np.empty((0, 1), np.int64), np.array([0, len(order)]), order))
        node = np.concatenate([node for node, _, _ in self.found], axis=1)
        trips = np.concatenate([trips for _, trips, _ in self.found])
        loss = np.concatenate([loss for _, _, loss in self.found])
        return _link(self.axes, node, trips, loss, self.problem)

    def visit(self, groups: _Groups) -> BoolArray:
        """Find the cells of groups on the axes that are not settled; return which groups are publishable as a whole."""
        settled = len(groups.node)
        if settled == len(self.axes) - 1:
            return self.descend(groups)
        tree = self.axes[settled].hierarchy
        whole = None
        level = _Groups(_with_row(groups.node, ROOT), groups.start, groups.order)
        while level.node.shape[1]:
            alive = self.visit(level)
            whole = alive if whole is None else whole
            order, start, node, source = self.kernels.split_groups(
                level.order,
                level.start,
                level.node[-1],
                alive,
                self.rank[settled],
                self.axes[settled].low,
                tree.first_child,
                tree.end_child,
            )
            above = level.node[:-1, source]
            level = _Groups(np.vstack([above, node]), start, order)
        return np.zeros(groups.node.shape[1], bool) if whole is None else whole

    def descend(self, groups: _Groups) -> BoolArray:
        """Find the cells of groups on the last axis, where each node's records lie side by side."""
        axis = self.axes[-1]
        tree, order, flows = axis.hierarchy, groups.order, self.problem.flows
        least_tiles = self.problem.requirement.min_tiles
        fine = np.ones(groups.node.shape[1], bool)
        for row, other in zip(groups.node, self.axes, strict=False):
            fine &= other.hierarchy.tiles[row] >= least_tiles
        running = _running(flows.trips[order])
        group, node, begin, end = self.kernels.descend(
            order,
            groups.start,
            fine,
            self.rank[-1][order],
            running,
            *self.test(order),
            least_tiles,
            tree.tiles,
            axis.low,
            tree.first_child,
            tree.end_child,
        )
        cells = np.vstack([groups.node[:, group], node])
        trips = running[end] - running[begin]
        batch = Batch(cells, trips, begin, end, order, flows.trips, self.rank)
        self.found.append((cells, trips, self.loss(batch)))
        alive = np.zeros(len(fine), bool)
        alive[group] = True
        return alive


def _crowd_test(problem: Problem) -> Callable[[IntArray], tuple[object, ...]]:
    """Return what the kernel needs to test a crowd of records in a given order."""
    requirement, flows = problem.requirement, problem.flows
    none = np.zeros(1, np.int64)
    people = flows.people
    weights = flows.weight if people is None else people.weight
    if requirement.k_weight is not None and weights is None:
        raise InputError("k_weight needs weights", "name the weight column with weight=")
    if people is None:

        def by_trips(order: IntArray) -> tuple[object, ...]:
            values = (
                np.zeros(len(order), np.int64) if requirement.k_weight is None or weights is None else weights[order]
            )
            return _running(values), requirement.k, requirement.least_weight, none, none, none, 0

        return by_trips
    visit_start = np.searchsorted(people.pair, np.arange(len(flows) + 1))
    persons = int(people.person.max(initial=-1)) + 1
    person_weight = none if weights is None else weights

    def by_persons(_: IntArray) -> tuple[object, ...]:
        return none, requirement.k, requirement.least_weight, visit_start, people.person, person_weight, max(persons, 1)

    return by_persons


def _running(values: IntArray) -> IntArray:
    return np.concatenate([np.zeros(1, np.int64), np.cumsum(values)])


def _with_row(node: IntArray, value: int) -> IntArray:
    return np.vstack([node, np.full((1, node.shape[1]), value, np.int64)])


def _link(axes: tuple[Axis, ...], node: IntArray, trips: IntArray, loss: FloatArray, problem: Problem) -> Cube:
    """Sort the cells and find the parents of each, which are publishable too, and what splits withhold."""
    sizes = [len(axis.hierarchy) for axis in axes]
    strides = [prod(sizes[axis + 1 :]) for axis in range(len(axes))]
    key = np.asarray(sum(row * stride for row, stride in zip(node, strides, strict=True)), np.int64)
    if not (key[1:] > key[:-1]).all():
        order = np.argsort(key)
        key, node, trips, loss = key[order], node[:, order], trips[order], loss[order]
    parent = np.full(node.shape, -1, np.int64)
    withheld = np.empty(node.shape)
    splittable = np.empty(node.shape, bool)
    for row, (axis, stride) in enumerate(zip(axes, strides, strict=True)):
        above = axis.hierarchy.parent[node[row]]
        inside = above >= 0
        parent[row, inside] = np.searchsorted(key, (key + (above - node[row]) * stride)[inside])
        splittable[row] = ~axis.hierarchy.is_leaf[node[row]]
        withheld[row] = trips - np.bincount(parent[row, inside], weights=trips[inside], minlength=len(trips))
    tiles = np.sum([axis.hierarchy.tiles[row] for axis, row in zip(axes, node, strict=True)], axis=0)
    price = 1.0 if problem.loss == "reconstruction" else 0.0
    return Cube(node, trips, tiles, loss, parent, splittable, withheld, problem.flows.total, price)
