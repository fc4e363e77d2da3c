"""The density-aware framework: a tree that splits one axis a depth, as finely as the noisy count of a node deserves.

Differs from the paper where the paper leaks or breaks (docs/differential-privacy.md): the root's cuts are charged,
m slabs have m - 1 cuts, the stop test comes before the cuts, and negative noisy counts stop.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from flowveil._errors import InputError
from flowveil._matrices.boxes import Boxes, join
from flowveil._matrices.grids import DEFAULT_MAX_CELLS, TOTAL_SHARE, entropy_side, parts_of, too_many
from flowveil._matrices.homogeneity import SENSITIVITY, candidates, equal_cuts, unevenness
from flowveil._matrices.points import add
from flowveil._noise import PARTS, public_random

if TYPE_CHECKING:
    from flowveil._arrays import BoolArray, FloatArray, IntArray
    from flowveil._matrices.points import Points
    from flowveil._noise import Ledger

_LEAST_SHARE, _MOST_CANDIDATES = 0.001, 1_000
STOP_BELOW = 1.5  # fewer slabs than this would round to one
_MOST_STOP = 1_000.0


@dataclass(eq=False)
class _Level:
    """The nodes of one depth that are still open, and which of them holds each point."""

    node: IntArray  # in the ledger
    matrix: IntArray
    low: IntArray
    high: IntArray
    of_point: IntArray  # -1: in a leaf
    noisy: IntArray


@dataclass(frozen=True, eq=False)
class _Plan:
    """How each matrix splits its budget over depths, in parts."""

    counting: IntArray  # one row a matrix: what depth h spends on counts, h = 1 .. d - 1
    cutting: IntArray  # what depth h spends on cuts, h = 0 .. d - 1


@dataclass(frozen=True)
class _Rules:
    """What the user may choose."""

    max_cells: int
    total_share: float
    stop_below: float
    cut_share: float = 0.0
    candidate_cuts: int = 1


def daf_entropy(
    points: Points,
    ledger: Ledger,
    max_cells: int = DEFAULT_MAX_CELLS,
    total_share: float = TOTAL_SHARE,
    stop_below: float = STOP_BELOW,
) -> Boxes:
    """Equal slabs at every node."""
    return _daf(points, ledger, _Rules(max_cells, total_share, stop_below))


def daf_homogeneity(
    points: Points,
    ledger: Ledger,
    max_cells: int = DEFAULT_MAX_CELLS,
    cut_share: float = 0.3,
    candidate_cuts: int = 10,
    total_share: float = TOTAL_SHARE,
    stop_below: float = STOP_BELOW,
) -> Boxes:
    """Slabs chosen privately from candidate cuts: those within which counts are most even."""
    if not _LEAST_SHARE <= cut_share <= 1 - _LEAST_SHARE or not 2 <= candidate_cuts <= _MOST_CANDIDATES:
        raise InputError(
            f"cut_share is {cut_share} and candidate_cuts {candidate_cuts}",
            f"give a share from {_LEAST_SHARE} to {1 - _LEAST_SHARE}, and 2 to {_MOST_CANDIDATES:,} candidates",
        )
    return _daf(points, ledger, _Rules(max_cells, total_share, stop_below, cut_share, candidate_cuts))


def _daf(points: Points, ledger: Ledger, rules: _Rules) -> Boxes:
    if not 1 <= rules.stop_below <= _MOST_STOP:
        raise InputError(f"stop_below is {rules.stop_below}", f"give a number of parts from 1 to {_MOST_STOP:g}")
    d = len(points.lengths)
    spent = parts_of(rules.total_share, "total_share")
    level = _root(points, ledger, spent)
    plan = make_plan(level.noisy, ledger, points.lengths, rules.cut_share, spent)
    done: list[Boxes] = []
    for depth in range(d):
        counts = _counts(points, level)
        if depth:
            level.noisy = ledger.count(f"counts {depth}", level.node, counts, plan.counting[level.matrix, depth])
        cutting = plan.cutting[level.matrix, depth]
        wanted = entropy_side(level.noisy, ledger.epsilons(ledger.left(level.node) - cutting), d - depth)
        final = stops(wanted, rules.stop_below) | (np.array(points.lengths[depth:]) == 1).all()
        done.append(_publish(ledger, level, counts, final))
        split = np.flatnonzero(~final)
        length = level.high[split, depth] - level.low[split, depth]
        slabs = np.clip(np.rint(wanted[split]), 1, length).astype(np.int64)
        if slabs.sum() + sum(map(len, done)) > rules.max_cells * points.matrices:
            raise too_many(float(slabs.sum() + sum(map(len, done))), rules.max_cells)
        ends = zip(*_ends(level, split, depth), slabs.tolist(), strict=True)
        cuts = [equal_cuts(low, high, m) for low, high, m in ends]
        if rules.cut_share:
            inner = np.flatnonzero((slabs > 1) & (slabs < length))
            chosen = _choose(
                points, ledger, level, split[inner], slabs[inner], depth, cutting[split[inner]], rules.candidate_cuts
            )
            for at, edges in zip(inner.tolist(), chosen, strict=True):
                cuts[at] = edges
        level = _split(points, ledger, level, split, cuts, depth)
    counts = _counts(points, level)
    done.append(_publish(ledger, level, counts, np.ones(len(counts), bool)))
    return join(done)


def make_plan(noisy: IntArray, ledger: Ledger, lengths: tuple[int, ...], cut_share: float, spent: int) -> _Plan:
    """Split what the total left over depths 1 to d, in proportion to the cube root of the expected nodes (Eq. 32)."""
    d = len(lengths)
    left = PARTS - spent
    root = np.clip(np.rint(entropy_side(noisy, ledger.epsilon_of(left), d)), 1, lengths[0])
    weight = root[:, None] ** (np.arange(1, d + 1) / 3)
    share = left * weight / weight.sum(axis=1, keepdims=True)
    cutting = np.zeros_like(share)
    cutting[:, 0] = cut_share * share[:, 0]
    share[:, 0] *= 1 - cut_share
    cutting[:, 1:] = cut_share * share[:, :-1]
    counting = np.zeros_like(share)
    counting[:, 1:] = (1 - cut_share) * share[:, :-1]
    return _Plan(np.floor(counting).astype(np.int64), np.floor(cutting).astype(np.int64))


def stops(wanted: FloatArray, below: float) -> BoolArray:
    """Which nodes are not worth a split, judged by how many slabs their noisy counts deserve."""
    leaves: BoolArray = wanted < below
    return leaves


def _root(points: Points, ledger: Ledger, spent: int) -> _Level:
    d, matrices = len(points.lengths), points.matrices
    noisy = ledger.count("total", ledger.roots, points.totals, spent)
    low = np.zeros((matrices, d), np.int64)
    high = np.tile(np.array(points.lengths, np.int64), (matrices, 1))
    return _Level(ledger.roots, np.arange(matrices), low, high, points.number.copy(), noisy)


def _counts(points: Points, level: _Level) -> IntArray:
    inside = level.of_point >= 0
    return add(level.of_point[inside], points.counts[inside], len(level.node))


def _publish(ledger: Ledger, level: _Level, counts: IntArray, final: BoolArray) -> Boxes:
    noisy, charged = ledger.publish("cells", level.node[final], counts[final])
    return Boxes(level.low[final], level.high[final], noisy, charged, level.matrix[final], level.node[final])


def _ends(level: _Level, nodes: IntArray, axis: int) -> tuple[list[int], list[int]]:
    return level.low[nodes, axis].tolist(), level.high[nodes, axis].tolist()


def _choose(
    points: Points,
    ledger: Ledger,
    level: _Level,
    nodes: IntArray,
    slabs: IntArray,
    depth: int,
    cutting: IntArray,
    count: int,
) -> list[IntArray]:
    """Return for each node the cuts that a noisy minimum picks from `count` candidates."""
    if not len(nodes):
        return []
    random = public_random()
    of_point = _renumber(level, nodes)
    inside = of_point >= 0
    column, counts, of_point = points.cells[inside, depth], points.counts[inside], of_point[inside]
    sides = (level.high - level.low)[nodes].astype(np.float64)
    across = sides.prod(axis=1) / sides[:, depth]
    low, high = _ends(level, nodes, depth)
    tried = [candidates(*ends, count, random) for ends in zip(low, high, slabs.tolist(), strict=True)]
    scores = np.zeros((len(nodes), count), np.int64)
    for number in range(count):
        edges, first, owner = _flat([each[number] for each in tried])
        volume = (_upper(edges, first, np.array(high)) - edges) * across[owner]
        slab = _slab(of_point, column, owner, edges, points.lengths[depth])
        scores[:, number] = np.add.reduceat(unevenness(slab, counts, volume, len(edges)), first)
    picks = [
        ledger.choose(f"cuts {depth}", node, score, SENSITIVITY, parts)
        for node, score, parts in zip(level.node[nodes].tolist(), scores, cutting.tolist(), strict=True)
    ]
    return [each[pick] for each, pick in zip(tried, picks, strict=True)]


def _split(points: Points, ledger: Ledger, level: _Level, split: IntArray, cuts: list[IntArray], axis: int) -> _Level:
    """Replace nodes by their slabs along one axis; `cuts` are the lower edges of each node's slabs."""
    edges, first, owner = _flat(cuts)
    of_point = _renumber(level, split)
    inside = of_point >= 0
    of_point[inside] = _slab(of_point[inside], points.cells[inside, axis], owner, edges, points.lengths[axis])
    parent = split[owner]
    low, high = level.low[parent], level.high[parent]
    low[:, axis] = edges
    high[:, axis] = _upper(edges, first, level.high[split, axis])
    nodes = ledger.children(level.node[parent])
    return _Level(nodes, level.matrix[parent], low, high, of_point, np.zeros(len(nodes), np.int64))


