"""suppression: publish the tile pairs that pass, drop the rest."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from flowveil._problem import Solution

if TYPE_CHECKING:
    from flowveil._problem import Problem


def solve(problem: Problem) -> Solution:
    """Publish every tile pair that passes by itself."""
    pairs = problem.measure_pairs(problem.flows.origin, problem.flows.destination)
    flow = np.cumsum(pairs.publishable) - 1
    origin = pairs.origin[pairs.publishable]
    return Solution(
        origin=origin,
        destination=pairs.destination[pairs.publishable],
        group=np.where(pairs.publishable, flow, -1)[pairs.group],
        matrix=np.zeros_like(origin),
        areas=(np.unique(pairs.origin),),
    )
