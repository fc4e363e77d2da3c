"""How areas lie in zones for certain: which lie wholly inside, and which have any ground in common."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import h3.api.numpy_int as h3
import numpy as np
import shapely

from flowveil._reading.shares import outlined, to_plane, valid

if TYPE_CHECKING:
    import numpy.typing as npt
    from scipy import sparse

    from flowveil._arrays import FloatArray
    from flowveil._folder import Manifest
    from flowveil._places import ZoneTable
    from flowveil._reading.told import Areas, Told

_HEXAGON = 1.5 * np.sqrt(3)  # size of one with edges of length 1
_TILES_REACH = 0.2  # edges: tiles of an H3 cell stick out of its outline by less (decision 20)
_UNITED = 64  # cells: outlines of larger areas of a lattice run somewhere between cells
_BENT = 1e-3  # of the side of a square: its edges are bent, its outline is straight
_SLIVER = 1e-7  # of an area: what outlines of the same line may differ by


@dataclass(frozen=True, eq=False)
class Certain:
    """How the areas of one end lie in zones: areas by zones."""

    inside: sparse.csr_array  # 1: all of its trips end in the zone
    touched: sparse.csr_array  # 1: some of its trips may


def everywhere(areas: Areas) -> Certain:
    """Return how areas lie in the one zone that is everywhere."""
    from scipy import sparse  # noqa: PLC0415  slow to import

    ones = sparse.csr_array(np.ones((len(areas.ids), 1)))
    return Certain(ones, ones)


def lay_areas(told: Told, side: int, zones: ZoneTable, *, by_ids: bool) -> Certain:
    """Return how the areas of one end lie in zones, for certain."""
    from scipy import sparse  # noqa: PLC0415  slow to import

    areas = told.ends[side]
    shape = (len(areas.ids), len(zones.ids))
    inside, touched = _by_ids(areas, zones) if by_ids else _by_outlines(areas, zones, told.manifest)
    anywhere = areas.everywhere | (np.array([zone is None for zone in areas.members], bool) & by_ids)
    touched += [(row, zone) for row in np.flatnonzero(anywhere).tolist() for zone in range(shape[1])]
    made = []
    for pairs in (inside, touched):
        row, column = np.array(sorted(set(pairs)), np.int64).reshape(-1, 2).T
        made.append(sparse.csr_array((np.ones(len(row)), (row, column)), shape=shape))
    return Certain(made[0], made[1])


def _by_ids(areas: Areas, zones: ZoneTable) -> tuple[list[tuple[int, int]], list[tuple[int, int]]]:
    """Return (area, zone) of areas that are a zone, and of those that hold it."""
    number = {zone: place for place, zone in enumerate(zones.ids)}
    inside, touched = [], []
    for row, names in enumerate(areas.members):
        for zone in names or []:
            if zone in number:
                touched.append((row, number[zone]))
                if names is not None and len(names) == 1:
                    inside.append((row, number[zone]))
    return inside, touched


def _by_outlines(
    areas: Areas, zones: ZoneTable, manifest: Manifest
) -> tuple[list[tuple[int, int]], list[tuple[int, int]]]:
    """Return (area, zone) of areas inside zones, and of areas with common ground; both with all that is not certain."""
    known = np.flatnonzero([shape is not None for shape in areas.shapes])
    placed = np.flatnonzero(outlined(zones))
    if not len(known) or not len(placed):
        return [], [(row, zone) for row in known.tolist() for zone in range(len(zones.ids))]
    flat = to_plane(zones.geometry[placed])
    own = valid(zones.geometry[placed], flat)
    theirs = valid(areas.shapes[known], flat)
    theirs = np.asarray(shapely.buffer(theirs, _reach(theirs, areas.tiles[known], manifest)), object)
    area, zone = shapely.STRtree(own).query(theirs, predicate="intersects")
    size = shapely.area(theirs[area])
    common = np.where(
        shapely.covers(own[zone], theirs[area]), size, shapely.area(shapely.intersection(theirs[area], own[zone]))
    )
    small = np.minimum(size, shapely.area(own[zone]))
    whole, some = common >= size * (1 - _SLIVER), common > small * _SLIVER
    inside, touched = (
        list(zip(known[area[chosen]].tolist(), placed[zone[chosen]].tolist(), strict=True)) for chosen in (whole, some)
    )
    unclear = np.setdiff1d(np.arange(len(zones.ids)), placed).tolist()  # zones without an outline may be anywhere
    return inside, touched + [(row, zone) for row in known.tolist() for zone in unclear]


def _reach(shapes: npt.NDArray[np.object_], tiles: FloatArray, manifest: Manifest) -> FloatArray:
    """Return how far, in meters, trips of areas may end outside of their outlines."""
    grid = str(manifest["options"].get("grid") or "")
    size = shapely.area(shapes)
    name, _, number = grid.partition(":")
    if "shapes" in manifest["promise"]:  # rectangles: trips lie where the centers of their tiles do
        tile = 1.3 * float(h3.average_hexagon_edge_length(int(number), "m")) if name == "h3" else 0.0
        return np.full(len(shapes), tile if name == "h3" else float(number or 0))
    if name == "h3" and manifest["options"].get("hierarchy") == "lattice":
        edge = np.sqrt(size / np.where(tiles > 0, tiles, 1) / _HEXAGON)
        return np.asarray(np.where(tiles > _UNITED, 2 * edge, _BENT * edge), np.float64)
    if name == "h3":
        return np.asarray(np.where(tiles == 1, _BENT, _TILES_REACH) * np.sqrt(size / _HEXAGON), np.float64)
    return np.asarray(_BENT * np.sqrt(size) if name == "quadtree" else np.zeros(len(shapes)), np.float64)
