"""Regular grids: one noisy total decides how many equal parts each side gets, and every part gets a noisy count."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from flowveil._errors import InputError
from flowveil._matrices.boxes import Boxes, join
from flowveil._matrices.points import add
from flowveil._noise import PARTS

if TYPE_CHECKING:
    from collections.abc import Callable

    from flowveil._arrays import FloatArray, IntArray
    from flowveil._matrices.points import Points
    from flowveil._noise import Ledger

TOTAL_SHARE = 0.01  # of epsilon, for the noisy total
TOTAL_PARTS = PARTS // 100
BORDER = 10 / 2**0.5  # c_0: which share of the trips on the border of a query is misplaced (Qardaji et al. 2013)
LEAST_SHARE = 0.001
_LARGEST_BORDER = 1e6
DEFAULT_MAX_CELLS = 2_000_000  # OpenDP draws about 100,000 integers a second


def identity(points: Points, ledger: Ledger, max_cells: int = DEFAULT_MAX_CELLS) -> Boxes:
    """Noise on every cell."""
    sides = np.tile(np.array(points.lengths), (points.matrices, 1))
    return _release(points, ledger, sides, max_cells)


def uniform(points: Points, ledger: Ledger, max_cells: int = DEFAULT_MAX_CELLS) -> Boxes:
    """One box: everything is taken to be spread evenly."""
    return _release(points, ledger, np.ones((points.matrices, len(points.lengths)), np.int64), max_cells)


def eug(
    points: Points,
    ledger: Ledger,
    max_cells: int = DEFAULT_MAX_CELLS,
    query_share: float = 0.0,
    border: float = BORDER,
    total_share: float = TOTAL_SHARE,
) -> Boxes:
    """Cut as the extended uniform grid does, as published (Eq. 13; Eq. 8 if the share of queries is known)."""
    check_queries(query_share, border)

    def side(total: FloatArray, epsilon: float, d: int) -> FloatArray:
        if d == 1:
            return np.ones_like(total)  # the published formula has no optimum here
        known = query_share ** (1 / d - 1 / 2) if query_share else 1.0
        alpha = (2 * (d - 1) / d * known * total * epsilon / (2**0.5 * border)) ** (2 / (3 * d - 2))
        return np.asarray(alpha if query_share else alpha * (d * (3 * d - 2) / (3 * d**2 - 3 * d + 2)))

    return _by_total(points, ledger, side, max_cells, total_share)


def eug_border(
    points: Points,
    ledger: Ledger,
    max_cells: int = DEFAULT_MAX_CELLS,
    query_share: float = 0.0,
    border: float = BORDER,
    total_share: float = TOTAL_SHARE,
) -> Boxes:
    """Cut as `eug`, with the border of a query counted right for more than two dimensions."""
    check_queries(query_share, border)

    def side(total: FloatArray, epsilon: float, d: int) -> FloatArray:
        known = query_share ** (1 / 2 - 1 / d) if query_share else 1.0
        return np.asarray((2 / d * known * total * epsilon / (2**0.5 * border)) ** (2 / (d + 2)))

    return _by_total(points, ledger, side, max_cells, total_share)


def ebp(points: Points, ledger: Ledger, max_cells: int = DEFAULT_MAX_CELLS, total_share: float = TOTAL_SHARE) -> Boxes:
    """Entropy-based partitioning (Eq. 19)."""
    return _by_total(points, ledger, entropy_side, max_cells, total_share)


def mkm(
    points: Points,
    ledger: Ledger,
    max_cells: int = DEFAULT_MAX_CELLS,
    variant: str = "lei",
    total_share: float = TOTAL_SHARE,
) -> Boxes:
    """Cut as Lei does for M-estimators; `variant=daf` as the DAF paper has it."""
    if variant not in ("lei", "daf"):
        raise InputError(f"mkm has no variant {variant!r}", "variants are lei and daf")

    def side(total: FloatArray, _: float, d: int) -> FloatArray:
        logarithm = np.sqrt(np.log(np.maximum(total, np.e))) if variant == "lei" else 1.0
        return np.asarray((total / logarithm) ** (2 / (d + 2)))

    return _by_total(points, ledger, side, max_cells, total_share)


def parts_of(share: float, name: str) -> int:
    """Return a share of the budget in parts, or raise."""
    if not LEAST_SHARE <= share <= 1 - LEAST_SHARE:
        raise InputError(f"{name} is {share}", f"give a share from {LEAST_SHARE} to {1 - LEAST_SHARE}")
    return int(share * PARTS)


def check_queries(query_share: float, border: float) -> None:
    """Raise unless queries cover a share of the space (0: not known), and the constant of the border is positive."""
    if not 0 <= query_share <= 1:
        raise InputError(f"query_share is {query_share}", "give the share of the space that queries cover, 0 to 1")
    if not 1 / _LARGEST_BORDER <= border <= _LARGEST_BORDER:
        raise InputError(f"border is {border}", f"give a number from {1 / _LARGEST_BORDER:g} to {_LARGEST_BORDER:g}")


def entropy_side(total: FloatArray | IntArray, epsilon: float | FloatArray, d: int) -> FloatArray:
    """Return parts a side at which the noise is as large as the information lost: the paper's Eq. 19."""
    return np.asarray((np.maximum(total, 0) * epsilon / 2**0.5) ** (2 / (3 * d)))


