"""What three and more layers of flows tell together: sets of trips that are certain to hold somebody, but no crowd.

In each layer no trip is in two flows. Two layers are searched for differences (`exposed`). With more, a reader may add
and subtract flows of all of them, and knows that no number is below nobody: every flow is an equation over the atoms,
the trips in the same flows of all layers. What is certain follows from these equations, and is found exactly where
blocks of them are small.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from flowveil._equations import Bounds, find_told, list_figures, reduce_equations

if TYPE_CHECKING:
    from collections.abc import Sequence

    from flowveil._arrays import IntArray
    from flowveil._equations import Block, Told

_ANY_WIDTH = 1  # intervals are not told of, however narrow: only sets that hold somebody for certain


class Leak(NamedTuple):
    """Flows by which some equations tell of fewer than a crowd."""

    flows: tuple[int, ...]  # of the first layer, ascending
    others: tuple[tuple[int, int], ...]  # layer and flow of the others
    size: int  # the most there can be; 0 where the search was stopped


@dataclass(frozen=True, eq=False)
class _Numbers:
    """Which layer and flow a figure is, numbered through all layers."""

    edges: IntArray

    def find(self, figure: int) -> tuple[int, int]:
        layer = int(np.searchsorted(self.edges, figure, side="right")) - 1
        return layer, figure - int(self.edges[layer])


def find_leaks(layers: Sequence[IntArray], size: IntArray, k: int) -> list[Leak]:
    """Return how flows of the first layer tell, together with those of the others, of sets of 1 to k - 1.

    layers: by atom its flow, -1 for none. size: of atoms. What the others tell without the first is left out.
    """
    atoms = np.column_stack(layers)
    flows = [int(layer.max(initial=-1)) + 1 for layer in layers]
    sums = [
        np.bincount(layer[layer >= 0], size[layer >= 0], count).astype(np.int64)
        for layer, count in zip(layers, flows, strict=True)
    ]
    numbers = _Numbers(np.concatenate([[0], np.cumsum(flows)]))
    leaks = []
    known: dict[object, Told] = {}
    for block in reduce_equations(list_figures(sums, atoms)):
        if not any(figure < flows[0] for terms in block.terms for figure in terms):
            continue
        key = (block.rows, block.trips)
        if key not in known:
            known[key] = find_told(Bounds(block), k, _ANY_WIDTH)
        told = known[key]
        leaks += [_leak(block, cells, most, numbers) for cells, _, most in told.certain]
        if told.undecided and not told.certain:
            leaks.append(_leak(block, range(len(block.cells)), 0, numbers))
    return [leak for leak in leaks if leak.flows]


def _leak(block: Block, cells: Sequence[int], most: int, numbers: _Numbers) -> Leak:
    """Return the flows in the equations of some cells, or of the block if none of these is of the first layer."""
    inside = set(cells)
    rows = [terms for row, terms in zip(block.rows, block.terms, strict=True) if inside.intersection(row)]
    for chosen in (rows, block.terms):
        found = [numbers.find(figure) for terms in chosen for figure, times in terms.items() if times]
        flows = sorted({flow for layer, flow in found if layer == 0})
        if flows:
            return Leak(tuple(flows), tuple(sorted({place for place in found if place[0]})), most)
    return Leak((), (), most)
