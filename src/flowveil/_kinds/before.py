"""Before and after on the same tiles: true trips, and what a reader of the release would put there."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import shapely

from flowveil._folder import SIDES, key_columns
from flowveil._places import AreaTable, NodeAreas
from flowveil._remainders import evened
from flowveil._report import NOWHERE, Scene, floats, ground, pack, pack_steps

if TYPE_CHECKING:
    import numpy.typing as npt

    from flowveil._arrays import FloatArray, IntArray
    from flowveil._flows import Flows
    from flowveil._folder import Json
    from flowveil._release import Release

_MOST_TILES = 20_000  # of each side, the busiest


def before_and_after(flows: Flows, release: Release) -> dict[str, Json] | None:
    """Return tiles with their true trips, to compare with the map of the release; None where tiles have no outline.

    The map after is that of the release alone, which the page has anyway. Their distance, one number for each side, is
    the share of the true trips that the release puts into another tile or leaves out.
    """
    if "remainders" in release.manifest["promise"]:
        keys = key_columns(release.flows, release.manifest)
        release = replace(release, flows=evened(release.flows, release.areas, keys))
    parts = [_side(flows, release, number) for number in range(2)]
    described = [part.tiles for part in parts]
    shapes = np.concatenate([table.geometry for table in described])
    if all(shape is None for shape in shapes):
        return None
    count = len(shapes)
    side = np.repeat(np.arange(2), [len(table.area) for table in described])
    true = np.concatenate([part.true for part in parts]).astype(np.int64)
    scene = Scene(
        sides=SIDES,
        names=[name for table in described for name in table.area],
        side=side,
        lon=np.concatenate([table.lon for table in described]),
        lat=np.concatenate([table.lat for table in described]),
        tiles=None,
        shapes=shapes,
        origin=np.arange(count),
        destination=np.full(count, NOWHERE),
        amounts={"trips": true},
    )
    return {
        **ground(scene),
        "side": pack_steps(side),
        "before": pack(true),
        "left_over": sum(part.left_over for part in parts),
        "distance": [part.distance for part in parts],
    }


class _Side(NamedTuple):
    """Tiles of one side that are drawn, their true trips, how many are not drawn, and how far the release is off."""

    tiles: AreaTable
    true: FloatArray
    left_over: int
    distance: float


def _side(flows: Flows, release: Release, number: int) -> _Side:
    tree, leaf = (flows.origins, flows.origin) if number == 0 else (flows.destinations, flows.destination)
    true = np.zeros(len(tree))
    np.add.at(true, leaf, flows.trips.astype(np.float64))
    nodes = np.flatnonzero(true > 0)
    tiles = NodeAreas(flows.places, tree).describe(nodes)
    told = _spread(tiles, release, SIDES[number])
    total = float(true.sum())
    # What the release puts where there are no trips at all is missing where there are some.
    distance = 1 - float(np.minimum(true[nodes], told).sum()) / total if total else 0.0
    busiest = np.sort(np.argsort(-true[nodes], kind="stable")[:_MOST_TILES])
    return _Side(_part(tiles, busiest), true[nodes][busiest], len(nodes) - len(busiest), distance)


def _part(tiles: AreaTable, rows: IntArray) -> AreaTable:
    return AreaTable(
        area=[tiles.area[row] for row in rows.tolist()],
        lon=tiles.lon[rows],
        lat=tiles.lat[rows],
        tiles=tiles.tiles[rows],
        members=None,
        geometry=tiles.geometry[rows],
    )


def _spread(tiles: AreaTable, release: Release, side: str) -> FloatArray:
    """Give every tile its share, by size, of the trips of all areas around it."""
    areas = release.areas.filter(np.array(release.areas["side"].to_pylist()) == side)
    row = {name: number for number, name in enumerate(areas["area"].to_pylist())}
    trips = np.zeros(len(row))
    np.add.at(trips, [row[name] for name in release.flows[side].to_pylist()], floats(release.flows["trips"]))
    shapes = shapely.from_wkb(areas["geometry"].to_pylist())
    # Sizes in square degrees will do: they are compared within one area only.
    density = trips / np.where(shapely.area(shapes) > 0, shapely.area(shapes), np.inf)
    centers = np.asarray(shapely.points(np.nan_to_num(tiles.lon), np.nan_to_num(tiles.lat)), object)
    area, tile = shapely.STRtree(centers).query(shapes, predicate="intersects")
    densities = np.zeros(len(tiles.area))
    np.add.at(densities, tile, density[area])
    spread: FloatArray = np.maximum(densities, 0) * _sizes(tiles.geometry)
    return spread


def _sizes(shapes: npt.NDArray[np.object_]) -> FloatArray:
    sizes: FloatArray = np.nan_to_num(shapely.area(shapes))
    return sizes
