"""Samples of trajectories, described and checked for columns, read only when they are needed."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from flowveil import _engine as engine
from flowveil._errors import InputError, UnknownNameError
from flowveil._options import parse_columns
from flowveil._trips.towers import read_towers

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from contextlib import AbstractContextManager

    import pyarrow as pa

# Names under which others keep the same thing; the second of each is scikit-mobility's.
_KNOWN: dict[str, tuple[str, ...]] = {
    "user": ("user_id", "uid", "user", "person_id", "id", "vehicle_id"),
    "lon": ("lon", "lng", "longitude", "x"),
    "lat": ("lat", "latitude", "y"),
    "time": ("time", "datetime", "timestamp", "start_time", "t"),
    "tower": ("tower", "tower_id", "cell_id", "antenna_id", "antenna", "site_id"),
    "occupied": ("occupied", "occupancy"),
}
_PLACES = ("lon", "lat")


@dataclass(frozen=True, eq=False)
class SampleSource:
    """Where samples come from and which column is what."""

    source: engine.Source
    columns: dict[str, str]
    mapping: dict[str, str] = field(default_factory=dict)
    where: engine.Condition | None = None
    towers: pa.Table | None = None  # tower, lon, lat
    towers_file: str | None = None  # where these come from, if it is a file

    def read(self, memory: int | None = None) -> engine.Samples:
        """Read all usable rows."""
        return engine.read_samples(self.source, self.columns, self.where, memory, self.towers)

    def sort(self, memory: int | None = None) -> AbstractContextManager[engine.SortedSamples]:
        """Sort all usable rows by user and time, to be read a part of the users at a time."""
        return engine.sort_samples(self.source, self.columns, self.where, memory, self.towers)


def open_samples(
    source: engine.Readable,
    columns: str | Mapping[str, str] | None = None,
    where: str | None = None,
    *,
    towers: engine.Readable | None = None,
    occupied: bool = False,
) -> SampleSource:
    """Open a source and find its columns, or raise with what is missing.

    towers: where towers are; samples then name a tower in place of coordinates. occupied: find this column too.
    """
    mapping = parse_columns(columns)
    opened = engine.open_source(source)
    available = engine.column_names(opened)
    kept = engine.check_condition(opened, where)
    places = _PLACES if towers is None else ("tower",)
    needed = tuple(name for name in engine.SAMPLE_COLUMNS if name not in _PLACES) + places
    found = _recognize(available, mapping, needed, ("occupied",) if occupied else ())
    file = str(towers) if isinstance(towers, str | Path) else None
    return SampleSource(opened, found, mapping, kept, None if towers is None else read_towers(towers), file)


def _recognize(
    available: Sequence[str], mapping: Mapping[str, str], needed: Sequence[str], wanted: Sequence[str]
) -> dict[str, str]:
    """Return the column of each meaning that is needed, or wanted and there: as mapped, or by a name that is known."""
    for name, column in mapping.items():
        if name not in {*needed, *wanted}:
            raise UnknownNameError("column meaning", name, [*needed, *wanted])
        if column not in available:
            raise UnknownNameError("column", column, available)
    columns = dict(mapping)
    for name in (*needed, *wanted):
        match = next((column for column in _KNOWN[name] if column in available), None)
        if name not in columns and match is not None:
            columns[name] = match
    if missing := [name for name in needed if name not in columns]:
        raise InputError(
            f"the samples have no column for {', '.join(missing)}; they have {', '.join(available)}",
            f"map names with --columns, e.g. --columns {missing[0]}=YOUR_COLUMN",
        )
    return columns
