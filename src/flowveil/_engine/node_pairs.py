"""Sums of the pairs of areas that hold visits: what executors emit so that a cluster can count distinct persons."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from math import prod
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from flowveil._errors import InputError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from flowveil._arrays import BoolArray, Column, IntArray, KeyArray
    from flowveil._engine.aggregate import Aggregate

    # From visits to sums of the pairs of nodes that hold them.
    Emit: TypeAlias = Callable[[Iterable[pa.RecordBatch]], Iterator[pa.RecordBatch]]

_ROOT = 0
_CHUNK_ROWS = 2**18  # visits that an executor looks at together: more are merged earlier, and need more memory


@dataclass(frozen=True, eq=False)
class Tree:
    """The nodes above the tiles of one end of trips; the root is node 0."""

    tile: KeyArray  # keys of all tiles, ascending
    leaf: IntArray  # by tile: its node
    parent: IntArray  # by node; the root's is -1
    depth: IntArray

    def at_depth(self, tile: KeyArray, depth: int) -> IntArray:
        """Return by tile its node at a depth, -1 where the leaf lies above."""
        node = self.leaf[np.searchsorted(self.tile, tile)]
        node = np.where(self.depth[node] < depth, -1, node)
        while (below := (node >= 0) & (self.depth[node] > depth)).any():
            node = np.where(below, self.parent[node], node)
        return node


@dataclass(frozen=True, eq=False)
class Nodes:
    """The numbers of matrices and nodes, and of pairs of nodes in a matrix, by what visits are known by."""

    values: dict[str, Column]  # by column that sets matrices apart
    matrices: IntArray  # codes of these values in use, ascending: the place of a code is its matrix
    origins: Tree
    destinations: Tree

    @classmethod
    def of(cls, counted: Aggregate, origins: Tree, destinations: Tree) -> Nodes:
        """Give numbers to the matrices of counted trips, in the order of time and groups."""
        values: dict[str, Column] = {}
        code = np.zeros(len(counted.trips), np.int64)
        if counted.time is not None:
            steps, of_step = np.unique(counted.time, return_inverse=True)
            values["time"] = pa.array(steps)
            code = of_step
        for number, labels in enumerate(counted.by):
            values[f"by_{number}"] = pa.array(labels.values, pa.string())
            code = code * len(labels.values) + labels.code
        matrices = np.unique(code)
        if prod((len(matrices), len(origins.parent), len(destinations.parent))) >= 2**63:
            raise InputError("the hierarchies are too large to be combined", "use coarser tiles or fewer groups")
        return cls(values, matrices, origins, destinations)

    def matrix(self, visits: pa.Table) -> IntArray:
        """Return the matrix of every visit."""
        code = np.zeros(visits.num_rows, np.int64)
        for name, values in self.values.items():
            code = code * len(values) + pc.index_in(visits[name], value_set=values).to_numpy()
        return np.searchsorted(self.matrices, code)

    def pair(self, matrix: IntArray, origin: IntArray, destination: IntArray | np.int64) -> IntArray:
        """Return the number of a pair of nodes; pairs are numbered by (matrix, origin, destination)."""
        return (matrix * len(self.origins.parent) + origin) * len(self.destinations.parent) + destination

    def ends(self, pair: IntArray) -> tuple[IntArray, IntArray, IntArray]:
        """Return matrix, origin and destination of pairs."""
        above, destination = np.divmod(pair, len(self.destinations.parent))
        matrix, origin = np.divmod(above, len(self.origins.parent))
        return matrix, origin, destination


@dataclass(frozen=True, eq=False)
class PairCounts:
    """Pairs of nodes with enough people, sorted by (matrix, origin, destination)."""

    matrix: IntArray
    origin: IntArray
    destination: IntArray
    trips: IntArray
    persons: IntArray  # distinct
    weight: IntArray | None  # of these, in millionths


def walk_down(nodes: Nodes, count: Callable[[Emit], dict[str, IntArray]]) -> PairCounts:
    """Return all pairs of nodes that have enough people, found from the root of the origins down, depth by depth.

    `count` lets executors emit sums of pairs and adds these up, and returns the pairs that have enough people, in any
    order: pair, trips, persons, and weight if there are weights.
    """
    depths: list[dict[str, IntArray]] = []
    for depth in range(int(nodes.origins.depth.max()) + 1):
        passed = np.sort(depths[-1]["pair"]) if depths else None
        depths.append(count(partial(pairs_at_depth, nodes=nodes, depth=depth, passed=passed)))
        if not len(depths[-1]["pair"]):
            break
    whole = {name: np.concatenate([columns[name] for columns in depths]) for name in depths[0]}
    order = np.argsort(whole["pair"])
    whole = {name: values[order] for name, values in whole.items()}
    return PairCounts(*nodes.ends(whole["pair"]), whole["trips"], whole["persons"], whole.get("weight"))


def runs_of_persons(visits: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Yield how many runs of visits of the same person there are, one after the other."""
    runs, last = 0, None
    for person in (batch["person"] for batch in visits if batch.num_rows):
        changes = int(pc.not_equal(person[1:], person[:-1]).to_numpy(zero_copy_only=False).sum())
        runs += changes + (person[0].as_py() != last)
        last = person[-1].as_py()
    yield pa.record_batch({"runs": pa.array([runs], pa.int64())})


