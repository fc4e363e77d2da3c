"""Finding the publishable cells of a problem, from the top down, the matrices of one at the same time."""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass, replace
from itertools import pairwise
from math import prod
from typing import TYPE_CHECKING

import numpy as np

from flowveil._cores import at_once, cores
from flowveil._errors import InputError
from flowveil.places import ROOT
from flowveil.problem._cube import Cube
from flowveil.problem._losses import Batch, loss_function

if TYPE_CHECKING:
    from collections.abc import Callable

    from flowveil._arrays import BoolArray, FloatArray, IntArray
    from flowveil.problem._axis import Axis
    from flowveil.problem._problem import Problem

_PIECES = 4  # for each core, so that none waits long for another
_Found = tuple["IntArray", "IntArray", "FloatArray"]  # nodes, trips and loss of cells


@dataclass(frozen=True, eq=False)
class _Groups:
    """Records by cell of the axes before the last; inside a group they are sorted by leaf of the last axis."""

    node: IntArray  # one row an axis that is settled
    start: IntArray
    order: IntArray  # records

    def pieces(self, most: int) -> list[_Groups]:
        """Return up to `most` runs of groups with about as many records each."""
        edges = np.searchsorted(self.start, np.linspace(0, len(self.order), most + 1)).tolist()
        edges = np.unique([0, *edges[1:-1], self.node.shape[1]]).tolist()
        found = []
        for first, last in pairwise(edges):
            low, high = self.start[first], self.start[last]
            found.append(_Groups(self.node[:, first:last], self.start[first : last + 1] - low, self.order[low:high]))
        return found


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
        # Matrices come first and time next: destinations, the last axis, have all their records side by side.
        self.rows = sorted(range(len(problem.axes)), key=lambda row: _turn(problem.axes[row]))
        self.axes = [problem.axes[row] for row in self.rows]
        self.rank = [axis.rank for axis in self.axes]
        self.loss = loss_function(problem, self.axes)
        self.test = _crowd_test(problem)
        self.found: list[_Found] = []

    def build(self) -> Cube:
        order = np.argsort(self.rank[-1], kind="stable")
        whole = _Groups(np.empty((0, 1), np.int64), np.array([0, len(order)]), order)
        if not self.axes[0].separate:
            return self._build_part(whole)
        level = _Groups(_with_row(whole.node, ROOT), whole.start, whole.order)
        matrices = self._split(level, np.ones(1, bool))
        return _join(at_once(self._build_part, matrices.pieces(_PIECES * cores())))

    def _build_part(self, groups: _Groups) -> Cube:
        """Return the cells of some groups of records."""
        part = copy(self)
        part.found = []
        part.visit(groups)
        node = np.concatenate([node for node, _, _ in part.found], axis=1)
        trips = np.concatenate([trips for _, trips, _ in part.found])
        loss = np.concatenate([loss for _, _, loss in part.found])
        return _link(part, node, trips, loss)

    def visit(self, groups: _Groups) -> BoolArray:
        """Find the cells of groups on the axes that are not settled; return which groups are publishable as a whole."""
        settled = len(groups.node)
        if settled == len(self.axes) - 1:
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
        axis = len(level.node) - 1
        tree = self.axes[axis].hierarchy
        order, start, node, source = self.kernels.split_groups(
            level.order,
            level.start,
            level.node[-1],
            alive,
            self.rank[axis],
            self.axes[axis].low,
            tree.first_child,
            tree.end_child,
        )
        return _Groups(np.vstack([level.node[:-1, source], node]), start, order)

    def descend(self, groups: _Groups) -> BoolArray:
        """Find the cells of groups on the last axis, where each node's records lie side by side."""
        axis = self.axes[-1]
        tree, order, flows = axis.hierarchy, groups.order, self.problem.flows
        least_tiles = self.problem.requirement.min_tiles
        fine = np.ones(groups.node.shape[1], bool)
        for row, other in zip(groups.node, self.axes, strict=False):
            if other.is_place:
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


def _turn(axis: Axis) -> int:
    """Return when an axis has its turn: matrices, then time, then places."""
    return 0 if axis.separate else 1 + axis.is_place


def _link(builder: _Builder, node: IntArray, trips: IntArray, loss: FloatArray) -> Cube:
    """Sort the cells and find the parents of each, which are publishable too, and what splits withhold.

    Matrices are not linked to the whole of them.
    """
    axes, problem = builder.axes, builder.problem
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
        if axis.separate:  # linked when all matrices are joined
            withheld[row], splittable[row] = 0, False
            continue
        above = axis.hierarchy.parent[node[row]]
        inside = above >= 0
        parent[row, inside] = np.searchsorted(key, (key + (above - node[row]) * stride)[inside])
        splittable[row] = ~axis.hierarchy.is_leaf[node[row]]
        withheld[row] = trips - np.bincount(parent[row, inside], weights=trips[inside], minlength=len(trips))
    tiles = np.zeros(len(trips), np.int64)
    for axis, row in zip(axes, node, strict=True):
        if axis.is_place:
            tiles += axis.hierarchy.tiles[row]
    back = np.argsort(builder.rows)  # to the order of the problem's axes
    return Cube(
        node=node[back],
        trips=trips,
        tiles=tiles,
        loss=loss,
        parent=parent[back],
        splittable=splittable[back],
        withheld=withheld[back],
        total=problem.flows.total,
        price=1.0 if problem.loss == "reconstruction" else 0.0,
        matrices=builder.rows[0] if axes[0].separate else None,
    )


def _join(parts: list[Cube]) -> Cube:
    """Put matrices under one cell that holds them all and may only be split into them."""
    row = parts[0].matrices or 0
    cells = [len(part) for part in parts]
    if not sum(cells):
        return parts[0]
    before = 1 + np.cumsum([0, *cells[:-1]])
    node = np.concatenate([np.full((len(parts[0].node), 1), ROOT, np.int64), *(part.node for part in parts)], axis=1)
    parent = np.full(node.shape, -1, np.int64)
    for start, part in zip(before.tolist(), parts, strict=True):
        parent[:, start : start + len(part)] = np.where(part.parent < 0, -1, part.parent + start)
    whole = (np.delete(node, row, axis=0) == ROOT).all(axis=0)
    whole[0] = False
    parent[row, whole] = ROOT
    trips = np.concatenate([np.full(1, parts[0].total), *(part.trips for part in parts)])
    splittable = np.concatenate([np.zeros((len(node), 1), bool), *(part.splittable for part in parts)], axis=1)
    splittable[row, ROOT] = True
    withheld = np.concatenate([np.zeros((len(node), 1)), *(part.withheld for part in parts)], axis=1)
    withheld[row, ROOT] = parts[0].total - trips[whole].sum()
    return replace(
        parts[0],
        node=node,
        trips=trips,
        tiles=np.concatenate([np.zeros(1, np.int64), *(part.tiles for part in parts)]),  # never published
        loss=np.concatenate([np.full(1, np.inf), *(part.loss for part in parts)]),
        parent=parent,
        splittable=splittable,
        withheld=withheld,
    )
