"""Zones as their owner wrote them: a table, GeoParquet, GeoJSON or CSV."""

from __future__ import annotations

import codecs
import zipfile
from collections import Counter
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute
import pyarrow.csv
import pyarrow.parquet
import pyproj
import shapely

from flowveil._arrays import GeoFrame, is_geo_frame
from flowveil._errors import InputError, UnknownNameError
from flowveil._folder import parse_json, read_json, shape_from_geojson, shapes_from_wkb
from flowveil._options import parse_columns
from flowveil._places.geodesy import transform
from flowveil._places.h3index import is_point
from flowveil._places.map_files import find_shapes, is_map, read_map, shapes_from_text, split_layer
from flowveil._places.outlined import has_outline

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy.typing as npt

    from flowveil._arrays import ArrowTable, ChunkedColumn, FloatArray
    from flowveil._folder import Json

ZonesLike: TypeAlias = "str | Path | ArrowTable"  # what zones are read from

_LONGEST = 100  # letters of an id in a message: an id may fill pages
_ID_NAMES = ("zone_id", "id", "tile_ID", "LocationID", "location_id", "zone", "station_id")
_NAME_NAMES = (  # in small letters
    *("name", "zone_name", "label", "title", "area_name", "district_name", "neighborhood", "neighbourhood"),
    *("nta_name", "ntaname", "namelsad", "zone", "nom", "nombre", "nome"),
)
_LON_NAMES = ("lon", "centroid_lon", "longitude", "lng", "x_lon")
_LAT_NAMES = ("lat", "centroid_lat", "latitude", "y_lat")
_DECIMAL_COMMA = r"^([+-]?\d{1,3}),(\d+)$", r"\1.\2"  # degrees as text, as those of trips are read


@dataclass(frozen=True, eq=False)
class ZoneTable:
    """Zones sorted by id (text)."""

    ids: list[str]
    columns: dict[str, list[str | None]]  # every attribute, as text
    lon: FloatArray  # NaN where a zone has no place
    lat: FloatArray
    geometry: npt.NDArray[np.object_]  # shapely in degrees, or None
    name_column: str | None = None  # the attribute that names zones; None: their ids do
    name_typed: bool = False  # the user chose it
    id_guessed: str | None = None  # the attribute that ids were taken from, if nothing says that it holds them

    @property
    def has_outlines(self) -> bool:
        """Whether a zone covers ground."""
        return bool(has_outline(self.geometry).any())

    def as_table(self) -> pa.Table:
        """Return ids and places of the zones as a table that can be read again."""
        shapes = [None if shape is None else shapely.to_wkb(shape) for shape in self.geometry]
        return pa.table(
            {"zone_id": self.ids, "lon": self.lon, "lat": self.lat, "geometry": pa.array(shapes, pa.binary())}
        )


def read_zones(
    source: ZonesLike,
    id_column: str | None = None,
    columns: Mapping[str, str] | None = None,
    zone_name: str | None = None,
    *,
    any_id: bool = False,
) -> ZoneTable:
    """Read zones from a path or a table; `columns` maps zone_id, lon and lat to the owner's names.

    zone_name: the column that names zones; by default one that is called so, "" for none. any_id: if no column is known
    to hold ids, take the first one whose values differ: enough where ids only label answers.
    """
    names = dict(columns or {})
    table, geometry = _load(source)
    if table.num_rows == 0:
        raise InputError("there are no zones", "give a table with one row a zone")
    id_name = id_column or names.get("zone_id") or _first(table, _ID_NAMES) or _only_other(table, names)
    guessed = _first_unique(table) if any_id and id_name is None else None
    id_name = id_name or guessed
    if id_name is None:
        raise InputError(
            f"no column of the zones holds their ids: found {', '.join(table.column_names)}",
            "name it with --columns zone_id=COLUMN",
        )
    if len(set(table.column_names)) < table.num_columns:
        raise InputError("two columns of the zones have the same name", "give every column a name of its own")
    texts = {name: _as_text(table, name) for name in table.column_names}
    if id_name not in texts:
        raise UnknownNameError("zone column", id_name, texts)
    order = _order_of_ids(texts[id_name], id_name)
    lon, lat = _points(table, names, geometry)
    if not is_point(lon, lat)[np.isfinite(lon) & np.isfinite(lat)].all():
        raise InputError(
            "a zone does not lie on the globe",
            "longitudes go from -180 to 180 and latitudes from -90 to 90 degrees; text in meters says its CRS as in"
            " SRID=2154;POLYGON (...)",
        )
    return ZoneTable(
        ids=[str(texts[id_name][row]) for row in order],
        columns={name: [values[row] for row in order] for name, values in texts.items()},
        lon=lon[order],
        lat=lat[order],
        geometry=geometry[order],
        name_column=_find_names(texts, id_name) if zone_name is None else _check_names(texts, zone_name),
        name_typed=zone_name is not None,
        id_guessed=guessed,
    )


