"""What areas in common cost beside areas that every step of time and group has for itself."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from flowveil._problem import Problem, Solution


def compare_with_free(problem: Problem, solution: Solution, solve: Callable[[Problem], Solution]) -> str:
    """Return a sentence about precision and trips left out with areas in common, and without. Private."""
    free = replace(problem, same_areas=False)
    (tiles, left), (free_tiles, free_left) = (_figures(problem, one) for one in (solution, solve(free)))
    return (
        f"areas in common: {tiles:.2f} tiles at both ends of a trip on average, {left:.2%} of the trips left out; areas"
        f" for each step or group: {free_tiles:.2f} tiles, {free_left:.2%} left out"
    )


def _figures(problem: Problem, solution: Solution) -> tuple[float, float]:
    """Return the mean tiles of both ends of published trips, and the share of trips that is left out."""
    flows = problem.flows
    trips = flows.measure(solution.group, len(solution.origin)).trips
    first, second = solution.numbered or (flows.origins, flows.destinations)
    tiles = first.tiles[solution.origin] + second.tiles[solution.destination]
    return float((trips * tiles).sum() / max(trips.sum(), 1)), 1 - float(trips.sum()) / flows.total
