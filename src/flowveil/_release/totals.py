"""Totals over groups beside the groups themselves, less what the two together would give away."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from flowveil._difference import Atoms, make_atoms, withhold_exposing
from flowveil._errors import InputError
from flowveil._folder import TOTAL, most_error
from flowveil._release.earlier import lay_over
from flowveil._release.read import read_flows
from flowveil._release.telling import find_telling, whole_of

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from flowveil._arrays import BoolArray, IntArray
    from flowveil._flows import Flows, Measures
    from flowveil._problem import Problem, Solution
    from flowveil._release.earlier import Earlier


@dataclass(frozen=True, eq=False)
class Totals:
    """Flows of all groups together, and what was found for them."""

    flows: Flows
    solution: Solution
    measures: Measures
    withheld: int  # flows that would have given groups away
    of_pair: IntArray  # by tile pair of the groups: the total that counts it, -1 for none


def find_totals(problem: Problem, solution: Solution, solve: Callable[[Problem], Solution]) -> Totals:
    """Return totals that single out nobody together with the flows of groups; flows that would are withheld."""
    if not solution.exact or solution.rectangles is not None:
        raise InputError("totals need true volumes on areas of a tree", "use mosaic, or leave out --totals")
    flows, entry, step = _without_groups(problem.flows)
    whole = replace(problem, flows=flows)
    together = solve(whole)
    first = together.group[entry]
    totals = whole_of(together, step, problem.flows.provenance.by)
    telling = list(find_telling(problem, solution, totals, first))
    first = np.where(np.isin(first, telling), -1, first)

    def atoms(first: IntArray) -> Atoms:
        return make_atoms(first, solution.group, problem.flows, problem.requirement)

    kept, withheld = withhold_exposing(atoms, first)
    withheld += len(telling)
    of_entry = np.full(len(flows), -1, np.int64)
    of_entry[entry] = kept  # all groups of an entry lie in the same flow
    together = keep_flows(together, of_entry)
    return Totals(flows, together, flows.measure(together.group, len(together.origin)), withheld, together.group[entry])


def withhold_beside(problem: Problem, solution: Solution, folder: str | Path) -> Solution:
    """Return a solution less the flows that would give people away together with an earlier release of the data."""
    if not solution.exact or solution.rectangles is not None:
        raise InputError("a check beside another release needs true volumes on areas of a tree", "use mosaic")
    if most_error(read_flows(folder).manifest["promise"]):
        raise InputError(
            "the earlier release has changed numbers: what the two tell together cannot be checked", "name an exact one"
        )
    earlier = lay_over(problem.flows, folder)
    measures = problem.flows.measure(earlier.group, len(earlier.origin))
    _check_same_trips(problem, earlier, measures)
    if not problem.requirement.is_crowd(measures).all():
        raise InputError("the earlier release has flows of fewer people than asked for here", "ask for no more than it")
    if not len(solution.origin):
        return solution

    def same(new: IntArray, old: IntArray) -> BoolArray:
        ends: BoolArray = (solution.origin[new] == earlier.origin[old]) & (
            solution.destination[new] == earlier.destination[old]
        )
        if solution.time is not None and earlier.time is not None:
            ends &= solution.time[new] == earlier.time[old]
        return ends if earlier.divided_alike else np.zeros(len(ends), bool)

    def atoms(first: IntArray) -> Atoms:
        return make_atoms(first, earlier.group, problem.flows, problem.requirement, same)

    kept = solution.group
    while True:
        silent = _without_telling(problem, replace(solution, group=kept), earlier)
        still, _ = withhold_exposing(atoms, silent)
        if (still == kept).all():
            break
        kept = still
    lost = len(np.unique(solution.group[(solution.group >= 0) & (kept < 0)]))
    notes = (*solution.notes, f"{lost} flows are withheld because of the release beside")
    return replace(keep_flows(solution, kept), notes=notes)


def _check_same_trips(problem: Problem, earlier: Earlier, measures: Measures) -> None:
    """Raise unless an earlier release counts exactly these trips on areas that are compared with new ones."""
    if not earlier.complete and len(problem.flows.places.family(problem.flows.origins).trees) > 1:
        raise InputError(
            "the earlier release may split areas in several ways: what the two tell together cannot be checked",
            "make both with a hierarchy that is one tree: h3-binary, quadtree, ward, or columns of zones",
        )
    if not earlier.complete or (measures.trips != earlier.trips).any():
        raise InputError(
            "the earlier release was not made from all of these trips and no others: what the two tell together cannot "
            "be checked",
            "give the same input, --where and --bbox; rows that only one of the releases can use (no person, no time) "
            "must be dropped with --where from both. Do not publish a part (a month) and the whole (its quarter): a "
            "reader can subtract them",
        )


def _without_telling(problem: Problem, solution: Solution, earlier: Earlier) -> IntArray:
    """Return by tile pair its flow, less flows beside which the earlier release tells that a group is not empty.

    Of such flows inside one of the earlier release the smallest goes. Where there are none, nothing can be done.
    """
    group = solution.group
    if earlier.divided_alike:
        return group
    while True:
        kept = keep_flows(solution, group)
        number = np.unique(group[group >= 0])  # of the flows that are kept
        telling = find_telling(problem, kept, earlier.whole, earlier.group)
        trips = problem.flows.measure(kept.group, len(kept.origin)).trips
        bad = {
            int(number[min(inside, key=lambda flow: (trips[flow], flow))]) for inside in telling.values() if len(inside)
        }
        if not bad:
            return group
        group = np.where(np.isin(group, list(bad)), -1, group)


def keep_flows(solution: Solution, group: IntArray) -> Solution:
    """Return the flows of a solution that still count a tile pair."""
    used = np.unique(group[group >= 0])
    number = np.full(len(solution.origin) + 1, -1, np.int64)  # the last entry is for no flow
    number[used] = np.arange(len(used))
    return replace(
        solution,
        origin=solution.origin[used],
        destination=solution.destination[used],
        group=number[group],
        matrix=solution.matrix[used],
        time=None if solution.time is None else solution.time[used],
    )


def _without_groups(flows: Flows) -> tuple[Flows, IntArray, IntArray]:
    """Return the flows of all groups together, by tile pair the entry there that holds it, and the step by matrix."""
    by = flows.provenance.by
    if not by:
        raise InputError("totals need groups", "name their columns with --by")
    for name in by:
        if TOTAL in flows.matrices[name].to_pylist():
            raise InputError(f"a group of {name!r} is called {TOTAL!r}", "rename it: totals are published under it")
    steps = flows.matrices.drop_columns(list(by))
    step = np.zeros(flows.matrix_count, np.int64)
    if steps.num_columns:
        begins = steps["time"].cast(pa.int64()).to_numpy()
        _, first, step = np.unique(begins, return_index=True, return_inverse=True)
        steps = steps.take(first)
    time = np.zeros(len(flows), np.int64) if flows.time is None else flows.time
    matrix = step[flows.matrix]
    key = np.column_stack([matrix, time, flows.origin, flows.destination])
    rows, entry = np.unique(key, axis=0, return_inverse=True)
    entry = entry.ravel()
    joined = flows.join(entry, len(rows), rows[:, 2], rows[:, 3])
    return (
        replace(
            joined,
            edges=np.searchsorted(rows[:, 0], np.arange(step.max() + 2)),
            matrices=steps,
            time=None if flows.time is None else rows[:, 1],
        ),
        entry,
        step,
    )
