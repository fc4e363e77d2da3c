"""Which flows of a layer give people away together with another layer.

A reader adds flows of one layer and takes away flows of the other that lie inside their union (decision 30). Where
less than a crowd of a flow lies outside, a reader may guess it; so a flow can be taken away unless a crowd of it lies
outside. What then remains must be a crowd. Nothing is no crowd either: if nothing were allowed and a few were not, a
flow that is missing would tell that there are a few. Where both layers have the same flow, nothing is told.
Where the search grows too long the flow counts as exposed: rather too much is withheld than too little.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from flowveil.difference._atoms import NONE, Atoms

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from flowveil._arrays import IntArray

_MOST_TRIED = 300  # unions looked at from one flow


def find_exposed(atoms: Atoms) -> IntArray:
    """Return the flows of the first layer from which flows of the second can be taken away until too few remain."""
    search = _Search(atoms)
    flows = np.unique(atoms.first[atoms.first != NONE]).tolist()
    return np.array([flow for flow in flows if search.is_exposed(flow)], np.int64)


def withhold_exposing(atoms: Callable[[IntArray], Atoms], first: IntArray) -> tuple[IntArray, int]:
    """Withhold flows of the first layer until nothing is exposed, whichever layer is taken from the other.

    `first` gives by tile pair the flow of the first layer, and `atoms` makes atoms from such an array. Returns the
    array with the flows withheld replaced by -1, and how many were withheld. Of exposed flows that touch the same flow
    of the other layer the smallest goes first: without it the others are often safe.
    """
    withheld = 0
    while True:
        here = atoms(first)
        size = np.bincount(first[first != NONE])
        exposed = set(find_exposed(here).tolist())
        for flow in find_exposed(here.turned()).tolist():
            inside = here.first[(here.second == flow) & (here.first != NONE)].tolist()
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


@dataclass
class _State:
    """A union of flows of the first layer, and for flows of the second whether they are taken away from it."""

    union: set[int]
    taken: set[int] = field(default_factory=set)
    kept: set[int] = field(default_factory=set)
    never: set[int] = field(default_factory=set)  # flows of the first layer that are not in the union

    def but(self, **more: int) -> _State:
        """Return a copy with one more flow in one of the sets."""
        copy = _State(set(self.union), set(self.taken), set(self.kept), set(self.never))
        for name, flow in more.items():
            getattr(copy, name).add(flow)
        return copy


class _Search:
    """Unions of flows of the first layer, and what the second layer can take away from them."""

    def __init__(self, atoms: Atoms) -> None:
        self.atoms = atoms
        self.first = atoms.first.tolist()
        self.second = atoms.second.tolist()
        self.passes = atoms.passes.tolist()
        self.size = atoms.size.tolist()
        self.of_first = _by_flow(atoms.first)
        self.of_second = _by_flow(atoms.second)
        self.filled = set(atoms.first[atoms.same].tolist())
        self.safe = {NONE}  # flows of the first layer such that every union with one of them leaves a crowd
        self.fixed = {NONE}  # flows of the second that can be taken away from no other union
        self._spread()
        self.tried = 0
        self.answers: dict[int, bool] = {}

    def is_exposed(self, flow: int) -> bool:
        """Whether too few trips may remain of a union that holds a flow; all flows that it must hold answer alike."""
        if flow not in self.answers:
            self.tried = 0
            state = _State({flow})
            exposed = self._close(state) and not self._leaves_crowd(state)
            self.answers |= dict.fromkeys(state.union, exposed)
        return self.answers[flow]

    def _spread(self) -> None:
        """Find the safe and the fixed flows: a crowd of them lies in no flow of the other layer, or in such flows."""
        layers = (
            (self.of_first, self.second, self.safe, self.fixed),
            (self.of_second, self.first, self.fixed, self.safe),
        )
        waiting = [(0, flow) for flow in self.of_first] + [(1, flow) for flow in self.of_second]
        while waiting:
            layer, flow = waiting.pop()
            of_flow, others, settled, settled_others = layers[layer]
            if flow not in settled and self._crowd(atom for atom in of_flow[flow] if others[atom] in settled_others):
                settled.add(flow)
                touching = {others[atom] for atom in of_flow[flow]} - settled_others
                waiting += [(1 - layer, other) for other in touching]

    def _crowd(self, atoms: Iterable[int]) -> bool:
        """Whether some atoms are a crowd."""
        chosen = list(atoms)
        if any(self.passes[atom] for atom in chosen):
            return True
        return sum(self.size[atom] for atom in chosen) >= self.atoms.k and self.atoms.together(chosen)

    def _leaves_crowd(self, state: _State) -> bool:
        """Whether a crowd remains of every union that holds this one, whatever else is taken away."""
        self.tried += 1
        if self.tried > _MOST_TRIED:
            return False
        if not self._close(state):
            return True
        rest = [atom for flow in state.union for atom in self.of_first[flow] if self.second[atom] not in state.taken]
        settled = {atom for atom in rest if self.second[atom] in state.kept or self.second[atom] in self.fixed}
        if self._crowd(settled):
            return True
        for other in sorted(state.taken):
            outside = [atom for atom in self.of_second[other] if self.first[atom] not in state.union]
            if self._crowd(outside):
                return self._leaves_crowd_with_more_of(outside, state)
        if len(settled) == len(rest):
            return not rest and state.union <= self.filled
        other = min(self.second[atom] for atom in rest if atom not in settled)
        return self._leaves_crowd(state.but(kept=other)) and self._leaves_crowd(state.but(taken=other))

    def _leaves_crowd_with_more_of(self, outside: list[int], state: _State) -> bool:
        """Answer where a flow is to be taken away of which a crowd lies outside: the union must hold one more flow."""
        barred = {atom for atom in outside if self.first[atom] in self.safe or self.first[atom] in state.never}
        if self._crowd(barred):
            return True  # it cannot be taken away
        flow = min(self.first[atom] for atom in outside if atom not in barred)
        return self._leaves_crowd(state.but(never=flow)) and self._leaves_crowd(state.but(union=flow))

    def _close(self, state: _State) -> bool:
        """Add what a union of which too few remain must hold; return whether there is such a union."""
        waiting = list(state.union)
        waiting_others = list(state.taken)
        while waiting or waiting_others:
            if waiting:
                flow = waiting.pop()
                if flow in self.safe or flow in state.never:
                    return False
                others = {self.second[atom] for atom in self.of_first[flow] if self.passes[atom]}
                new = others - state.taken
                state.taken |= new
                waiting_others += new
            else:
                other = waiting_others.pop()
                if other in self.fixed or other in state.kept:
                    return False
                flows = {self.first[atom] for atom in self.of_second[other] if self.passes[atom]}
                more = flows - state.union
                state.union |= more
                waiting += more
        return True


def _by_flow(flow: IntArray) -> dict[int, list[int]]:
    """Return the atoms of each flow."""
    found: dict[int, list[int]] = {}
    for atom, number in enumerate(flow.tolist()):
        found.setdefault(number, []).append(atom)
    return found
