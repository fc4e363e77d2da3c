"""Who is in which atom: the trips that lie in one flow of each of two layers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from flowveil._arrays import texts
from flowveil._verify.forest import NONE
from flowveil._verify.rows import whole_millionths

if TYPE_CHECKING:
    from collections.abc import Hashable, Sequence

    import numpy.typing as npt
    import pyarrow as pa

    from flowveil._arrays import IntArray
    from flowveil._engine import Request


class Crowds:
    """The persons of atoms; without a unit every row is somebody."""

    def __init__(self, k: int, least_weight: int) -> None:
        self.groups: set[tuple[Hashable, ...]] = set()  # all that there are, published or not, where one layer has them
        self._k = k
        self._least_weight = least_weight
        self._persons: dict[str, int] = {}
        self._parts: list[IntArray] = []  # columns: key of the atom, person, trips, weight
        self._rows = np.zeros((0, 4), np.int64)  # all parts, by key
        self._start = np.zeros(1, np.int64)  # by atom: its first row, and the end
        self._size: list[int] = []  # by atom: persons, or trips
        self._weight: list[int] = []  # by atom
        self._passes: list[bool] = []  # by atom: whether it is a crowd by itself
        self._who: dict[int, frozenset[tuple[int, int]]] = {}  # persons and weights, of atoms that were looked at

    def add(self, batch: pa.RecordBatch, request: Request, rows: IntArray, key: IntArray) -> None:
        """Note who is in some rows of a batch, given the key of the atom that each of them is in."""

        def column(name: str) -> npt.NDArray[Any]:  # Any: counts and weights may be of any type of numbers
            return batch.column(name).take(rows).to_numpy(zero_copy_only=False)

        trips = column("count").astype(np.int64) if request.count else np.ones(len(rows), np.int64)
        weight = np.zeros(len(rows), np.int64)
        if request.weight and not request.weighs_trips:  # otherwise a person would come once for each weight
            weight = whole_millionths(column("weight"), request.weight)
        person = np.full(len(rows), NONE, np.int64)
        if request.unit:
            units = batch.column("unit").take(rows).dictionary_encode()
            names = texts(units.dictionary)
            numbers = [self._persons.setdefault(name, len(self._persons)) for name in names]
            person = np.array(numbers, np.int64)[units.indices.to_numpy()]
            trips = np.ones(len(rows), np.int64)  # a person counts once
        part = np.column_stack([key, person, trips, weight])
        self._parts.append(np.unique(part, axis=0) if request.unit else part)

    def gather(self) -> tuple[IntArray, IntArray]:
        """Return the keys of all atoms, ascending, and the persons (or trips) of each. Atoms are then numbered so."""
        rows = np.concatenate([np.zeros((0, 4), np.int64), *self._parts])
        if self._persons:
            rows = np.unique(rows, axis=0)
        self._rows = rows[np.argsort(rows[:, 0], kind="stable")]
        keys, first = np.unique(self._rows[:, 0], return_index=True)
        self._start = np.append(first, len(self._rows))
        size, weight = (np.add.reduceat(self._rows[:, place], first) if len(first) else first for place in (2, 3))
        self._size, self._weight = size.tolist(), weight.tolist()
        self._passes = ((size >= self._k) & (weight >= self._least_weight)).tolist()
        return keys, size

    def is_crowd(self, atoms: Sequence[int]) -> bool:
        """Whether some atoms are a crowd together: a person in several of them counts once."""
        if any(self._passes[atom] for atom in atoms):
            return True
        if sum(self._size[atom] for atom in atoms) < self._k:
            return False
        persons, weight = self.count(atoms)
        return persons >= self._k and weight >= self._least_weight

    def count(self, atoms: Sequence[int]) -> tuple[int, int]:
        """Return the persons (or trips) of some atoms together, and their weight."""
        if not self._persons:
            return sum(self._size[atom] for atom in atoms), sum(self._weight[atom] for atom in atoms)
        who: set[tuple[int, int]] = set()
        for atom in atoms:
            if atom not in self._who:
                rows = self._rows[self._start[atom] : self._start[atom + 1]]
                self._who[atom] = frozenset(map(tuple, rows[:, [1, 3]].tolist()))
            who |= self._who[atom]
        return len(who), sum(weight for _, weight in who)
