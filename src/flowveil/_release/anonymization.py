"""From flows to a release: solve, check every flow, describe."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Unpack

import numpy as np

from flowveil._engine import DUCKDB, choose_spread
from flowveil._errors import InputError, LossWarning, PromiseError, warn
from flowveil._flows import Crowds, check_flows
from flowveil._measure import Published, Rest
from flowveil._methods import find_method
from flowveil._options import DEFAULT_LOSS, parse_description
from flowveil._places import finest, fixed
from flowveil._problem import Problem, make_requirement
from flowveil._register import HOW_TO_FORGET
from flowveil._release.again import check_again, check_register, look_back, may_withhold, why_withheld, withhold_again
from flowveil._release.areas_from import lost_on_areas, solve_on_areas
from flowveil._release.assignment import make_assignment
from flowveil._release.changing import check_changeable, published_table
from flowveil._release.coverage import measure_coverage
from flowveil._release.demand import DEFAULT_METHOD, parse_demand
from flowveil._release.earlier import on_places_of
from flowveil._release.elsewhere import find_elsewhere
from flowveil._release.layers import layers_of
from flowveil._release.manifest import make_manifest
from flowveil._release.margins import protect, solve_within_margins
from flowveil._release.release import Release
from flowveil._release.same_areas import compare_with_free
from flowveil._release.tables import areas_table
from flowveil._release.totals import find_totals, withhold_beside

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from flowveil._arrays import IntArray
    from flowveil._flows import Flows, Measures
    from flowveil._methods import Value
    from flowveil._options import DescriptionOptions
    from flowveil._places import Areas, ZonesLike
    from flowveil._problem import Solution
    from flowveil._release.again import Before
    from flowveil._release.demand import Demand
    from flowveil._release.elsewhere import Elsewhere
    from flowveil._release.totals import Totals

_IN_PLACE = (
    "what is out cannot be changed: publish a time or group that has no trips in common with these releases, or larger "
    f"areas (a coarser grid, --min-tiles), or let more be left out (--max-suppression). {HOW_TO_FORGET}"
)


def anonymize(
    flows: Flows,
    method: str = DEFAULT_METHOD,
    k: int | None = None,
    *,
    preset: str | None = None,
    max_suppression: float | None = None,
    max_gbar: float | None = None,
    loss: str = DEFAULT_LOSS,
    k_weight: float | str | None = None,
    min_tiles: int = 1,
    max_share: float | None = None,
    sensitive: ZonesLike | None = None,
    sensitive_tiles: int | None = None,
    elsewhere: bool = False,
    totals: bool = False,
    remainders: bool = False,
    protect_margins: bool = False,
    hide_choice: float | None = None,
    rounding: int | None = None,
    cell_key: int | None = None,
    secret: str | Path | None = None,
    beside: str | Path | None = None,
    areas_from: str | Path | None = None,
    same_areas: bool = False,
    register: str | Path | None = None,
    options: Mapping[str, Value] | None = None,
    engine: str = DUCKDB,
    master: str | None = None,
    **description: Unpack[DescriptionOptions],
) -> Release:
    """Return a release in which every flow passes the requirement, or raise PromiseError.

    method: a name that `methods()` lists. k: the fewest persons (trips when the flows have no unit) of a flow (default
    10). preset: a k that others set for persons, in its place: ine-15, mds-10, insee-11, cnil-10, flowkit-15.
    max_suppression: the largest share of trips that may be left out (default 0.10 where the method can steer it).
    max_gbar: in its place, the precision to reach (mean tiles of both ends of a trip), leaving out as few as possible.
    loss: what a method that optimizes loses little of: tiles, metres, reconstruction, or area (tiles of a grid, seen
    in the data or not; square kilometers of zones).
    k_weight: the fewest people represented by a flow; "auto" is k times the mean weight of persons,
    "10x" ten times, whatever k is.
    min_tiles: the fewest tiles of both ends.
    max_share: the largest share of a flow's trips that one person may make, e.g. 0.5; the flows must have a unit.
    sensitive: places (clinics, shelters) that flows must not pin down, as a file or table of points or outlines: an
    area that touches one has at least sensitive_tiles tiles, seen in the data or not (default 7). They stay private.
    elsewhere: report the withheld trips of an area as one flow to `elsewhere`, where they pass the same tests.
    totals: with groups, publish all groups together too, less what would give single groups away.
    remainders: a flow may count all other trips between its areas, after finer flows inside were taken out.
    protect_margins: withhold further flows, so that whoever knows how many trips start and end in each place learns of
    no smaller crowd.
    hide_choice: the largest chance that a secret draw keeps a pair of areas whole that could be divided, so that none
    that is whole tells for certain of a small group in it.
    rounding: publish all numbers as multiples of this base, rounded up or down by chance such that sums agree.
    cell_key: in its place, change every number by at most so much, by chance; the same trips are always changed alike.
    secret: a file with what chance is drawn from, 64 hexadecimal digits, so that the same trips give the same release;
    by default a new one, which the private audit file keeps.
    beside: an earlier release of the same data; flows that would give people away together with it are withheld.
    areas_from: an earlier release whose areas are used, in place of a method; flows that fail there are withheld.
    same_areas: choose areas for all steps of time and groups at once, so that they can be compared; a flow that fails
    in one of them is withheld there.
    register: a private file that knows all releases of a source, made if there is none: flows that would give people
    away together with any of them are withheld, and `write` enters the new one.
    options: options of the method by name.
    engine, master: where matrices are solved that need not wait for each other: on the cores of this machine, or with
    "spark" on a cluster. The release is the same.
    description: what is published with it as one line of text each: title, period, publisher, license, contact, and
    unit_label, what the unit tells apart in the plural, e.g. "bikes".

    >>> flows = fv.build_flows("trips.parquet", "h3:7", unit="person_id")
    >>> release = fv.anonymize(flows, k=5, max_suppression=0.05)
    >>> release
    <Release: 100 flows by mosaic>
    >>> release.metrics()["suppressed"] <= 0.05
    True
    """
    asked = parse_demand(
        method,
        k,
        preset=preset,
        unit=check_flows(flows).provenance.unit,
        counted_persons=flows.provenance.counted_persons,
        by=flows.provenance.by,
        max_suppression=max_suppression,
        max_gbar=max_gbar,
        loss=loss,
        k_weight=k_weight,
        min_tiles=min_tiles,
        max_share=max_share,
        sensitive=sensitive,
        sensitive_tiles=sensitive_tiles,
        elsewhere=elsewhere,
        totals=totals,
        remainders=remainders,
        protect_margins=protect_margins,
        rounding=rounding,
        cell_key=cell_key,
        hide_choice=hide_choice,
        secret=secret,
        beside=beside,
        areas_from=areas_from,
        same_areas=same_areas,
        options=options,
    )
    said = parse_description(description, has_unit=flows.provenance.unit is not None)
    spread = choose_spread(engine, master)
    check_register(register, engine)
    earlier = beside if areas_from is None else areas_from
    flows = flows if earlier is None else on_places_of(earlier, flows)
    problem = _with_budget(make_problem(flows, asked), asked)
    before = None if register is None else look_back(register, problem, asked, said.get("period"))

    def solve(problem: Problem) -> Solution:
        return asked.method.run(problem, asked.options, spread)

    if areas_from is None:
        solution = solve_within_margins(problem, solve) if protect_margins else solve(problem)
    else:
        solution, name = solve_on_areas(problem, areas_from)
        solution = protect(problem, solution) if protect_margins else solution
        asked = replace(asked, method=find_method(name))
    if beside is not None:
        solution = withhold_beside(problem, solution, beside)
    if before is not None:
        solution = withhold_again(problem, solution, before)
    measures = _check(problem, solution, asked, beside=beside is not None)
    check_changeable(flows, solution, asked)
    rest = find_elsewhere(problem, solution) if elsewhere else None
    whole = find_totals(problem, solution, solve) if totals else None
    release = _describe(problem, solution, asked, (measures, rest, whole), said, areas_from=areas_from is not None)
    for text in release.doubts:
        warn(text, LossWarning)
    if same_areas:
        release = replace(release, told=(compare_with_free(problem, solution, solve),))
    elif areas_from is not None:
        release = replace(release, told=(lost_on_areas(problem, solution),))
    return release if before is None else _enter(release, problem, solution, (rest, whole), before)


def _enter(
    release: Release, problem: Problem, solution: Solution, more: tuple[Elsewhere | None, Totals | None], before: Before
) -> Release:
    """Return a release that writing enters in a register, or raise if it may not be published beside what is there."""
    layers = layers_of(problem.flows, solution, *more, before.marked.pair)
    if any(part is not None for part in more) or not may_withhold(solution, problem):
        check_again(problem, layers, before)
    withheld = why_withheld(solution)
    entry = before.describe(layers, release.manifest, before.notes + (() if withheld is None else (withheld,)))
    return replace(release, entry=entry, notes=(*release.notes, *before.notes))


def _with_budget(problem: Problem, asked: Demand) -> Problem:
    share = 1 if asked.share is None else asked.share
    return replace(problem, budget=int(problem.flows.total * share + 1e-9), max_gbar=asked.max_gbar)


def _describe(
    problem: Problem,
    solution: Solution,
    asked: Demand,
    counts: tuple[Measures, Elsewhere | None, Totals | None],
    description: dict[str, str],
    *,
    areas_from: bool,
) -> Release:
    """Return the release of a solution; counts: of its flows, and the flows to elsewhere and totals, if asked for."""
    flows, (measures, rest, whole) = problem.flows, counts
    return Release(
        flows=published_table(flows, solution, asked, (measures, rest, whole)),
        areas=areas_table(flows, solution, rest, whole),
        manifest=make_manifest(
            flows,
            asked.method,
            asked.options | _not_default(loss=asked.loss, max_gbar=asked.max_gbar),
            problem.requirement,
            exact=solution.exact,
            max_suppression=asked.share,
            elsewhere=rest is not None,
            rectangles=solution.rectangles is not None,
            overlapping=solution.overlapping,
            totals=whole is not None,
            remainders=asked.remainders,
            protect_margins=asked.protect_margins,
            rounding=asked.rounding,
            cell_key=asked.cell_key,
            hidden_choice=None if asked.chance is None else asked.chance.share,
            areas_from=areas_from,
            same_areas=asked.same_areas,
            sensitive_tiles=None if problem.sensitive is None else problem.sensitive.tiles,
            description=description,
        ),
        source=flows,
        sensitive=asked.sensitive_path,
        published=_published(flows, solution, measures, rest, whole),
        assignment=make_assignment(flows, solution, rest) if solution.overlapping else None,
        secret=asked.secret,
        notes=(*solution.notes, *([] if areas_from else _unit_of(problem)), *_notes(whole)),
        coverage=measure_coverage(flows, solution.group, None if whole is None else int(whole.measures.trips.sum())),
    )


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
        above=solution.above,
    )
    if solution.rectangles is not None or solution.numbered is not None:
        published = replace(
            published, areas=solution.sides(flows), group=solution.group, overlapping=solution.overlapping
        )
    if rest is not None:
        published = replace(published, elsewhere=Rest(rest.first, rest.area, rest.measures.trips, rest.matrix))
    return published


def _unit_of(problem: Problem) -> list[str]:
    """Say what the loss counts where its name leaves that open."""
    if problem.loss != "area":
        return []
    unit = "square kilometers" if problem.flows.places.by_zone else "all tiles of an area, seen or not"
    return [f"the loss area counts {unit}"]


def _notes(whole: Totals | None) -> list[str]:
    if whole is None:
        return []
    return [f"{whole.withheld} totals are withheld: they would give groups away"] if whole.withheld else []


def make_problem(flows: Flows, asked: Demand) -> Problem:
    """Return the problem with a budget of all trips, or raise if what is asked does not go with these flows."""
    if flows.times is not None and asked.same_areas:
        raise InputError(
            "where time is generalized like places, flows of different times have areas of their own",
            "cut time with --time, or leave out --same-areas",
        )
    if flows.times is not None and not asked.method.times:
        raise InputError(f"{asked.method.name} does not generalize time", "cut time with --time, or use mosaic")
    several = asked.several and not isinstance(flows.people, Crowds)  # which a cluster counted for one tree
    if asked.chance is not None:
        flows = flows.on(fixed(flows.places))
    elif several:
        flows = flows.on(finest(flows.places))
    requirement = make_requirement(flows, asked.k, asked.k_weight, asked.min_tiles, asked.max_share)
    if asked.remainders:
        _check_remainders(flows, asked)
    return Problem(
        flows,
        requirement,
        flows.total,
        asked.loss,
        several=several,
        remainders=asked.remainders,
        sensitive=asked.sensitive,
        same_areas=asked.same_areas,
        chance=asked.chance,
    )


def _check_remainders(flows: Flows, asked: Demand) -> None:
    """Raise if remainders of these flows cannot be counted, or not be steered to what is asked."""
    if isinstance(flows.people, Crowds):
        raise InputError(
            "persons stayed on the cluster, which does not count those of remainders",
            "build the flows without k, or leave out --remainders",
        )
    if asked.max_gbar is not None and (flows.times is not None or asked.loss != DEFAULT_LOSS):
        raise InputError(
            "with remainders, tiles alone must be the loss of a precision", "give a budget, or leave out --remainders"
        )


def _not_default(loss: str, max_gbar: float | None) -> dict[str, Value]:
    typed: dict[str, Value] = {} if loss == DEFAULT_LOSS else {"loss": loss}
    return typed if max_gbar is None else typed | {"max_gbar": max_gbar}


def _check(problem: Problem, solution: Solution, asked: Demand, *, beside: bool) -> Measures:
    """Measure what a method wants to publish, and raise unless every flow passes and the budget holds."""
    flows, withheld = problem.flows, why_withheld(solution)
    if not len(solution.origin):
        if withheld is not None:
            raise PromiseError(f"nothing may be published: {withheld}", HOW_TO_FORGET)
        raise PromiseError(
            "no flow reaches the requirement", "lower k, use a coarser grid or a method that joins areas"
        )
    measures = problem.measure(solution.group, len(solution.origin))
    sides = solution.sides(flows)
    good = problem.requirement.passes(
        measures,
        *(_tiles(areas, ends) for areas, ends in zip(sides, (solution.origin, solution.destination), strict=True)),
    )
    if not good.all() or _bars(problem, solution):
        raise PromiseError(f"{asked.method.name} returned a flow that fails the requirement", "please report this bug")
    suppressed = flows.total - int(measures.trips.sum())
    if suppressed > problem.budget and asked.share is not None:
        raise PromiseError(
            f"{asked.method.name} leaves out {suppressed / flows.total:.2%} of the trips, more than the "
            f"{asked.share:.2%} allowed" + (f": {withheld}" if withheld else ""),
            (_IN_PLACE if withheld else "allow more with --max-suppression, lower k, or use a coarser grid")
            + ("; flows are also withheld because of the release beside" if beside else "")
            + ("; flows are also withheld to protect margins" if asked.protect_margins else ""),
        )
    return measures


def _bars(problem: Problem, solution: Solution) -> bool:
    """Whether an area of a solution is too small beside a sensitive place."""
    if problem.sensitive is None:
        return False
    places, trees = problem.flows.places, solution.numbered or (problem.flows.origins, problem.flows.destinations)
    ends = zip(trees, (solution.origin, solution.destination), strict=True)
    return any(problem.sensitive.barred(places, tree, nodes).any() for tree, nodes in ends)


def _tiles(areas: Areas, numbers: IntArray) -> IntArray:
    distinct, position = np.unique(numbers, return_inverse=True)
    return areas.tiles(distinct)[position]
