"""From flows to a release: solve, check every flow, describe."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from flowveil._engine import DUCKDB, choose_spread
from flowveil._errors import InputError, PromiseError, UnknownNameError
from flowveil._measure import Published, Rest
from flowveil._methods import find_method
from flowveil._problem import LARGEST_NUMBER, LOSSES, Problem, make_requirement
from flowveil._release.areas_from import solve_on_areas
from flowveil._release.assignment import make_assignment
from flowveil._release.elsewhere import find_elsewhere
from flowveil._release.manifest import make_manifest
from flowveil._release.release import Release
from flowveil._release.tables import areas_table, flows_table
from flowveil._release.totals import find_totals, withhold_beside

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from flowveil._arrays import IntArray
    from flowveil._flows import Flows, Measures
    from flowveil._methods import Method
    from flowveil._places import Areas
    from flowveil._problem import Solution
    from flowveil._release.elsewhere import Elsewhere
    from flowveil._release.totals import Totals

DEFAULT_METHOD = "mosaic"
DEFAULT_SUPPRESSION = 0.10
DEFAULT_LOSS = "tiles"


def anonymize(
    flows: Flows,
    method: str = DEFAULT_METHOD,
    k: int = 10,
    *,
    max_suppression: float | None = None,
    max_gbar: float | None = None,
    loss: str = DEFAULT_LOSS,
    k_weight: float | Literal["auto"] | None = None,
    min_tiles: int = 1,
    elsewhere: bool = False,
    totals: bool = False,
    beside: str | Path | None = None,
    areas_from: str | Path | None = None,
    options: Mapping[str, Any] | None = None,
    engine: str = DUCKDB,
    master: str | None = None,
) -> Release:
    """Return a release in which every flow passes the requirement, or raise PromiseError.

    method: a name that `methods()` lists. k: the fewest persons (trips when the flows have no unit) of a flow.
    max_suppression: the largest share of trips that may be left out (default 0.10 where the method can steer it).
    max_gbar: in its place, the precision to reach (mean tiles of both ends of a trip), leaving out as few as possible.
    loss: what a method that optimizes loses little of: tiles, metres or reconstruction.
    k_weight: the fewest people represented by a flow; "auto" is k times the mean weight of persons.
    min_tiles: the fewest tiles of both ends.
    elsewhere: report the withheld trips of an area as one flow to `elsewhere`, where they pass the same tests.
    totals: with groups, publish all groups together too, less what would give single groups away.
    beside: an earlier release of the same data; flows that would give people away together with it are withheld.
    areas_from: an earlier release whose areas are used, in place of a method; flows that fail there are withheld.
    options: options of the method by name.
    engine, master: where matrices are solved that need not wait for each other: on the cores of this machine, or with
    "spark" on a cluster. The release is the same.
    """
    if elsewhere + totals + (beside is not None) > 1:  # each is checked against the flows of groups only
        raise InputError("elsewhere, totals and a release beside do not go together", "choose one of them")
    spread = choose_spread(engine, master)
    chosen = find_method(method)
    problem = make_problem(flows, chosen, k, k_weight, min_tiles, loss)
    typed = chosen.parse_options(options)
    share = _share(chosen, max_suppression, max_gbar)
    if areas_from is not None:
        share = max_suppression
    problem = replace(problem, budget=int(flows.total * (1 if share is None else share) + 1e-9), max_gbar=max_gbar)
    if areas_from is None:
        solution = chosen.run(problem, typed, spread)
    else:
        solution, chosen = _on_areas(problem, areas_from, chosen, typed, max_gbar)
    if beside is not None:
        solution = withhold_beside(problem, solution, beside)
    measures = _check(problem, solution, chosen, share, beside=beside is not None)
    rest = find_elsewhere(problem, solution) if elsewhere else None
    whole = find_totals(problem, solution, lambda other: chosen.run(other, typed, spread)) if totals else None
    return Release(
        flows=flows_table(flows, solution, measures, rest, whole),
        areas=areas_table(flows, solution, rest, whole),
        manifest=make_manifest(
            flows,
            chosen,
            typed | _not_default(loss=loss, max_gbar=max_gbar),
            problem.requirement,
            exact=solution.exact,
            max_suppression=share,
            elsewhere=elsewhere,
            rectangles=solution.rectangles is not None,
            overlapping=solution.overlapping,
            totals=totals,
            areas_from=areas_from is not None,
        ),
        source=flows,
        published=_published(flows, solution, measures, rest, whole),
        assignment=make_assignment(flows, solution, rest) if solution.overlapping else None,
        notes=(*solution.notes, *_notes(whole)),
    )


def _on_areas(
    problem: Problem, folder: str | Path, method: Method, typed: Mapping[str, Any], max_gbar: float | None
) -> tuple[Solution, Method]:
    if method.name != DEFAULT_METHOD or typed or max_gbar is not None:
        raise InputError(
            "the areas of an earlier release leave nothing to choose", "leave out method, options and max_gbar"
        )
    solution, name = solve_on_areas(problem, folder)
    return solution, find_method(name)


def _published(
    flows: Flows, solution: Solution, measures: Measures, rest: Elsewhere | None, whole: Totals | None
) -> Published:
    """Return what metrics need to know."""
    published = Published(
        solution.origin,
        solution.destination,
        measures.trips,
        solution.matrix,
        group=solution.group if solution.exact else None,
        time=solution.time,
        totals=None if whole is None else whole.measures.trips,
    )
    if solution.rectangles is not None:
        published = replace(
            published, areas=solution.sides(flows), group=solution.group, overlapping=solution.overlapping
        )
    if rest is not None:
        published = replace(published, elsewhere=Rest(rest.first, rest.area, rest.measures.trips))
    return published


def _notes(whole: Totals | None) -> list[str]:
    if whole is None:
        return []
    return [f"{whole.withheld} totals are withheld: they would give groups away"] if whole.withheld else []


def make_problem(
    flows: Flows, method: Method, k: int, k_weight: float | Literal["auto"] | None, min_tiles: int, loss: str
) -> Problem:
    """Return the problem with a budget of all trips, or raise if what is asked does not go together."""
    if loss not in LOSSES:
        raise UnknownNameError("loss", loss, LOSSES)
    if loss != DEFAULT_LOSS and not method.losses:
        raise InputError(f"{method.name} does not choose by loss", "leave out the loss, or use mosaic")
    if flows.times is not None and not method.times:
        raise InputError(f"{method.name} does not generalize time", "cut time with --time, or use mosaic")
    return Problem(flows, make_requirement(flows, k, k_weight, min_tiles), flows.total, loss)


def _share(method: Method, max_suppression: float | None, max_gbar: float | None) -> float | None:
    if max_gbar is not None:
        if max_suppression is not None:
            raise InputError("both max_suppression and max_gbar were given", "choose one: a budget or a precision")
        if not method.losses:
            raise InputError(f"{method.name} cannot be steered to a precision", "leave out max_gbar, or use mosaic")
        if not 0 <= max_gbar <= LARGEST_NUMBER:
            raise InputError(f"max_gbar is {max_gbar}", "it is a mean number of tiles of both ends; 2 is the finest")
        return None
    if max_suppression is None:
        return DEFAULT_SUPPRESSION if method.steers else None
    if not 0 <= max_suppression <= 1:
        raise InputError(f"max_suppression is {max_suppression}", "it is a share of trips, from 0 to 1")
    return max_suppression


def _not_default(loss: str, max_gbar: float | None) -> dict[str, Any]:
    typed: dict[str, Any] = {} if loss == DEFAULT_LOSS else {"loss": loss}
    return typed if max_gbar is None else typed | {"max_gbar": max_gbar}


def _check(
    problem: Problem, solution: Solution, method: Method, share: float | None, *, beside: bool = False
) -> Measures:
    """Measure what a method wants to publish, and raise unless every flow passes and the budget holds."""
    flows = problem.flows
    if not len(solution.origin):
        raise PromiseError(
            "no flow reaches the requirement", "lower k, use a coarser grid or a method that joins areas"
        )
    measures = flows.measure(solution.group, len(solution.origin))
    sides = solution.sides(flows)
    good = problem.requirement.passes(
        measures,
        *(_tiles(areas, ends) for areas, ends in zip(sides, (solution.origin, solution.destination), strict=True)),
    )
    if not good.all():
        raise PromiseError(f"{method.name} returned a flow that fails the requirement", "please report this bug")
    suppressed = flows.total - int(measures.trips.sum())
    if suppressed > problem.budget and share is not None:
        raise PromiseError(
            f"{method.name} leaves out {suppressed / flows.total:.2%} of the trips, more than the {share:.2%} allowed",
            "allow more with --max-suppression, lower k, or use a coarser grid"
            + ("; flows are also withheld because of the release beside" if beside else ""),
        )
    return measures


def _tiles(areas: Areas, numbers: IntArray) -> IntArray:
    distinct, position = np.unique(numbers, return_inverse=True)
    return areas.tiles(distinct)[position]
