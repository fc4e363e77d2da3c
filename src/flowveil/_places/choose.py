"""From what a user types to places."""

from __future__ import annotations

from typing import TYPE_CHECKING

from flowveil._errors import InputError
from flowveil._options import LATTICE, MANY, parse_names, parse_text, parse_whole, shown
from flowveil._places.dendrograms import has_many
from flowveil._places.gazetteer import read_gazetteer
from flowveil._places.h3grid import H3Grid
from flowveil._places.h3index import MAX_RESOLUTION
from flowveil._places.h3lattice import H3Lattice
from flowveil._places.lattice import ASPECT, MOST_ASPECT
from flowveil._places.naming import PlaceNames
from flowveil._places.quadtree import Quadtree
from flowveil._places.squarelattice import SquareLattice
from flowveil._places.zone_table import read_zones
from flowveil._places.zones import Zones

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from flowveil._places.gazetteer import NamedPlacesLike
    from flowveil._places.places import BoundingBox, Places
    from flowveil._places.zone_table import ZonesLike

_GRIDS = "grids are h3:RESOLUTION (0 to 15, e.g. h3:10) and quadtree:METERS (e.g. quadtree:200)"
_SMALLEST_SQUARE, _LARGEST_SQUARE = 1.0, 1_000_000.0


def choose_places(
    grid: str | None = None,
    zones: ZonesLike | None = None,
    hierarchy: str | Sequence[str] | None = None,
    crs: str | None = None,
    bbox: BoundingBox | None = None,
    columns: Mapping[str, str] | None = None,
    zone_name: str | None = None,
    named_places: NamedPlacesLike | None = None,
) -> Places:
    """Return the places that options describe; raise on options that do not go together.

    named_places: what areas of a grid are called after; by default a gazetteer of the world, "" for nothing.
    """
    if zones is not None:
        if grid is not None:
            raise InputError("both a grid and zones were given", "choose one of --grid and --zones")
        if bbox is not None or crs is not None:
            raise InputError("a bbox or CRS does not go with zones", "filter zones with --where")
        if named_places is not None:
            raise InputError("areas of zones are named by their zones", "leave out --places, or give --zone-name COL")
        levels = _levels(hierarchy)
        table = read_zones(zones, None if isinstance(levels, str) else levels[0], columns, zone_name)
        places: Places = Zones(table, levels)
    else:
        if zone_name is not None:
            raise InputError("a column of names goes with zones", "give --zones FILE, or leave out --zone-name")
        places = _grid(grid, hierarchy, crs, bbox)
        if named_places is None:
            places.naming = PlaceNames()
        elif not isinstance(named_places, str) or named_places:
            places.naming = PlaceNames(read_gazetteer(named_places))
    places.open = hierarchy is None
    return places


def _grid(
    grid: str | None, hierarchy: str | Sequence[str] | None, crs: str | None, bbox: BoundingBox | None
) -> H3Grid | Quadtree:
    name, _, number = parse_text("h3:10" if grid is None or grid == "" else grid, "grid", "h3:10").partition(":")
    if name == "h3":
        return _h3_grid(number, hierarchy, crs, bbox)
    if name == "quadtree":
        return _quadtree(number, hierarchy, crs, bbox)
    raise InputError(f"there is no grid {shown(grid)}", _GRIDS)


def finest(places: Places) -> Places:
    """Return places over the same tiles whose areas may be split in most ways, where the hierarchy was left open."""
    if not places.open:
        return places
    if isinstance(places, Zones):
        return rejoin(places, MANY) if has_many(places.table) else places
    return rejoin(places, LATTICE)


def fixed(places: Places) -> Places:
    """Return the finest places over the same tiles whose areas do not follow from the tiles seen, or raise."""
    if isinstance(places, H3Lattice | SquareLattice):
        raise InputError(
            "rectangles of a lattice are drawn around the tiles seen: each half tells that somebody was there",
            "use another hierarchy: h3-binary, h3 or quadtree",
        )
    if isinstance(places, H3Grid):
        return rejoin(places, "h3-binary")
    return finest(places) if isinstance(places, Zones) else places


def rejoin(places: Places, hierarchy: str | Sequence[str]) -> Places:
    """Return places over the same tiles with another hierarchy, where it was left open."""
    if not places.open or places.settings()["hierarchy"] == hierarchy:
        return places
    if isinstance(places, Zones):
        return Zones(places.table, _levels(hierarchy))
    joined: Places = places
    if isinstance(places, H3Grid):
        joined = _h3_grid(str(places.resolution), hierarchy, None, places.bbox)
    elif isinstance(places, Quadtree):
        joined = _quadtree(repr(places.side), hierarchy, places.typed_crs, places.bbox)
    joined.naming = places.naming
    return joined


def _levels(hierarchy: str | Sequence[str] | None) -> str | list[str]:
    if hierarchy is None or hierarchy == "ward":
        return "ward"
    if hierarchy == MANY:
        return MANY
    levels = list(parse_names(hierarchy, "hierarchy"))
    if levels in (["h3"], ["h3-binary"], [LATTICE]) or not all(levels):
        raise InputError(f"zones have no hierarchy {hierarchy!r}", "use many, ward, or columns from fine to coarse")
    return levels


def _h3_grid(number: str, hierarchy: str | Sequence[str] | None, crs: str | None, bbox: BoundingBox | None) -> H3Grid:
    if not number.isdecimal() or len(number) > len(str(MAX_RESOLUTION)) or int(number) > MAX_RESOLUTION:
        raise InputError(f"h3 has no resolution {number!r}", _GRIDS)
    if crs is not None:
        raise InputError("H3 has no CRS to choose", "leave out --crs, or use --grid quadtree:METERS")
    if (aspect := _aspect(hierarchy)) is not None:
        return H3Lattice(int(number), aspect, bbox=bbox)
    if hierarchy not in {None, "h3", "h3-binary"} if isinstance(hierarchy, str | None) else True:
        raise InputError(
            f"h3 has no hierarchy {shown(hierarchy)}", "use lattice, h3 or h3-binary; other hierarchies need --zones"
        )
    return H3Grid(int(number), binary=hierarchy == "h3-binary", bbox=bbox)


def _aspect(hierarchy: str | Sequence[str] | None) -> int | None:
    """Return how long areas of a lattice may be, as a power of two of their width; None for another hierarchy."""
    name, colon, number = hierarchy.partition(":") if isinstance(hierarchy, str) else ("", "", "")
    if name != LATTICE:
        return None
    hint = f"lattice, or lattice:N with N from 1 to {MOST_ASPECT}: areas are up to 2**N times as long as wide"
    return parse_whole(number, "the aspect of the lattice", hint, 1, MOST_ASPECT) if colon else ASPECT


def _quadtree(
    number: str, hierarchy: str | Sequence[str] | None, crs: str | None, bbox: BoundingBox | None
) -> Quadtree:
    try:
        side = float(number)
    except ValueError:
        raise InputError(f"{number!r} is not a number of meters", _GRIDS) from None
    if not _SMALLEST_SQUARE <= side <= _LARGEST_SQUARE:
        raise InputError(f"squares of {number} m are not possible", "choose 1 to 1,000,000 m")
    aspect = _aspect(hierarchy)
    if aspect is None and hierarchy not in (None, "quadtree"):
        raise InputError(f"a quadtree has no hierarchy {shown(hierarchy)}", "use lattice or quadtree")
    if bbox is None:
        raise InputError("a quadtree needs a bbox", "give --bbox W,S,E,N: the squares are laid out in its UTM zone")
    return Quadtree(side, bbox, crs) if aspect is None else SquareLattice(side, bbox, crs, aspect)
