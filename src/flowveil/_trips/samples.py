"""Samples of trajectories, described and checked for columns, read only when they are needed."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from flowveil import _engine as engine
from flowveil._errors import InputError, UnknownNameError
from flowveil._options import parse_columns

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

# Names under which others keep the same thing; the second of each is scikit-mobility's.
_KNOWN: dict[str, tuple[str, ...]] = {
    "user": ("user_id", "uid", "user", "person_id", "id"),
    "lon": ("lon", "lng", "longitude", "x"),
    "lat": ("lat", "latitude", "y"),
    "time": ("time", "datetime", "timestamp", "start_time", "t"),
}


@dataclass(frozen=True, eq=False)
class SampleSource:
    """Where samples come from and which column is what."""

    source: engine.Source
    columns: dict[str, str]
    mapping: dict[str, str] = field(default_factory=dict)
    where: engine.Condition | None = None

    def read(self, memory: int | None = None) -> engine.Samples:
        """Read all usable rows."""
        return engine.read_samples(self.source, self.columns, self.where, memory)


def open_samples(
    source: engine.Readable, columns: str | Mapping[str, str] | None = None, where: str | None = None
) -> SampleSource:
    """Open a source and find its columns, or raise with what is missing."""
    mapping = parse_columns(columns)
    opened = engine.open_source(source)
    available = engine.column_names(opened)
    kept = engine.check_condition(opened, where)
    return SampleSource(opened, _recognize(available, mapping), mapping, kept)


def _recognize(available: Sequence[str], mapping: Mapping[str, str]) -> dict[str, str]:
    """Return the column of each meaning: as mapped, or by a name that is known."""
    for name, column in mapping.items():
        if name not in _KNOWN:
            raise UnknownNameError("column meaning", name, _KNOWN)
        if column not in available:
            raise UnknownNameError("column", column, available)
    columns = dict(mapping)
    for name, others in _KNOWN.items():
        match = next((column for column in others if column in available), None)
        if name not in columns and match is not None:
            columns[name] = match
    if missing := [name for name in engine.SAMPLE_COLUMNS if name not in columns]:
        raise InputError(
            f"the samples have no column for {', '.join(missing)}; they have {', '.join(available)}",
            f"map names with --columns, e.g. --columns {missing[0]}=YOUR_COLUMN",
        )
    return columns
