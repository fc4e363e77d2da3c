"""What is known of the persons of a set of trips, given its trips and the persons of published figures.

Persons do not add up: one may be in several figures. But a set has at most as many persons as trips, and as a figure
that holds it; at least one if it has trips; and at least those of a figure less those of figures taken away from it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from flowveil._equations import Block, Figures
    from flowveil._folder import Json
    from flowveil._risk.exact.layers import Layer

_UNKNOWN = -1


class Persons:
    """Persons of figures, numbered through all layers."""

    def __init__(self, layers: Sequence[Layer], figures: Figures) -> None:
        self._names = [name for layer in layers for name in layer.names]
        self._trips = figures.trips
        self._atoms = figures.atoms
        persons = [np.full(len(layer), _UNKNOWN) if layer.persons is None else layer.persons for layer in layers]
        self._persons: list[int] = np.concatenate(persons).tolist()

    def between(self, atoms: frozenset[int], least: int, most: int, terms: dict[int, int] | None) -> tuple[int, int]:
        """Return the fewest and the most persons of a set of atoms that has so many trips.

        terms: how often each figure is added to give exactly this set, if that is known.
        """
        low, high = min(least, 1), most
        for figure, persons in enumerate(self._persons):
            if persons != _UNKNOWN and atoms.issubset(self._atoms[figure].tolist()):
                high = min(high, persons)
                low = max(low, least - (self._trips[figure] - persons))  # all other trips of those who made several
        if terms and all(self._persons[figure] != _UNKNOWN for figure in terms):
            added = [figure for figure, times in terms.items() if times > 0]
            if len(added) == 1 and all(abs(times) == 1 for times in terms.values()):
                taken = sum(self._persons[figure] for figure in terms if figure != added[0])
                low = max(low, self._persons[added[0]] - taken)
        return low, high

    def describe(self, block: Block, cells: tuple[int, ...], least: int, most: int) -> dict[str, Json]:
        """Return where some cells of a block lie, with their trips and persons, for people."""
        atoms = frozenset(atom for cell in cells for atom in block.cells[cell])
        terms = next((terms for row, terms in zip(block.rows, block.terms, strict=True) if row == cells), None)
        told: dict[str, Json] = {"where": self._where(atoms, terms), "trips": [least, most]}
        if any(persons != _UNKNOWN for persons in self._persons):
            told["persons"] = list(self.between(atoms, least, most, terms))
        return told

    def _where(self, atoms: frozenset[int], terms: dict[int, int] | None) -> str:
        if terms is not None:
            added = [self._names[figure] for figure, times in terms.items() if times > 0]
            taken = [self._names[figure] for figure, times in terms.items() if times < 0]
            return " plus ".join(added) + (f" less {' less '.join(taken)}" if taken else "")
        holders = [figure for figure, inside in enumerate(self._atoms) if atoms.issubset(inside.tolist())]
        if not holders:
            return "a part of several flows"
        return f"a part of {self._names[min(holders, key=lambda figure: len(self._atoms[figure]))]}"
