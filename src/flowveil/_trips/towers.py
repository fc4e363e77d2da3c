"""Towers of a phone network: where each is, for samples that name a tower in place of coordinates."""

from __future__ import annotations

from typing import TYPE_CHECKING

from flowveil import _engine as engine
from flowveil._errors import InputError

if TYPE_CHECKING:
    import pyarrow as pa

_KNOWN = {
    "tower": ("tower", "tower_id", "cell_id", "antenna_id", "antenna", "site_id", "id"),
    "lon": ("lon", "lng", "longitude", "x"),
    "lat": ("lat", "latitude", "y"),
}


def read_towers(source: engine.Readable) -> pa.Table:
    """Return towers (tower as text, lon, lat), or raise if one is nowhere or in two places."""
    opened = engine.open_source(source)
    available = engine.column_names(opened)
    columns = {name: next((known for known in names if known in available), None) for name, names in _KNOWN.items()}
    if missing := [name for name, column in columns.items() if column is None]:
        raise InputError(
            f"the towers have no column for {', '.join(missing)}; they have {', '.join(available)}",
            "towers are a table with the columns tower, lon, lat",
        )
    table, problems = engine.read_points(opened, {name: str(column) for name, column in columns.items()})
    if problems:
        reason, count = next(iter(problems.items()))
        raise InputError(f"{count:,} rows of the towers cannot be used: {reason}", "every tower has one place, once")
    return table
