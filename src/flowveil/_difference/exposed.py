"""Which flows of a layer give people away together with another layer.

A reader adds flows of one layer and takes away flows of the other that lie inside their union (decision 14). Where
less than a crowd of a flow lies outside, a reader may guess it; so a flow can be taken away unless a crowd of it lies
outside. What then remains must be a crowd. Nothing is no crowd either: if nothing were allowed and a few were not, a
flow that is missing would tell that there are a few. Where both layers have the same flow, nothing is told.
Where the search grows too long the flow counts as exposed: rather too much is withheld than too little.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from flowveil._difference.atoms import NONE, Atoms

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from flowveil._arrays import IntArray

_MOST_TRIED = 300  # unions looked at from one flow


def find_exposed(atoms: Atoms, safe: Iterable[int] = ()) -> IntArray:
    """Return the flows of the first layer from which flows of the second can be taken away until too few remain.

    safe: flows of the first layer that are known not to be exposed.
    """
    known = np.array([NONE, *safe], np.int64)
    flows = np.setdiff1d(atoms.first, known)
    search = _Search(atoms.around(flows), known.tolist())
    return np.array([flow for flow in flows.tolist() if search.is_exposed(flow)], np.int64)


def withhold_exposing(atoms: Callable[[IntArray], Atoms], first: IntArray) -> tuple[IntArray, int]:
    """Withhold flows of the first layer until nothing is exposed, whichever layer is taken from the other.

    `first` gives by tile pair the flow of the first layer, and `atoms` makes atoms from such an array. Returns the
    array with the flows withheld replaced by -1, and how many were withheld. Of exposed flows that touch the same flow
    of the other layer the smallest goes first: without it the others are often safe. A flow that is not exposed is
    not when others are withheld either: there are fewer unions, and less to take away.
    """
    withheld = 0
    safe: tuple[set[int], set[int]] = set(), set()
    while True:
        here = atoms(first)
        size = np.bincount(first[first != NONE])
        exposed = set(find_exposed(here, safe[0]).tolist())
        safe[0].update(set(here.first.tolist()) - exposed)
        exposed_others = find_exposed(here.turned(), safe[1]).tolist()
        safe[1].update(set(here.second.tolist()) - set(exposed_others))
        of_second, of_first = _by_flow(here.second), here.first.tolist()
        for flow in exposed_others:
            inside = [of_first[atom] for atom in of_second[flow] if of_first[atom] != NONE]
            if not exposed.intersection(inside):  # without one of them the rest cannot be taken away
                exposed.add(min(inside, key=lambda other: (size[other], other)))
        if not exposed:
            return first, withheld
        bad = _apart(here, sorted(exposed, key=lambda flow: (size[flow], flow)))
        withheld += len(bad)
        first = np.where(np.isin(first, np.array(bad, np.int64)), NONE, first)


def _apart(atoms: Atoms, flows: Iterable[int]) -> list[int]:
    """Return the flows of the first layer, in this order, that touch no flow of the other that one before touches."""
    touched: set[int] = set()
    chosen = []
    of_first = _by_flow(atoms.first)
    for flow in flows:
        others = {int(atoms.second[atom]) for atom in of_first[flow]} - {NONE}
        if not others & touched:
            chosen.append(flow)
            touched |= others
    return chosen


@dataclass(eq=False)
class _Part:
    """Flows of both layers that are connected by atoms which are crowds.

    A union of which less than a crowd remains holds all `flows` of a part and all `others` are taken away from it, or
    it holds none and none is taken away.
    """

    flows: set[int]
    others: set[int]
    safe: bool  # a crowd remains of every union with these


@dataclass(frozen=True, eq=False)
class _State:
    """A union of flows of the first layer, and for flows of the second whether they are taken away from it."""

    union: frozenset[int] = frozenset()
    taken: frozenset[int] = frozenset()
    kept: frozenset[int] = frozenset()
    never: frozenset[int] = frozenset()  # flows of the first layer that are not in the union
    rest: tuple[int, ...] = ()  # atoms of the union that are not taken away
    outside: tuple[tuple[int, ...], ...] = ()  # of each flow that is taken away its atoms outside, where there are some


class _Search:
    """Unions of flows of the first layer, and what the second layer can take away from them."""

    def __init__(self, atoms: Atoms, safe: Iterable[int] = ()) -> None:
        self.atoms = atoms
        self.first = atoms.first.tolist()
        self.second = atoms.second.tolist()
        self.passes = atoms.passes.tolist()
        self.size = atoms.size.tolist()
        self.of_first = _by_flow(atoms.first)
        self.of_second = _by_flow(atoms.second)
        self.filled = set(atoms.first[atoms.same].tolist())
        self.safe = {NONE, *safe}  # flows of the first layer such that no union with one of them leaves too few
        self.fixed = {NONE}  # flows of the second that can be taken away from no other union
        self.part_of_first: dict[int, _Part] = {}
        self.part_of_second: dict[int, _Part] = {}
        self._spread([(0, flow) for flow in self.of_first] + [(1, flow) for flow in self.of_second])
        self._hang_together()
        for part in {id(part): part for part in self.part_of_first.values() if part.safe}.values():
            self._spread(self._settle(part))
        self.tried = 0
        self.answers: dict[int, bool] = {}

    def is_exposed(self, flow: int) -> bool:
        """Whether too few trips may remain of a union that holds a flow; all flows that it must hold answer alike.

        Flows of which none is exposed are safe: what is found out about them shortens the searches that follow.
        """
        if flow in self.safe:
            return False
        if flow not in self.answers:
            self.tried = 0
            part = self.part_of_first[flow]
            exposed = not part.safe and not self._leaves_crowd(self._grown(_State(), part))
            self.answers |= dict.fromkeys(part.flows, exposed)
            if not exposed:
                self._spread(self._settle(part))
        return self.answers[flow]

    def _spread(self, waiting: list[tuple[int, int]]) -> None:
        """Find the safe and the fixed flows: a crowd of them lies in no flow of the other layer, or in such flows.

        waiting: flows to look at, each with its layer.
        """
        layers = (
            (self.of_first, self.second, self.safe, self.fixed, self.part_of_first),
            (self.of_second, self.first, self.fixed, self.safe, self.part_of_second),
        )
        while waiting:
            layer, flow = waiting.pop()
            of_flow, others, settled, settled_others, parts = layers[layer]
            if flow not in settled and self._crowd(atom for atom in of_flow[flow] if others[atom] in settled_others):
                settled.add(flow)
                waiting += [(1 - layer, other) for other in {others[atom] for atom in of_flow[flow]} - settled_others]
                if flow in parts:
                    waiting += self._settle(parts[flow])

    def _settle(self, part: _Part) -> list[tuple[int, int]]:
        """Note that no union with a part leaves too few; return the flows of which more may follow."""
        part.safe = True
        touched = {(1, self.second[atom]) for flow in part.flows for atom in self.of_first[flow]}
        touched |= {(0, self.first[atom]) for other in part.others for atom in self.of_second[other]}
        self.safe |= part.flows
        self.fixed |= part.others
        return [(layer, flow) for layer, flow in touched if flow not in (self.safe, self.fixed)[layer]]

    def _hang_together(self) -> None:
        """Find the part of every flow: what can be reached from it through atoms that are crowds."""
        starts = [(0, flow) for flow in self.of_first if flow != NONE]
        starts += [(1, flow) for flow in self.of_second if flow != NONE]
        layers = ((self.of_first, self.second, self.part_of_first), (self.of_second, self.first, self.part_of_second))
        for layer, start in starts:
            if start in layers[layer][2]:
                continue
            reached: tuple[set[int], set[int]] = (set(), set())
            waiting = [(layer, start)]
            while waiting:
                here, flow = waiting.pop()
                if flow == NONE or flow in reached[here]:
                    continue
                reached[here].add(flow)
                of_flow, others, _ = layers[here]
                waiting += [(1 - here, others[atom]) for atom in of_flow[flow] if self.passes[atom]]
            part = _Part(*reached, safe=bool(reached[0] & self.safe or reached[1] & self.fixed))
            self.part_of_first |= dict.fromkeys(reached[0], part)
            self.part_of_second |= dict.fromkeys(reached[1], part)

    def _crowd(self, atoms: Iterable[int]) -> bool:
        """Whether some atoms are a crowd."""
        chosen, total = [], 0
        for atom in atoms:
            if self.passes[atom]:
                return True
            chosen.append(atom)
            total += self.size[atom]
        return total >= self.atoms.k and (self.atoms.together is None or self.atoms.together(chosen))

    def _largest(self, flow: list[int], atoms: Iterable[int]) -> int:
        """Return the flow with most in some atoms: without it a crowd remains soonest, and the search ends."""
        sums: dict[int, int] = {}
        for atom in atoms:
            sums[flow[atom]] = sums.get(flow[atom], 0) + self.size[atom]
        return max(sums, key=lambda number: (sums[number], -number))

    def _grown(self, state: _State, part: _Part) -> _State | None:
        """Return a union with a part more, None if too few cannot remain of such a union."""
        if part.safe or part.flows & state.never or part.others & state.kept:
            return None
        union, taken = state.union | part.flows, state.taken | part.others
        added = (atom for flow in part.flows for atom in self.of_first[flow])
        rest = [atom for atom in (*state.rest, *added) if self.second[atom] not in taken]
        apart = (*state.outside, *(self.of_second[other] for other in part.others))
        outside = [tuple(atom for atom in atoms if self.first[atom] not in union) for atoms in apart]
        return _State(union, taken, state.kept, state.never, tuple(rest), tuple(atoms for atoms in outside if atoms))

    def _leaves_crowd(self, state: _State | None) -> bool:
        """Whether a crowd remains of every union that holds this one, whatever else is taken away."""
        self.tried += 1
        if self.tried > _MOST_TRIED:
            return False
        if state is None:
            return True
        settled = {atom for atom in state.rest if self.second[atom] in state.kept or self.second[atom] in self.fixed}
        if self._crowd(settled):
            return True
        for outside in state.outside:
            if self._crowd(outside):
                return self._leaves_crowd_with_more_of(outside, state)
        if len(settled) == len(state.rest):
            return not state.rest and state.union <= self.filled
        other = self._largest(self.second, (atom for atom in state.rest if atom not in settled))
        kept = replace(state, kept=state.kept | {other})
        return self._leaves_crowd(kept) and self._leaves_crowd(self._grown(state, self.part_of_second[other]))

    def _leaves_crowd_with_more_of(self, outside: tuple[int, ...], state: _State) -> bool:
        """Answer where a flow is to be taken away of which a crowd lies outside: the union must hold one more flow."""
        barred = {atom for atom in outside if self.first[atom] in self.safe or self.first[atom] in state.never}
        if self._crowd(barred):
            return True  # it cannot be taken away
        flow = self._largest(self.first, (atom for atom in outside if atom not in barred))
        without = replace(state, never=state.never | {flow})
        return self._leaves_crowd(without) and self._leaves_crowd(self._grown(state, self.part_of_first[flow]))


def _by_flow(flow: IntArray) -> dict[int, list[int]]:
    """Return the atoms of each flow."""
    atoms: dict[int, list[int]] = {}
    for atom, number in enumerate(flow.tolist()):
        atoms.setdefault(number, []).append(atom)
    return atoms
