"""Atoms: the coarsest parts of all trips such that every figure is a sum of some of them.

For each time and group, all pairs of classes of places are painted with the figure of each layer that counts them:
large figures first, so that of several the smallest is seen. Pairs with the same figures in all layers are one atom.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from flowveil._risk.exact.ground import cut_axis, merge

if TYPE_CHECKING:
    from collections.abc import Sequence

    from flowveil._arrays import IntArray
    from flowveil._risk.exact.ground import Axis
    from flowveil._risk.exact.layers import Layer

NONE = -1
_MOST_PAINTED = 4_000_000  # pairs of classes at a time, to bound memory
_LARGEST_CODE = 2**62

Slots = tuple[tuple[int, ...], ...]  # by layer: the numbers of its slots that hold some time and group


def find_atoms(layers: Sequence[Layer], resolution: int | None = None) -> IntArray:
    """Return by atom (the rows) and layer the figure that counts it, -1 for none; sorted.

    resolution: of the H3 grid that areas are of.
    """
    slots = [_Slots.of(layer) for layer in layers]
    ground: list[Axis] | None = None
    found = [np.zeros((0, len(layers)), np.int64)]
    for held in sorted(_combinations(layers, slots)):
        figures = [slot.figures(numbers) for slot, numbers in zip(slots, held, strict=True)]
        filled = [place for place, some in enumerate(figures) if len(some)]
        if len(filled) == 1:  # no other layer has anything here: each figure is an atom
            atoms = np.full((len(figures[filled[0]]), len(layers)), NONE, np.int64)
            atoms[:, filled[0]] = figures[filled[0]]
            found.append(atoms)
        elif filled:
            ground = ground or [
                cut_axis([part for layer in layers for part in layer.ends[side]], resolution) for side in (0, 1)
            ]
            found.append(_paint(layers, figures, ground))
    atoms = np.unique(np.concatenate(found), axis=0)
    for place, layer in enumerate(layers):
        if layer.complete:
            atoms = atoms[atoms[:, place] != NONE]
    return atoms


@dataclass(frozen=True, eq=False)
class _Slots:
    """Times and groups of the figures of a layer."""

    keys: list[tuple[object, ...]]  # by slot: a part for each axis that the layer has
    axes: tuple[str, ...]
    rows: list[IntArray]  # by slot: its figures

    @classmethod
    def of(cls, layer: Layer) -> _Slots:
        """Give numbers to the times and groups of a layer."""
        number: dict[tuple[object, ...], list[int]] = {}
        keys = zip(*layer.slots.values(), strict=True) if layer.slots else itertools.repeat((), len(layer))
        for row, key in enumerate(keys):
            number.setdefault(tuple(key), []).append(row)
        return cls(list(number), tuple(layer.slots), [np.array(rows, np.int64) for rows in number.values()])

    def figures(self, slots: tuple[int, ...]) -> IntArray:
        """Return the figures of some slots."""
        return np.concatenate([np.zeros(0, np.int64), *(self.rows[slot] for slot in slots)])


def _combinations(layers: Sequence[Layer], slots: Sequence[_Slots]) -> set[Slots]:
    """Return which slots of the layers some time and group lies in: one tuple a layer."""
    names = list(dict.fromkeys(axis for layer in layers for axis in layer.slots))
    axes = {name: cut_axis([part for layer in layers for part in layer.slots.get(name, [])]) for name in names}
    held: list[dict[int, list[int]]] = []  # by layer and cell: the slots that hold it
    shape = tuple(axes[name].size for name in names)
    for layer_slots in slots:
        of_cell: dict[int, list[int]] = {}
        for slot, key in enumerate(layer_slots.keys):
            part = dict(zip(layer_slots.axes, key, strict=True))
            inside = [axes[name].classes[axes[name].number[part.get(name)]] for name in names]  # type: ignore[index]
            cells = np.ravel_multi_index(np.ix_(*inside), shape).ravel() if names else np.zeros(1, np.int64)
            for cell in cells.tolist():
                of_cell.setdefault(cell, []).append(slot)
        held.append(of_cell)
    every = set[int]().union(*held)
    return {tuple(tuple(of_cell.get(cell, [])) for of_cell in held) for cell in every}


class _Painted(NamedTuple):
    """What is painted at one time and group: by layer its figures, in the order in which they are painted."""

    figures: list[IntArray]
    origins: list[list[IntArray]]  # by layer and figure: classes
    destinations: list[list[IntArray]]
    height: int  # classes of origins
    width: int


def _paint(layers: Sequence[Layer], figures: Sequence[IntArray], ground: Sequence[Axis]) -> IntArray:
    """Return the atoms of one time and group."""
    painted = _order(layers, figures, ground)
    step = max(1, _MOST_PAINTED // painted.width)
    found = [_strip(painted, start, min(start + step, painted.height)) for start in range(0, painted.height, step)]
    atoms = np.unique(np.concatenate(found), axis=0)
    for place, some in enumerate(painted.figures):
        atoms[:, place] = np.append(some, NONE)[atoms[:, place]]
    return atoms


def _order(layers: Sequence[Layer], figures: Sequence[IntArray], ground: Sequence[Axis]) -> _Painted:
    """Return figures from the largest to the smallest, those that count the rest of an area before all others."""
    sides = []
    counts = []
    for side, axis in enumerate(ground):
        part = [
            [axis.number[layer.ends[side][row]] for row in some.tolist()]
            for layer, some in zip(layers, figures, strict=True)
        ]
        used = sorted({number for numbers in part for number in numbers} - {axis.number[None]})
        local, count = merge([axis.classes[number] for number in used], axis.size)
        place = dict(zip(used, local, strict=True)) | {axis.number[None]: np.arange(count)}
        sides.append([[place[number] for number in numbers] for numbers in part])
        counts.append(count)
    ordered = []
    for row, (layer, some) in enumerate(zip(layers, figures, strict=True)):
        size = np.array([len(one) * len(other) for one, other in zip(sides[0][row], sides[1][row], strict=True)])
        rest = layer.rest[some] if len(layer.rest) else np.zeros(len(some), bool)
        order = np.lexsort((-size, ~rest)) if len(some) else np.zeros(0, np.int64)
        ordered.append(some[order])
        for classes in sides:
            classes[row] = [classes[row][place] for place in order.tolist()]
    return _Painted(ordered, sides[0], sides[1], counts[0], counts[1])


def _strip(painted: _Painted, start: int, end: int) -> IntArray:
    """Return the atoms of some classes of origins, with figures by their place in the order of painting."""
    canvases = []
    code = np.zeros((end - start) * painted.width, np.int64)  # the same where all layers have the same figures
    largest = 1
    for origins, destinations in zip(painted.origins, painted.destinations, strict=True):
        canvas = np.full((end - start, painted.width), NONE, np.int32)
        for figure, (rows, columns) in enumerate(zip(origins, destinations, strict=True)):
            inside = rows if not start and end == painted.height else rows[(rows >= start) & (rows < end)] - start
            if len(inside):
                canvas[np.ix_(inside, columns)] = figure
        canvases.append(canvas.ravel())
        if largest * (len(origins) + 1) > _LARGEST_CODE:
            distinct, code = np.unique(code, return_inverse=True)
            largest = len(distinct)
        code = code * (len(origins) + 1) + canvases[-1] + 1
        largest *= len(origins) + 1
    _, example = np.unique(code, return_index=True)
    atoms = np.column_stack([canvas[example] for canvas in canvases]).astype(np.int64)
    return np.asarray(atoms[(atoms != NONE).any(axis=1)], np.int64)