def noisy_total(points: Points, ledger: Ledger, spent: int) -> FloatArray:
    """Return the noisy count of each matrix, at least 0."""
    noisy = ledger.count("total", ledger.roots, points.totals, spent)
    return np.maximum(noisy, 0).astype(np.float64)


def too_many(needed: float, max_cells: int) -> InputError:
    """Return the error for a release of too many boxes."""
    return InputError(
        f"the release would have {needed:,.0f} boxes, more than max_cells = {max_cells:,}",
        "use fewer --cells or another method, or allow more with --option max_cells=N",
    )


def _by_total(
    points: Points,
    ledger: Ledger,
    side: Callable[[FloatArray, float, int], FloatArray],
    max_cells: int,
    total_share: float,
) -> Boxes:
    spent = parts_of(total_share, "total_share")
    total = noisy_total(points, ledger, spent)
    parts = side(total, ledger.epsilon_of(PARTS - spent), len(points.lengths))
    sides = np.clip(np.rint(parts)[:, None], 1, np.array(points.lengths)).astype(np.int64)
    return _release(points, ledger, sides, max_cells)


def _release(points: Points, ledger: Ledger, sides: IntArray, max_cells: int) -> Boxes:
    """Cut each matrix into equal parts and publish noisy counts; matrices of the same cut together."""
    needed = sides.astype(np.float64).prod(axis=1).max()
    if needed > max_cells:
        raise too_many(needed, max_cells)
    distinct, group = np.unique(sides, axis=0, return_inverse=True)
    return join([_grid(points, ledger, row, np.flatnonzero(group == at)) for at, row in enumerate(distinct)])


def _grid(points: Points, ledger: Ledger, sides: IntArray, matrices: IntArray) -> Boxes:
    cuts = [np.arange(m + 1) * length // m for m, length in zip(sides.tolist(), points.lengths, strict=True)]
    boxes = int(sides.prod())
    rank = np.full(points.matrices, -1, np.int64)
    rank[matrices] = np.arange(len(matrices))
    inside = rank[points.number] >= 0
    place = [np.searchsorted(cut, points.cells[inside, axis], side="right") - 1 for axis, cut in enumerate(cuts)]
    box = np.ravel_multi_index(place, sides.tolist())
    counts = add(rank[points.number[inside]] * boxes + box, points.counts[inside], boxes * len(matrices))
    nodes = ledger.children(np.repeat(matrices, boxes))
    noisy, charged = ledger.publish("cells", nodes, counts)
    corner = np.unravel_index(np.tile(np.arange(boxes), len(matrices)), sides.tolist())
    low = np.column_stack([cut[at] for cut, at in zip(cuts, corner, strict=True)])
    high = np.column_stack([cut[at + 1] for cut, at in zip(cuts, corner, strict=True)])
    return Boxes(low, high, noisy, charged, np.repeat(matrices, boxes), nodes)
