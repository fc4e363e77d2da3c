"""New trips on the areas of an earlier release, so that the two can be compared."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from flowveil._problem import Solution, pass_on_areas
from flowveil._release.earlier import lay_over

if TYPE_CHECKING:
    from pathlib import Path

    from flowveil._problem import Problem

_ADVICE = (
    "to lose less, give all periods as one input with --time month --same-areas, which chooses areas for all at once"
)


def solve_on_areas(problem: Problem, folder: str | Path) -> tuple[Solution, str]:
    """Return the flows of an earlier release that pass with the new trips, and the method that made its areas.

    Where the earlier release is for all times and groups together, its areas serve each matrix.
    """
    earlier = lay_over(problem.flows, folder, listed=True)
    nothing = earlier.origin[:0]
    areas = Solution(
        earlier.origin, earlier.destination, earlier.group, nothing, time=earlier.time, numbered=earlier.numbered
    )
    solution, failing = pass_on_areas(problem, areas)
    notes = (f"{failing} flows on the areas of the earlier release fail and are withheld",)
    return replace(solution, notes=notes), earlier.method


def lost_on_areas(problem: Problem, solution: Solution) -> str:
    """Say what is lost on areas that were chosen for other trips, and how to lose less. Private."""
    lost = problem.flows.trips[solution.group < 0].sum() / problem.flows.total
    return f"{lost:.1%} of the trips are left out on areas that were chosen for others; {_ADVICE}"
