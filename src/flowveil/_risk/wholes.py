"""What a reader lays over each other: flows of groups, and flows of all groups together (totals, a release beside)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from flowveil._arrays import filled, texts
from flowveil._folder import AREAS, ELSEWHERE, FLOWS, SIDES, TIMES, TOTAL, Kind, read_files
from flowveil._measure import cover
from flowveil._release import times_of
from flowveil._risk.relations import Relations

if TYPE_CHECKING:
    from flowveil._arrays import BoolArray, IntArray
    from flowveil._folder import Files
    from flowveil._risk.case import Case

_SAME = ("grid", "hierarchy", "crs", "time", "time_hierarchy", "timezone", "bbox")


@dataclass(frozen=True, eq=False)
class Layer:
    """Published flows that do not overlap within a group: areas by number, step of time, group, and what is told."""

    table: pa.Table
    origin: IntArray
    destination: IntArray
    step: IntArray
    group: IntArray  # number of the group; 0 for flows of all groups together
    told: IntArray  # persons, trips without a unit

    def __len__(self) -> int:
        return len(self.origin)


class Reader:
    """Knows the flows of groups and of wholes of a release, and which of them lie in which."""

    def __init__(self, case: Case, groups: pa.Table, wholes: list[pa.Table], areas: list[pa.Table]) -> None:
        self._case = case
        self._by: list[str] = list(case.files.manifest["options"]["by"])
        self._sides = [Relations(areas, side) for side in SIDES]
        self._spans = "time_hierarchy" in case.files.manifest["options"]
        steps: dict[tuple[object, ...], int] = {}
        names: dict[tuple[object, ...], int] = {}
        self.groups = self._layer(groups, steps, names)
        self.wholes = [self._layer(whole, steps, None) for whole in wholes]
        self.names = list(names)

    @classmethod
    def of(cls, case: Case) -> Reader | None:
        """Return what a reader knows of a release; None if there are no groups, or nothing that holds them all."""
        manifest, flows = case.files.manifest, case.files.tables[FLOWS]
        by = manifest["options"].get("by")
        if not by or "shapes" in manifest["promise"]:
            return None
        is_total = np.array([value == TOTAL for value in flows[by[0]].to_pylist()], bool)
        wholes, areas = [], [case.files.tables[AREAS]]
        if "totals" in manifest["promise"]:
            wholes.append(flows.filter(is_total))
            flows = flows.filter(~is_total)
        for folder in case.beside:
            other = read_files(folder)
            if _holds_all(other, case.files):
                wholes.append(_placed(other.tables[FLOWS]))
                areas.append(other.tables[AREAS])
        return cls(case, _placed(flows), wholes, areas) if wholes and flows.num_rows else None

    def near(self, layer: Layer, flow: int, others: Layer) -> tuple[IntArray, BoolArray]:
        """Return the flows of other layers of the same time that meet a flow, and which of them lie inside it."""
        rows = np.flatnonzero(others.step == layer.step[flow])
        inside = np.ones(len(rows), bool)
        for side, own, ends in zip(
            self._sides, (layer.origin, layer.destination), (others.origin, others.destination), strict=True
        ):
            lies, meets = (values[ends[rows]] for values in side.of(int(own[flow])))
            rows, inside = rows[meets], (inside & lies)[meets]
        if not self._spans:
            return rows, inside
        begin, end = _spans(layer.table)
        low, high = _spans(others.table)
        meets = (low[rows] < end[flow]) & (begin[flow] < high[rows])
        rows, inside = rows[meets], inside[meets]
        return rows, inside & (begin[flow] <= low[rows]) & (high[rows] <= end[flow])

    def truth(self, layer: Layer) -> IntArray:
        """Return by flow and group the true persons (trips) of that group there. Private."""
        flows, count = self._case.flows, len(self.names)
        names = {name: number for number, name in enumerate(self.names)}
        rows = list(zip(*(flows.matrices[column].to_pylist() for column in self._by), strict=True))
        group = np.array([names.get(row, -1) for row in rows], np.int64)[flows.matrix]
        step = self._steps_of(flows.matrices)[flows.matrix]
        crowds = np.zeros((len(layer), count), np.int64)
        for own in np.unique(layer.group).tolist():  # flows of one group do not overlap
            chosen = np.flatnonzero(layer.group == own)
            table = layer.table.take(chosen)
            (origins, origin), (destinations, destination) = (
                flows.places.listed(tree, texts(table[side]))
                for tree, side in zip((flows.origins, flows.destinations), SIDES, strict=True)
            )
            time, areas = times_of(flows, table), (origins, destinations)
            held = cover(flows, origin, destination, layer.step[chosen], time, step, areas)
            cell = np.where((held >= 0) & (group >= 0), held * count + group, -1)
            measures = flows.measure(cell, len(chosen) * count)
            crowd = measures.trips if measures.persons is None else measures.persons
            crowds[chosen] = crowd.reshape(len(chosen), count)
        return crowds

    def _layer(
        self, table: pa.Table, steps: dict[tuple[object, ...], int], names: dict[tuple[object, ...], int] | None
    ) -> Layer:
        ends = [side.numbers(texts(table[name])) for side, name in zip(self._sides, SIDES, strict=True)]
        step_rows = _rows(table, self._step_columns(table))
        self._steps = steps
        told = table["persons" if "persons" in table.column_names else "trips"].to_numpy()
        return Layer(
            table,
            ends[0],
            ends[1],
            _number(step_rows, steps),
            np.zeros(table.num_rows, np.int64) if names is None else _number(_rows(table, self._by), names),
            np.asarray(told, np.int64),
        )

    def _step_columns(self, table: pa.Table) -> list[str]:
        return [] if self._spans or TIMES[0] not in table.column_names else [TIMES[0]]

    def _steps_of(self, matrices: pa.Table) -> IntArray:
        """Return the step of each matrix of the true flows, -1 for one that nothing is published of."""
        rows = _rows(matrices, self._step_columns(matrices))
        return np.array([self._steps.get(row, -1) for row in rows], np.int64)


def _rows(table: pa.Table, columns: list[str]) -> list[tuple[object, ...]]:
    return list(zip(*(table[name].to_pylist() for name in columns), strict=True)) if columns else [()] * table.num_rows


def _number(rows: list[tuple[object, ...]], numbers: dict[tuple[object, ...], int]) -> IntArray:
    return np.array([numbers.setdefault(row, len(numbers)) for row in rows], np.int64)


def _spans(table: pa.Table) -> tuple[IntArray, IntArray]:
    """Return begin and end of the time of flows; one without them lasts for all time."""
    begin, end = (table[name].cast(pa.int64()) for name in TIMES)
    return filled(begin, -(2**62)), filled(end, 2**62)


def _placed(flows: pa.Table) -> pa.Table:
    """Return the flows that have no end elsewhere."""
    apart = np.zeros(flows.num_rows, bool)
    for side in SIDES:
        apart |= np.array([name == ELSEWHERE for name in flows[side].to_pylist()], bool)
    return flows.filter(~apart)


def _holds_all(other: Files, own: Files) -> bool:
    """Whether a release counts all groups together, on the same places and times as the groups of another."""
    if other.kind is not Kind.FLOWS or own.kind is not Kind.FLOWS:
        return False
    here, there = own.manifest["options"], other.manifest["options"]
    return "by" not in there and all(here.get(name) == there.get(name) for name in _SAME)
