"""The tables of a release, as exports need them."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from flowveil._errors import InputError
from flowveil.release import read_release
from flowveil.report import key_columns, read_files

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

_FLOWS = "flows.parquet"
_MONDAY = datetime(2001, 1, 1, tzinfo=UTC)  # stands for every Monday where a format wants a date


@dataclass(frozen=True, eq=False)
class Tables:
    """Flows, areas with both sides joined, and the columns that divide the flows into matrices."""

    flows: pa.Table
    areas: pa.Table  # one row an area: area, lon, lat, tiles, geometry
    keys: list[str]

    def between(self, known: Callable[[dict[str, Any]], bool]) -> pa.Table:
        """Return the flows whose two areas both are `known`."""
        names = pa.array([row["area"] for row in self.areas.to_pylist() if known(row)], pa.string())
        inside = [pc.is_in(self.flows[side], names) for side in ("origin", "destination")]
        return self.flows.filter(pc.and_(*inside))


def read_tables(release: str | Path) -> Tables:
    """Read the flows of a release folder."""
    if _FLOWS not in read_files(release):
        raise InputError(f"{str(release)!r} has no flows between areas", "export a release of flows")
    content = read_release(release)
    shown = ["area", "lon", "lat", "tiles", "geometry"]
    names = content.areas["area"].to_pylist()
    first = {name: row for row, name in reversed(list(enumerate(names)))}
    areas = content.areas.select(shown).take([first[name] for name in sorted(first)])
    return Tables(content.flows, areas, key_columns(content.flows))


def as_moment(value: Any) -> str:
    """Return a value of the column `time` as a date and time; hours of a day or week are put into one week of 2001."""
    if isinstance(value, int):
        value = _MONDAY + timedelta(hours=value)
    text: str = value.isoformat()
    return text.replace("+00:00", "Z")
