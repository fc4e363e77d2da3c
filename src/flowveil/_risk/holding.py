"""Where a trip that somebody knows lies in a release, told from its public files: areas that hold both of its ends."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pyarrow as pa
import shapely

from flowveil._folder import SIDES

if TYPE_CHECKING:
    from collections.abc import Mapping

    from flowveil._arrays import BoolArray, ChunkedColumn, FloatArray

_ENDS = (("start_lon", "start_lat"), ("end_lon", "end_lat"))
_EVERYWHERE = 1e6  # tiles of an area that does not say how many it has
_ROUGH = 100  # parts of a degree that places are rounded to: about a kilometer


class Known(NamedTuple):
    """Trips as somebody knows them: both ends of each, as a point or as the id of a zone."""

    ends: tuple[FloatArray | list[str | None], FloatArray | list[str | None]]

    @classmethod
    def of(cls, table: pa.Table, columns: Mapping[str, str]) -> Known:
        """Return the ends of trips; columns: which column is what."""
        if "start_lon" in columns:
            first, last = (np.column_stack([_numbers(table[columns[name]]) for name in end]) for end in _ENDS)
            return cls((first, last))
        origin, destination = (table[columns[side]].cast(pa.string()).to_pylist() for side in SIDES)
        return cls((origin, destination))

    def rough(self) -> list[str]:
        """Return about between which places each trip is, as text."""
        names = [
            end if isinstance(end, list) else [f"{lon},{lat}" for lon, lat in np.round(end * _ROUGH)]
            for end in self.ends
        ]
        return [f"{origin}>{destination}" for origin, destination in zip(*names, strict=True)]

    def density(self, flows: pa.Table, areas: pa.Table) -> FloatArray:
        """Return for each trip how many trips the flows that hold it have for each pair of tiles: 0 where none does."""
        tiles, holders = {}, []
        for side, end in zip(SIDES, self.ends, strict=True):
            of_side = areas.filter(np.array(areas["side"].to_pylist(), object) == side)
            count = np.array(of_side["tiles"].to_pylist(), np.float64)
            names = of_side["area"].to_pylist()
            tiles[side] = dict(zip(names, np.nan_to_num(count, nan=_EVERYWHERE).tolist(), strict=True))
            holders.append({name: held for name, held in zip(names, _holds(of_side, end), strict=True) if held.any()})
        found = np.zeros(len(self.ends[0]))
        columns = (flows[name].to_pylist() for name in (*SIDES, "trips"))
        for origin, destination, trips in zip(*columns, strict=True):
            if origin in holders[0] and destination in holders[1]:
                pairs = tiles[SIDES[0]][origin] * tiles[SIDES[1]][destination]
                found += (holders[0][origin] & holders[1][destination]) * (trips / pairs)
        return found


def _holds(areas: pa.Table, end: FloatArray | list[str | None]) -> list[BoolArray]:
    """Return by area which trips have this end in it; an area that does not say where it is holds everything."""
    if isinstance(end, list):
        ids = np.array(end, object)
        members = areas["members"].to_pylist()
        return [np.ones(len(end), bool) if some is None else np.isin(ids, list(some)) for some in members]
    shapes = shapely.from_wkb(np.array(areas["geometry"].to_pylist(), object))
    return [
        np.ones(len(end), bool) if shape is None else shapely.contains_xy(shape, end[:, 0], end[:, 1])
        for shape in shapes.tolist()
    ]


def _numbers(column: ChunkedColumn) -> FloatArray:
    """Return numbers, which CSV files have as text; NaN where there is none."""
    if pa.types.is_floating(column.type) or pa.types.is_integer(column.type):
        return np.asarray(column.cast(pa.float64()).to_numpy(), np.float64)
    return np.array([_number(value) for value in column.to_pylist()], np.float64)


def _number(text: str | None) -> float:
    try:
        return float(text or "nan")
    except ValueError:
        return float("nan")