def read_districts(zones: ZonesLike, mapped: Mapping[str, str], typed: str | Mapping[str, str] | None) -> ZoneTable:
    """Read zones of a user's own that questions are about. Any column that tells them apart will do: ids label answers.

    mapped: columns of the input, of which one may hold ids of these zones, if they are those of the release. typed:
    columns that were given with the question; if ids are among them, the zones have that column.
    """
    ids = {"zone_id": mapped["zone_id"]} if mapped.get("zone_id") else None
    try:
        return read_zones(zones, columns=ids, any_id=True)
    except UnknownNameError:
        if "zone_id" in parse_columns(typed):
            raise
        return read_zones(zones, any_id=True)


def _only_other(table: pa.Table, names: Mapping[str, str]) -> str | None:
    """Return the one column that says nothing of where zones are; None if there are several, or none."""
    places = {*_LON_NAMES, *_LAT_NAMES, names.get("lon"), names.get("lat")}
    others = [name for name in table.column_names if name not in places]
    return others[0] if len(others) == 1 else None


def _first_unique(table: pa.Table) -> str | None:
    """Return the first column that tells all zones apart."""
    for name in table.column_names:
        values = _as_text(table, name)
        if None not in values and len(set(values)) == len(values):
            return name
    return None


def read_points(source: ZonesLike, what: str) -> tuple[dict[str, list[str | None]], FloatArray, FloatArray]:
    """Read a table or file of points: every column as text, lon and lat; what: how messages call them."""
    table, geometry = _load(source, what)
    if table.num_rows == 0:
        raise InputError(f"there are no {what}", "give a table with the columns name, lon and lat")
    lon, lat = _points(table, {}, geometry)
    return {name: _as_text(table, name) for name in table.column_names}, lon, lat


def read_shapes(source: ZonesLike, what: str) -> tuple[dict[str, list[str | None]], npt.NDArray[np.object_]]:
    """Read a table or file of shapes: every column as text, and shapes in degrees; what: how messages call them."""
    table, geometry = _load(source, what)
    return {name: _as_text(table, name) for name in table.column_names}, geometry


def _find_names(texts: Mapping[str, list[str | None]], id_name: str) -> str | None:
    """Return the column that holds names, going by what it is called."""
    named = {name.casefold(): name for name in reversed(list(texts)) if name != id_name and any(texts[name])}
    return next((named[name] for name in _NAME_NAMES if name in named), None)


def _check_names(texts: Mapping[str, list[str | None]], zone_name: str) -> str | None:
    if zone_name and zone_name not in texts:
        raise UnknownNameError("zone column", zone_name, texts)
    return zone_name or None


def _order_of_ids(ids: list[str | None], name: str) -> npt.NDArray[np.int64]:
    if any(value is None or value == "" for value in ids):
        raise InputError(f"a zone has no {name}", "every zone needs an id")
    twice, times = Counter(ids).most_common(1)[0]
    if times > 1:
        raise InputError(
            f"the zone {str(twice)[:_LONGEST]!r} occurs twice in {name}",
            "zone ids are distinct; a hierarchy lists columns from fine to coarse",
        )
    return np.array(sorted(range(len(ids)), key=lambda row: str(ids[row])), np.int64)


