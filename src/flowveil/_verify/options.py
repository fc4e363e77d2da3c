"""Which places a release is about, as its manifest says."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING
from zoneinfo import available_timezones

from flowveil._verify.broken import broken
from flowveil._verify.clock import CALENDAR, HOURS_OF_CYCLE, KINDS_OF_DAYS, length_of
from flowveil._verify.json import only_keys

if TYPE_CHECKING:
    from flowveil._folder import Json

_KEYS = ("grid", "hierarchy")
_MORE_KEYS = (
    *("crs", "zone_name", "place_names", "bbox"),
    *("time", "time_hierarchy", "timezone", "by", "areas_from", "same_areas", "method_options"),
)
_RESERVED = ("origin", "destination", "time", "time_end", "trips", "persons", "weight")
GEONAMES, OWN = "geonames-5000/1", "own"  # what areas of a grid may be called after
_FINEST_H3 = 15
_ASPECT, _MOST_ASPECT = 2, 8  # of rectangles of tiles: the default, and the largest
_AUTHORITY = r"[A-Z]{2,10}:[0-9A-Z]{1,20}"  # EPSG:32633
_PROJ_KEYS = "proj|zone|south|lat_0|lon_0|lat_1|lat_2|lat_ts|k|k_0|x_0|y_0|a|b|rf|ellps|datum|units|no_defs|type"
_PROJ = rf"\+({_PROJ_KEYS})(=[A-Za-z0-9.-]{{1,20}})?"  # no +title, which holds any text


@dataclass(frozen=True)
class Options:
    """Grid or zones, and the box that trips must lie in."""

    resolution: int | None = None  # H3
    binary: bool = False  # H3: groups of sibling cells are areas too
    side: float | None = None  # quadtree: meters
    crs: str | None = None
    aspect: int | None = None  # grids: areas are rectangles, up to 2**aspect times as long as wide
    columns: tuple[str, ...] | None = None  # zones: columns from fine to coarse; None for dendrograms
    many: bool = False  # zones: areas are of several dendrograms
    zone_name: str | None = None  # zones: the column that names them; their ids do where there is none
    place_names: str | None = None  # grids: what areas are called after; None for nothing
    bbox: tuple[float, float, float, float] | None = None
    time_levels: tuple[str, ...] = ()  # steps, and with a hierarchy what holds them
    is_hierarchy: bool = False  # flows may span several steps
    timezone: str | None = None
    by: tuple[str, ...] = ()  # columns of groups
    areas_from: bool = False  # areas are those of an earlier release, of other trips
    same_areas: bool = False  # all steps of time and groups have their areas in common

    @property
    def by_zone(self) -> bool:
        """Whether trips name zones."""
        return self.resolution is None and self.side is None


def parse_options(options: Json) -> Options:
    """Check every option of the manifest."""
    only_keys(options, "the object 'options'", _KEYS, _MORE_KEYS)
    places = _places(options)
    for flag in ("areas_from", "same_areas"):
        if options.get(flag, True) is not True:
            raise broken(f"{flag!r} of the manifest is not true")
    groups = _groups(options["by"]) if "by" in options else ()
    return replace(
        places,
        place_names=_place_names(options),
        by=groups,
        areas_from="areas_from" in options,
        same_areas="same_areas" in options,
        **_time(options),
    )


def _groups(by: Json) -> tuple[str, ...]:
    if not isinstance(by, list) or not by or not all(isinstance(column, str) and column for column in by):
        raise broken("'by' of the manifest is not a list of columns")
    names = {column.lower() for column in by}
    if len(names) < len(by) or names & set(_RESERVED):
        raise broken("'by' of the manifest names a column twice, or one that releases use")
    return tuple(by)


def _time(options: Json) -> dict[str, Json]:
    """Return the levels of time, from fine to coarse, each made of whole ones of the level before."""
    text = options.get("time_hierarchy", options.get("time"))
    if text is None and "timezone" not in options:
        return {}
    if not isinstance(text, str) or ("time" in options and "time_hierarchy" in options):
        raise broken("'time' and 'time_hierarchy' of the manifest do not say how time is cut")
    levels = text.split("<")
    if text in (*CALENDAR, *KINDS_OF_DAYS) and "time" in options:
        return {"time_levels": (text,), "timezone": _zone(options)}
    cycle = HOURS_OF_CYCLE.get(levels[0])
    lengths = [3_600_000_000 if cycle else length_of(levels[0]), *(length_of(level) for level in levels[1:])]
    known = [length for length in lengths if length is not None]
    whole = cycle * 3_600_000_000 if cycle else 7 * 24 * 3_600_000_000
    grows = all(later > length and later % length == 0 for length, later in pairwise(known))
    named_twice = levels[0] in ("part-of-day", "day", *CALENDAR)
    if len(known) < len(levels) or not grows or whole % known[-1] or named_twice:
        raise broken("'time' or 'time_hierarchy' of the manifest is not a known way to cut time")
    if ("time_hierarchy" in options) != (len(levels) > 1):
        raise broken("'time_hierarchy' of the manifest has no levels, or 'time' has several")
    return {"time_levels": tuple(levels), "is_hierarchy": len(levels) > 1, "timezone": _zone(options)}


def _zone(options: Json) -> str | None:
    zone: str | None = options.get("timezone")
    if zone is not None and zone not in available_timezones():
        raise broken("'timezone' of the manifest is not a time zone")
    return zone


def _places(options: Json) -> Options:
    grid, hierarchy = options["grid"], options["hierarchy"]
    box = parse_box(options["bbox"]) if "bbox" in options else None
    if grid is None:
        if box is not None or "crs" in options or "place_names" in options:
            raise broken("a release on zones has a bbox, a crs or a gazetteer")
        return Options(columns=_columns(hierarchy), many=hierarchy == "many", zone_name=_zone_name(options))
    if "zone_name" in options:
        raise broken("a release on a grid has a column that names zones")
    name, _, number = grid.partition(":") if isinstance(grid, str) else ("", "", "")
    aspect = _aspect(hierarchy)
    if name == "h3":
        if (aspect is None and hierarchy not in ("h3", "h3-binary")) or "crs" in options:
            raise broken("hierarchy or crs do not go with an H3 grid")
        return Options(resolution=_resolution(number), binary=hierarchy == "h3-binary", aspect=aspect, bbox=box)
    if name == "quadtree":
        if (aspect is None and hierarchy != "quadtree") or not isinstance(options.get("crs"), str):
            raise broken("hierarchy or crs do not go with a quadtree")
        return Options(side=_side(number), crs=_crs(options["crs"]), aspect=aspect, bbox=box)
    raise broken("'grid' of the manifest is not a known grid")


def _aspect(hierarchy: Json) -> int | None:
    """Return how long rectangles may be, None for another hierarchy; the default is not written."""
    if hierarchy == "lattice":
        return _ASPECT
    if not isinstance(hierarchy, str) or not re.fullmatch(r"lattice:[1-9]", hierarchy):
        return None
    aspect = int(hierarchy[-1])
    if aspect == _ASPECT or aspect > _MOST_ASPECT:
        raise broken("'hierarchy' of the manifest has no aspect that areas may have, or the one that is not written")
    return aspect


def _columns(hierarchy: Json) -> tuple[str, ...] | None:
    if hierarchy in ("ward", "many"):
        return None
    if not isinstance(hierarchy, list) or not hierarchy or not all(isinstance(c, str) and c for c in hierarchy):
        raise broken("'hierarchy' of the manifest is neither many nor ward nor a list of columns")
    if len(set(hierarchy)) < len(hierarchy):
        raise broken("'hierarchy' of the manifest names a column twice")
    return tuple(hierarchy)


def _place_names(options: Json) -> str | None:
    if "place_names" not in options:
        return None
    name = options["place_names"]
    if name not in (GEONAMES, OWN):
        raise broken("'place_names' of the manifest is no gazetteer that this version of flowveil has")
    return str(name)


def _zone_name(options: Json) -> str | None:
    if "zone_name" not in options:
        return None
    name = options["zone_name"]
    if not isinstance(name, str) or not name:
        raise broken("'zone_name' of the manifest is not a column")
    return name


def _resolution(number: str) -> int:
    if not re.fullmatch(r"0|[1-9][0-9]?", number) or int(number) > _FINEST_H3:
        raise broken("'grid' of the manifest has no H3 resolution")
    return int(number)


def _side(number: str) -> float:
    if not re.fullmatch(r"[1-9][0-9]{0,6}(\.[0-9]{1,20})?", number):
        raise broken("'grid' of the manifest has no usable side of squares")
    side = float(number)
    if number != (str(int(side)) if side == int(side) else repr(side)):
        raise broken("'grid' of the manifest is not written in the shortest way")
    return side


def _crs(crs: str) -> str:
    """Return a CRS that is named, or described by nothing but numbers and words of PROJ."""
    words = [re.fullmatch(_PROJ, part) for part in crs.split(" ")]
    keys = [word[1] for word in words if word]
    if not re.fullmatch(_AUTHORITY, crs) and not len(words) == len(set(keys)):
        raise broken("'crs' of the manifest is neither AUTHORITY:CODE nor a plain list of PROJ parameters")
    return crs


def parse_box(box: Json) -> tuple[float, float, float, float]:
    numbers = [edge for edge in box if isinstance(edge, float)] if isinstance(box, list) else []
    if len(numbers) != 4 or len(box) != 4:
        raise broken("'bbox' of the manifest is not four numbers")
    west, south, east, north = numbers
    if not (-180 <= west < east <= 180 and -90 <= south < north <= 90):
        raise broken("'bbox' of the manifest is empty or lies off the globe")
    return west, south, east, north
