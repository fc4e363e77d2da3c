"""Minimality: an area that was not divided tells why, to whoever knows the method.

mosaic and nested divide a pair of areas wherever every part passes or is empty: that never loses precision and leaves
out nobody, and of equals the finer is taken. So each way to divide a published flow has a part with 1 to k - 1 trips
(persons). docs/risk.md has the proof, and says for which releases it holds.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from flowveil._folder import ELSEWHERE, FLOWS, NO_COLUMN, REMAINDER, TOTAL, read_audit, remembered
from flowveil._risk.divisions import grid_divisions
from flowveil._risk.finding import HOLDS, TELLS, Finding
from flowveil._risk.true_parts import TrueParts
from flowveil._risk.zone_divisions import ZoneSets

if TYPE_CHECKING:
    from collections.abc import Mapping

    import pyarrow as pa

    from flowveil._arrays import BoolArray, IntArray
    from flowveil._folder import Json
    from flowveil._risk.case import Case
    from flowveil._risk.divisions import Divisions

NAME = "minimality"
ENDS = ("origin", "destination")
_MOSAIC, _NESTED = "mosaic", "nested"
_SMALLER_IS_FINER = ("tiles", "area")  # losses that no division raises
_COUNTED = "certain statements that a part of a flow holds 1 to k-1"
_ADVICE = (
    "It tells that somebody was there, not who. Hide the choice of areas behind a secret draw, or publish on the "
    "areas of an earlier period."
)


@dataclass(frozen=True)
class Statement:
    """Each way to divide one end of a flow has a part that holds 1 to k - 1.

    Of a remainder it is said of one way: of its trips, every part holds fewer than k, so at least two hold some.
    """

    flow: int  # row among the flows between areas
    end: int  # 0: origin, 1: destination
    way: int | None = None  # None: all ways


def find_minimality(case: Case) -> Finding | None:
    """Return what the choice of areas tells of small parts; None where it follows from nothing public."""
    manifest = case.files.manifest
    if not _applies(manifest):
        return None
    if "hidden_choice" in manifest["promise"]:
        return Finding(
            NAME,
            0,
            _COUNTED,
            HOLDS,
            "A secret draw decided which areas may be divided: that a flow was not divided proves nothing.",
        )
    divisions = _divisions(case)
    if divisions is None:
        return None
    deduction = Deduction(case, divisions)
    statements = deduction.statements()
    count = sum(deduction.ways(statement) for statement in statements)
    flows = len({statement.flow for statement in statements})
    details: dict[str, Json] = {"flows": flows}
    if case.knows_truth:
        right = deduction.right(case, statements)
        details |= {"right": right, "wrong": count - right}
    return _finding(case, count, details, deduction.table.num_rows)


def _finding(case: Case, count: int, details: dict[str, Json], rows: int) -> Finding:
    crowd = "persons" if case.counts_persons else "trips"
    if not count:
        sentence, advice = "No flow could have been finer but for a small part, as far as this follows for certain.", ""
    else:
        known = f" Of these, {details['right']:,} are true." if "right" in details else ""
        sentence = (
            f"{details['flows']:,} of {rows:,} flows would have been divided further but for a part with 1 to "
            f"{case.k - 1} {crowd}. Whoever knows the method can say so of {count:,} ways to divide them.{known}"
        )
        advice = _ADVICE
    return Finding(
        NAME,
        count,
        _COUNTED,
        TELLS if count else HOLDS,
        sentence,
        advice,
        parameters={"k": case.k},
        details=details,
        private=case.knows_truth,
    )


def _applies(manifest: Mapping[str, Json]) -> bool:
    """Whether the method divides wherever that is free, by tests of the crowd alone."""
    options, promise = manifest["options"], manifest["promise"]
    loss = options.get("method_options", {}).get("loss", _SMALLER_IS_FINER[0])
    keeps_safe = options.get("method_options", {}).get("keep_safe", False)
    others = ("k_weight", "min_tiles", "max_share", "sensitive_tiles", "shapes")  # other tests, which a part may fail
    return (
        manifest["method"] in (_MOSAIC, _NESTED)
        and loss in _SMALLER_IS_FINER
        and "areas_from" not in options
        and not any(name in promise for name in others)
        # Remainders of persons are mended after the best were found, and others are whole but for pairs that were kept.
        and not ("remainders" in promise and (promise["unit"] not in NO_COLUMN or keeps_safe))
    )


def _divisions(case: Case) -> Divisions | None:
    """Return how areas can be divided; None for zones that are not there."""
    options, promise, table = case.files.manifest["options"], case.files.manifest["promise"], case.files.tables[FLOWS]
    areas = {str(area) for end in ENDS for area in table[end].to_pylist()} - {ELSEWHERE}
    # A release beside another one is made in one tree, and does not say so.
    single = any(name in promise for name in ("elsewhere", "totals", "protect_margins"))
    one_tree = True if single else False if "remainders" in promise else None
    if options["grid"] is not None:
        return grid_divisions(options, areas, one_tree=one_tree)
    story = remembered(read_audit(case.folder))
    zones = story.zones if case.zones is None else case.zones
    if zones is None:
        return None
    return ZoneSets(zones, options["hierarchy"], story.columns, areas, one_tree=one_tree)


class Deduction:
    """What follows from the flows of a release for certain."""

    def __init__(self, case: Case, divisions: Divisions) -> None:
        self.manifest = case.files.manifest
        self.table = between_areas(case.files.tables[FLOWS], self.manifest)
        self.divisions = divisions
        self.k = case.k
        self.ends: tuple[list[str], list[str]] = tuple(self.table[end].to_pylist() for end in ENDS)  # type: ignore[assignment]

    def ways(self, statement: Statement) -> int:
        """Return of how many ways to divide a flow something is said."""
        return 1 if statement.way is not None else self.divisions.ways(self.ends[statement.end][statement.flow])

    def statements(self) -> list[Statement]:
        """Return all statements."""
        if self.k == 1:  # nothing is between 1 and 0
            return []
        remainder = self._remainders
        found = [
            Statement(flow, end)
            for end, free in enumerate(self._free_ends())
            for flow in np.flatnonzero(free & ~remainder & self._alone).tolist()
            if self.divisions.ways(self.ends[end][flow])
        ]
        return found + [known for flow in np.flatnonzero(remainder).tolist() for known in self._of_remainder(flow)]

    def right(self, case: Case, statements: list[Statement]) -> int:
        """Return of how many ways to divide flows what is said is true."""
        parts = TrueParts(case, 0), TrueParts(case, 1)
        return sum(
            self._is_true(statement, parts[statement.end].counts(statement.flow, area, way))
            for statement in statements
            for area in [self.ends[statement.end][statement.flow]]
            for way in (range(self.divisions.ways(area)) if statement.way is None else [statement.way])
        )

    def _is_true(self, statement: Statement, counts: IntArray | None) -> bool:
        if counts is None:
            return False
        small = (counts > 0) & (counts < self.k)
        if statement.way is None:
            return bool(small.any())
        return bool((counts < self.k).all() and small.sum() > 1)

    @cached_property
    def _alone(self) -> BoolArray:
        """By flow, whether no other has the same areas, where steps of time and groups have them in common.

        Such areas are divided where that is free in all of them: if several have a flow, any may have forbidden it.
        """
        if "same_areas" not in self.manifest["promise"]:
            return np.ones(self.table.num_rows, bool)
        pairs = Counter(zip(*self.ends, strict=True))
        return np.array([pairs[pair] == 1 for pair in zip(*self.ends, strict=True)], bool)

    @cached_property
    def _remainders(self) -> BoolArray:
        if REMAINDER not in self.table.column_names:
            return np.zeros(self.table.num_rows, bool)
        return np.asarray(self.table[REMAINDER].to_numpy(zero_copy_only=False), bool)

    def _free_ends(self) -> tuple[BoolArray, BoolArray]:
        """Return by end and flow whether the method would have divided the end, had that been free."""
        top = [np.array([area == self.divisions.top for area in areas], bool) for areas in self.ends]
        by_area = self.manifest["options"].get("method_options", {}).get("loss") == "area"
        # Of the top, the area is that of the bbox, and parts may be larger.
        shrinks = [~top[0], ~top[1]] if by_area else [np.ones(self.table.num_rows, bool)] * 2
        if "remainders" in self.manifest["promise"] and not (self.divisions.strict or by_area):
            return np.zeros_like(top[0]), np.zeros_like(top[0])  # there, of equals not always the finer is taken
        orders = [order for order in (0, 1) if self._may_come_first(order)]
        if self.manifest["method"] == _NESTED or (orders and self._nested_may_be_better()):
            # The end that comes first is divided only while the other is whole, the other one always.
            for order in orders:
                shrinks[order] = shrinks[order] & top[1 - order]
        return shrinks[0], shrinks[1]

    def _may_come_first(self, end: int) -> bool:
        """Whether the areas of an end may be one map, divided before the other end; if they overlap, it is not so."""
        typed = self.manifest["options"].get("method_options", {})
        if typed.get("side", "either") not in ("either", ENDS[end]):
            return False
        areas = self.ends[end]
        together = [range(self.table.num_rows)] if "same_areas" in self.manifest["promise"] else None
        parts = together or self._rows_of_key.values()
        overlap = (self.divisions.overlap(areas[row] for row in rows) for rows in parts)
        # One end comes first in all steps of time and groups, unless each was solved by itself.
        return not (all(overlap) if typed.get("budget") == "each" else any(overlap))

    def _nested_may_be_better(self) -> bool:
        """Whether mosaic may have taken a nested cut: if the budget leaves a gap between the best cuts at all prices.

        With remainders it divides what a nested cut has further.
        """
        promise, options = self.manifest["promise"], self.manifest["options"]
        steered = promise.get("max_suppression", 0) != 0 and "max_gbar" not in options.get("method_options", {})
        return steered and "time_hierarchy" not in options and "remainders" not in promise

    def _of_remainder(self, flow: int) -> list[Statement]:
        """Return a statement if there is one way only in which finer flows can have been taken out of a remainder."""
        areas = self.ends[0][flow], self.ends[1][flow]
        if self.divisions.top in areas or "time_hierarchy" in self.manifest["options"]:
            return []
        lies_in = {row: self._lies_in(row, areas) for row in self._rows_of_key[self._key[flow]] if row != flow}
        if None in lies_in.values():
            return []
        inner = [row for row, inside in lies_in.items() if inside]
        candidates = [
            Statement(flow, end, way)
            for end in (0, 1)
            for way in range(self.divisions.ways(areas[end]))
            if all(self.divisions.separates(areas[end], way, self.ends[end][row]) is not False for row in inner)
        ]
        return candidates if len(candidates) == 1 else []

    def _lies_in(self, row: int, areas: tuple[str, str]) -> bool | None:
        held = [self.divisions.holds(area, self.ends[end][row]) for end, area in enumerate(areas)]
        return False if False in held else None if None in held else True

    @cached_property
    def _key(self) -> list[tuple[object, ...]]:
        options = self.manifest["options"]
        names = [name for name in ("time", *options.get("by", ())) if name in self.table.column_names]
        columns = [self.table[name].to_pylist() for name in names]
        return list(zip(*columns, strict=True)) if columns else [()] * self.table.num_rows

    @cached_property
    def _rows_of_key(self) -> dict[tuple[object, ...], list[int]]:
        rows: dict[tuple[object, ...], list[int]] = {}
        for row, key in enumerate(self._key):
            rows.setdefault(key, []).append(row)
        return rows


def between_areas(table: pa.Table, manifest: Mapping[str, Json]) -> pa.Table:
    """Return the flows between areas, in their order: without totals, and without flows to or from elsewhere."""
    columns = [table["origin"].to_pylist(), table["destination"].to_pylist()]
    kept = np.array([ELSEWHERE not in ends for ends in zip(*columns, strict=True)], bool)
    if "totals" in manifest["promise"]:
        kept &= np.array([group != TOTAL for group in table[manifest["options"]["by"][0]].to_pylist()], bool)
    return table.filter(kept)
