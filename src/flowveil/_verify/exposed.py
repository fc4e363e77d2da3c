"""Which unions of flows of one layer leave too few, once flows of another layer are taken away from them.

Written from the definition in decision 14 and not from the code that makes releases, whose search is another one. Two
layers cut the same trips in two ways; the trips in one flow of each layer are an atom. Of a union of flows of the first
layer a reader can take away every flow of the second of which no crowd lies outside of the union. To take more away
leaves less, so a union has one smallest rest, and a flow is exposed if it is in a union of which no crowd remains.
Where both layers have the same flow, nothing is told if nothing remains.

Unions grow by one flow at a time. Of a crowd that remains, some flow of the second layer must still be taken away: one
more flow, of which a part is in that one, is either in the union or not.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from flowveil._verify.forest import NONE

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from flowveil._arrays import BoolArray, IntArray

_MOST_STEPS = 20_000  # unions looked at from one flow: a search that is longer counts as exposed


@dataclass(frozen=True, eq=False)
class Atoms:
    """Trips by the flow of a first and of a second layer that counts them, -1 for none; not both are -1."""

    first: IntArray
    second: IntArray
    size: IntArray  # persons, or trips
    same: BoolArray  # whether both flows are between the same areas, at the same time and of the same group
    is_crowd: Callable[[Sequence[int]], bool]  # whether some atoms are a crowd together

    def turned(self) -> Atoms:
        """Return the same atoms with the layers exchanged."""
        return Atoms(self.second, self.first, self.size, self.same, self.is_crowd)


def exposed_flows(atoms: Atoms) -> Iterator[int]:
    """Yield the exposed flows of the first layer, in the order of their numbers."""
    search = _Search(atoms)
    exposed: set[int] = set()
    for flow in np.unique(atoms.first[atoms.first != NONE]).tolist():
        if flow not in exposed:
            union = search.find_union(flow)
            exposed |= union
            if not union:
                search.leave_out(flow)
        if flow in exposed:
            yield flow


@dataclass(frozen=True, eq=False)
class _Limits:
    """What a search does not look for any more."""

    out: set[int]  # flows of the first layer that are in no union it still looks for
    stuck: set[int]  # flows of the second layer that can be taken away from none of these unions


class _Search:
    """The search for unions of which no crowd remains. What it finds out about one flow shortens the next search."""

    def __init__(self, atoms: Atoms) -> None:
        self._first: list[int] = atoms.first.tolist()
        self._second: list[int] = atoms.second.tolist()
        self._size: list[int] = atoms.size.tolist()
        self._is_crowd = atoms.is_crowd
        self._of_first = _by_flow(self._first)
        self._of_second = _by_flow(self._second)
        self._same = frozenset(atoms.first[atoms.same].tolist())
        self._limits = _Limits({NONE}, {NONE})  # that hold in every search
        self._spread(set(self._of_first), set(self._of_second), self._limits)

    def find_union(self, flow: int) -> frozenset[int]:
        """Return a union with a flow of which no crowd remains, an empty one if there is none."""
        waiting = [] if flow in self._limits.out else [(frozenset([flow]), _Limits(set(), set()))]
        for _ in range(_MOST_STEPS):
            if not waiting:
                return frozenset()
            union, limits = waiting.pop()
            rest = self._rest(union)
            if not self._is_crowd(rest):
                if rest or not union <= self._same:
                    return union
                continue
            may_go = [atom for atom in rest if not self._is_stuck(atom, limits)]
            if not self._is_crowd(sorted(set(rest).difference(may_go))):
                waiting += self._grow(union, may_go, limits)
        return frozenset([flow])

    def leave_out(self, flow: int) -> None:
        """Look for no unions with a flow any more."""
        self._limits.out.add(flow)
        self._spread(set(), {self._second[atom] for atom in self._of_first[flow]}, self._limits)

    def _grow(
        self, union: frozenset[int], may_go: Sequence[int], limits: _Limits
    ) -> Iterator[tuple[frozenset[int], _Limits]]:
        """Yield how to go on: without one more flow, and with it. may_go: atoms that a larger union may lose."""
        other = self._second[self._largest(may_go)]
        outside = [atom for atom in self._of_second[other] if self._first[atom] not in union]
        flow = self._first[self._largest(atom for atom in outside if not self._is_out(atom, limits))]
        fewer = _Limits({*limits.out, flow}, set(limits.stuck))
        self._spread(set(), {self._second[atom] for atom in self._of_first[flow]}, fewer)
        if not union & fewer.out:
            yield union, fewer
        yield union | {flow}, limits

    def _rest(self, union: Iterable[int]) -> list[int]:
        """Return the atoms that remain of a union when all is taken away that can be."""
        atoms = [atom for flow in union for atom in self._of_first[flow]]
        taken = {
            other
            for other in {self._second[atom] for atom in atoms} - self._limits.stuck
            if not self._is_crowd([atom for atom in self._of_second[other] if self._first[atom] not in union])
        }
        return [atom for atom in atoms if self._second[atom] not in taken]

    def _spread(self, flows: set[int], others: set[int], limits: _Limits) -> None:
        """Add to the limits what follows from them, beginning with some flows of the first and of the second layer.

        A flow of the second layer is stuck if a crowd of it lies in flows that are out. One of the first is out if a
        crowd of it lies in flows that are stuck: that crowd remains of every union.
        """
        while flows or others:
            for other in others - limits.stuck - self._limits.stuck:
                if self._is_crowd([atom for atom in self._of_second[other] if self._is_out(atom, limits)]):
                    limits.stuck.add(other)
                    flows |= {self._first[atom] for atom in self._of_second[other]}
            others = set()
            for flow in flows - limits.out - self._limits.out:
                if self._is_crowd([atom for atom in self._of_first[flow] if self._is_stuck(atom, limits)]):
                    limits.out.add(flow)
                    others |= {self._second[atom] for atom in self._of_first[flow]}
            flows = set()

    def _is_out(self, atom: int, limits: _Limits) -> bool:
        return self._first[atom] in limits.out or self._first[atom] in self._limits.out

    def _is_stuck(self, atom: int, limits: _Limits) -> bool:
        return self._second[atom] in limits.stuck or self._second[atom] in self._limits.stuck

    def _largest(self, atoms: Iterable[int]) -> int:
        return max(atoms, key=lambda atom: (self._size[atom], -atom))


def _by_flow(flows: Sequence[int]) -> dict[int, list[int]]:
    """Return the atoms of each flow, none of them for no flow at all."""
    atoms: dict[int, list[int]] = {}
    for atom, flow in enumerate(flows):
        atoms.setdefault(flow, []).append(atom)
    return atoms
