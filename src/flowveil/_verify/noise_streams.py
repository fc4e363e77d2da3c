"""Checking a stream with noise: every step repeats the last draw, and no window of steps spends more than epsilon."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from flowveil._verify.broken import broken

if TYPE_CHECKING:
    from flowveil._arrays import IntArray
    from flowveil._folder import Json
    from flowveil._verify.noise_layers import Layers

CHECKED = "no window of {} steps in a row spends more than epsilon, and every step repeats the draw it names"
_ROUNDING = 1e-9  # relative


def read_draws(promise: dict[str, Json], layers: Layers) -> dict[int, tuple[float, Json]]:
    """Return by matrix what its draw spent in all, and its budget."""
    draws = promise.get("draws")
    if not isinstance(draws, list) or not all(isinstance(draw, dict) for draw in draws):
        raise broken("the promise does not list the draws of its stream")
    read: dict[int, tuple[float, Json]] = {}
    for draw in draws:
        if set(draw) != {"matrix", "epsilon", "budget"}:
            raise broken("a draw of the promise has other keys than matrix, epsilon and budget")
        matrix, epsilon = draw["matrix"], draw["epsilon"]
        known = type(matrix) is int and 0 <= matrix < layers.matrices and matrix not in read
        if not known or not isinstance(epsilon, float) or not math.isfinite(epsilon) or epsilon <= 0:
            raise broken("a draw of the promise is of no matrix, or spends nothing")
        read[matrix] = (epsilon, draw["budget"])
    return read


def check_windows(
    epsilon: float, window: int, comparison: float, draws: dict[int, tuple[float, Json]], layers: Layers
) -> None:
    """Raise if steps in a row spend more than epsilon on someone whose trips may be in another group at each step."""
    groups, steps = len(layers.groups), len(layers.steps)
    nothing: tuple[float, Json] = (0.0, None)
    largest = [max(draws.get(step * groups + group, nothing)[0] for group in range(groups)) for step in range(steps)]
    spent = [comparison + each for each in largest]
    for first in range(max(steps - window, 0) + 1):
        if math.fsum(spent[first : first + window]) > epsilon * (1 + _ROUNDING):
            raise broken(f"{window} steps in a row spend more than epsilon")


def check_repeated(flows: pa.Table, matrix: IntArray, draws: dict[int, tuple[float, Json]], layers: Layers) -> IntArray:
    """Raise unless each step publishes the counts of the last draw, unchanged; return which draw each flow is of."""
    groups = len(layers.groups)
    drawn = layers.find(np.asarray(flows["drawn"].cast(pa.int64()).to_numpy(), np.int64)) * groups + matrix % groups
    last: dict[int, int] = {}
    for place in range(layers.matrices):
        last[place] = place if place in draws else last.get(place - groups, -1)
    if not np.array_equal(drawn, np.array([last[place] for place in matrix.tolist()], np.int64)):
        raise broken("a step does not name the last draw before it")
    named = [name for name in flows.column_names if name != "time"]
    by_matrix: dict[int, list[str]] = {}
    for place, row in zip(matrix.tolist(), flows.select(named).to_pylist(), strict=True):
        by_matrix.setdefault(place, []).append(repr(row))
    for place, content in by_matrix.items():
        if sorted(content) != sorted(by_matrix.get(last[place], [])):
            raise broken("a step repeats a draw with other counts")
    return drawn