def _load(source: ZonesLike, what: str = "zones") -> tuple[pa.Table, npt.NDArray[np.object_]]:
    if isinstance(source, str | Path):
        path, layer = split_layer(Path(source))
        if not path.is_file():
            raise InputError(f"there is no {what} file {str(source)!r}", "check the path")
        try:
            if is_map(path):
                table, shapes, crs = read_map(path, layer)
                return table, _to_degrees(shapes, crs)
            if path.suffix.lower() in {".geojson", ".json"}:
                return _from_geojson(read_json(path))
            if path.suffix.lower() in {".csv", ".txt", ".tsv"}:
                return _split_geometry(_read_csv(path))
            return _split_geometry(pa.parquet.read_table(path))
        except _UNREADABLE as error:
            raise InputError(f"the {what} file {path.name!r} cannot be read: {error}", f"{what} {_FORMATS}") from None
    if isinstance(source, pa.Table) or hasattr(source, "__arrow_c_stream__"):
        try:
            if is_geo_frame(source):
                return _from_geo_frame(source)
            return _split_geometry(pa.table(source))
        except _UNREADABLE as error:
            raise InputError(f"the {what} cannot be read: {error}", f"{what} {_FORMATS}") from None
    raise InputError(f"{what} cannot be a {type(source).__name__}", f"{what} {_FORMATS}")


_UNREADABLE = (
    *(pa.ArrowException, OSError, ValueError, LookupError, TypeError, AttributeError, RecursionError),
    *(shapely.errors.ShapelyError, pyproj.exceptions.ProjError, zipfile.BadZipFile, NotImplementedError),
)
_FORMATS = "are a table, or a GeoParquet, Parquet, GeoJSON, GeoPackage, Shapefile, FlatGeobuf or CSV file"


def _from_geo_frame(frame: GeoFrame) -> tuple[pa.Table, npt.NDArray[np.object_]]:
    """Take the shapes that are active off a frame of geopandas, in degrees."""
    name = frame.geometry.name
    table = pa.table(frame.to_wkb())
    geometry = shapes_from_wkb(table.column(name).to_pylist())
    return table.drop_columns([name]), _to_degrees(geometry, frame.crs)


def _read_csv(path: Path) -> pa.Table:
    """Read every column as text (007 is not 7), split where the first line has most separators."""
    content = path.read_bytes()
    try:
        content.decode("utf-8-sig")
    except UnicodeDecodeError:
        is_wide = content.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
        content = content.decode("utf-16" if is_wide else "cp1252").encode()
    first = content.partition(b"\n")[0].decode("utf-8-sig")
    split = pa.csv.ParseOptions(delimiter=max(",;\t|", key=first.count))
    whole = pa.csv.ReadOptions(block_size=len(content) + 1)  # one outline may be longer than any other block
    names = pa.csv.read_csv(BytesIO(content), whole, split).column_names
    text = pa.csv.ConvertOptions(column_types=dict.fromkeys(names, pa.string()), strings_can_be_null=False)
    return pa.csv.read_csv(BytesIO(content), whole, split, text)


def _from_geojson(document: Json) -> tuple[pa.Table, npt.NDArray[np.object_]]:
    if isinstance(stations := (document.get("data") or {}).get("stations"), list):  # GBFS, station_information.json
        return _from_stations(stations)
    features = document["features"]
    names = list(dict.fromkeys(name for feature in features for name in feature["properties"] or {}))
    rows = [feature["properties"] or {} for feature in features]
    columns = {name: [_plain(row.get(name)) for row in rows] for name in names}
    if "id" not in columns and all("id" in feature for feature in features):
        columns["id"] = [_plain(feature["id"]) for feature in features]
    geometry = np.full(len(features), None, object)
    geometry[:] = [shape_from_geojson(feature.get("geometry")) for feature in features]
    crs = ((document.get("crs") or {}).get("properties") or {}).get("name")  # not in the standard, but written by many
    table = pa.table({name: pa.array(values, pa.string()) for name, values in columns.items()})
    return table, _to_degrees(geometry, crs)