def pairs_at_depth(
    visits: Iterable[pa.RecordBatch], nodes: Nodes, depth: int, passed: IntArray | None
) -> Iterator[pa.RecordBatch]:
    """Yield sums of pairs that hold visits, the origin at a depth and the destination at any.

    All visits of a person come one after the other, and no other executor has any: so persons of the same pair add up.
    passed: the pairs one step up the origins that have enough people, ascending. A pair without does not matter, nor
    does any below it. None where there is no step up.
    """
    for chunk in _whole_persons(visits):
        rows = _start(chunk, nodes, depth)
        matrix, origin, _ = nodes.ends(rows.pair)
        rows = rows.take(_enough(passed, nodes.pair(matrix, nodes.origins.parent[origin], np.int64(_ROOT))))
        for level in range(int(nodes.destinations.depth.max()), -1, -1):  # so that a person is once at each destination
            rows = rows.merged()
            matrix, origin, destination = nodes.ends(rows.pair)
            here = nodes.destinations.depth[destination] == level
            alive = here & _enough(passed, nodes.pair(matrix, nodes.origins.parent[origin], destination))
            yield rows.take(alive).sums()
            step = np.where(here, nodes.destinations.parent[destination] - destination, 0)
            rows = replace(rows, pair=rows.pair + step)


@dataclass(frozen=True, eq=False)
class _Rows:
    """Persons on pairs."""

    pair: IntArray
    person: IntArray
    trips: IntArray
    weight: IntArray | None  # of the person

    def take(self, chosen: BoolArray | IntArray) -> _Rows:
        weight = None if self.weight is None else self.weight[chosen]
        return _Rows(self.pair[chosen], self.person[chosen], self.trips[chosen], weight)

    def merged(self) -> _Rows:
        """Return one row for each person on each pair, sorted by pair."""
        rows = self.take(np.lexsort((self.person, self.pair)))
        first = _starts(rows.pair, rows.person)
        return replace(rows.take(first), trips=_add_up(rows.trips, first))

    def sums(self) -> pa.RecordBatch:
        """Return trips, persons and weights of each pair; rows are merged."""
        first = _starts(self.pair)
        columns = {
            "pair": self.pair[first],
            "trips": _add_up(self.trips, first),
            "persons": np.diff(np.append(first, len(self.pair))),
        }
        if self.weight is not None:
            columns["weight"] = _add_up(self.weight, first)
        return pa.record_batch(columns)


def _start(visits: pa.Table, nodes: Nodes, depth: int) -> _Rows:
    """Return visits on pairs of an origin at a depth, where there is one, and a tile as destination."""
    origin_tile, destination_tile = (visits[name].to_numpy().view(np.uint64) for name in ("origin", "destination"))
    origin = nodes.origins.at_depth(origin_tile, depth)
    destination = nodes.destinations.leaf[np.searchsorted(nodes.destinations.tile, destination_tile)]
    person = visits["person"].combine_chunks()
    number = np.zeros(len(person), np.int64)
    number[1:] = np.cumsum(pc.not_equal(person[1:], person[:-1]).to_numpy(zero_copy_only=False))
    pair = nodes.pair(nodes.matrix(visits), origin, destination)
    weight = visits["least"].to_numpy() if "least" in visits.column_names else None
    return _Rows(pair, number, visits["trips"].to_numpy(), weight).take(origin >= 0)


def _whole_persons(visits: Iterable[pa.RecordBatch]) -> Iterator[pa.Table]:
    """Yield visits in larger tables, all of a person in the same one."""
    waiting: list[pa.RecordBatch] = []
    enough = _CHUNK_ROWS
    for batch in visits:
        waiting.append(batch)
        if sum(part.num_rows for part in waiting) >= enough:
            table = pa.Table.from_batches(waiting)
            cut = pc.index(table["person"], table["person"][-1]).as_py()
            if cut:
                yield table.slice(0, cut)
            waiting = table.slice(cut).to_batches()
            enough = _CHUNK_ROWS + 2 * (len(table) - cut)  # else a person with many visits would be looked at often
    if waiting:
        yield pa.Table.from_batches(waiting)


def _starts(*sorted_keys: IntArray) -> IntArray:
    """Return where a row differs from the one before."""
    differs = np.ones(len(sorted_keys[0]), bool)
    differs[1:] = np.any([key[1:] != key[:-1] for key in sorted_keys], axis=0)
    return np.flatnonzero(differs)


def _add_up(values: IntArray, first: IntArray) -> IntArray:
    """Return the sums of runs of values."""
    return np.add.reduceat(values, first) if len(first) else first


def _enough(passed: IntArray | None, pair: IntArray) -> BoolArray:
    """Which pairs are among those that have enough people."""
    if passed is None:
        return np.ones(len(pair), bool)
    place = np.minimum(np.searchsorted(passed, pair), len(passed) - 1)
    present: BoolArray = passed[place] == pair
    return present
