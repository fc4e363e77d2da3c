"""Which flows let a reader subtract until fewer than a crowd remain.

A reader who knows the volumes of two layers can work out the trips of a union of flows of one layer less the flows of
the other layer that lie wholly inside it, and unions of such differences, and nothing else: the layers are two
partitions, and sums of their flows that count every trip 0 or 1 times have that form. So a difference is small only if
it consists of small atoms. From a flow with a small atom, all unions are searched: an atom that is a crowd must be
taken away, so the flow of the other layer that holds it must lie inside, so all flows that touch that one must be in
the union; for an atom that is not, both ways are tried. So they are for a flow of which less than a crowd lies outside
of the first layer, since a reader may guess so little. A flow whose unions always leave nothing or a crowd is safe.
Where the search grows too long the flow counts as exposed: rather too much is withheld than too little.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from flowveil.difference._atoms import NONE, Atoms

if TYPE_CHECKING:
    from collections.abc import Callable

    from flowveil._arrays import IntArray

_MOST_TRIED = 300  # unions looked at from one flow


def find_exposed(atoms: Atoms) -> IntArray:
    """Return the flows of the first layer from which flows of the second can be taken away until too few remain."""
    search = _Search(atoms)
    small = np.unique(atoms.first[~atoms.passes & (atoms.first != NONE)]).tolist()
    return np.array([flow for flow in small if search.is_exposed(flow)], np.int64)


def withhold_exposing(atoms: Callable[[IntArray], Atoms], first: IntArray) -> tuple[IntArray, int]:
    """Withhold flows of the first layer until nothing is exposed, whichever layer is taken from the other.

    `first` gives by tile pair the flow of the first layer, and `atoms` makes atoms from such an array. Returns the
    array with the flows withheld replaced by -1, and how many were withheld.
    """
    withheld = 0
    while True:
        here = atoms(first)
        bad = set(find_exposed(here).tolist())
        size = np.bincount(first[first != NONE])
        for flow in find_exposed(here.turned()).tolist():
            inside = here.first[(here.second == flow) & (here.first != NONE)].tolist()
            if not bad.intersection(inside):  # without one of them the rest cannot be taken away: the smallest goes
                bad.add(min(inside, key=lambda other: (size[other], other)))
        if not bad:
            return first, withheld
        withheld += len(bad)
        first = np.where(np.isin(first, np.array(sorted(bad), np.int64)), NONE, first)


class _Search:
    """Unions of flows of the first layer, and what the second layer can take away from them."""

    def __init__(self, atoms: Atoms) -> None:
        self.atoms = atoms
        self.first = atoms.first.tolist()
        self.second = atoms.second.tolist()
        self.passes = atoms.passes.tolist()
        self.of_first = _by_flow(atoms.first)
        self.of_second = _by_flow(atoms.second)
        outside = atoms.first == NONE
        self.never_inside = {NONE, *atoms.second[outside & atoms.passes].tolist()}
        # Of these, less than a crowd lies outside of the first layer. Readers may guess it, and take them away.
        self.leaky = set(atoms.second[outside].tolist()) - self.never_inside
        self.crowded: set[int] = set()  # a union with one of these always leaves a crowd
        self._spread()
        self.tried = 0

    def is_exposed(self, flow: int) -> bool:
        """Whether too few trips may remain of a union that holds a flow."""
        self.tried = 0
        return flow not in self.crowded and not self._leaves_crowd({flow}, set(), set(), [flow])

    def _spread(self) -> None:
        """Find flows of which a crowd can never be taken away, and flows of the other layer that touch one of these."""
        waiting = list(self.never_inside)
        while waiting:
            other = waiting.pop()
            for atom in self.of_second.get(other, ()):
                flow = self.first[atom]
                if not self.passes[atom] or flow == NONE or flow in self.crowded:
                    continue
                self.crowded.add(flow)
                new = {self.second[atom] for atom in self.of_first[flow]} - self.never_inside
                self.never_inside |= new
                waiting += new

    def _leaves_crowd(self, union: set[int], kept: set[int], taken: set[int], waiting: list[int]) -> bool:
        """Whether nothing or a crowd remains of every union that holds this one, whatever else is taken away.

        `kept` and `taken` are flows of the other layer for which it is settled.
        """
        self.tried += 1
        if self.tried > _MOST_TRIED:
            return False
        if not self._close(union, kept, taken, waiting):
            return True
        rest, open_flows = self._rest(union, kept, taken)
        if rest and self.atoms.together(rest):
            return True
        if not open_flows:
            return not rest
        other = min(open_flows)
        if not self._leaves_crowd(set(union), kept | {other}, set(taken), []):
            return False
        new = [flow for flow in self._touching(other) if flow not in union]
        return self._leaves_crowd(union | set(new), kept, taken | {other}, new)

    def _close(self, union: set[int], kept: set[int], taken: set[int], waiting: list[int]) -> bool:
        """Add the flows that must be in a union; return whether too few may remain of it."""
        while waiting:
            flow = waiting.pop()
            if flow in self.crowded:
                return False
            for atom in self.of_first[flow]:
                if not self.passes[atom]:
                    continue
                if self.second[atom] in kept:
                    return False
                taken.add(self.second[atom])
                new = [other for other in self._touching(self.second[atom]) if other not in union]
                union.update(new)
                waiting += new
        return True

    def _rest(self, union: set[int], kept: set[int], taken: set[int]) -> tuple[list[int], set[int]]:
        """Return the atoms that certainly remain, and the flows that might yet be taken away."""
        rest: list[int] = []
        open_flows: set[int] = set()
        for flow in union:
            for atom in self.of_first[flow]:
                other = self.second[atom]
                if other in self.never_inside or other in kept:
                    rest.append(atom)
                elif other not in taken and (other in self.leaky or not union.issuperset(self._touching(other))):
                    open_flows.add(other)
        return rest, open_flows

    def _touching(self, other: int) -> list[int]:
        """Return the flows that touch a flow of the other layer."""
        return [self.first[atom] for atom in self.of_second[other] if self.first[atom] != NONE]


def _by_flow(flow: IntArray) -> dict[int, list[int]]:
    """Return the atoms of each flow."""
    found: dict[int, list[int]] = {}
    for atom, number in enumerate(flow.tolist()):
        found.setdefault(number, []).append(atom)
    return found
