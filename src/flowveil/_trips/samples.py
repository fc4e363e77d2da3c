"""Samples of trajectories, described and checked for columns, read only when they are needed."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from flowveil import _engine as engine
from flowveil._errors import InputError, UnknownNameError
from flowveil._options import parse_columns
from flowveil._trips.known_layouts import match_names
from flowveil._trips.towers import read_towers

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from contextlib import AbstractContextManager

    import pyarrow as pa

# Names under which others keep the same thing; the second of each is scikit-mobility's. Capitals, blanks and signs
# between words make no difference.
_KNOWN: dict[str, tuple[str, ...]] = {
    "user": ("user_id", "uid", "user", "person_id", "id", "vehicle_id", "userid", "device_id", "deviceid", "device"),
    "lon": ("lon", "lng", "longitude", "x", "long", "location_long", "gps_longitude"),
    "lat": ("lat", "latitude", "y", "location_lat", "gps_latitude"),
    "time": ("time", "datetime", "timestamp", "start_time", "t", "date_time", "recorded_at", "recordedat", "gps_time"),
    "tower": ("tower", "tower_id", "cell_id", "antenna_id", "antenna", "site_id"),
    "occupied": ("occupied", "occupancy"),
}
_PLACES = ("lon", "lat")
_VALUE = re.compile(r"\s*-?\d+\.\d+\s*|\s*\d{4}-\d\d-\d\d\b.*")  # a coordinate or a time
_MOST_NAMES = 30


@dataclass(frozen=True, eq=False)
class SampleSource:
    """Where samples come from and which column is what."""

    source: engine.Source
    columns: dict[str, str]
    mapping: dict[str, str] = field(default_factory=dict)
    where: engine.Condition | None = None
    towers: pa.Table | None = None  # tower, lon, lat
    towers_file: str | None = None  # where these come from, if it is a file
    reading: engine.Reading = field(default_factory=engine.Reading)  # what the user said of how it is written

    @property
    def assumed(self) -> tuple[str, ...]:
        """How files were read where nothing told."""
        return self.source.notes if isinstance(self.source, engine.FileSource) else ()

    def read(self, memory: int | None = None) -> engine.Samples:
        """Read all usable rows."""
        return engine.read_samples(self.source, self.columns, self.where, memory, self.towers, self.reading)

    def sort(self, memory: int | None = None) -> AbstractContextManager[engine.SortedSamples]:
        """Sort all usable rows by user and time, to be read a part of the users at a time."""
        return engine.sort_samples(self.source, self.columns, self.where, memory, self.towers, self.reading)


def open_samples(
    source: engine.Readable,
    columns: str | Mapping[str, str] | None = None,
    where: str | None = None,
    *,
    towers: engine.Readable | None = None,
    occupied: bool = False,
    reading: engine.ReadingOptions | None = None,
) -> SampleSource:
    """Open a source and find its columns, or raise with what is missing.

    towers: where towers are; samples then name a tower in place of coordinates. occupied: find this column too.
    reading: how values are written.
    """
    mapping = parse_columns(columns)
    said = engine.parse_reading(reading or {})
    if towers is not None and (idle := [name for name in ("input_crs", "decimal") if name in said.typed()]):
        raise InputError(
            f"{idle[0]} says how coordinates are written, and these samples have none but those of towers",
            f"leave out --{idle[0].replace('_', '-')}: towers are in degrees",
        )
    opened = engine.open_source(source, None, said)
    available = engine.column_names(opened)
    if mapping.get("user") == engine.FILENAME and engine.FILENAME not in available:
        opened, available = engine.with_file_names(opened), (*available, engine.FILENAME)
    kept = engine.check_condition(opened, where)
    places = _PLACES if towers is None else ("tower",)
    needed = tuple(name for name in engine.SAMPLE_COLUMNS if name not in _PLACES) + places
    found = _recognize(available, mapping, needed, ("occupied",) if occupied else ())
    file = str(towers) if isinstance(towers, str | Path) else None
    return SampleSource(opened, found, mapping, kept, None if towers is None else read_towers(towers), file, said)


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
        as_written = next((column for column in _KNOWN[name] if column in available), None)
        match = as_written or next(iter(match_names(available, _KNOWN[name]).values()), None)
        if name not in columns and match is not None:
            columns[name] = match
    if missing := [name for name in needed if name not in columns]:
        raise _missing(missing, available)
    return columns


def _missing(missing: list[str], available: Sequence[str]) -> InputError:
    """Return an error that names what is there, unless that is values: a first line without names holds somebody's."""
    if any(map(_VALUE.fullmatch, available)):
        return InputError(
            "the first line of the samples holds values, not names of columns",
            "write a first line into each file that names its columns, e.g. user_id,time,lon,lat",
        )
    there = ", ".join(available[:_MOST_NAMES]) + (", ..." if len(available) > _MOST_NAMES else "")
    files = f", or --columns user={engine.FILENAME} where every file is of one user" if "user" in missing else ""
    return InputError(
        f"the samples have no column for {', '.join(missing)}; they have {there}",
        f"map names with --columns, e.g. --columns {missing[0]}=YOUR_COLUMN{files}",
    )
