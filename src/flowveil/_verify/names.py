"""Names of areas, derived again: a name is free text, and must not say anything but where an area is."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import shapely
from pyproj import Geod

from flowveil._errors import InputError
from flowveil._folder import remembered
from flowveil._places import read_gazetteer, world_gazetteer
from flowveil._verify.broken import broken, shown
from flowveil._verify.members import Members
from flowveil._verify.nearby import Nearby, one_line
from flowveil._verify.options import OWN

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from shapely.geometry.base import BaseGeometry

    from flowveil._errors import VerificationError
    from flowveil._folder import Json
    from flowveil._places import Gazetteer, NamedPlacesLike, ZoneTable
    from flowveil._verify.ground import Ground
    from flowveil._verify.options import Options
    from flowveil._verify.tables import AreasTable

ELSEWHERE_NAME = "Elsewhere"
_TOPS = {"all": "All zones", "world": "Everywhere"}
_ELLIPSOID = Geod(ellps="WGS84")


def check_names(
    areas: AreasTable,
    ground: Ground,
    options: Options,
    places: NamedPlacesLike | None,
    audit: Mapping[str, Json],
) -> None:
    """Raise unless the name of every area is the one that public geometry gives it.

    places: what a release on a grid says its areas are called after, if it is none of flowveil's own.
    """
    if places is not None and options.place_names != OWN:
        raise InputError("places were given, and the areas are not called after them", "leave out --places")
    if isinstance(ground, Members):
        _check_zones(areas, ground, options)
    elif areas.name is None:
        if options.place_names is not None:
            raise broken("the manifest tells what areas are called after, and they have no names")
    elif options.place_names is None:
        for area, name in zip(areas.area, areas.name, strict=True):
            if name != _TOPS.get(area):
                raise _wrong(area)
    else:
        _check_places(areas, Nearby(_gazetteer(options, places, audit)))


def _gazetteer(options: Options, places: NamedPlacesLike | None, audit: Mapping[str, Json]) -> Gazetteer:
    if options.place_names != OWN:
        return world_gazetteer()
    source = remembered(audit).places if places is None else places
    if source is None:
        raise InputError(
            "areas are called after places of the publisher's own, and none were given",
            "give them with places= or --places FILE",
        )
    return read_gazetteer(source)


def _check_places(areas: AreasTable, nearby: Nearby) -> None:
    """Check the names of areas of a grid, which follow from their centers."""
    known: dict[tuple[float, float], set[str | None]] = {}
    for area, name, lon, lat in zip(areas.area, areas.name or [], areas.lon, areas.lat, strict=True):
        right: set[str | None] = {_TOPS.get(area)}
        if area not in _TOPS and lon is not None and lat is not None:
            if (lon, lat) not in known:
                known[lon, lat] = nearby.names(lon, lat)
            right = known[lon, lat]
        if name not in right:
            raise _wrong(area)


def _check_zones(areas: AreasTable, ground: Members, options: Options) -> None:
    """Check the names of areas made of zones."""
    if areas.name is None:
        if options.zone_name is not None:
            raise broken("the manifest names zones by a column, and the areas have no names")
        return
    zones = ground.zones
    if options.zone_name is not None and options.zone_name not in zones.columns:
        raise broken(
            f"the zones have no column {shown(options.zone_name)!r}", "give the zones that the release was made with"
        )
    own = zones.ids if options.zone_name is None else zones.columns[options.zone_name]
    values = dict(_values_of_columns(zones, options.columns or ()))
    sizes: list[float] = []
    for area, name in zip(areas.area, areas.name, strict=True):
        members = ground.members[area]
        if area in _TOPS:
            expected: str | None = _TOPS[area]
        elif area in values:
            expected = one_line(values[area])
        elif len(members):
            sizes = sizes or ([_size(shape) for shape in zones.geometry] if len(members) > 1 else [])
            first = max(members.tolist(), key=lambda zone: (sizes[zone], -zone)) if len(members) > 1 else members[0]
            expected = one_line(own[first] or "") or one_line(zones.ids[first])
            expected = f"{expected} + {len(members) - 1}" if expected and len(members) > 1 else expected
        else:
            expected = None
        if name != expected:
            raise _wrong(area)


def _wrong(area: str) -> VerificationError:
    return broken(f"the name of the area {shown(area)} is not what public geometry gives it")


def _values_of_columns(zones: ZoneTable, columns: tuple[str, ...]) -> Iterator[tuple[str, str]]:
    """Yield id and name of every area that is a value of a column above the zones' ids."""
    paths: dict[tuple[tuple[str, str], ...], None] = {}
    for rank in range(len(zones.ids) if columns else 0):
        steps = [(column, zones.columns[column][rank]) for column in columns[:0:-1]]
        known = [(column, value) for column, value in steps if value is not None]
        paths |= {tuple(known[:length]): None for length in range(1, len(known) + 1)}
    times = Counter(path[-1] for path in paths)
    for path in paths:
        part = path if times[path[-1]] > 1 else path[-1:]
        yield "/".join(f"{column}={value}" for column, value in part), ", ".join(value for _, value in part[::-1])


def _size(shape: BaseGeometry | None) -> float:
    """Return the square kilometers of a zone to three digits, so that only their order by id tells equal ones apart."""
    square_meters, waiting = 0.0, [] if shape is None else [shape]
    while waiting:
        part = waiting.pop()
        if isinstance(part, shapely.Polygon):
            around, *holes = [abs(_ELLIPSOID.geometry_area_perimeter(ring)[0]) for ring in shapely.get_rings(part)]
            square_meters += around - sum(holes)
        elif hasattr(part, "geoms"):
            waiting += part.geoms
    return float(f"{square_meters / 1e6:.3g}")
