"""Which flows of a layer are sums and differences of flows of others, of several layers together.

Their numbers tell nothing new of the trips that are there, but that no others are: had a few more been there, the flow
would have been withheld, so that where it is missing a reader would guess that there are a few. Nobody is no crowd
(decision 14).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from flowveil._arrays import BoolArray, IntArray

_PRIME = (1 << 61) - 1  # whole numbers are taken modulo it: that may find one sum too many, never one too few
_MOST_STEPS = 3_000_000  # additions, after which every flow that is left counts as a sum


def find_implied(layers: Sequence[IntArray], size: IntArray, known: BoolArray) -> list[int]:
    """Return flows of the first layer without which none is a sum or difference of others: few, and small ones.

    layers: by atom its flow, -1 for none. size: trips by atom. known: flows of the first layer that others have as
    well, which tell nothing; they are left out.
    """
    first = _by_flow(layers[0])
    trips = {flow: int(size[atoms].sum()) for flow, atoms in first.items()}
    order = sorted((flow for flow in first if not known[flow]), key=lambda flow: (-trips[flow], flow))
    held = [atoms.tolist() for layer in layers[1:] for atoms in _by_flow(layer).values()]
    vectors = [*held, *(first[flow].tolist() for flow in order)]
    left = _entangled(vectors)
    span = _Span(vectors[number] for number in left)
    sums = [number for number in left if not span.add(vectors[number])]
    return sorted(order[number - len(held)] for number in sums if number >= len(held))


def _by_flow(layer: IntArray) -> dict[int, IntArray]:
    """Return the atoms of each flow."""
    order = np.argsort(layer, kind="stable")
    flows, start = np.unique(layer[order], return_index=True)
    parts = np.split(order, start[1:])
    return {flow: atoms for flow, atoms in zip(flows.tolist(), parts, strict=True) if flow >= 0}


def _entangled(vectors: Sequence[Sequence[int]]) -> list[int]:
    """Return the flows that are left when those with an atom of their own are taken out, again and again.

    An atom that is in one flow only cannot be taken away from it, so this flow is in no sum.
    """
    holders: dict[int, set[int]] = {}
    for number, atoms in enumerate(vectors):
        for atom in atoms:
            holders.setdefault(atom, set()).add(number)
    left = set(range(len(vectors)))
    waiting = [atom for atom, held in holders.items() if len(held) == 1]
    while waiting:
        for number in tuple(holders[waiting.pop()]):
            left.discard(number)
            for other in vectors[number]:
                holders[other].discard(number)
                if len(holders[other]) == 1:
                    waiting.append(other)
    return sorted(left)


class _Span:
    """Sums and differences of flows, each given by its atoms; grows flow by flow."""

    def __init__(self, vectors: Iterable[Sequence[int]]) -> None:
        self._often: dict[int, int] = {}
        for atoms in vectors:
            for atom in atoms:
                self._often[atom] = self._often.get(atom, 0) + 1
        self._basis: dict[int, dict[int, int]] = {}  # by an atom that none of the others has
        self._steps = 0

    def add(self, atoms: Sequence[int]) -> bool:
        """Add a flow; return whether it is no sum or difference of those before."""
        vector = dict.fromkeys(atoms, 1)
        while vector and self._steps < _MOST_STEPS:
            rarest = min(vector, key=lambda atom: (self._often[atom], atom))
            if rarest not in self._basis:
                inverse = pow(vector[rarest], -1, _PRIME)
                self._basis[rarest] = {atom: times * inverse % _PRIME for atom, times in vector.items()}
                return True
            other, times = self._basis[rarest], vector[rarest]
            self._steps += len(other) + len(vector)
            for atom, value in other.items():
                rest = (vector.get(atom, 0) - times * value) % _PRIME
                if rest:
                    vector[atom] = rest
                else:
                    del vector[atom]
        return False
