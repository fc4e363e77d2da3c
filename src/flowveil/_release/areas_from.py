"""New trips on the areas of an earlier release, so that the two can be compared."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from flowveil._problem import Solution
from flowveil._release.earlier import lay_over

if TYPE_CHECKING:
    from pathlib import Path

    from flowveil._problem import Problem


def solve_on_areas(problem: Problem, folder: str | Path) -> tuple[Solution, str]:
    """Return the flows of an earlier release that pass with the new trips, and the method that made its areas.

    Where the earlier release is for all times and groups together, its areas serve each matrix.
    """
    flows = problem.flows
    earlier = lay_over(flows, folder, listed=True)
    width = max(len(earlier.origin), 1)
    inside = earlier.group >= 0
    keys, place = np.unique(flows.matrix[inside] * width + earlier.group[inside], return_inverse=True)
    matrix, flow = np.divmod(keys, width)
    origin, destination = earlier.origin[flow], earlier.destination[flow]
    group = np.full(len(flows), -1, np.int64)
    group[inside] = place
    first, second = earlier.numbered or (flows.origins, flows.destinations)
    good = problem.requirement.passes(problem.measure(group, len(keys)), first.tiles[origin], second.tiles[destination])
    if problem.sensitive is not None:
        for areas, ends in ((first, origin), (second, destination)):
            good &= ~problem.sensitive.barred(flows.places, areas, ends)
    number = np.append(np.where(good, np.cumsum(good) - 1, -1), -1)  # the last entry is for no flow
    solution = Solution(
        origin[good],
        destination[good],
        number[group],
        matrix[good],
        notes=(f"{int((~good).sum())} flows on the areas of the earlier release fail and are withheld",),
        time=None if earlier.time is None else earlier.time[flow][good],
        numbered=earlier.numbered,
    )
    return solution, earlier.method
