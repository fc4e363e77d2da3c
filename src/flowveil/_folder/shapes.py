"""Shapes that anyone may have written: GEOS reads parts of parts by recursion, and crashes where they go too deep."""

from __future__ import annotations

import json
import struct
from typing import TYPE_CHECKING

import numpy as np
import shapely

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt
    import pyarrow as pa

    from flowveil._folder.json import Json

_DEEPEST = 32  # parts of parts; a collection of multipolygons has three
_HEADER = 9  # bytes of what has parts: order of bytes, kind, number of parts
_POINT, _LINES, _POLYGON = 1, (2, 8), 3
_HEIGHT, _MEASURE, _SYSTEM = 0x80000000, 0x40000000, 0x20000000  # what else a kind may say: EWKB


# What GeoArrow says of a column of shapes, so that other tools know it in memory; files say it as GeoParquet does.
_GEOARROW: dict[str | bytes, str | bytes] = {
    "ARROW:extension:name": "geoarrow.wkb",
    "ARROW:extension:metadata": '{"crs": "OGC:CRS84", "crs_type": "authority_code"}',
}


def mark_shapes(table: pa.Table) -> pa.Table:
    """Return a table whose column `geometry`, of WKB in degrees, says what it is."""
    place = table.schema.get_field_index("geometry")
    if place < 0:
        return table
    field = table.schema.field(place).with_metadata(_GEOARROW)
    return table.set_column(place, field, table.column(place))


def shapes_from_wkb(values: Sequence[bytes | None]) -> npt.NDArray[np.object_]:
    """Return shapes, None where there is none; raise ValueError if one is not WKB or is nested too deeply."""
    for value in values:
        if not isinstance(value, bytes | None):  # shapely would read digits as well, which nobody has walked through
            raise ValueError("a shape is not WKB")  # noqa: TRY004  of a file, not of an argument
        if value is not None and len(value) > _DEEPEST * _HEADER:
            _check_depth(value)
    try:
        with np.errstate(all="ignore"):  # of coordinates that are no numbers, or too large ones
            return np.asarray(shapely.from_wkb(np.array([*values, None], object)[:-1]), object)
    except (shapely.errors.ShapelyError, TypeError, NotImplementedError) as error:  # the last of curves
        raise ValueError(f"a shape is not WKB: {error}") from None


def shapes_from_wkt(values: Sequence[str | None]) -> npt.NDArray[np.object_]:
    """Return shapes, None where there is none; raise ValueError if one is not WKT or is nested too deeply."""
    for value in values:
        _check_brackets(value or "", "(", ")")
    try:
        with np.errstate(all="ignore"):
            return np.asarray(shapely.from_wkt(np.array([*values, None], object)[:-1]), object)
    except (shapely.errors.ShapelyError, TypeError, NotImplementedError) as error:  # the last of curves
        raise ValueError(f"a shape is not WKT: {error}") from None


def shape_from_geojson(value: Json) -> shapely.Geometry | None:
    """Return the shape of a GeoJSON geometry; raise ValueError if it is none or is nested too deeply."""
    if not value:
        return None
    text = json.dumps(value)
    _check_brackets(text, "[", "]")
    try:
        with np.errstate(all="ignore"):
            return shapely.from_geojson(text) or None
    except (shapely.errors.ShapelyError, NotImplementedError) as error:
        raise ValueError(f"a shape is not GeoJSON: {error}") from None


def _check_brackets(text: str, opening: str, closing: str) -> None:
    letters = np.frombuffer(text.encode(), np.uint8)
    if ((letters == ord(opening)).cumsum() - (letters == ord(closing)).cumsum()).max(initial=0) > _DEEPEST:
        raise ValueError("a shape is nested too deeply")


def _check_depth(value: bytes) -> None:
    """Walk through WKB, part by part; raise ValueError if it is nested too deeply or is none."""
    place, left = 0, [1]  # parts still to come, by level
    try:
        while left:
            if not left[-1]:
                left.pop()
                continue
            left[-1] -= 1
            place, parts = _step(value, place)
            if parts is not None:
                left.append(parts)
            if len(left) > _DEEPEST:
                raise ValueError("a shape is nested too deeply")
    except struct.error:
        raise ValueError("a shape is not WKB: it ends too early") from None


def _step(value: bytes, place: int) -> tuple[int, int | None]:
    """Return where the next part begins, and how many parts the one at `place` has; None if it has only points."""
    order = {0: ">", 1: "<"}.get(struct.unpack_from("B", value, place)[0])
    if order is None:
        raise ValueError("a shape is not WKB: bytes have no such order")

    def number(at: int) -> int:
        whole: int = struct.unpack_from(f"{order}I", value, at)[0]
        return whole

    kind, place = number(place + 1), place + 5
    place += 4 if kind & _SYSTEM else 0
    dimensions, base = divmod(kind & 0xFFFF, 1_000)  # 1: heights, 2: measures, 3: both
    width = 8 * (2 + (bool(kind & _HEIGHT) or dimensions in {1, 3}) + (bool(kind & _MEASURE) or dimensions in {2, 3}))
    if kind & ~(_HEIGHT | _MEASURE | _SYSTEM | 0xFFFF) or dimensions not in range(4):
        raise ValueError("a shape is not WKB: there is no such kind")
    if base == _POINT:
        return place + width, None
    if base in _LINES:
        return place + 4 + width * number(place), None
    if base != _POLYGON:
        return place + 4, number(place)
    rings, place = number(place), place + 4
    for _ in range(rings):
        place += 4 + width * number(place)
    return place, None
