"""Compiled loops over boxes and queries. Imported only when queries are answered: numba is slow to import.

Compiled from a plain Python function of the same name with an underscore, which tests run as it stands.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from flowveil._compiled import compiled

if TYPE_CHECKING:
    from flowveil._arrays import FloatArray, IntArray


def _answer(
    query_low: FloatArray,
    query_high: FloatArray,
    low: IntArray,
    high: IntArray,
    values: FloatArray,
    squares: FloatArray,
) -> tuple[FloatArray, FloatArray]:
    """Sum values over the share of each box that lies in a query; squares are summed with the square of the share."""
    queries, axes = query_low.shape
    answers = np.zeros(queries)
    variances = np.zeros(queries)
    for query in range(queries):
        total, variance = 0.0, 0.0
        for box in range(len(values)):
            share = 1.0
            for axis in range(axes):
                start = max(query_low[query, axis], low[box, axis])
                end = min(query_high[query, axis], high[box, axis])
                if end <= start:
                    share = 0.0
                    break
                share *= (end - start) / (high[box, axis] - low[box, axis])
            if share > 0.0:
                total += share * values[box]
                variance += share * share * squares[box]
        answers[query] = total
        variances[query] = variance
    return answers, variances


answer = compiled(_answer)
