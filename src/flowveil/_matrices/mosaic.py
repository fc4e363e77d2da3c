"""noisy-mosaic: a tree cut of the origin-destination space over the hierarchies of both ends, steered by noisy counts.

Every node is a pair of areas. Its noisy count says how many parts it deserves; both areas are then cut along their
trees, the larger one first, until there are about as many pairs. Sparse pairs stop early and get all budget left.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from flowveil._matrices.grids import DEFAULT_MAX_CELLS, TOTAL_PARTS, too_many
from flowveil._matrices.points import add
from flowveil._noise import PARTS

if TYPE_CHECKING:
    from flowveil._arrays import BoolArray, FloatArray, IntArray
    from flowveil._matrices.ladder import Ladders
    from flowveil._matrices.points import Points
    from flowveil._noise import Ledger

# Counted depths below the root, then leaves. On the synthetic city 3 to 5 hardly differ; fewer need more boxes.
_DEPTHS = 5
# Parts deserved: (count * epsilon / this) ** (4/3), the optimum of `eug-border` in four dimensions, which has 20 here.
# A tree may be finer, since it stops by itself where trips are few: the best of 2.5, 5 and 10 on the synthetic city.
_TRIPS_A_PART = 2.5
_POWER = 4 / 3
_LEFT = PARTS - TOTAL_PARTS
_DOUBLING = np.array(
    [(_LEFT << depth) // ((1 << _DEPTHS) - 1) for depth in range(_DEPTHS - 1)]
)  # the last takes the rest
_NOBODY = np.zeros(0, np.int64)
_WORTH = 2  # fewer parts are not worth a cut


@dataclass(eq=False)
class Pairs:
    """Pairs of areas, each an area of a level of the ladder at both ends, and of time where that is an axis."""

    level: IntArray  # one row a pair: origin, destination, time
    area: IntArray
    matrix: IntArray
    node: IntArray  # in the ledger

    def pick(self, which: IntArray | BoolArray) -> Pairs:
        """Return some of the pairs."""
        return Pairs(self.level[which], self.area[which], self.matrix[which], self.node[which])


@dataclass(frozen=True, eq=False)
class Leaves:
    """A partition of the pairs of tiles into pairs of areas, with noisy counts."""

    pairs: Pairs
    counts: IntArray
    charged: IntArray
    node_of_point: IntArray  # the pair that each point lies in, by its node in the ledger; private

    def __len__(self) -> int:
        return len(self.counts)


def noisy_mosaic(
    points: Points,
    ledger: Ledger,
    ladders: Ladders,
    max_cells: int = DEFAULT_MAX_CELLS,
    *,
    doubling: bool = False,
) -> Leaves:
    """Cut the space of tile pairs; `points` are pairs of positions in the ladders.

    doubling: each depth spends twice what the one above does, whatever the total, so that all of many matrices do.
    """
    matrices = points.matrices
    flat = np.zeros((matrices, len(ladders.axes)), np.int64)
    pairs = Pairs(flat, flat.copy(), np.arange(matrices), ledger.roots)
    of_point, node_of_point = points.number.copy(), np.full(len(points.counts), -1, np.int64)
    noisy = ledger.count("total", ledger.roots, points.totals, TOTAL_PARTS)
    plan = np.tile(_DOUBLING, (matrices, 1)) if doubling else make_plan(noisy, ledger)
    done: list[Leaves] = []
    for depth in range(_DEPTHS):
        inside = of_point >= 0
        counts = add(of_point[inside], points.counts[inside], len(pairs.node))
        if depth:
            noisy = ledger.count(f"counts {depth}", pairs.node, counts, plan[pairs.matrix, depth - 1])
        wanted = deserved(noisy, ledger.epsilons(ledger.left(pairs.node)))
        start, end = ladders.tiles(pairs.level, pairs.area)
        final = (wanted < _WORTH) | (end - start == 1).all(axis=1)
        node_of_point[inside] = pairs.node[of_point[inside]]
        done.append(_publish(ledger, pairs.pick(final), counts[final]))
        split = np.flatnonzero(~final)
        fan_out = np.maximum(wanted[split] ** (1 / (_DEPTHS - depth)), _WORTH)
        levels = _levels(ladders, pairs.pick(split), fan_out)
        pairs, of_point = _split(points, ledger, ladders, pairs, split, levels, of_point, max_cells)
    inside = of_point >= 0
    counts = add(of_point[inside], points.counts[inside], len(pairs.node))
    node_of_point[inside] = pairs.node[of_point[inside]]
    done.append(_publish(ledger, pairs, counts))
    return replace(_join(done), node_of_point=node_of_point)


def deserved(noisy: IntArray, epsilon: FloatArray | float) -> FloatArray:
    """Return how many parts a noisy count is worth at what is left of epsilon."""
    return np.asarray((np.maximum(noisy, 0) * epsilon / _TRIPS_A_PART) ** _POWER)


def make_plan(noisy: IntArray, ledger: Ledger) -> IntArray:
    """Return what each counted depth spends, in parts: by the cube root of its expected nodes, as DAF does (Eq. 32)."""
    left = _LEFT
    fan_out = np.maximum(deserved(noisy, ledger.epsilon_of(left)), 1) ** (1 / _DEPTHS)
    weight = fan_out[:, None] ** (np.arange(1, _DEPTHS + 1) / 3)
    plan: IntArray = np.floor(left * weight / weight.sum(axis=1, keepdims=True)).astype(np.int64)
    return plan[:, :-1]


def _publish(ledger: Ledger, pairs: Pairs, counts: IntArray) -> Leaves:
    return Leaves(pairs, *ledger.publish("cells", pairs.node, counts), _NOBODY)


def _levels(ladders: Ladders, pairs: Pairs, fan_out: FloatArray) -> IntArray:
    """Return the levels of both ends at which each pair has the number of parts nearest to `fan_out` (by ratio).

    The end with the larger areas is cut first: public geometry alone decides. All of time is as large as all places.
    """
    level = pairs.level.copy()
    best, nearest = level.copy(), np.full(len(level), np.inf)
    size = np.subtract(*ladders.tiles(pairs.level, pairs.area)[::-1]) * (ladders.widths[0] / ladders.widths)
    last = ladders.last
    while True:
        parts = ladders.inside(pairs.level, pairs.area, level)[1]
        total = parts.prod(axis=1)
        far = np.where(total > 1, np.abs(np.log(total / fan_out)), np.inf)
        better = far < nearest
        best[better], nearest[better] = level[better], far[better]
        going = (total < fan_out) & (level < last).any(axis=1)
        if not going.any():
            return best
        larger = np.where(level < last, size / parts, -1).argmax(axis=1)
        level[going, larger[going]] += 1


def _split(
    points: Points,
    ledger: Ledger,
    ladders: Ladders,
    pairs: Pairs,
    split: IntArray,
    levels: IntArray,
    of_point: IntArray,
    max_cells: int,
) -> tuple[Pairs, IntArray]:
    """Replace pairs by all pairs of their areas at `levels`; return these and the pair of each point (-1: none)."""
    parents = pairs.pick(split)
    first, parts = ladders.inside(parents.level, parents.area, levels)
    size = parts.prod(axis=1)
    if size.sum() > max_cells * points.matrices:
        raise too_many(float(size.sum()), max_cells)
    base = np.cumsum(size) - size
    rank = np.full(len(pairs.node) + 1, -1, np.int64)  # the last entry stands for points in leaves
    rank[split] = np.arange(len(split))
    parent = rank[of_point]
    child = np.full(len(of_point), -1, np.int64)
    inside = parent >= 0
    at = parent[inside]
    stride = np.cumprod(np.column_stack([np.ones(len(parts), np.int64), parts[:, :0:-1]]), axis=1)[:, ::-1]
    place = ladders.areas(levels[at], points.cells[inside]) - first[at]
    child[inside] = base[at] + (place * stride[at]).sum(axis=1)
    owner = np.repeat(np.arange(len(split)), size)
    number = np.arange(len(owner)) - base[owner]
    area = first[owner] + number[:, None] // stride[owner] % parts[owner]
    return Pairs(levels[owner], area, parents.matrix[owner], ledger.children(parents.node[owner])), child


def _join(parts: list[Leaves]) -> Leaves:
    pairs = [part.pairs for part in parts]
    columns = {name: np.concatenate([getattr(each, name) for each in pairs]) for name in Pairs.__dataclass_fields__}
    counts, charged = (np.concatenate([getattr(part, name) for part in parts]) for name in ("counts", "charged"))
    return Leaves(Pairs(**columns), counts, charged, _NOBODY)
