"""Range queries by the thousand, and how far off a release is on them. Private: they use true counts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from flowveil._errors import UnknownNameError
from flowveil._reading import share_inside

if TYPE_CHECKING:
    from collections.abc import Sequence

    from flowveil._arrays import FloatArray, IntArray
    from flowveil._matrices.boxes import Boxes
    from flowveil._matrices.points import Points
    from flowveil._reading import Marginal

# Share of each side that a query spans; None: any shape and size.
SIZES: dict[str, float | None] = {"random": None, "1%": 0.01, "5%": 0.05, "10%": 0.10}
_KNOWN = {**SIZES, "20%": 0.20}  # so large queries are for many dimensions, where smaller ones are empty
PLACEMENTS = ("uniform", "records")
_SANITY = 0.001  # a true answer below this share of all trips is judged as if it were that share
_SMALL_SANITY = 10  # for queries of 1 %, in trips


@dataclass(frozen=True, eq=False)
class Workload:
    """Queries: cells `low` (included) to `high` (excluded) along every axis, with their true answers."""

    name: str
    low: IntArray
    high: IntArray
    true: FloatArray
    sanity: float


def make_workload(
    points: Points, size: str, placement: str = "uniform", queries: int = 1000, seed: int = 0
) -> Workload:
    """Draw queries of one size.

    size: random, 1%, 5%, 10% or 20% of each side. placement: `uniform`, or `records` for queries centered on random
    trips. Uniform small queries are almost all empty in four dimensions and rank nothing.
    """
    if size not in _KNOWN:
        raise UnknownNameError("size of queries", size, _KNOWN)
    if placement not in PLACEMENTS:
        raise UnknownNameError("placement of queries", placement, PLACEMENTS)
    random = np.random.default_rng([seed, *map(ord, size + placement)])
    lengths = np.array(points.lengths)
    share = _KNOWN[size]
    if share is None:
        ends = np.sort(random.integers(0, lengths + 1, (2, queries, len(lengths))), axis=0)
        low, high = ends[0], np.minimum(np.maximum(ends[1], ends[0] + 1), lengths)
        low = np.minimum(low, high - 1)
    else:
        side = np.maximum(np.rint(share * lengths), 1).astype(np.int64)
        if placement == "uniform":
            low = random.integers(0, lengths - side + 1, (queries, len(lengths)))
        else:
            weight = points.counts / points.counts.sum()
            low = points.cells[random.choice(len(weight), queries, p=weight)] - side // 2
            low = np.clip(low, 0, lengths - side)
        high = low + side
    true = answer_queries(low, high, points.cells, points.cells + 1, points.counts.astype(np.float64))
    sanity = _SMALL_SANITY if size == "1%" else sanity_of(int(points.counts.sum()))
    return Workload(f"{size} {placement}" if share else size, low, high, true, sanity)


def sanity_of(total: int) -> float:
    """Return the number of trips below which true answers are judged as if they were that."""
    return max(1.0, _SANITY * total)


def answer_queries(
    low: IntArray, high: IntArray, box_low: IntArray, box_high: IntArray, values: FloatArray
) -> FloatArray:
    """Return the sum of values over the share of each box that lies in each query."""
    from flowveil._matrices.kernels import answer  # noqa: PLC0415  slow to import

    zeros = np.zeros(len(values))
    answers: FloatArray = answer(low.astype(np.float64), high.astype(np.float64), box_low, box_high, values, zeros)[0]
    return answers


def answer_boxes(workload: Workload, boxes: Boxes, counts: IntArray | None = None) -> FloatArray:
    """Return what a release of boxes answers: counts are spread inside a box by marginals, evenly without."""
    values = (boxes.counts if counts is None else counts).astype(np.float64)
    if boxes.marginals:
        spread = [marginal.spread() for marginal in boxes.marginals]
        return answer_by_place(workload, boxes.low, boxes.high, values, spread)
    return answer_queries(workload.low, workload.high, boxes.low, boxes.high, values)


def answer_by_place(
    workload: Workload, low: IntArray, high: IntArray, values: FloatArray, spread: Sequence[Marginal]
) -> FloatArray:
    """Return the sum of values over the share of each box that lies in each query, as marginals of places say."""
    places = []
    for place in range(len(spread)):
        axes = slice(2 * place, 2 * place + 2)
        rectangles, row = np.unique(np.column_stack([low[:, axes], high[:, axes]]), axis=0, return_inverse=True)
        places.append((axes, rectangles[:, :2], rectangles[:, 2:], row.ravel()))
    answers = np.zeros(len(workload.low))
    begin, stop = workload.low.astype(np.float64), workload.high.astype(np.float64)
    for query in range(len(answers)):
        shared = values.copy()
        for marginal, (axes, start, end, row) in zip(spread, places, strict=True):
            shared *= share_inside(marginal, start, end, begin[query, axes], stop[query, axes])[row]
        answers[query] = shared.sum()
    return answers


def mre(workload: Workload, answers: FloatArray) -> dict[str, float | None]:
    """Return the mean relative error in percent, and what it hides.

    `empty` is the share of queries with no trips, `mae` the mean absolute error, `median` the median relative error in
    percent of the other queries, `zero` the mean relative error of answering 0 to everything.
    """
    true = workload.true
    error = np.abs(true - answers)
    base = np.maximum(true, workload.sanity)
    filled = true > 0
    return {
        "mre": float(100 * (error / base).mean()),
        "empty": float(1 - filled.mean()),
        "mae": float(error.mean()),
        "median": float(100 * np.median(error[filled] / true[filled])) if filled.any() else None,
        "zero": float(100 * (true / base).mean()),
    }
