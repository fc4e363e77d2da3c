"""Publishing again: a new release beside all that the register knows, so that nothing is told by all of them together.

Releases that have no trip in common need no check. Those that have, and those that these have trips in common with, are
looked at together: two layers by the search for differences (decision 14), three and more by the equations of all their
flows. Flows of the new release are withheld until nothing follows; what is out already cannot be.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from flowveil._difference import find_exposed, find_implied, find_leaks, make_atoms, withhold_exposing
from flowveil._engine import DUCKDB
from flowveil._errors import InputError, PromiseError
from flowveil._flows import mark_trips
from flowveil._folder import most_error
from flowveil._options import check_path
from flowveil._register import (
    FLOWS,
    HOW_TO_FORGET,
    NOISE,
    PATHS,
    NewEntry,
    StoredTrips,
    are_apart,
    check_persons,
    look,
    name_all,
    share,
)
from flowveil._release.layers import layers_of
from flowveil._release.shared_trips import NONE, lay_together
from flowveil._release.totals import keep_flows

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from flowveil._arrays import BoolArray, IntArray
    from flowveil._difference import Atoms
    from flowveil._flows import MarkedTrips
    from flowveil._folder import Manifest
    from flowveil._problem import Problem, Solution
    from flowveil._register import Entry, Layer, OpenRegister
    from flowveil._release.demand import Demand
    from flowveil._release.shared_trips import OtherLayer, SharedTrips

_WITHHELD = "flows are withheld because of the register: "


@dataclass(frozen=True, eq=False)
class Before:
    """What a register knows that matters to new flows."""

    path: Path
    last: int  # the number of the last entry
    marked: MarkedTrips
    entries: list[Entry]  # that have trips in common with the new ones, or with such
    trips: list[StoredTrips]  # of these
    notes: tuple[str, ...]

    def describe(self, layers: tuple[Layer, ...], manifest: Manifest, notes: tuple[str, ...]) -> NewEntry:
        """Return what will be entered."""
        marked = self.marked
        return NewEntry(
            register=self.path,
            seen=self.last,
            kind=FLOWS,
            promise=dict(manifest["promise"]),
            period=manifest.get("description", {}).get("period"),
            rows=len(marked.mark),
            first=marked.first,
            last=marked.last,
            known_by=marked.known_by,
            counted=marked.counted,
            trips=self.stored(layers),
            notes=notes,
        )

    def stored(self, layers: tuple[Layer, ...]) -> StoredTrips:
        """Return the new trips as a register keeps them, with the flows of some layers."""
        marked = self.marked
        return StoredTrips(marked.mark, marked.owner, marked.trips, marked.weight, layers)


def check_register(path: str | Path | None, engine: str) -> None:
    """Raise if a register was named that cannot be used."""
    if path is not None:
        check_path(path, "register")
        if engine != DUCKDB:
            raise InputError(
                "a register knows single trips, which stay on the cluster", "leave out --register, or --engine"
            )


def look_back(path: str | Path, problem: Problem, asked: Demand, period: str | None) -> Before:
    """Read a register, and find the releases in it that new flows must be checked with; raise if they cannot be."""
    with look(path) as register:
        secret = register.secret
    marked = mark_trips(problem.flows, secret)  # while others may use the register
    with look(path) as register:
        near, apart = _related(register, marked, period)
        before = Before(
            register.path, register.last, marked, near, [register.trips(entry) for entry in near], _notes(near, apart)
        )
    for entry in near:
        _check_comparable(entry, asked)
    return before


def _related(register: OpenRegister, marked: MarkedTrips, period: str | None) -> tuple[list[Entry], list[str]]:
    """Return the releases that share trips with new ones, or with such, and how the others are known to be apart."""
    new = NewEntry(register.path, 0, FLOWS, {}, period, len(marked.mark), marked.first, marked.last, marked.known_by)
    waiting: list[tuple[Entry | NewEntry, MarkedTrips | StoredTrips, bool]] = [(new, marked, marked.counted)]
    left = [entry for entry in register.entries() if entry.kind != NOISE]
    near: list[Entry] = []
    why: dict[int, str] = {}
    while waiting:
        one, trips, counted = waiting.pop()
        for entry in left.copy():
            reason = are_apart(one, entry)
            if reason is None:
                stored = register.trips(entry)
                if entry.kind == PATHS:
                    check_persons(marked.owner, stored.mark, entry)
                    why[entry.number] = "by their persons"
                    continue
                _check_marks(marked, entry)
                if _share(trips, stored, entry, counted=counted or entry.counted):
                    left.remove(entry)
                    near.append(entry)
                    waiting.append((entry, stored, entry.counted))
                    continue
                reason = "row by row"
            why[entry.number] = reason
    near.sort(key=lambda entry: entry.number)
    return near, [why[entry.number] for entry in left]


def _check_marks(marked: MarkedTrips, entry: Entry) -> None:
    if marked.known_by != entry.known_by or marked.counted != entry.counted:
        here, there = (", ".join(names) for names in (marked.known_by, entry.known_by))
        counts = " The table of one of them is counted." if marked.counted != entry.counted else ""
        raise InputError(
            f"trips are known by {there} in {entry.name}, and by {here} here: which they have in common cannot be told."
            + counts,
            "give the same --unit and the same columns; other trips belong into another register",
        )


def _share(trips: MarkedTrips | StoredTrips, other: StoredTrips, entry: Entry, *, counted: bool) -> bool:
    """Whether two releases have trips in common; raise where that cannot be told."""
    if not counted:
        return share(trips.mark, other.mark)
    small, large = sorted((np.unique(trips.mark), np.unique(other.mark)), key=len)
    if bool(np.isin(small, large).all()):
        return True
    raise PromiseError(
        f"{entry.name} is of another table of counts: whether both count some trips cannot be told",
        "say of which time each is with --period 2024-01 (2024, 2024-Q1, 2024-01-01/2024-03-31), or give single trips",
    )


def _check_comparable(entry: Entry, asked: Demand) -> None:
    """Raise if what a release tells together with the new one cannot be checked."""
    promise = entry.promise
    if most_error(promise) or asked.rounding is not None or asked.cell_key is not None:
        raise PromiseError(
            f"{entry.name} has trips in common with this one, and numbers of one of them are rounded or changed: what "
            "the two tell together cannot be checked",
            f"publish both with exact numbers, or one of them. {HOW_TO_FORGET}",
        )
    if int(promise["k"]) < asked.k:
        raise PromiseError(
            f"{entry.name} has trips in common with this one, and its flows may have fewer than {asked.k}",
            f"ask for no more than -k {promise['k']}",
        )
    if promise.get("k_weight") != asked.k_weight or asked.max_share is not None or "max_share" in promise:
        raise PromiseError(
            f"{entry.name} has trips in common with this one: beside it neither a share of one person nor another "
            "k_weight can be kept",
            "leave out --max-share, and give the same --k-weight",
        )


def _notes(near: list[Entry], apart: list[str]) -> tuple[str, ...]:
    """Say what was found in the register."""
    notes = []
    if apart:
        ways = ", ".join(f"{apart.count(way):,} {way}" for way in sorted(set(apart)))
        known, rest = len(apart) + len(near), "" if near else ": nothing has to be checked"
        notes.append(
            f"{len(apart):,} of {known:,} releases in the register share no trips with this one ({ways}){rest}"
        )
    if near:
        notes.append(f"checked together with {name_all(near)}, which have trips in common with it or with each other")
    return tuple(notes)


def withhold_again(problem: Problem, solution: Solution, before: Before) -> Solution:
    """Return a solution less the flows that would give people away together with earlier releases."""
    if not before.entries or not may_withhold(solution, problem):
        return solution
    layers = layers_of(problem.flows, solution, None, None, before.marked.pair)
    laid = lay_together(problem.flows, before.stored(layers), before.trips)
    kept = np.unique(_withhold(problem, laid, layers[0].names))
    gone = np.setdiff1d(np.arange(len(solution.origin)), kept)
    group = np.where(np.isin(solution.group, gone), NONE, solution.group)
    if not len(gone):
        return solution
    there = np.isin(laid.new[0], gone)
    near = sorted({other.release[flow] for other in laid.others for flow in other.flow[there & (other.flow >= 0)]})
    names, rest = name_all([before.entries[number] for number in near]), len(before.entries) - len(near)
    more = f" (and of {rest:,} more that share trips with these)" if rest else ""
    told = (
        f"{len(gone):,} of {len(solution.origin):,} {_WITHHELD}added to flows of {names}{more} or taken away from "
        f"them, they would tell of fewer than {problem.requirement.k}"
    )
    return replace(keep_flows(solution, group), notes=(*solution.notes, told))


def why_withheld(solution: Solution) -> str | None:
    """Say what was withheld because of earlier releases; None if nothing was."""
    return next((note for note in solution.notes if _WITHHELD in note), None)


def may_withhold(solution: Solution, problem: Problem) -> bool:
    """Whether single flows may be left out of a solution: not where others would have to count their trips."""
    plain = solution.exact and solution.rectangles is None and not solution.overlapping
    return plain and not problem.remainders and problem.chance is None


def _withhold(problem: Problem, laid: SharedTrips, names: list[str]) -> IntArray:
    """Return by atom its flow of the new release, less those that tell something together with others."""
    first = laid.new[0]
    while True:
        still = first
        for other in laid.others:
            still, _ = withhold_exposing(_atoms_of(problem, laid, other, names), still)
        if len(laid.others) > 1 and (still >= 0).any():
            still = _without_leaks(problem, laid, still, names)
        if (still == first).all():
            return first
        first = still


def _atoms_of(problem: Problem, laid: SharedTrips, other: OtherLayer, names: list[str]) -> Callable[[IntArray], Atoms]:
    def alike(here: int, there: int) -> bool:
        return min(here, there) >= 0 and other.same[there] and names[here] == other.names[there]

    def same(new: IntArray, old: IntArray) -> BoolArray:
        return np.array([alike(*pair) for pair in zip(new.tolist(), old.tolist(), strict=True)], bool)

    def atoms(first: IntArray) -> Atoms:
        return make_atoms(first, other.flow, laid.counted, problem.requirement, same)

    return atoms


def _without_leaks(problem: Problem, laid: SharedTrips, first: IntArray, names: list[str]) -> IntArray:
    """Withhold the smallest flow of every leak that three and more layers have, and flows that are sums of others."""
    layers = [other.flow for other in laid.others]
    for size in _sizes(laid):
        trips = np.bincount(first[first >= 0], laid.counted.trips[first >= 0])
        leaks = find_leaks([first, *layers], size, problem.requirement.k)
        bad = {min(leak.flows, key=lambda flow: (trips[flow], flow)) for leak in leaks}
        first = np.where(np.isin(first, list(bad)), NONE, first)
    implied = find_implied([first, *layers], laid.counted.trips, _known(laid, first, names))
    return np.where(np.isin(first, implied), NONE, first)


def _known(laid: SharedTrips, first: IntArray, names: list[str]) -> BoolArray:
    """Return which new flows are in an earlier release of the same trips, too: between the same areas, and the same."""
    known = np.zeros(len(names), bool)
    inside, atoms = first >= 0, np.bincount(first[first >= 0], minlength=len(names))
    for other in laid.others:
        least, most = np.full(len(names), len(other.names)), np.full(len(names), NONE)
        np.minimum.at(least, first[inside], other.flow[inside])
        np.maximum.at(most, first[inside], other.flow[inside])
        there = np.bincount(other.flow[other.flow >= 0], minlength=len(other.names))
        for flow in np.flatnonzero((least == most) & (most >= 0)).tolist():
            old = int(most[flow])
            known[flow] |= other.same[old] and names[flow] == other.names[old] and bool(there[old] == atoms[flow])
    return known


def _sizes(laid: SharedTrips) -> list[IntArray]:
    """Return what is counted of atoms: trips, and persons one by one, of which several atoms may have the same."""
    people = laid.counted.people
    if people is None:
        return [laid.counted.trips]
    return [laid.counted.trips, np.bincount(people.pair, minlength=len(laid.counted)).astype(np.int64)]


def check_again(problem: Problem, layers: tuple[Layer, ...], before: Before) -> None:
    """Raise if flows of all layers of a release tell something together with earlier ones."""
    if not before.entries:
        return
    laid = lay_together(problem.flows, before.stored(layers), before.trips)
    for number, first in enumerate(laid.new):
        names = layers[number].names
        for other in laid.others:
            atoms = _atoms_of(problem, laid, other, names)(first)
            if len(exposed := find_exposed(atoms)):
                touched = other.flow[(first == exposed[0]) & (other.flow >= 0)]
                raise _told(names[exposed[0]], before, other, touched.tolist())
            if len(exposed := find_exposed(atoms.turned())):
                raise _told(other.names[exposed[0]], before, other, exposed[:1].tolist())
        rest = [layer for place, layer in enumerate(laid.new) if place != number]
        if len(laid.others) + len(rest) > 1:
            _check_leaks(problem, laid, number, names, before)


def _check_leaks(problem: Problem, laid: SharedTrips, number: int, names: list[str], before: Before) -> None:
    others = [layer for place, layer in enumerate(laid.new) if place != number]
    own = len(others)
    layers = [laid.new[number], *others, *(other.flow for other in laid.others)]
    for size in _sizes(laid):
        for leak in find_leaks(layers, size, problem.requirement.k):
            old = [(layer - own - 1, flow) for layer, flow in leak.others if layer > own]
            if old:
                layer = laid.others[old[0][0]]
                raise _told(names[leak.flows[0]], before, layer, [flow for place, flow in old if place == old[0][0]])
    known = _known(laid, layers[0], names)
    alone = find_implied(layers[: own + 1], laid.counted.trips, known)
    for flow in set(find_implied(layers, laid.counted.trips, known)).difference(alone):
        other = next(other for other in laid.others if (other.flow[layers[0] == flow] >= 0).any())
        touched = other.flow[(layers[0] == flow) & (other.flow >= 0)]
        raise _told(names[flow], before, other, touched.tolist())


def _told(flow: str, before: Before, other: OtherLayer, others: list[int]) -> PromiseError:
    """Say which flow tells what, together with which release."""
    names = name_all([before.entries[number] for number in sorted({other.release[flow] for flow in others})])
    return PromiseError(
        f"the flow {flow} may tell of fewer than a crowd: it is added to flows of {names or 'the register'}, or taken "
        "away from them",
        "flows are withheld for this only where nothing else is published: leave out --elsewhere, --totals, "
        f"--remainders and the like, or publish other areas. {HOW_TO_FORGET}",
    )