def _renumber(level: _Level, nodes: IntArray) -> IntArray:
    """Return the position in `nodes` of the node that holds each point, -1 for none."""
    rank = np.full(len(level.node) + 1, -1, np.int64)  # the last entry stands for points in leaves
    rank[nodes] = np.arange(len(nodes))
    ranks: IntArray = rank[level.of_point]
    return ranks


def _flat(cuts: list[IntArray]) -> tuple[IntArray, IntArray, IntArray]:
    """Return all edges in one array, where each list starts, and the list of each edge."""
    sizes = np.array([len(each) for each in cuts], np.int64)
    edges = np.concatenate(cuts) if cuts else np.zeros(0, np.int64)
    return edges, np.cumsum(sizes) - sizes, np.repeat(np.arange(len(cuts)), sizes)


def _upper(edges: IntArray, first: IntArray, high: IntArray) -> IntArray:
    """Return the upper edge of each slab: the next lower edge, or the end of its node."""
    if not len(edges):
        return edges
    upper = np.append(edges[1:], 0)
    upper[np.append(first[1:], len(edges)) - 1] = high
    return upper


def _slab(of_point: IntArray, column: IntArray, owner: IntArray, edges: IntArray, length: int) -> IntArray:
    """Return the slab of each point: the last edge of its node that is not above it."""
    return np.searchsorted(owner * length + edges, of_point * length + column, side="right") - 1