def _from_stations(stations: list[dict[str, Json]]) -> tuple[pa.Table, npt.NDArray[np.object_]]:
    """Return the stations of a bike-sharing system."""
    names = [name for name in ("station_id", "name", "short_name", "lon", "lat", "region_id") if name in stations[0]]
    table = pa.table({name: pa.array([_plain(row.get(name)) for row in stations], pa.string()) for name in names})
    return table, np.full(len(stations), None, object)


def _plain(value: object) -> str | None:
    return None if value is None else str(value)


def _split_geometry(table: pa.Table) -> tuple[pa.Table, npt.NDArray[np.object_]]:
    """Take the geometry column off a table, as shapes in degrees."""
    geometry = np.full(table.num_rows, None, object)
    meta = parse_json((table.schema.metadata or {}).get(b"geo", b"{}"))
    name = meta.get("primary_column") or ("geometry" if "geometry" in table.column_names else find_shapes(table))
    if name is None or name not in table.column_names:
        return table, geometry
    column = table.column(name)
    if pa.types.is_string(column.type) or pa.types.is_large_string(column.type):
        geometry[:], crs = shapes_from_text(column.to_pylist())
        return table.drop_columns([name]), _to_degrees(geometry, crs)
    if pa.types.is_binary(column.type) or pa.types.is_large_binary(column.type):
        geometry[:] = shapes_from_wkb(column.to_pylist())
    else:
        import geoarrow.pyarrow as ga  # noqa: PLC0415  only native GeoArrow encodings need it

        geometry[:] = shapes_from_wkb(ga.as_wkb(column).cast(pa.binary()).to_pylist())
    return table.drop_columns([name]), _to_degrees(geometry, meta.get("columns", {}).get(name, {}).get("crs"))


def _to_degrees(geometry: npt.NDArray[np.object_], crs: Json) -> npt.NDArray[np.object_]:
    if crs is None or (source := pyproj.CRS.from_user_input(crs)).is_geographic:
        return geometry
    transformer = pyproj.Transformer.from_crs(source, "EPSG:4326", always_xy=True)
    moved: npt.NDArray[np.object_] = shapely.transform(
        geometry, lambda points: np.column_stack(transform(transformer, points[:, 0], points[:, 1]))
    )
    return moved


def _as_text(table: pa.Table, name: str) -> list[str | None]:
    column = table.column(name)
    if pa.types.is_nested(column.type) or pa.types.is_binary(column.type):
        return [None] * table.num_rows
    try:
        values = [None if value is None else str(value).strip() for value in column.cast(pa.string()).to_pylist()]
    except (pa.ArrowException, UnicodeError):  # not text, nor anything that has one
        return [None] * table.num_rows
    return [value or None for value in values]


def _points(table: pa.Table, names: dict[str, str], geometry: npt.NDArray[np.object_]) -> tuple[FloatArray, FloatArray]:
    """Return the points given, else the centroids of the shapes, else NaN."""
    lon_name = names.get("lon") or _first(table, _LON_NAMES)
    lat_name = names.get("lat") or _first(table, _LAT_NAMES)
    if lon_name and lat_name:
        return _numbers(table, lon_name), _numbers(table, lat_name)
    with np.errstate(all="ignore"):  # of coordinates that are no numbers, or too large ones
        centroids = shapely.centroid(geometry)
    return shapely.get_x(centroids), shapely.get_y(centroids)


def _numbers(table: pa.Table, name: str) -> FloatArray:
    if name not in table.column_names:
        raise UnknownNameError("zone column", name, table.column_names)
    column: ChunkedColumn = table.column(name)
    if pa.types.is_string(column.type):
        texts = pa.compute.replace_substring_regex(pa.compute.utf8_trim_whitespace(column), *_DECIMAL_COMMA)
        column = pa.compute.if_else(pa.compute.equal(texts, pa.scalar("")), None, texts)
    try:
        return np.asarray(column.cast(pa.float64()).to_numpy(), np.float64)
    except pa.ArrowException:
        raise InputError(f"the zone column {name!r} does not hold numbers", "give longitudes and latitudes") from None


def _first(table: pa.Table, names: tuple[str, ...]) -> str | None:
    return next((name for name in names if name in table.column_names), None)
