"""Equations: every figure is the sum of its atoms. Reduced to blocks that have nothing in common.

Where all atoms of one figure are atoms of another, the first is taken away from the second: this changes nothing that
follows from the equations, and mostly leaves blocks of a single equation, whose sum is then known and nothing else.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from flowveil._errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from flowveil._arrays import IntArray


class Figures(NamedTuple):
    """Figures of all layers, numbered through, and the atoms of each."""

    atoms: list[IntArray]
    trips: list[int]


class Block(NamedTuple):
    """Equations that hang together, over cells: atoms that occur in the same equations are one cell."""

    rows: tuple[tuple[int, ...], ...]  # by equation: its cells
    trips: tuple[int, ...]  # by equation
    cells: tuple[tuple[int, ...], ...]  # by cell: its atoms
    terms: tuple[dict[int, int], ...]  # by equation: which figures it was made of, and how often each is added


@dataclass(eq=False)
class _Row:
    atoms: set[int]
    trips: int
    terms: dict[int, int] = field(default_factory=dict)


def list_figures(layers: Sequence[IntArray], atoms: IntArray) -> Figures:
    """Return the atoms of all figures, given by layer the trips of its figures, by atom and layer its figure or -1."""
    found: list[IntArray] = []
    for place, trips in enumerate(layers):
        order = np.argsort(atoms[:, place], kind="stable")
        edges = np.searchsorted(atoms[order, place], np.arange(len(trips) + 1))
        found += np.split(order, edges)[1:-1]
    return Figures(found, [int(figure) for trips in layers for figure in trips])


def reduce_equations(figures: Figures) -> list[Block]:
    """Return the blocks of the equations of figures; raise if some contradict each other at once."""
    blocks = []
    for numbers in _connected([atoms.tolist() for atoms in figures.atoms]):
        rows = [_Row(set(figures.atoms[row].tolist()), figures.trips[row], {row: 1}) for row in numbers]
        if len(rows) > 1:
            rows = _subtract(rows)
            parts = [[rows[row] for row in part] for part in _connected([sorted(row.atoms) for row in rows])]
        else:
            parts = [rows]
        blocks += [_block(part) for part in parts]
    return blocks


def contradiction() -> InputError:
    """Return the error that no trips have all the figures."""
    return InputError(
        "the figures contradict each other: no trips have all of them",
        "give releases and tables that count the same trips (input, --where, --bbox); flowveil verify checks each",
    )


def _connected(rows: Sequence[Sequence[int]]) -> list[list[int]]:
    """Return sets of rows that hang together by what is in them, each sorted, in the order of their first rows."""
    from scipy.sparse import coo_array  # noqa: PLC0415  slow to import
    from scipy.sparse.csgraph import connected_components  # noqa: PLC0415  slow to import

    if not rows:
        return []
    row = np.repeat(np.arange(len(rows)), [len(inside) for inside in rows])
    inside = np.array([atom for atoms in rows for atom in atoms], np.int64)
    size = len(rows) + int(inside.max(initial=-1)) + 1
    links = coo_array((np.ones(len(row), np.int8), (row, len(rows) + inside)), shape=(size, size))
    label = connected_components(links, directed=False)[1][: len(rows)]
    order = np.argsort(label, kind="stable")
    parts = np.split(order, np.flatnonzero(np.diff(label[order])) + 1)
    return sorted((part.tolist() for part in parts), key=lambda part: part[0])


def _subtract(rows: list[_Row]) -> list[_Row]:
    """Take rows away from rows that hold them, and leave out atoms that are known to be empty."""
    holders: dict[int, set[int]] = {}
    for number, row in enumerate(rows):
        for atom in row.atoms:
            holders.setdefault(atom, set()).add(number)
    waiting = sorted(range(len(rows)), key=lambda number: -len(rows[number].atoms))  # the smallest first
    while waiting:
        number = waiting.pop()
        row = rows[number]
        if not row.atoms:
            continue
        rarest = min(row.atoms, key=lambda atom: len(holders[atom]))
        for other in sorted(holders[rarest] - {number}):
            if row.atoms <= rows[other].atoms:
                _take_away(rows[other], row)
                for atom in row.atoms:
                    holders[atom].discard(other)
                waiting.append(other)
        if row.trips == 0:
            touched = set().union(*(holders.pop(atom) for atom in row.atoms)) - {number}
            for other in sorted(touched):
                rows[other].atoms -= row.atoms
                _check(rows[other])
            row.atoms.clear()
            waiting += sorted(touched)
    return [row for row in rows if row.atoms]


def _take_away(row: _Row, inner: _Row) -> None:
    row.atoms -= inner.atoms
    row.trips -= inner.trips
    for figure, times in inner.terms.items():
        row.terms[figure] = row.terms.get(figure, 0) - times
    _check(row)


def _check(row: _Row) -> None:
    if row.trips < 0 or (row.trips > 0 and not row.atoms):
        raise contradiction()


def _block(rows: Iterable[_Row]) -> Block:
    """Return equations with atoms that occur in the same of them put together."""
    rows = list(rows)
    if len(rows) == 1:
        return Block(((0,),), (rows[0].trips,), (tuple(sorted(rows[0].atoms)),), (rows[0].terms,))
    occurs: dict[int, list[int]] = {}
    for number, row in enumerate(rows):
        for atom in sorted(row.atoms):
            occurs.setdefault(atom, []).append(number)
    cells: dict[tuple[int, ...], list[int]] = {}
    for atom, where in occurs.items():
        cells.setdefault(tuple(where), []).append(atom)
    inside: list[list[int]] = [[] for _ in rows]
    for cell, members in enumerate(sorted(cells)):
        for number in members:
            inside[number].append(cell)
    return Block(
        tuple(map(tuple, inside)),
        tuple(row.trips for row in rows),
        tuple(tuple(sorted(cells[where])) for where in sorted(cells)),
        tuple(row.terms for row in rows),
    )
