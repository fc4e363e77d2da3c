"""Zones in the formats of maps: GeoPackage, Shapefile, FlatGeobuf, and shapes as text in a table."""

from __future__ import annotations

import re
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import pyarrow as pa

from flowveil._errors import InputError
from flowveil._folder import shapes_from_wkb, shapes_from_wkt

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    import numpy.typing as npt

    from flowveil._arrays import ChunkedColumn

_ENDINGS = (".gpkg", ".shp", ".fgb")
_LAYER = "::"  # between a file and its layer: zones.gpkg::districts
_NAMES = ("geometry", "geom", "the_geom", "wkt", "wkb", "wkb_geometry", "shape")  # of columns that hold shapes
_WKT = re.compile(r"(SRID=(\d+);)?\s*(MULTI)?(POLYGON|POINT|LINESTRING|GEOMETRYCOLLECTION)\b", re.IGNORECASE)
_HEX = re.compile(r"(0[01][0-9a-f]{8})([0-9a-f]{2})*", re.IGNORECASE)
_GEOGRAPHIC = 0x20000000  # of a kind of WKB: the number of its CRS follows


def split_layer(path: Path) -> tuple[Path, str | None]:
    """Return a file and the layer that is named after it, if one is."""
    name, colons, layer = str(path).rpartition(_LAYER)
    return (Path(name), layer) if colons and not path.exists() else (path, None)


def is_map(path: Path) -> bool:
    """Whether the name of a file is that of a map."""
    return path.suffix.lower() in (*_ENDINGS, ".zip")


def read_map(path: Path, layer: str | None) -> tuple[pa.Table, npt.NDArray[np.object_], str | None]:
    """Return the attributes of a layer, its shapes, and their CRS."""
    try:
        import pyogrio  # noqa: PLC0415  an extra
    except ImportError:
        raise InputError(
            f"{path.suffix} files need the package pyogrio",
            "pip install 'flowveil[export]', or save the zones as GeoJSON or GeoParquet",
        ) from None
    source = _inside_zip(path) if path.suffix.lower() == ".zip" else str(path.resolve())
    try:
        layers = [str(name) for name, kind in pyogrio.list_layers(source).tolist() if kind is not None]
        if layer is None and len(layers) > 1:
            raise InputError(
                f"{path.name!r} holds several layers: {', '.join(layers)}", f"name one: {path.name}{_LAYER}{layers[0]}"
            )
        if layer is not None and layer not in layers:
            raise InputError(f"{path.name!r} has no layer {layer!r}", f"it has {', '.join(layers) or 'none'}")
        about, table = pyogrio.read_arrow(source, layer=layer)
    except (pyogrio.errors.DataSourceError, pyogrio.errors.DataLayerError, OSError, RuntimeError) as error:
        raise ValueError(str(error).partition(";")[0]) from None
    name = about["geometry_name"] or "wkb_geometry"
    shapes = shapes_from_wkb(table.column(name).to_pylist())
    return table.drop_columns([name]), shapes, about["crs"]


def _inside_zip(path: Path) -> str:
    """Return where GDAL finds the one map in a zip file."""
    with zipfile.ZipFile(path) as archive:
        maps = [name for name in archive.namelist() if name.lower().endswith(_ENDINGS) and "__MACOSX" not in name]
    if len(maps) != 1:
        raise InputError(
            f"{path.name!r} holds {len(maps)} files of maps", "a zip file of zones has one .shp, .gpkg or .fgb"
        )
    return f"zip://{path.resolve()}!{maps[0]}"


def find_shapes(table: pa.Table) -> str | None:
    """Return the column of a table that holds shapes as WKB or WKT, going by its name and its first value."""
    named = {name.lower(): name for name in reversed(table.column_names)}
    for name in _NAMES:
        if name in named and _holds_shapes(table.column(named[name])):
            return named[name]
    return None


def _holds_shapes(column: ChunkedColumn) -> bool:
    if not (pa.types.is_string(column.type) or pa.types.is_large_string(column.type)):
        return pa.types.is_binary(column.type) or pa.types.is_large_binary(column.type)
    first = next((str(value).strip() for value in column.to_pylist() if value), "")
    return bool(_WKT.match(first) or _HEX.fullmatch(first))


def shapes_from_text(values: Sequence[str | None]) -> tuple[npt.NDArray[np.object_], str | None]:
    """Return shapes that are written as WKT, EWKT or hexadecimal WKB, and their CRS where that is told."""
    texts = [None if value is None or not value.strip() else value.strip() for value in values]
    if all(text is None or _HEX.fullmatch(text) for text in texts):
        shapes = [None if text is None else bytes.fromhex(text) for text in texts]
        return shapes_from_wkb(shapes), _one({_number(shape) for shape in shapes if shape is not None})
    numbers = {match[2] if (match := _WKT.match(text)) else None for text in texts if text is not None}
    plain = [None if text is None else re.sub(r"^SRID=\d+;", "", text, flags=re.IGNORECASE) for text in texts]
    return shapes_from_wkt(plain), _one(numbers)


def _number(shape: bytes) -> str | None:
    order: Literal["little", "big"] = "little" if shape[0] else "big"
    kind = int.from_bytes(shape[1:5], order)
    return str(int.from_bytes(shape[5:9], order)) if kind & _GEOGRAPHIC else None


def _one(numbers: set[str | None]) -> str | None:
    """Return the CRS with the one number of all shapes; none if they tell none."""
    if len(numbers) > 1:
        raise ValueError("shapes are in different CRS")
    number = numbers.pop() if numbers else None
    return None if number is None or number == "0" else f"EPSG:{number}"
