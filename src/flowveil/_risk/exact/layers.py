"""What is published, as layers of figures: in a layer no trip is counted in two figures."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from flowveil._arrays import texts
from flowveil._folder import AREAS, ELSEWHERE, FLOWS, SIDES, TIMES, TOTAL, key_columns
from flowveil._risk.exact.moments import read_moments

if TYPE_CHECKING:
    from collections.abc import Hashable

    import pyarrow as pa

    from flowveil._arrays import BoolArray, IntArray
    from flowveil._folder import Files

    # Where a figure lies along an axis: everywhere (None), in an area of a grid (its id), in zones or groups (a set of
    # them), or from a moment to before another.
    Part = str | frozenset[Hashable] | tuple[int, int] | None

TOPS = {"world", "all"}


@dataclass(frozen=True, eq=False)
class Layer:
    """Figures, each a number of trips somewhere, of which no trip is counted in two.

    Where figures lie inside each other, the smaller one counts, and one that has an end elsewhere only the rest.
    """

    source: str  # what sentences call it
    ends: tuple[list[Part], list[Part]]  # by figure: origin and destination
    slots: dict[str, list[Part]]  # by axis (time, a column of groups) and figure; an axis that is missing: everywhere
    trips: IntArray
    names: list[str]  # by figure, for people
    persons: IntArray | None = None
    rest: BoolArray = field(default_factory=lambda: np.zeros(0, bool))  # which count the rest of an area; or empty
    complete: bool = False  # there are no trips outside of all figures

    def __len__(self) -> int:
        return len(self.trips)

    def take(self, rows: IntArray) -> Layer:
        """Return some of the figures."""
        chosen = rows.tolist()

        def some(parts: list[Part]) -> list[Part]:
            return [parts[row] for row in chosen]

        return Layer(
            self.source,
            (some(self.ends[0]), some(self.ends[1])),
            {axis: some(parts) for axis, parts in self.slots.items()},
            self.trips[rows],
            [self.names[row] for row in chosen],
            None if self.persons is None else self.persons[rows],
            self.rest[rows] if len(self.rest) else self.rest,
            self.complete,
        )


def read_layers(files: Files, source: str) -> list[Layer]:
    """Return the layers of a release of flows: its flows, and its totals over groups if it has some."""
    table, options = files.tables[FLOWS], files.manifest["options"]
    promise = files.manifest["promise"]
    keys = key_columns(table, files.manifest)
    groups = [name for name in keys if name not in TIMES or name in (options.get("by") or [])]
    slots: dict[str, list[Part]] = {}
    for name in groups:
        slots[f"column {name}"] = [frozenset([value]) for value in table[name].to_pylist()]
    if (moments := read_moments(options, table)) is not None:
        slots[moments[0]] = moments[1]
    ends = [read_ends(files, side, texts(table[side])) for side in SIDES]
    rest = [np.array([name == ELSEWHERE for name in texts(table[side])], bool) for side in SIDES]
    layer = Layer(
        source,
        (ends[0], ends[1]),
        slots,
        np.asarray(table["trips"].to_numpy(), np.int64),
        _names(table, keys),
        np.asarray(table["persons"].to_numpy(), np.int64) if "persons" in _measures(table, keys) else None,
        rest[0] | rest[1],
        complete=promise.get("max_suppression") == 0,
    )
    if not promise.get("totals"):
        return [layer]
    total = np.array([all(value == TOTAL for value in row) for row in _rows(table, groups)], bool)
    whole = layer.take(np.flatnonzero(total))
    whole.slots.update({f"column {name}": [None] * len(whole) for name in groups})
    totals = Layer(f"totals of {source}", whole.ends, whole.slots, whole.trips, whole.names, whole.persons, whole.rest)
    return [layer.take(np.flatnonzero(~total)), totals]


def read_ends(files: Files, side: str, areas: list[str]) -> list[Part]:
    """Return where areas of a release lie: ids of a grid as they are, zones by their members."""
    table = files.tables[AREAS]
    if "members" not in table.column_names:
        return [None if area in TOPS or area == ELSEWHERE else area for area in areas]
    known = {
        (area, at): None if members is None else frozenset(members)
        for area, at, members in zip(*(table[name].to_pylist() for name in ("area", "side", "members")), strict=True)
    }
    return [known[area, side] for area in areas]


def _measures(table: pa.Table, keys: list[str]) -> list[str]:
    return [name for name in table.column_names if name not in keys]


def _rows(table: pa.Table, columns: list[str]) -> list[tuple[object, ...]]:
    return list(zip(*(table[name].to_pylist() for name in columns), strict=True))


def _names(table: pa.Table, keys: list[str]) -> list[str]:
    """Return what flows are called: their ends, times and groups."""
    ends = [f"{origin} to {destination}" for origin, destination in _rows(table, list(SIDES))]
    if not keys:
        return ends
    told = [", ".join("all" if value is None else str(value) for value in row) for row in _rows(table, keys)]
    return [f"{name} ({values})" for name, values in zip(ends, told, strict=True)]
